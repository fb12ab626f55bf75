"""Types, shapes and sizes of feature maps and parameters, which are ranked tensors or buffers."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import TypeAlias, TypeGuard, cast

from xdsl.dialects.builtin import AnyFloat, IntegerType, MemRefType, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrConstraint, base
from xdsl.utils.exceptions import VerifyException

Map: TypeAlias = TensorType[Attribute] | MemRefType[Attribute]
"""A feature map or a parameter: a ranked tensor, or a buffer."""

ANY_MAP: AttrConstraint[Map] = base(TensorType) | base(MemRefType)

ELEMENT: TypeAlias = AnyFloat | IntegerType
"""The element types of maps."""


def map_type(value: SSAValue) -> Map:
    """The tensor or memref type of a value that is known to have one."""
    type_ = value.type
    assert isinstance(type_, TensorType | MemRefType)
    return cast("Map", type_)


def is_buffer_type(type_: object) -> TypeGuard[MemRefType[Attribute]]:
    """Whether a type is a memref; xDSL's `isa` says the same, and takes a hundred times as long."""
    return isinstance(type_, MemRefType)


def is_tensor_type(type_: object) -> TypeGuard[TensorType[Attribute]]:
    """Whether a type is a ranked tensor."""
    return isinstance(type_, TensorType)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The static shape of a map."""
    return tuple(map_type(value).get_shape())


def bytes_of(type_: Map) -> int:
    """Bytes of a dense map: elements times the bytes of one element.

    Raises: VerifyException if the shape is not static or the element has no fixed size.
    """
    if any(extent < 0 for extent in type_.get_shape()):
        raise VerifyException(f"expected a static shape, got {type_}")
    return prod(type_.get_shape()) * element_bytes(type_)


def element_bytes(type_: Map) -> int:
    """Bytes of one element of a map; one of fewer than 8 bits takes a byte.

    Raises: VerifyException if it has no fixed size.
    """
    return bytes_of_element(type_.get_element_type())


@cache
def bytes_of_element(element: Attribute) -> int:
    """Bytes of an element of this type; one of fewer than 8 bits takes a byte.

    Raises: VerifyException if it has no fixed size.
    """
    if not isinstance(element, ELEMENT):
        raise VerifyException(f"expected elements of a known size, got {element}")
    return element.size


def storage_elements(type_: MemRefType[Attribute]) -> int | None:
    """How many elements of memory a buffer spans, from its start, offset included.

    Gaps that the layout leaves after its rows count, also after the last one: both rows of
    `memref<2x3xf32, strided<[8, 1]>>` take 8 elements. A vector ends with its last element. None if
    the layout is not static.
    """
    shape, strides, offset = type_.get_shape(), type_.get_strides(), type_.get_offset()
    if -1 in shape or strides is None or offset is None or None in strides:
        return None
    if 0 in shape:
        return 0
    steps = [(extent, step or 0) for extent, step in zip(shape, strides, strict=True)]
    reach = 1 + sum((extent - 1) * step for extent, step in steps)
    return offset + max([reach, *(extent * step for extent, step in steps[:-1][:1])])
