"""Lists of indices along one axis in short form: no IR in here.

A list such as 0, 0, 1, 1, 2, 2 is one run: 0 to 2, each twice. The index `NONE` stands for no
element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NONE = -1
"""The index of an output element that is no element of the input."""


@dataclass(frozen=True)
class Run:
    """`count` indices from `start` on, `step` apart, each of them `each` times in a row.

    If `start` is `NONE`, so are all indices.
    """

    start: int
    count: int = 1
    step: int = 1
    each: int = 1

    @property
    def is_none(self) -> bool:
        """Whether the run stands for no elements of the input."""
        return self.start == NONE

    @property
    def last(self) -> int:
        """The last index."""
        return self.start + (self.count - 1) * self.step

    @property
    def length(self) -> int:
        """How many indices there are."""
        return self.count * self.each

    @property
    def indices(self) -> NDArray[np.int64]:
        """All indices."""
        return np.repeat(self.start + self.step * np.arange(self.count), self.each)

    @property
    def is_plain(self) -> bool:
        """Whether the run has equal distances and ascends: a slice."""
        return not self.is_none and self.each == 1 and self.step > 0


def nothing(length: int) -> Run:
    """A run of `NONE`."""
    return Run(NONE, each=length)


def between(first: int, last: int) -> Run:
    """The run of all indices from `first` to `last`, both included; it may descend."""
    return Run(first, abs(last - first) + 1, 1 if last >= first else -1)


def length_of(runs: Sequence[Run]) -> int:
    """How many indices some runs have together."""
    return sum(run.length for run in runs)


def indices_of(runs: Sequence[Run]) -> NDArray[np.int64]:
    """All indices of some runs."""
    return np.concatenate([run.indices for run in runs])


def runs_of(indices: NDArray[np.integer[Any]]) -> tuple[Run, ...]:
    """A list of at least one index as runs, found from the front, each as long as possible."""
    starts = np.flatnonzero(np.diff(indices, prepend=indices[0] - 1))
    each = np.diff(starts, append=len(indices)).tolist()
    values = indices[starts].tolist()
    runs: list[Run] = []
    first = 0
    while first < len(values):
        end = first + 1
        if values[first] != NONE and end < len(values):
            step = values[end] - values[first]
            while (
                end < len(values)
                and values[end] != NONE
                and values[end] - values[end - 1] == step
                and each[end] == each[first]
            ):
                end += 1
        count = end - first
        step = values[first + 1] - values[first] if count > 1 else 1
        runs.append(Run(values[first], count, step, each[first]))
        first = end
    return tuple(runs)
