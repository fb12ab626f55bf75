"""Typed keys of discardable attributes: `attributes.py` has the table of them.

    npu.conv2d ... {npu.layer = "conv1", npu.runs = 28 : i64}
    LAYER.get(op) == "conv1";  RUNS.set(op, 28)

A key says on which ops its attribute may stand, which passes write and read it, what it means that
it is absent, and whether another pass may drop it. `contract.py` checks a whole module against the
keys. No attribute here changes what a program computes or lets buffers overlap: such facts are
properties of ops, or are recomputed where they are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from npu_dialect.kinds import Kind

T = TypeVar("T")

NAMESPACES = ("npu", "sram", "dram", "dma", "pl330", "dsp")
"""What the names of our attributes begin with, in front of the point."""


class Place(StrEnum):
    """What kind of op an attribute stands on."""

    PROGRAM_MODULE = "builtin.module"
    FUNCTION = "function"
    ARGUMENT = "argument or result of a function"
    LAYER = "layer"
    PROVENANCE = "layer, or an op that works for one"
    MODULE = "npu.module"
    BRANCH = "npu.branch"
    ROWS = "npu.rows"
    LOOP = "scf.for"
    TRANSFER = "dma.start"
    MICROCODE = "pl330.program"
    ALLOCATION = "allocation"
    ANY = "any op"


KEYS: dict[str, Key[Any]] = {}
"""All keys by the names of their attributes."""


@dataclass(frozen=True)
class Key(Generic[T]):
    """One discardable attribute.

    `absent`: what it means that the attribute is missing. `droppable`: whether a pass that does not
    know the attribute may lose it; the program is then still right, only `absent` holds.
    """

    name: str
    places: tuple[Place, ...]
    kind: Kind[T]
    meaning: str
    writers: str
    readers: str
    absent: str
    droppable: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        """Add the key to the table.

        Raises: ValueError for a name that another key has.
        """
        if self.name in KEYS:
            raise ValueError(f"two keys for {self.name}")
        KEYS[self.name] = self

    def get(self, op: Operation) -> T | None:
        """The value on an op; None if the attribute is absent.

        Raises: VerifyException, attached to the op, for an attribute of another type.
        """
        return self.of(op.attributes, op)

    def of(self, attributes: Mapping[str, Attribute], op: Operation | None = None) -> T | None:
        """The value in a dictionary, such as that of an argument; None if it is absent.

        Raises: VerifyException, attached to the op if there is one, for another type.
        """
        attribute = attributes.get(self.name)
        if attribute is None:
            return None
        value = self.kind.decode(attribute)
        if value is None:
            error = VerifyException(self.wrong(attribute))
            if op is not None:
                op.emit_error(str(error), error)
            raise error
        return value

    def raw(self, op: Operation) -> Attribute | None:
        """The attribute itself, to be copied to another op."""
        return op.attributes.get(self.name)

    def is_on(self, op: Operation) -> bool:
        """Whether an op has the attribute."""
        return self.name in op.attributes

    def is_in(self, attributes: Mapping[str, Attribute]) -> bool:
        """Whether a dictionary, such as that of an argument, has the attribute."""
        return self.name in attributes

    def set(self, op: Operation, value: T) -> None:
        """Write the attribute."""
        op.attributes[self.name] = self.kind.encode(value)

    def set_default(self, op: Operation, value: T) -> None:
        """Write the attribute where it is absent."""
        if not self.is_on(op):
            self.set(op, value)

    def copy(self, source: Operation, target: Operation) -> None:
        """Copy the attribute if it is there; leave the target alone if it is not."""
        if (attribute := self.raw(source)) is not None:
            target.attributes[self.name] = attribute

    def drop(self, op: Operation) -> None:
        """Remove the attribute if it is there."""
        op.attributes.pop(self.name, None)

    def made(self, value: T) -> Attribute:
        """The attribute for a value, for a dictionary of a caller's."""
        return self.kind.encode(value)

    def entry(self, value: T) -> dict[str, Attribute]:
        """A dictionary with this attribute alone."""
        return {self.name: self.made(value)}

    def wrong(self, attribute: Attribute) -> str:
        """What to say of an attribute of another type."""
        return f"expected {self.name} to be {self.kind.expected}, got {attribute}"


def drop_all(op: Operation, keys: Sequence[Key[Any]]) -> None:
    """Remove several attributes."""
    for key in keys:
        key.drop(op)


def without(attributes: Mapping[str, Attribute], *keys: Key[Any]) -> dict[str, Attribute]:
    """A dictionary without the attributes of some keys."""
    names = {key.name for key in keys}
    return {name: value for name, value in attributes.items() if name not in names}
