"""Types and attributes as upstream's tools know them: no attribute of ours, signless integers.

    memref<64xui8, #npu.sram>    ->    memref<64xi8, 1>      (with option sram-space=1)

Upstream parses no attribute of a dialect that it does not know, so memory spaces become numbers, or
disappear. `arith` computes with signless integers only; at loops `ui8` only says how bytes are
read, and the ops say so too. Attributes of ours on ops would not disturb, but nobody reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    Signedness,
    i8,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue
from xdsl.rewriter import Rewriter

from npu_dialect.arguments import attributes_in
from npu_dialect.keys import NAMESPACES
from npu_dialect.npu.attributes import DramSpace, FlashSpace, SramSpace
from npu_dialect.walking import walk

UI8 = IntegerType(8, Signedness.UNSIGNED)


def is_ours(name: str) -> bool:
    """Whether the name of an op or an attribute belongs to one of our dialects."""
    return name.partition(".")[0] in NAMESPACES


def space_attribute(number: int) -> Attribute:
    """A memory space by its number; 0 is upstream's default space, which types do not print."""
    return IntegerAttr(number, i64) if number else NoneAttr()


@dataclass
class Types:
    """Converts types and attributes; `spaces` gives each memory space of ours its number."""

    spaces: Mapping[Attribute, int]
    known: dict[Attribute, Attribute] = field(default_factory=dict[Attribute, Attribute])
    """What was converted before; a program has few different types."""

    @staticmethod
    def of(sram: int, dram: int, flash: int) -> Types:
        """Conversion with these numbers of memory spaces."""
        return Types({SramSpace(): sram, DramSpace(): dram, FlashSpace(): flash})

    def converted(self, attribute: Attribute) -> Attribute:
        """An attribute or type, with everything inside of it converted."""
        if (found := self.known.get(attribute)) is None:
            found = self.known[attribute] = self.convert(attribute)
        return found

    def convert(self, attribute: Attribute) -> Attribute:
        """As `converted`, without looking at what is known."""
        number = self.spaces.get(attribute)
        if number is not None:
            return space_attribute(number)
        if attribute == UI8:
            return i8
        match attribute:
            case ParametrizedAttribute():
                new = [self.converted(each) for each in attribute.parameters]
                changed = any(a is not b for a, b in zip(new, attribute.parameters, strict=True))
                return type(attribute).new(new) if changed else attribute
            case ArrayAttr():
                parts = items_in(attribute)
                items = [self.converted(each) for each in parts]
                changed = any(a is not b for a, b in zip(items, parts, strict=True))
                return ArrayAttr(items) if changed else attribute
            case DictionaryAttr():
                kept = {name: each for name, each in attribute.data.items() if not is_ours(name)}
                return DictionaryAttr({name: self.converted(each) for name, each in kept.items()})
            case _:
                return attribute

    def convert_all(self, top: Operation) -> None:
        """Convert all types and attributes of an op and of those inside; drop attributes of ours.

        Arguments and results of functions lose their attributes of ours, too.
        """
        for op in walk(top):
            for name in [name for name in op.attributes if is_ours(name)]:
                del op.attributes[name]
            for attributes in (op.attributes, op.properties):
                for name, attribute in attributes.items():
                    attributes[name] = self.converted(attribute)
            if isinstance(op, FuncOp):
                drop_empty(op)
            for result in op.results:
                self.retype(result)
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.args:
                        self.retype(argument)

    def retype(self, value: SSAValue) -> None:
        """Convert the type of a value."""
        new = self.converted(value.type)
        if new != value.type:
            Rewriter.replace_value_with_new_type(value, new)


def items_in(attribute: Attribute) -> tuple[Attribute, ...]:
    """The items of an array; none of another attribute."""
    return cast("ArrayAttr[Attribute]", attribute).data if isinstance(attribute, ArrayAttr) else ()


def drop_empty(function: FuncOp) -> None:
    """Remove the lists of attributes of a function's arguments and results if they are empty."""
    for name in ("arg_attrs", "res_attrs"):
        items = function.properties.get(name)
        if items is not None and not any(attributes_in(each) for each in items_in(items)):
            del function.properties[name]


def holds_ours(attribute: Attribute, allowed: frozenset[Attribute]) -> Attribute | None:
    """The first attribute of ours inside an attribute that is not among `allowed`; None if none."""
    if attribute in allowed:
        return None
    if is_ours(attribute.name):
        return attribute
    inner: tuple[Attribute, ...] = ()
    match attribute:
        case ParametrizedAttribute():
            inner = tuple(attribute.parameters)
        case ArrayAttr():
            inner = items_in(attribute)
        case DictionaryAttr():
            inner = tuple(attribute.data.values())
        case _:
            pass
    return next((found for each in inner if (found := holds_ours(each, allowed))), None)
