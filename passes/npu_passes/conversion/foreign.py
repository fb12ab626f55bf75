"""Reads ops of other dialects by their names, whatever Python class xDSL has for them.

An op may be one of xDSL's, one of `npu_dialect.complement`, or one that is not registered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
    UnregisteredOp,
    f32,
    f64,
)
from xdsl.ir import Attribute, Operation, SSAValue, TypedAttribute
from xdsl.utils.hints import isa

from npu_dialect.complement.tosa import ZeroPointsAttr
from npu_dialect.npu.maps import is_tensor_type

Array = NDArray[Any]

CONSTANTS = ("arith.constant", "tosa.const", "tosa.const_shape")
"""Ops whose result is their attribute `value` or `values`."""


class NoEquivalent(Exception):
    """Says why an op has no equivalent among the layers."""


def name_of(op: Operation) -> str:
    """The name of an op, registered or not."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def attribute_of(op: Operation, name: str) -> Attribute | None:
    """An attribute of an op, a property or a discardable one; None if it has none."""
    found = op.properties.get(name)
    return op.attributes.get(name) if found is None else found


@dataclass(frozen=True)
class Foreign:
    """An op of another dialect with one result."""

    op: Operation

    @property
    def kind(self) -> str:
        """The name without that of the dialect."""
        return name_of(self.op).partition(".")[2]

    @property
    def operands(self) -> Sequence[SSAValue]:
        """The operands."""
        return self.op.operands

    def operand(self, index: int) -> SSAValue:
        """An operand.

        Raises: NoEquivalent if there are fewer.
        """
        if index >= len(self.op.operands):
            raise NoEquivalent(f"expected {index + 1} operands, got {len(self.op.operands)}")
        return self.op.operands[index]

    @property
    def result_type(self) -> TensorType[Attribute]:
        """The type of the one result.

        Raises: NoEquivalent if there is no such result.
        """
        types = self.op.result_types
        if len(types) != 1 or not is_tensor_type(types[0]):
            raise NoEquivalent("expected one result, a ranked tensor")
        return types[0]

    def attribute(self, name: str) -> Attribute | None:
        """An attribute; None if there is none."""
        return attribute_of(self.op, name)

    def integers(self, name: str, count: int | None = None) -> tuple[int, ...]:
        """A list of integers, of `count` of them if it is given; a constant tensor may hold it.

        Raises: NoEquivalent if the attribute is missing or something else.
        """
        found, what = self.attribute(name), "integers" if count is None else f"{count} integers"
        values: tuple[int, ...] | None = None
        if isa(found, DenseArrayBase[IntegerType]):
            values = found.get_values()
        elif isa(found, DenseIntOrFPElementsAttr):
            array = array_of(found)
            whole = array is not None and array.dtype.kind in "iu" and array.ndim == 1
            values = tuple(array.tolist()) if array is not None and whole else None
        if values is None or (count is not None and len(values) != count):
            raise NoEquivalent(f"expected {what} as `{name}`, got {found}")
        return values

    def number(self, *names: str) -> float | int | None:
        """The first number among attributes; None if there is none."""
        for name in names:
            found = self.attribute(name)
            if isa(found, IntegerAttr):
                return found.value.data
            if isa(found, FloatAttr):
                return found.value.data
        return None

    def is_on(self, name: str, *, default: bool = False) -> bool:
        """Whether a bool attribute is true."""
        found = self.number(name)
        return default if found is None else bool(found)

    def word(self, name: str) -> str | None:
        """The word of an enumeration or a string; None if there is none."""
        found: Any = self.attribute(name)
        data = getattr(found, "data", None)
        return str(data) if isinstance(data, str) or isinstance(found, StringAttr) else None

    def zero_points(self, count: int, at: int) -> tuple[int, ...]:
        """Zero points: of the attribute `quantization_info`, or constant operands from `at` on.

        Without either they are 0.

        Raises: NoEquivalent for an operand that is no constant.
        """
        info = self.attribute("quantization_info")
        if isinstance(info, ZeroPointsAttr):
            values = [value for _, value in info.data]
            if len(values) != count:
                raise NoEquivalent(f"expected {count} zero points, got {len(values)}")
            return tuple(values)
        if info is not None:
            raise NoEquivalent(f"expected zero points as `quantization_info`, got {info}")
        if len(self.op.operands) < at + count:
            return (0,) * count
        return tuple(int(self.scalar(at + place)) for place in range(count))

    def scalar(self, index: int) -> float:
        """A constant operand of one element.

        Raises: NoEquivalent if it is something else.
        """
        array = constant_array(self.operand(index))
        if array is None or array.size != 1:
            raise NoEquivalent(f"expected operand {index} to be a constant of one element")
        return array.reshape(-1)[0].item()


# -- constants -----------------------------------------------------------------------------------


def constant_attribute(value: SSAValue) -> Attribute | None:
    """The attribute of a constant; None for other values."""
    op = value.owner
    if not isinstance(op, Operation) or name_of(op) not in CONSTANTS:
        return None
    found = attribute_of(op, "value")
    found = attribute_of(op, "values") if found is None else found
    if is_tensor_type(value.type) and isinstance(found, TypedAttribute):
        return found if found.get_type() == value.type else None
    return found


def is_constant(value: SSAValue) -> bool:
    """Whether a value is a constant tensor, also one whose numbers were left out."""
    return isinstance(constant_attribute(value), DenseIntOrFPElementsAttr | DenseResourceAttr)


def constant_array(value: SSAValue) -> Array | None:
    """The numbers of a constant, read-only; None for other values, and if they were left out."""
    found = constant_attribute(value)
    if isa(found, DenseIntOrFPElementsAttr):
        return array_of(found)
    if isa(found, IntegerAttr) or isa(found, FloatAttr):
        return np.array(found.value.data)
    return None


def array_of(attribute: DenseIntOrFPElementsAttr[Any]) -> Array | None:
    """The numbers of an attribute; None for elements that no layer takes."""
    element: Attribute = attribute.get_element_type()
    dtype = dtype_of(element)
    if dtype is None:
        return None
    data = np.frombuffer(attribute.data.data, dtype)
    shape = attribute.get_shape()
    return np.broadcast_to(data, shape) if data.size != prod(shape) else data.reshape(shape)


def dtype_of(element: Attribute) -> np.dtype[Any] | None:
    """The numpy type of elements as xDSL stores them; None if there is none."""
    if element in (f32, f64):
        return np.dtype("<f4" if element == f32 else "<f8")
    if isinstance(element, IndexType):
        return np.dtype("<i8")
    if not isa(element, IntegerType) or element.width.data not in (1, 8, 16, 32, 48, 64):
        return None
    size = {1: 1, 48: 8}.get(element.width.data, element.width.data // 8)
    return np.dtype(f"<{'u' if element.signedness.data == Signedness.UNSIGNED else 'i'}{size}")
