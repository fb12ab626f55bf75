"""`npu-outline-layers`: move each layer into a private function of its own (on buffers).

    npu.relu ins(%a : memref<8xf32, #npu.sram>) outs(%b : ...) {npu.layer = "r1"}
becomes
    func.call @r1(%a, %b) {npu.layer = "r1"} : (memref<8xf32, #npu.sram>, ...) -> ()
and, behind the function,
    func.func private @r1(%ifm: memref<8xf32, #npu.sram>, %ofm: ...)
        attributes {npu.layer = "r1", npu.what = "npu.relu"} {
      npu.relu ins(%ifm : ...) outs(%ofm : ...) {npu.layer = "r1"}
      func.return
    }

The decision: loops do not show which layer they compute, but a function does. Its name is that of
the layer as a C identifier, or that of the op if the layer has no name. `npu.what` is the op with
its clauses. The arguments are the distinct buffers in the order of the operands, so a buffer that
is overwritten in place is a single argument. Offsets stay in the caller.

Ops of other dialects that say how they compute (`npu_dialect/computing.py`) are moved, too, unless
their body uses values from outside. Layers on tensors, layers with regions, and layers in functions
that this pass made are not moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.printer import Printer
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.attributes import LAYER, OVERLAYS, VALUE, WHAT
from npu_dialect.computing import is_computed_on_buffers
from npu_dialect.npu.layer import LayerOp, getattr_operands
from npu_dialect.npu.structure import captured
from npu_passes.analysis.overlaid import claims_of
from npu_passes.analysis.overlaps import reject_overlaps
from npu_passes.support.refuse import RefusingPass
from npu_passes.support.symbols import GlobalNames, identifier

HINTS = {"input": "ifm", "out": "ofm"}
"""Argument names for operands; other operands use their name in the definition of the op."""


@dataclass(frozen=True)
class Outline:
    """How a layer becomes a function.

    `wish`: the name of the function, if it is free. `what`: the op with its clauses. `buffers`: the
    distinct operands, each with the name of its argument.
    """

    layer: Operation
    wish: str
    what: str
    buffers: dict[SSAValue, str]


def outlines_of(function: FuncOp) -> Iterator[Outline]:
    """The layers of a function that become functions, in the order of the IR."""
    if WHAT.is_on(function):
        return
    for op in function.walk():
        own = isinstance(op, LayerOp)
        if is_computed_on_buffers(op) and not (op.regions if own else captures(op)):
            yield Outline(op, wished_name(op), described(op), named_buffers(op))


def captures(op: Operation) -> bool:
    """Whether the body of an op uses values from outside of it."""
    return any(map(captured, op.regions))


def wished_name(layer: Operation) -> str:
    """The layer's name as an identifier; without one, the op's name without its dialect."""
    words = re.findall(r"[0-9A-Za-z]+", LAYER.get(layer) or "")  # as PyTorch writes `/conv1/Conv`
    return identifier("_".join(words) or layer.name.split(".")[-1])


def described(layer: Operation) -> str:
    """The op without operands and types, as text: `npu.conv2d strides [1, 1] ... then relu`.

    Of the digits of a table only the first ones are shown. Of other dialects, it is the op's name.
    """
    if not isinstance(layer, LayerOp):
        return layer.name
    stream = StringIO()
    layer.print_clauses(Printer(stream))
    return layer.name + re.sub(r'"([0-9a-f]{16})[0-9a-f]{16,}"', r'"\1..."', stream.getvalue())


def named_buffers(layer: Operation) -> dict[SSAValue, str]:
    """The distinct operands with argument names; with several roles, the last one names it."""
    found: dict[SSAValue, str] = {}
    if not isinstance(layer, LayerOp):
        *inputs, out = layer.operands
        found = {value: f"ifm{index}" for index, value in enumerate(inputs)}
        return found | {out: "ofm"}
    for name, _ in layer.get_irdl_definition().operands:
        values = getattr_operands(layer, name)
        for index, value in enumerate(values):
            hint = HINTS.get(name, name)
            found[value] = f"{hint}{index}" if len(values) > 1 else hint
    return found


def outlined(outline: Outline, name: str) -> tuple[FuncOp, CallOp]:
    """The function around a copy of a layer, and the call that replaces the layer."""
    layer = outline.layer
    types = [value.type for value in outline.buffers]
    block = Block(arg_types=types)
    for argument, hint in zip(block.args, outline.buffers.values(), strict=True):
        argument.name_hint = hint
    block.add_ops((layer.clone(dict(zip(outline.buffers, block.args, strict=True))), ReturnOp()))
    function = FuncOp(name, FunctionType.from_lists(types, []), Region(block), "private")
    call = CallOp(name, list(outline.buffers), [])
    LAYER.copy(layer, function)
    LAYER.copy(layer, call)
    VALUE.copy(layer, call)
    numbers: list[int] = []
    for claim in claims_of(layer):
        ends = (layer.operands[claim.source], layer.operands[claim.target])
        source, target = (list(outline.buffers).index(each) for each in ends)
        numbers += replace(claim, source=source, target=target).numbers()
    if numbers:
        OVERLAYS.set(call, tuple(numbers))
    WHAT.set(function, outline.what)
    return function, call


def outline_function(function: FuncOp) -> None:
    """Move the layers of one function into new functions behind it."""
    names = GlobalNames.of(function)
    place = InsertPoint.after(function)
    for outline in list(outlines_of(function)):
        layer_function, call = outlined(outline, names.fresh(outline.wish))
        Rewriter.insert_op(layer_function, place)
        Rewriter.replace_op(outline.layer, call)


@dataclass(frozen=True)
class OutlineLayersPass(RefusingPass):
    """Move each layer on buffers into a private function of its own; see the module."""

    name = "npu-outline-layers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Outline function by function."""
        functions = [inner for inner in op.walk() if isinstance(inner, FuncOp)]
        for function in functions:
            for outline in outlines_of(function):
                if isinstance(outline.layer, LayerOp):
                    reject_overlaps(outline.layer)  # the new function hides overlaps
        for function in functions:
            if any(True for _ in outlines_of(function)):
                outline_function(function)
