"""The weights of outputs whose windows lie in one patch of 16 bytes. No IR.

An output is one sum of products of a patch with 16 weights. They are zero but for those of the
window, and begin where the window begins in the patch: its *phase*.

    byte of the patch            0  1  2   3  4  5   6  7  8   9 10 11  12 13 14
    column                       0         1         2         3         4
    weights of phase 1                     w  w  w   w  w  w   w  w  w
    of phase -1                  w  w  w   w  w  w                                  two columns
    of phase 3                                                 w  w  w   w  w  w    two columns
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from npu_plans.kernels.gathers import BYTES, Place
from npu_plans.kernels.patch_plan import TAPS


@dataclass(frozen=True)
class Form:
    """The rows of a patch, three or four, and the rows of outputs that are computed together.

    With `clips`, patches lie on the map, and outputs at a border have weights without the columns
    outside of it. Otherwise patches begin where windows do, and columns outside of the map become
    the zero point.
    """

    rows: int
    height: int
    clips: bool

    @property
    def columns(self) -> int:
        """The columns of a patch."""
        return BYTES // self.rows

    @property
    def lines(self) -> int:
        """The rows of outputs of a patch: the taps of one, or of two that move by one."""
        return self.rows - TAPS + 1


@dataclass(frozen=True)
class Weights:
    """Where the weights of some phases lie in a table: each is 16 bytes, which begin anywhere.

    The weights of a channel stand once, column by column, with zeros in front of them and behind.
    They stand again for a phase whose window reaches beyond the last column of a patch, without the
    columns that do, unless patches have 16 elements: byte 15 is no element of the others.
    """

    kernel: tuple[int, int]
    form: Form
    phases: tuple[Place, ...]

    def is_own(self, phase: Place) -> bool:
        """Whether weights stand again for a phase."""
        form, (_, columns) = self.form, self.kernel
        return form.rows * form.columns < BYTES and phase[1] + columns > form.columns

    def moved(self, phase: Place) -> int:
        """By how many bytes weights are moved in the bytes that a phase reads."""
        return phase[0] + self.form.rows * phase[1]

    @property
    def lead(self) -> int:
        """The zeros in front of the weights of a channel."""
        return max([0, *(self.moved(each) for each in self.phases if not self.is_own(each))])

    @cached_property
    def layout(self) -> tuple[dict[Place, int], int]:
        """The first byte of the first channel's weights for each phase; the distance of channels.

        Zeros at the end of some weights are those in front of the next ones, also of a channel.
        """
        rows, columns = self.kernel
        size = self.form.rows * (columns - 1) + rows
        found = {each: self.lead - self.moved(each) for each in self.phases}
        shared = [start for each, start in found.items() if not self.is_own(each)]
        end = max([self.lead + size, *(start + BYTES for start in shared)])
        zeros = end - self.lead - size
        for each in filter(self.is_own, self.phases):
            start = end - min(zeros, self.moved(each))
            found[each], end = start, start + BYTES
            kept = self.form.rows * (self.form.columns - 1 - each[1]) + rows
            zeros = BYTES - self.moved(each) - kept
        return found, end - min(zeros, self.lead)

    @property
    def pitch(self) -> int:
        """The distance of the weights of two channels."""
        return self.layout[1]

    @property
    def reach(self) -> int:
        """The bytes that the phases of a channel read, from its first one on."""
        return BYTES + max(self.layout[0].values())

    def at(self, phase: Place) -> int:
        """The first byte of the first channel's weights for a phase."""
        return self.layout[0][phase]

    def packed(self, weights: NDArray[np.int8]) -> NDArray[np.int8]:
        """The table of weights [channels, rows, columns] of at most three by three."""
        channels, rows, columns = weights.shape
        whole = channels * self.pitch
        found = np.zeros(whole - self.pitch + self.reach, np.int8)
        for phase in self.phases:
            start, kept = self.at(phase) + self.moved(phase), columns
            if self.is_own(phase):
                kept = self.form.columns - phase[1]
            for column in range(kept):
                for row in range(rows):
                    at = start + self.form.rows * column + row
                    places = found[at : at + whole : self.pitch]
                    # What no phase reads lies on padding; the table ends without the last one's.
                    places[:] = weights[: len(places), row, column]
        return found
