"""Convert constant float tensors to numpy arrays and back, without Python lists.

%w = arith.constant dense<"0x..."> : tensor<6x1x5x5xf32>   <->   float32 array of shape (6, 1, 5, 5)
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    TensorType,
)
from xdsl.ir import SSAValue
from xdsl.traits import ConstantLike
from xdsl.utils.hints import isa


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
