"""The last two channels of a depthwise layer whose channels are two more than a multiple of 4.

    x = dsp.load_word                     c0 c1 c2 c3, where c2 and c3 are left
    dsp.sxtb16 x      -> (c0, c2)         w = (w2, w3)         sum2 += top of it * bottom of w
    dsp.sxtb16 x, 8   -> (c1, c3)                              sum3 += top of it * top of w

They lie in different words of halves. With the weights of other channels, each of these words needs
a word of weights. So the two channels have a table of their own, and share the loads of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from npu_dialect import dsp
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.unit import DualUnit
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.packing import PAIR, QUAD, pairs

LANES = [QUAD - PAIR, QUAD - 1]
"""The two channels among the last four."""
HALVES = ((0, ["tb"]), (1, ["tt"]))
"""The word of halves of each channel, and the halves of its products: of the input, of weights."""


@dataclass(frozen=True)
class LastPair:
    """The last two channels of a layer with weights `kernels` [channels, multiplier, taps]."""

    layer: Layer
    kernels: NDArray[np.int8]

    def has(self, lanes: Sequence[int]) -> bool:
        """Whether some channels of four are these two, and their unit multiplies words of both."""
        unit = self.layer.unit
        splits = isinstance(unit, DualUnit) and unit.form == "wide" and not unit.two_words
        return splits and list(lanes) == LANES

    @cached_property
    def table(self) -> SSAValue:
        """The weights [multiplier, taps], a word of both channels for each tap."""
        return self.layer.table("last_taps", pairs(*self.kernels[-PAIR:]).reshape(-1))

    def taps(self, kernel: Index, first: Index, count: int) -> SSAValue:
        """A view of `count` taps from tap `first` on; `kernel` counts those of all fours.

        A C compiler that knew the table would make a constant of each half of a word, which takes
        more instructions and registers than the word.
        """
        b, (channels, multiplier, taps) = self.layer.b, self.kernels.shape
        filter = b.sub(kernel, channels // QUAD * multiplier)
        at = b.add(b.mul(filter, taps), first)
        view = b.window(self.table, [at], [count], [0], "taps")
        return b.insert(dsp.OpaqueOp(view), "taps").result

    def weights(self, taps: SSAValue, tap: int) -> list[SSAValue]:
        """The weights of a tap for the words of both channels: the same word."""
        return [self.layer.b.load(taps, [tap], "w")] * PAIR
