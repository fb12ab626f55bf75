"""Tensors of a function under conversion, and the maps of layers in which they are stored.

`tosa` has maps with channels last, layers have them second. A layer's map so is a tensor with its
axes in another order. No layer moves the axes until an op needs them in the tensor's own order:

    %c = tosa.conv2d %x ...     Stored(%c_map, perm (0, 2, 3, 1))
    %r = tosa.clamp %c ...      Stored(%r_map, perm (0, 2, 3, 1))    each element by itself
    %t = tosa.transpose %r ...  Stored(%r_map, perm (0, 1, 2, 3))    no layer at all

Zeros around a map are kept apart in the same way, for a layer with pads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

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

    def grouped(self, groups: Sequence[Sequence[int]]) -> tuple[Perm, tuple[int, ...]] | None:
        """The tensor with neighbouring axes made one: its order and the shape of its map.

        Each group of axes becomes one axis. None if a group is not one run of axes of the map.
        """
        if self.pads:
            return None
        runs = [[self.perm[axis] for axis in group] for group in groups]
        if any(run != list(range(run[0], run[0] + len(run))) for run in runs if run):
            return None
        if any(not run for run in runs):
            return None
        starts = sorted(run[0] for run in runs)
        perm = tuple(starts.index(run[0]) for run in runs)
        shape = shape_of(self.value)
        sizes = {run[0]: prod(shape[axis] for axis in run) for run in runs}
        return perm, tuple(sizes[start] for start in starts)

    def split(
        self, groups: Sequence[Sequence[int]], shape: Sequence[int]
    ) -> tuple[Perm, tuple[int, ...]] | None:
        """The tensor with each axis made a group of axes of the new `shape`; as `grouped`."""
        if self.pads or len(groups) != len(self.perm) or any(not group for group in groups):
            return None
        by_place = sorted(range(len(groups)), key=lambda axis: self.perm[axis])
        order = [each for axis in by_place for each in groups[axis]]
        return inverse(order), tuple(shape[each] for each in order)
