"""First values of sums as products of lanes that a window leaves idle. No IR.

A window of 27 bytes takes two vectors of 16. Four of its idle lanes, a word, get constants, by
which four weights of each filter are multiplied. So the sum of all products has the first value
already, and no block of filters adds it.

    lanes        12     13     14     15
    constants    -128   -128   -128   1
    weights      a      b      c      d      first value = -128 * (a + b + c) + d
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from npu_plans.kernels.row_blocks import WORD, WORDS

LARGE = -128
"""What each lane of the word but the last one is set to."""
CONSTANTS = int.from_bytes(np.array([LARGE] * (WORD - 1) + [1], np.int8).tobytes(), "little")
"""What the lanes are set to, as a word, the first one lowest."""
SUMS = (WORD - 1) * np.iinfo(np.int8).min, (WORD - 1) * np.iinfo(np.int8).max
"""The least and the greatest sum of the weights that `LARGE` is multiplied by."""


def idle_word(size: int, *, first: bool) -> int | None:
    """A word of the last vector of so many bytes that has none of them; None if each has some.

    It is the `first` one, or the last one.
    """
    used = -(-size // WORD) % WORDS
    return None if used == 0 else used if first else WORDS - 1


def pays(blocks: int, windows: int, sums: int) -> bool:
    """Whether setting lanes takes fewer instructions than adding first values.

    Some `windows` have their lanes set once for all `blocks` of filters. Each block would load its
    first values, and add them to some `sums`: one for each window, or their greatest one.
    """
    return windows < blocks * (1 + sums)


def weights_of(values: NDArray[np.int64]) -> NDArray[np.int8] | None:
    """The weights [filters, lanes] whose products add up to first values; None if one is too large.

    The sum for `LARGE` is spread over its lanes as evenly as it goes.
    """
    rest = (values + 64) % 128 - 64
    total = (values - rest) // LARGE
    if values.size and not SUMS[0] <= total.min() <= total.max() <= SUMS[1]:
        return None
    count = WORD - 1
    shares = [(total + lane) // count for lane in range(count)]
    return np.stack([*shares, rest], axis=1).astype(np.int8)
