"""Values of the IR in numpy: maps and buffers are arrays, all others are scalars.

A memref is an array that shares its memory with its views. Fresh memory is filled with `POISON`, so
that a read before the first write gives wrong results. Floats keep their type (f32 arithmetic is
done in f32), integers are Python integers in the range of their type, and i1 is a bool.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from npu_dialect.npu.maps import storage_elements

Array: TypeAlias = npt.NDArray[Any]

POISON = 0xA5
"""The byte that fresh memory is filled with."""

INDEX_BITS = 64

FLOATS: dict[type[Attribute], type[np.floating[Any]]] = {
    Float16Type: np.float16,
    Float32Type: np.float32,
    Float64Type: np.float64,
}


def dtype_of(element: Attribute) -> np.dtype[Any]:
    """The numpy type of an element type.

    Raises: InterpretationError if numpy has none.
    """
    if (found := FLOATS.get(type(element))) is not None:
        return np.dtype(found)
    if isinstance(element, IndexType):
        return np.dtype(np.int64)
    if isa(element, IntegerType):
        width = element.width.data
        if width == 1:
            return np.dtype(np.bool_)
        if width in (8, 16, 32, 64):
            unsigned = element.signedness.data == Signedness.UNSIGNED
            return np.dtype(f"{'u' if unsigned else 'i'}{width // 8}")
    raise InterpretationError(f"expected elements that numpy has a type for, got {element}")


def scalar_of(type_: Attribute, value: float) -> Any:
    """A number as a scalar of a type; integers wrap around."""
    if (found := FLOATS.get(type(type_))) is not None:
        return found(value)
    return wrapped(type_, int(value))


def bits_of(type_: Attribute) -> int:
    """The width of an integer or index type in bits."""
    return type_.width.data if isa(type_, IntegerType) else INDEX_BITS


def wrapped(type_: Attribute, value: int) -> int:
    """An integer, wrapped around to the signed range of a type; a bool for i1."""
    bits = bits_of(type_)
    if bits == 1:
        return bool(value & 1)
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def dense_array(attribute: DenseIntOrFPElementsAttr) -> Array:
    """The elements of a dense attribute as a read-only array, without a copy.

    Raises: InterpretationError if the number of elements does not fit the shape.
    """
    dtype = dtype_of(attribute.get_element_type())
    flat = np.frombuffer(attribute.data.data, dtype.newbyteorder("<"))
    shape = attribute.get_shape()
    if flat.size != prod(shape):
        raise InterpretationError(f"expected {prod(shape)} elements, got {flat.size}")
    return flat.reshape(shape)


def global_buffer(op: memref.GlobalOp) -> Array:
    """A new buffer for a global; read-only if it is constant, poison if it has no value."""
    if not isinstance(op.initial_value, DenseIntOrFPElementsAttr):
        return poisoned(op.type)
    array = dense_array(op.initial_value)
    return array if op.constant is not None else array.copy()


def poisoned(type_: MemRefType[Any] | TensorType[Any]) -> Array:
    """A fresh array of a type, full of `POISON`, gaps of the layout included.

    Raises: InterpretationError if the shape is dynamic.
    """
    array = np.empty(storage_size(type_), dtype_of(type_.get_element_type()))
    poison(array)
    return laid_out(array, type_)


def storage_size(type_: MemRefType[Any] | TensorType[Any]) -> int:
    """Elements of memory that a value of a type takes; a layout that is not static counts as dense.

    Raises: InterpretationError if the shape is dynamic.
    """
    dense = prod(static_shape(type_))
    return dense if isinstance(type_, TensorType) else (storage_elements(type_) or dense)


def laid_out(flat: Array, type_: MemRefType[Any] | TensorType[Any]) -> Array:
    """A view of `storage_size` elements of memory in the shape and layout of a type."""
    shape = static_shape(type_)
    if isinstance(type_, TensorType) or not storage_elements(type_):
        return flat.reshape(shape)
    strides = [(step or 0) * flat.itemsize for step in type_.get_strides() or ()]
    return as_strided(flat[type_.get_offset() or 0 :], shape, strides)


def spanned(buffer: Array) -> Array:
    """The memory from a buffer's first element to its last one, as a vector."""
    reach = 1 + sum(
        (extent - 1) * step // buffer.itemsize
        for extent, step in zip(buffer.shape, buffer.strides, strict=True)
    )
    return as_strided(buffer, (reach if buffer.size else 0,), (buffer.itemsize,))


def poison(array: Array) -> None:
    """Fill an array with `POISON`, byte by byte."""
    pattern = np.full(array.dtype.itemsize, POISON, np.uint8)
    array[...] = pattern.view(array.dtype)[0]


def static_shape(type_: MemRefType[Any] | TensorType[Any]) -> tuple[int, ...]:
    """The shape of a type.

    Raises: InterpretationError if it is dynamic.
    """
    shape: Sequence[int] = type_.get_shape()
    if any(extent < 0 for extent in shape):
        raise InterpretationError(f"expected a static shape, got {type_}")
    return tuple(shape)
