"""Symbols that passes make up: readable names that nothing else in the module has."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import Operation
from xdsl.traits import SymbolOpInterface


def identifier(text: str) -> str:
    """A C identifier that reads like a text: other characters become underscores."""
    clean = re.sub(r"[^0-9A-Za-z_]", "_", text)
    return clean if re.match(r"[A-Za-z_]", clean) else f"_{clean}"


@dataclass(frozen=True)
class GlobalNames:
    """Names for new symbols beside a function, and the op before which they are defined."""

    taken: set[str]
    before: Operation

    @staticmethod
    def of(function: func.FuncOp) -> GlobalNames:
        """The symbols in the block that holds a function."""
        block = function.parent
        assert block is not None
        names = (
            trait.get_sym_attr_name(op)
            for op in block.ops
            if (trait := op.get_trait(SymbolOpInterface)) is not None
        )
        return GlobalNames({name.data for name in names if name is not None}, function)

    def fresh(self, wish: str) -> str:
        """A free name like `wish`."""
        name, count = wish, 0
        while name in self.taken:
            count += 1
            name = f"{wish}_{count}"
        self.taken.add(name)
        return name
