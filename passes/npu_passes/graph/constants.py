"""Convert constant tensors to numpy arrays and back, without Python lists.

%w = arith.constant dense<"0x..."> : tensor<6x1x5x5xf32>   <->   float32 array of shape (6, 1, 5, 5)
"""

from __future__ import annotations

from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    IntegerType,
    TensorType,
)
from xdsl.ir import SSAValue
from xdsl.traits import ConstantLike
from xdsl.utils.hints import isa

from npu_dialect.npu.maps import ELEMENT, map_type

Array: TypeAlias = NDArray[Any]


def array_of(value: SSAValue) -> NDArray[Any] | None:
    """The values of a constant f32 or f64 tensor as a read-only array; None for any other value.

    The constant may be any op with the trait ConstantLike, of any dialect.
    """
    attribute = ConstantLike.get_constant_value(value)
    if isa(attribute, DenseIntOrFPElementsAttr[Float32Type]):
        data = np.frombuffer(attribute.data.data, "<f4")
    elif isa(attribute, DenseIntOrFPElementsAttr[Float64Type]):
        data = np.frombuffer(attribute.data.data, "<f8")
    else:
        return None
    shape = attribute.get_shape()
    return np.broadcast_to(data, shape) if data.size != prod(shape) else data.reshape(shape)


def constant_of(array: NDArray[Any], name_hint: str | None) -> ConstantOp:
    """An `arith.constant` that holds a float32 or float64 array."""
    wide = array.dtype.itemsize == 8
    element = Float64Type() if wide else Float32Type()
    data = np.ascontiguousarray(array, dtype="<f8" if wide else "<f4").tobytes()
    type_: TensorType[AnyFloat] = TensorType(element, array.shape)
    constant = ConstantOp(DenseIntOrFPElementsAttr(type_, BytesAttr(data)))
    constant.result.name_hint = name_hint
    return constant


def integers_of(value: SSAValue) -> Array | None:
    """The values of a constant tensor of i8, i32 or i64; None for any other value."""
    attribute = ConstantLike.get_constant_value(value)
    if not isa(attribute, DenseIntOrFPElementsAttr[IntegerType]):
        return None
    kind = {8: "i1", 32: "<i4", 64: "<i8"}.get(attribute.get_element_type().width.data)
    if kind is None:
        return None
    data, shape = np.frombuffer(attribute.data.data, kind), attribute.get_shape()
    return np.broadcast_to(data, shape) if data.size == 1 else data.reshape(shape)


def elements_of(value: SSAValue) -> Array | None:
    """The values of a constant tensor of f32, f64, i8, i32 or i64; None for any other value."""
    floats = array_of(value)
    return integers_of(value) if floats is None else floats


def constant_like(array: Array, value: SSAValue) -> ConstantOp:
    """An `arith.constant` of another shape with the element type and the name hint of a value."""
    element = map_type(value).get_element_type()
    assert isa(element, ELEMENT)
    type_ = TensorType(element, array.shape)
    data = BytesAttr(np.ascontiguousarray(array).tobytes())
    constant = ConstantOp(DenseIntOrFPElementsAttr(type_, data), type_)
    constant.result.name_hint = value.name_hint
    return constant
