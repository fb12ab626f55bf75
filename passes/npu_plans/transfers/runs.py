"""Describes a transfer as runs of contiguous bytes along as few axes as possible.

shape [1, 3, 2, 8] of 4 bytes, source strides [192, 64, 8, 1], target strides [48, 16, 8, 1]
    ->  3 runs of 64 bytes, one every 256 bytes in the source, every 64 bytes in the target
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class RunAxis:
    """`count` steps; `target` and `source` are the strides of a step in bytes."""

    count: int
    target: int
    source: int


@dataclass(frozen=True)
class Runs:
    """Runs of `bytes` contiguous bytes, repeated along axes, the outermost first."""

    bytes: int
    axes: tuple[RunAxis, ...]

    @property
    def total(self) -> int:
        """Bytes of all runs."""
        return self.bytes * prod(axis.count for axis in self.axes)


def merged_runs(
    shape: Sequence[int], target: Sequence[int], source: Sequence[int], element_bytes: int
) -> Runs:
    """The runs of a transfer of at least one element.

    `target` and `source` are the strides along the axes of `shape`, in elements.
    """
    run = RunAxis(element_bytes, 1, 1)
    axes = [run]
    for extent, to, step in reversed(list(zip(shape, target, source, strict=True))):
        outer = RunAxis(extent, to * element_bytes, step * element_bytes)
        inner = axes[0]
        if extent == 1:
            continue
        if (outer.target, outer.source) == (inner.count * inner.target, inner.count * inner.source):
            axes[0] = RunAxis(extent * inner.count, inner.target, inner.source)
        else:
            axes.insert(0, outer)
    return Runs(axes[-1].count, tuple(axes[:-1]))


def sliced_axis(
    shape: Sequence[int], target: Sequence[int], source: Sequence[int], element_bytes: int
) -> int | None:
    """The longest axis along which a transfer can be cut without cutting one of its runs.

    Of several, the outermost one; None if there is none. See `merged_runs`.
    """
    total = run_count(shape, target, source, element_bytes)
    found = None
    for axis, extent in enumerate(shape):
        if extent == 1 or (found is not None and extent <= shape[found]):
            continue
        slice_ = [*shape[:axis], 1, *shape[axis + 1 :]]
        if extent * run_count(slice_, target, source, element_bytes) == total:
            found = axis
    return found


def run_count(
    shape: Sequence[int], target: Sequence[int], source: Sequence[int], element_bytes: int
) -> int:
    """The runs of a transfer of at least one element; see `merged_runs`."""
    runs = merged_runs(shape, target, source, element_bytes)
    return prod(axis.count for axis in runs.axes)
