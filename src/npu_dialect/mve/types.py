"""The vectors of 16 bytes: types of MLIR's own."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias, cast

from xdsl.dialects.builtin import VectorType, f32, i8, i16, i32
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.maps import is_buffer_type

Vector: TypeAlias = VectorType[Attribute]

VECTOR_BYTES = 16
"""Bytes of a vector register."""

I8X16: Vector = VectorType(i8, [16])
I16X8: Vector = VectorType(i16, [8])
I32X4: Vector = VectorType(i32, [4])
F32X4: Vector = VectorType(f32, [4])

INTEGERS: tuple[Vector, ...] = (I8X16, I16X8, I32X4)
"""The vectors of integers."""

VECTORS: tuple[Vector, ...] = (*INTEGERS, F32X4)
"""All vectors."""


def as_vector(type_: Attribute) -> Vector:
    """A type that is known to be a vector."""
    assert isinstance(type_, VectorType)
    return cast(Vector, type_)


def lanes_of(type_: Attribute) -> int:
    """The lanes of a vector."""
    return as_vector(type_).get_shape()[0]


def check(type_: Attribute, known: tuple[Vector, ...] = VECTORS) -> None:
    """Check that a type is one of some vectors.

    Raises: VerifyException if it is not.
    """
    if type_ not in known:
        raise VerifyException(f"expected {' or '.join(map(str, known))}, got {type_}")


def verify_line(type_: Attribute, elements: Collection[Attribute], least: int) -> None:
    """Check that a buffer has one axis without gaps, of some elements, and at least so many.

    Raises: VerifyException if it has not.
    """
    assert is_buffer_type(type_)
    if type_.element_type not in elements or tuple(type_.get_strides() or ()) != (1,):
        names = " or ".join(map(str, elements))
        raise VerifyException(f"expected one axis of {names} without gaps, got {type_}")
    if 0 <= type_.get_shape()[0] < least:
        raise VerifyException(f"expected at least {least} elements, got {type_}")
