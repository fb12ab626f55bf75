"""The types of discardable attributes: conversion from Python values to attributes and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

T = TypeVar("T")


@dataclass(frozen=True)
class Kind(Generic[T]):
    """One type of attribute.

    `expected` names the type in messages. `decode` returns the Python value, or None if the
    attribute has another type. `encode` makes an attribute from a value.
    """

    expected: str
    decode: Callable[[Attribute], T | None]
    encode: Callable[[T], Attribute]


FLAGS = (IntegerAttr.from_bool(False), IntegerAttr.from_bool(True))
"""The two 1-bit integers, false and true, which `INT` rejects."""


def _integer(attribute: Attribute) -> int | None:
    if isinstance(attribute, IntegerAttr) and attribute not in FLAGS:
        return attribute.value.data
    return None


def _bool(attribute: Attribute) -> bool | None:
    return attribute == FLAGS[1] if attribute in FLAGS else None


def _text(attribute: Attribute) -> str | None:
    return attribute.data if isinstance(attribute, StringAttr) else None


def _number(attribute: Attribute) -> float | None:
    return attribute.value.data if isinstance(attribute, FloatAttr) else None


def _integers(attribute: Attribute) -> tuple[int, ...] | None:
    if isa(attribute, DenseArrayBase[IntegerType]) and attribute.elt_type == i64:
        return attribute.get_values()
    return None


def _numbers(attribute: Attribute) -> tuple[float, ...] | None:
    if isa(attribute, DenseArrayBase[Float64Type]):
        return attribute.get_values()
    return None


def _symbol(attribute: Attribute) -> str | None:
    if isinstance(attribute, SymbolRefAttr) and not attribute.nested_references.data:
        return attribute.root_reference.data
    return None


def _unit(attribute: Attribute) -> bool | None:
    return True if isinstance(attribute, UnitAttr) else None


def _machine(attribute: Attribute) -> Attribute | None:
    return attribute if attribute.name == "npu.target" else None


def _record(attribute: Attribute) -> DictionaryAttr | None:
    return attribute if isinstance(attribute, DictionaryAttr) else None


def _sizes(attribute: Attribute) -> dict[str, int] | None:
    if not isinstance(attribute, DictionaryAttr):
        return None
    sizes = {key: _integer(value) for key, value in attribute.data.items()}
    known = {key: size for key, size in sizes.items() if size is not None and size >= 0}
    return known if known and len(known) == len(sizes) else None


def _place(attribute: Attribute) -> dict[str, int] | None:
    found = _sizes(attribute)
    return found if found is not None and len(found) == 1 else None


def _same(attribute: Attribute) -> Any:
    return attribute


UNIT: Kind[bool] = Kind("a unit attribute", _unit, lambda _: UnitAttr())
BOOL: Kind[bool] = Kind("true or false", _bool, IntegerAttr.from_bool)
INT: Kind[int] = Kind("an integer", _integer, lambda value: IntegerAttr(value, i64))
INTS: Kind[tuple[int, ...]] = Kind(
    "a list array<i64: ...>", _integers, lambda value: DenseArrayBase.from_list(i64, value)
)
NUMBERS: Kind[tuple[float, ...]] = Kind(
    "a list array<f64: ...>",
    _numbers,
    lambda value: DenseArrayBase.from_list(Float64Type(), value),
)
TEXT: Kind[str] = Kind("a string", _text, StringAttr)
SINGLE: Kind[float] = Kind("a number", _number, lambda value: FloatAttr(value, f32))
DOUBLE: Kind[float] = Kind("a number", _number, lambda value: FloatAttr(value, Float64Type()))
SYMBOL: Kind[str] = Kind("a symbol @name", _symbol, SymbolRefAttr)
SIZES: Kind[dict[str, int]] = Kind(
    "a dictionary of integers of at least 0",
    _sizes,
    lambda value: DictionaryAttr({key: IntegerAttr(size, i64) for key, size in value.items()}),
)
PLACE: Kind[dict[str, int]] = Kind(
    "a dictionary of one integer of at least 0", _place, SIZES.encode
)
RECORD: Kind[DictionaryAttr] = Kind("a dictionary", _record, _same)
MACHINE: Kind[Attribute] = Kind("an #npu.target<...>", _machine, _same)
ANY: Kind[Attribute] = Kind("an attribute", _same, _same)
