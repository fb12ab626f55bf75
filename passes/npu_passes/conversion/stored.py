"""Tensors of a function under conversion, and the maps of layers in which they are stored.

`tosa` has maps with channels last, layers have them second. A layer's map so is a tensor with its
axes in another order. No layer moves the axes until an op needs them in the tensor's own order:

    %c = tosa.conv2d %x ...     Stored(%c_map, perm (0, 2, 3, 1))
    %r = tosa.clamp %c ...      Stored(%r_map, perm (0, 2, 3, 1))    the same function of each element
    %t = tosa.transpose %r ...  Stored(%r_map, perm (0, 1, 2, 3))    no layer at all

Zeros around a map are kept apart in the same way, for a layer with pads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from npu_dialect.npu.maps import shape_of

Perm = tuple[int, ...]
"""An order of axes: axis i of a tensor is axis perm[i] of the map that stores it."""

CHANNELS_LAST: Perm = (0, 2, 3, 1)
"""A tensor with channels last, stored in a layer's map [N, C, H, W]."""


def identity(rank: int) -> Perm:
    """The order in which no axis moves."""
    return tuple(range(rank))


def inverse(perm: Sequence[int]) -> Perm:
    """The order that undoes an order."""
    return tuple(perm.index(axis) for axis in range(len(perm)))


def composed(first: Sequence[int], second: Sequence[int]) -> Perm:
    """The order of a transposition by `first`, then by `second`."""
    return tuple(first[axis] for axis in second)


@dataclass(frozen=True)
class Stored:
    """A tensor: a map with its axes in the order `perm`, and pads around it.

    `pads` has the elements before and after each axis of the tensor, which hold `fill`.
    """

    value: SSAValue
    perm: Perm
    pads: tuple[tuple[int, int], ...] = ()
    fill: float = 0.0

    @staticmethod
    def plain(value: SSAValue) -> Stored:
        """A tensor stored as it is."""
        return Stored(value, identity(len(shape_of(value))))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor, without its pads."""
        shape = shape_of(self.value)
        return tuple(shape[axis] for axis in self.perm)

    @property
    def padded_shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        around = self.pads or ((0, 0),) * len(self.perm)
        return tuple(extent + sum(pad) for extent, pad in zip(self.shape, around, strict=True))

    def transposed(self, perm: Sequence[int]) -> Stored:
        """The tensor with its axes in another order: axis i is axis perm[i] of this one."""
        pads = tuple(self.pads[axis] for axis in perm) if self.pads else ()
        return replace(self, perm=composed(self.perm, perm), pads=pads)
