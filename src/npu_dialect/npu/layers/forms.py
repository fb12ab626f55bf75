"""Helpers of the layer classes: for constructors, and for the checks of shape rules."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.maps import shape_of
from npu_dialect.windows import Axis

LONGEST = 2**31 - 1
"""The most elements along an axis of a map with its padding: indices of C programs count them."""


def form(out: SSAValue | Attribute) -> tuple[SSAValue | None, Attribute | None]:
    """Destination operand and result type of a layer with this `out`; one of the two is None."""
    return (out, None) if isinstance(out, SSAValue) else (None, out)


def expect_rank(what: str, value: SSAValue, rank: int) -> tuple[int, ...]:
    """The shape of an operand, which must have this rank.

    Raises: VerifyException if it has another rank.
    """
    shape = shape_of(value)
    if len(shape) != rank:
        raise VerifyException(f"expected {what} of rank {rank}, got {value.type}")
    return shape


def expect_vector(what: str, value: SSAValue, length: int) -> None:
    """Check that an operand is a vector of this length.

    Raises: VerifyException if it is not.
    """
    if shape_of(value) != (length,):
        raise VerifyException(f"expected {what} of shape [{length}], got {value.type}")


def expect_outputs(axes: Sequence[Axis]) -> tuple[int, ...]:
    """The output extents of sliding windows.

    Raises: VerifyException if a window does not fit into its padded input, or if that is too long.
    """
    for axis in axes:
        if (padded := axis.size + axis.before + axis.after) > LONGEST:
            raise VerifyException(f"expected at most {LONGEST} elements with padding, got {padded}")
        if axis.outputs < 1:
            raise VerifyException(
                f"expected a window of {axis.reach} to fit into {axis.size} elements "
                f"padded by {axis.before} and {axis.after}"
            )
    return tuple(axis.outputs for axis in axes)


def expect_pooled(axes: Sequence[Axis]) -> tuple[int, ...]:
    """The output extents of pooling windows, each of which must hold an element of its map.

    Raises: VerifyException if a window lies on padding only, or does not fit into its input.
    """
    outputs = expect_outputs(axes)
    for axis in axes:
        if not axis.meets_input:
            raise VerifyException(
                f"expected pooling windows that hold an element of the map, got windows of "
                f"{axis.kernel} over {axis.size} elements padded by {axis.before} and {axis.after}"
            )
    return outputs
