"""Names for the symbols that passes create: readable, and unique in the module."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import SymbolOpInterface

from npu_passes.support.refuse import Refusal


def identifier(text: str) -> str:
    """The text as a C identifier: characters that C does not allow become underscores."""
    clean = re.sub(r"[^0-9A-Za-z_]", "_", text)
    return clean if re.match(r"[A-Za-z_]", clean) else f"_{clean}"


def global_read(op: memref.GetGlobalOp) -> memref.GlobalOp | None:
    """The global that an op reads, in the module around it; None if there is none."""
    around = op.parent_op()
    while around is not None and not isinstance(around, ModuleOp):
        around = around.parent_op()
    return None if around is None else global_of(around, op.name_.string_value())


def global_of(module: ModuleOp, name: str) -> memref.GlobalOp | None:
    """The global of a module with a name; None if there is none.

    xDSL's `SymbolTable.lookup_symbol` asks each op of the module for its traits. With hundreds of
    constants that took longer than what was then done with them.
    """
    found = module.body.block.first_op
    while found is not None:
        if isinstance(found, memref.GlobalOp) and found.sym_name.data == name:
            return found
        found = found.next_op
    return None


def public_function(module: ModuleOp) -> func.FuncOp:
    """The function that a network is: the public one of a module.

    Raises: Refusal if there is not exactly one, or if it is not one block.
    """
    public = [
        op
        for op in module.body.ops
        if isinstance(op, func.FuncOp) and not op.is_declaration and not op.sym_visibility
    ]
    if len(public) != 1 or len(public[0].body.blocks) != 1:
        raise Refusal("expected one public function of one block")
    return public[0]


def function_around(op: Operation) -> func.FuncOp:
    """The function that an op is in; it must be in one."""
    around = op.parent_op()
    while around is not None and not isinstance(around, func.FuncOp):
        around = around.parent_op()
    assert around is not None
    return around


class TakenNames:
    """The names of the symbols in blocks; each block is read once, in one run of a pass."""

    def __init__(self) -> None:
        """Know no block yet."""
        self._known: dict[Block, set[str]] = {}

    def of(self, block: Block) -> set[str]:
        """The names in a block; whoever adds a symbol to the block adds its name to them."""
        if block not in self._known:
            names = (
                trait.get_sym_attr_name(op)
                for op in block.ops
                if (trait := op.get_trait(SymbolOpInterface)) is not None
            )
            self._known[block] = {name.data for name in names if name is not None}
        return self._known[block]


@dataclass(frozen=True)
class GlobalNames:
    """Makes names for new globals of a function.

    `taken` are the names in use; `before` is the op in front of which new globals are inserted.
    """

    taken: set[str]
    before: Operation

    @staticmethod
    def of(function: func.FuncOp, taken: TakenNames | None = None) -> GlobalNames:
        """The names in use in the block that contains a function; `taken` may know them."""
        block = function.parent
        assert block is not None
        return GlobalNames((taken or TakenNames()).of(block), function)

    def fresh(self, wish: str) -> str:
        """`wish`, with a number appended if the name is in use."""
        name, count = wish, 0
        while name in self.taken:
            count += 1
            name = f"{wish}_{count}"
        self.taken.add(name)
        return name
