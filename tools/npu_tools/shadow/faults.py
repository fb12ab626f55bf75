"""What the checker finds wrong, and what it cannot follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from npu_dialect.attributes import LAYER


class NotFollowed(Exception):
    """The checker cannot follow a program: addresses depend on data, or an op is unknown."""


class Stop(Exception):
    """The search ends: enough faults have been found, or one hides all that follow."""


@dataclass(frozen=True)
class Fault:
    """One fault: where, which buffer, its first wrong byte if there is one, and what is wrong.

    `where` is the op with its function and layer.
    """

    where: str
    buffer: str
    byte: int | None
    what: str

    def __str__(self) -> str:
        at = "" if self.byte is None else f" at byte {self.byte}"
        return f"{self.where}: {self.buffer}{at}: {self.what}"


@dataclass
class Faults:
    """The faults found so far, each place once; `most` ends the search."""

    most: int
    found: dict[tuple[str, str, str], Fault] = field(
        default_factory=dict[tuple[str, str, str], Fault]
    )

    def add(self, fault: Fault) -> None:
        """Add a fault. Raises: Stop if they are enough."""
        self.found.setdefault((fault.where, fault.buffer, fault.what), fault)
        if len(self.found) >= self.most:
            raise Stop

    @property
    def all(self) -> Sequence[Fault]:
        """All faults in the order in which they were found."""
        return tuple(self.found.values())


def place_of(op: Operation) -> str:
    """An op with its layer and its function, for messages."""
    layer, function = LAYER.get(op), op
    while (parent := function.parent_op()) is not None and not isinstance(function, func.FuncOp):
        function = parent
    inside = f" in @{function.sym_name.data}" if isinstance(function, func.FuncOp) else ""
    return f"{op.name}{inside}" + (f" (layer {layer!r})" if layer else "")


def name_of(value: SSAValue) -> str:
    """A name of a buffer, for messages."""
    if value.name_hint:
        return f"%{value.name_hint}"
    if isinstance(value, BlockArgument):
        owner: Block = value.owner
        return f"argument {value.index} of {owner.parent_op().__class__.__name__}"
    return f"a buffer of {place_of(value.owner)}" if isinstance(value.owner, Operation) else "?"
