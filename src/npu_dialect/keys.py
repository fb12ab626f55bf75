"""Typed keys of discardable attributes; the table of all keys is in `attributes.py`.

    npu.conv2d ... {npu.layer = "conv1", npu.runs = 28 : i64}
    LAYER.get(op) == "conv1";  RUNS.set(op, 28)

A key says on which ops its attribute may stand, which passes write and read it, what holds if it is
absent, and whether another pass may drop it. `contract.py` checks a whole module against the
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

NAMESPACES = ("npu", "sram", "dram", "dma", "pl330", "dsp", "mve")
"""The namespaces of our attributes: the part of a name before the first dot."""


class Place(StrEnum):
    """The kind of op on which an attribute stands."""

    PROGRAM_MODULE = "builtin.module"
    FUNCTION = "function"
    ARGUMENT = "argument or result of a function"
    LAYER = "layer"
    PROVENANCE = "layer, or an op that works for one"
    MODULE = "npu.module"
    BRANCH = "npu.branch"
    ROWS = "npu.rows"
    LOOP = "scf.for"
    CHOICE = "scf.if"
    TRANSFER = "dma.start"
    MICROCODE = "pl330.program"
    ALLOCATION = "allocation"
    CONSTANT = "memref.get_global"
    ANY = "any op"


KEYS: dict[str, Key[Any]] = {}
"""All keys by the names of their attributes."""


@dataclass(frozen=True)
class Key(Generic[T]):
    """One discardable attribute.

    `places`: the ops on which it may stand. `kind`: the type of its value. `absent`: what holds if
    the attribute is missing. `droppable`: whether a pass that does not know the attribute may drop
    it; the program stays correct then, but `absent` holds.
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

        Raises: ValueError if another key has the same name.
        """
        if self.name in KEYS:
            raise ValueError(f"two keys for {self.name}")
        KEYS[self.name] = self

    def get(self, op: Operation) -> T | None:
        """The value on an op; None if the attribute is absent.

        Raises: VerifyException, attached to the op, if the attribute has another type.
        """
        return self.of(op.attributes, op)

    def of(self, attributes: Mapping[str, Attribute], op: Operation | None = None) -> T | None:
        """The value in a dictionary, such as that of an argument; None if it is absent.

        Raises: VerifyException if it has another type; attached to `op` if that is given.
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
        """The undecoded attribute, to be copied to another op; None if it is absent."""
        return op.attributes.get(self.name)

    def is_on(self, op: Operation) -> bool:
        """Whether an op has the attribute."""
        return self.name in op.attributes

    def is_in(self, attributes: Mapping[str, Attribute]) -> bool:
        """Whether a dictionary, such as that of an argument, has the attribute."""
        return self.name in attributes

    def set(self, op: Operation, value: T) -> None:
        """Set the attribute of an op to a value."""
        op.attributes[self.name] = self.kind.encode(value)

    def set_default(self, op: Operation, value: T) -> None:
        """Set the attribute of an op if it is absent."""
        if not self.is_on(op):
            self.set(op, value)

    def copy(self, source: Operation, target: Operation) -> None:
        """Copy the attribute if the source has it; otherwise leave the target unchanged."""
        if (attribute := self.raw(source)) is not None:
            target.attributes[self.name] = attribute

    def drop(self, op: Operation) -> None:
        """Remove the attribute from an op if it is there."""
        op.attributes.pop(self.name, None)

    def made(self, value: T) -> Attribute:
        """The encoded attribute for a value, for a caller that builds a dictionary."""
        return self.kind.encode(value)

    def entry(self, value: T) -> dict[str, Attribute]:
        """A dictionary with this attribute alone."""
        return {self.name: self.made(value)}

    def wrong(self, attribute: Attribute) -> str:
        """The error message for an attribute of another type."""
        return f"expected {self.name} to be {self.kind.expected}, got {attribute}"


def drop_all(op: Operation, keys: Sequence[Key[Any]]) -> None:
    """Remove the attributes of several keys from an op."""
    for key in keys:
        key.drop(op)


def without(attributes: Mapping[str, Attribute], *keys: Key[Any]) -> dict[str, Attribute]:
    """A copy of a dictionary without the attributes of some keys."""
    names = {key.name for key in keys}
    return {name: value for name, value in attributes.items() if name not in names}
