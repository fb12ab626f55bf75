"""The accesses of a run of ops without transfers and calls, for all iterations at once.

    scf.for %y = %c0 to %c8 step %c1 {
      %v = memref.load %a[%y]             // reads bytes 4 * [0 ... 7] of %a, at ticks 0, 2, 4, ...
      memref.store %v, %b[%y]             // writes bytes 4 * [0 ... 7] of %b, at ticks 1, 3, 5, ...
    }

Positions count from the start of the view as it comes from outside the run (a port). So one nest
serves each call of a function with views of the same shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from npu_tools.shadow.memory import Bytes, Layout, unique
from npu_tools.shadow.numbers import LARGEST, Large, Number, Numbers


@dataclass(eq=False)
class Axis:
    """A loop of a nest: at most `count` iterations of `ticks` each, from tick `start` of its body.

    The body is that of the next outer loop.
    """

    count: int
    start: int
    ticks: int = 1


@dataclass(frozen=True)
class Port:
    """A buffer or view from outside a nest: its layout, from start 0 on, and its constants."""

    layout: Layout
    is_constant: bool
    data: Numbers | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Access:
    """Reads or writes of `width` bytes of a port, one for each iteration for which `mask` is true.

    Their first bytes are the sum of `terms`. They happen at `tick` of the innermost of `axes`.
    """

    op: Operation
    port: SSAValue
    writes: bool
    width: int
    terms: tuple[Number, ...]
    mask: Numbers | None
    axes: tuple[Axis, ...]
    tick: int

    def positions(self) -> tuple[NDArray[np.int64], Numbers | None]:
        """The first bytes and the mask, with an axis for each loop, of length 1 if nothing changes.

        Raises: Large if there are too many of them.
        """
        rank = len(self.axes)
        arrays = [np.asarray(each, np.int64) for each in self.terms]
        mask = None if self.mask is None else widened(self.mask, rank)
        arrays = [widened(each, rank) for each in arrays]
        shape = np.broadcast_shapes(*(each.shape for each in arrays))
        if mask is not None:
            shape = np.broadcast_shapes(shape, mask.shape)
            mask = np.broadcast_to(mask, shape)
        if prod(shape) > LARGEST:
            raise Large
        total = np.zeros(shape, np.int64)
        for each in arrays:
            total += each
        return total, mask

    def bytes(self) -> Bytes:
        """All bytes that are read or written. Raises: Large if there are too many positions."""
        positions, mask = self.positions()
        found = unique(positions.reshape(-1) if mask is None else positions[mask])
        if self.width == 1:
            return found
        return unique((found[:, None] + np.arange(self.width)).reshape(-1))


def widened(number: Numbers, rank: int) -> Numbers:
    """A number with missing axes added behind the others."""
    return number.reshape(number.shape + (1,) * (rank - number.ndim))


@dataclass(eq=False)
class Nest:
    """All accesses of a run of ops.

    `numbers` are the numbers from outside on which they depend, `ports` the buffers and views.
    """

    accesses: list[Access] = field(default_factory=list[Access])
    numbers: dict[SSAValue, int | None] = field(default_factory=dict[SSAValue, "int | None"])
    ports: dict[SSAValue, Port] = field(default_factory=dict[SSAValue, Port])
    touched: dict[tuple[SSAValue, bool], Bytes] = field(
        default_factory=dict[tuple[SSAValue, bool], Bytes]
    )
    reads_constants: bool = False
    """Whether addresses depend on the elements of constants."""

    def touch(self) -> None:
        """Collect the bytes of each port that are read, and those that are written."""
        parts: dict[tuple[SSAValue, bool], list[Bytes]] = {}
        for access in self.accesses:
            parts.setdefault((access.port, access.writes), []).append(access.bytes())
        self.touched = {key: unique(np.concatenate(each)) for key, each in parts.items()}

    def fits(
        self, number: Callable[[SSAValue], int | None], port: Callable[[SSAValue], Port]
    ) -> bool:
        """Whether the nest is the same with these numbers and ports from outside."""
        return (
            not self.reads_constants
            and all(port(value) == known for value, known in self.ports.items())
            and all(number(value) == known for value, known in self.numbers.items())
        )
