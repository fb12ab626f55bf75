"""Where xDSL's text or types are not those of upstream: worked around, or rejected, here.

    func.func @external(f32) -> f32        // without a body; upstream wants it to be private

This is all that is known. What else xDSL prints at loops, LLVM's mlir-opt 19 reads as it is meant:
generic forms, floats that no decimal text gives, constants as bytes, segments of operands.
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, StringAttr, i1
from xdsl.dialects.func import FuncOp

LISTED = 100
"""Constants of at most this many elements are printed as lists (xDSL's rule)."""

UNREADABLE = f"xDSL prints more than {LISTED} i1 as a byte each, upstream reads bits; expected i8"
"""What is wrong with a constant that `reads_differently`."""


def reads_differently(op: memref.GlobalOp) -> bool:
    """Whether upstream reads other numbers, or none, from what xDSL prints of a constant."""
    value = op.initial_value
    if not isinstance(value, DenseIntOrFPElementsAttr) or value.get_element_type() != i1:
        return False
    return len(value) > LISTED and not value.is_splat()


def hide_declarations(module: ModuleOp) -> None:
    """Make functions without a body private, which xDSL does not ask for."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.is_declaration and op.sym_visibility is None:
            op.sym_visibility = StringAttr("private")
