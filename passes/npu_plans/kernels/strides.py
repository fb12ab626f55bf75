"""Where the elements of a view of a buffer lie if the buffer gets other strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Strided:
    """A layout: `shape` and `strides` of each axis, and the `offset` of the first, in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def rows_are_dense(self) -> bool:
        """Whether neighbours along the last axis are neighbours in memory."""
        return not self.shape or self.shape[-1] == 1 or self.strides[-1] == 1

    def permuted(self, perm: Sequence[int]) -> Strided:
        """The layout whose axis i is axis perm[i] of this one."""
        shape = tuple(self.shape[axis] for axis in perm)
        return Strided(shape, tuple(self.strides[axis] for axis in perm), self.offset)


def restrided(old: Strided, new: Strided, view: Strided) -> Strided | None:
    """The layout of a view of a dense buffer that gets a new layout of the same shape.

    `old` is the dense layout. None if an axis of the view does not lie within one axis of the
    buffer, but for several that have equal distances in the new layout too.
    """
    start: list[int] = []
    left = view.offset - old.offset
    for extent, stride in zip(old.shape, old.strides, strict=True):
        index = min(left // stride, extent - 1) if stride else 0
        start.append(index)
        left -= index * stride
    if left:
        return None
    steps: list[int] = []
    for extent, stride in zip(view.shape, view.strides, strict=True):
        step = 1 if extent == 1 else new_step(old, new, start, (extent, stride))
        if step is None:
            return None
        steps.append(step)
    offset = sum(index * step for index, step in zip(start, new.strides, strict=True))
    return Strided(view.shape, tuple(steps), new.offset + offset)


def new_step(old: Strided, new: Strided, start: Sequence[int], axis: tuple[int, int]) -> int | None:
    """The new stride of one axis of a view, given by its extent and its old stride."""
    extent, stride = axis
    room = 1
    found: int | None = None
    room, whole = 1, True
    for place in reversed(range(len(old.shape))):
        size, pitch = old.shape[place], old.strides[place]
        if size == 1:
            continue
        if found is None:
            if stride % pitch or stride >= pitch * size:
                continue
            ratio = stride // pitch
            found = new.strides[place] * ratio
            room = -(-(size - start[place]) // ratio)
            whole = start[place] == 0 and size % ratio == 0
        else:
            if not whole or new.strides[place] != found * room:
                return None
            room *= size - start[place]
            whole = start[place] == 0
        if extent <= room:
            return found
    return None
