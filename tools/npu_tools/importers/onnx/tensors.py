"""Turns ONNX tensors into numpy arrays; every size is checked before memory is allocated."""

from __future__ import annotations

from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper

from npu_tools.importers.onnx.errors import ModelError

Array: TypeAlias = NDArray[Any]

LARGEST_MAP = 2**31 - 1
"""Most elements of one feature map."""
MOST_AXES = 32
"""Most axes of one feature map."""
LARGEST_FOLDED = 512 * 2**20
"""Most bytes of one tensor that constant folding computes (ConstantOfShape, Expand, ...)."""
MOST_SHAPE_ELEMENTS = 1024
"""Constants of more elements are no shapes or axes, so shape inference does not need their data."""

READABLE: dict[int, str] = {
    TensorProto.FLOAT: "float_data",
    TensorProto.DOUBLE: "double_data",
    TensorProto.FLOAT16: "int32_data",
    TensorProto.INT8: "int32_data",
    TensorProto.INT16: "int32_data",
    TensorProto.INT32: "int32_data",
    TensorProto.INT64: "int64_data",
    TensorProto.UINT8: "int32_data",
    TensorProto.UINT16: "int32_data",
    TensorProto.UINT32: "uint64_data",
    TensorProto.UINT64: "uint64_data",
    TensorProto.BOOL: "int32_data",
}
"""Element types that numpy has, and the field of the message that holds them without raw data."""

NUMPY_TYPES: dict[int, np.dtype[Any]] = {
    TensorProto.FLOAT: np.dtype(np.float32),
    TensorProto.DOUBLE: np.dtype(np.float64),
    TensorProto.FLOAT16: np.dtype(np.float16),
    TensorProto.INT8: np.dtype(np.int8),
    TensorProto.INT16: np.dtype(np.int16),
    TensorProto.INT32: np.dtype(np.int32),
    TensorProto.INT64: np.dtype(np.int64),
    TensorProto.UINT8: np.dtype(np.uint8),
    TensorProto.UINT16: np.dtype(np.uint16),
    TensorProto.UINT32: np.dtype(np.uint32),
    TensorProto.UINT64: np.dtype(np.uint64),
    TensorProto.BOOL: np.dtype(np.bool_),
}


def type_name(element: int) -> str:
    """The name of an ONNX element type: `float32`, `string`, ..."""
    if element in NUMPY_TYPES:
        return str(NUMPY_TYPES[element])
    if element in TensorProto.DataType.values():
        return TensorProto.DataType.Name(TensorProto.DataType.ValueType(element)).lower()
    return f"unknown type {element}"


def expected_bytes(tensor: TensorProto) -> int:
    """The bytes that a tensor's elements take, by its type and dims.

    Raises: ModelError for negative or too many dims, or an element type that numpy does not have.
    """
    dims = list(tensor.dims)
    if any(extent < 0 for extent in dims):
        raise ModelError(f"tensor '{tensor.name}' has dims {dims}; expected none below zero")
    if len(dims) > MOST_AXES:
        raise ModelError(
            f"tensor '{tensor.name}' has {len(dims)} dims; expected at most {MOST_AXES}"
        )
    if tensor.data_type not in NUMPY_TYPES:
        raise ModelError(
            f"tensor '{tensor.name}' holds {type_name(tensor.data_type)} elements; expected "
            "float32, int8, uint8 or int32"
        )
    return prod(dims) * NUMPY_TYPES[tensor.data_type].itemsize


def decode(tensor: TensorProto) -> Array:
    """The elements of a tensor whose data lies in the message.

    Raises: ModelError if there are more or fewer of them than its dims say.
    """
    size = expected_bytes(tensor)
    kind = NUMPY_TYPES[tensor.data_type]
    if tensor.HasField("raw_data"):
        data = tensor.raw_data  # each access copies
        if len(data) != size:
            raise ModelError(
                f"tensor '{tensor.name}' of shape {list(tensor.dims)} holds {len(data)} "
                f"bytes of data; expected {size}"
            )
        return np.frombuffer(data, kind.newbyteorder("<")).reshape(tuple(tensor.dims))
    found = len(getattr(tensor, READABLE[tensor.data_type]))
    if found != size // kind.itemsize:
        raise ModelError(
            f"tensor '{tensor.name}' of shape {list(tensor.dims)} holds {found} elements; "
            f"expected {size // kind.itemsize}"
        )
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, OverflowError, TypeError) as error:
        raise ModelError(f"tensor '{tensor.name}' cannot be read: {error}") from error
