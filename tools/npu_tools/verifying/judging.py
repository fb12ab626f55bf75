"""What may differ between two computations of quantised integers: plain arithmetic on arrays.

A real number x becomes the integer round(x / scale) + zero point. Two programs that add the same
numbers in another order get an x that differs in its last bits. If x / scale lies close to the
middle between two integers, a tie, they may round it to different neighbours. Anywhere else they
must not.

The reference says where ties are: it rounds x, and also x - `TIE` and x + `TIE` steps. What the
compiled program gives must lie between the lowest and the highest of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

TIE = 1 / 64
"""How far from the middle between two integers, in steps, a number is a tie. The sums of a layer
in float32 are more exact than that: 2^24 / 64 is 262144, so a sum may be a thousand times as large
as the range of its 256 results."""
MOST_TIES = 0.01
"""The share of elements that may be one step off where the reference cannot show its ties."""


@dataclass(frozen=True)
class Judgement:
    """How a map of integers differs from the reference.

    `steps` is the largest difference, `ties` the number of elements that were rounded the other way
    at a tie, `wrong` the number of those that no tie explains.
    """

    steps: int
    ties: int
    wrong: int


def judge(got: Array, references: Sequence[Array]) -> Judgement:
    """Compare integers with those of the reference, and with those that its ties could become.

    `references` are maps of the same shape; the first one is the reference as it is.
    """
    plain, *_ = wide = [each.astype(np.int64) for each in references]
    found = got.astype(np.int64)
    low, high = np.minimum.reduce(wide), np.maximum.reduce(wide)
    outside = (found < low) | (found > high)
    differs = found != plain
    return Judgement(
        int(np.abs(found - plain).max(initial=0)),
        int((differs & ~outside).sum()),
        int(outside.sum()),
    )


def judge_rounded(got: Array, plain: Array) -> Judgement:
    """Compare integers that were rounded in other arithmetic, where the ties are not known.

    A few elements may be one step off: at most the share `MOST_TIES` of all, but always one.
    """
    difference = np.abs(got.astype(np.int64) - plain.astype(np.int64))
    one, more = int((difference == 1).sum()), int((difference > 1).sum())
    few = one <= max(1, MOST_TIES * got.size)
    return Judgement(int(difference.max(initial=0)), one * few, more + one * (not few))


def spread(references: Sequence[Array]) -> float:
    """The largest distance between values that different references give for one element."""
    wide = [each.astype(np.float64) for each in references]
    return float((np.maximum.reduce(wide) - np.minimum.reduce(wide)).max(initial=0.0))
