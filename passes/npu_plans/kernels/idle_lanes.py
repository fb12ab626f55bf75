"""First values of sums as products of lanes that a window leaves idle. No IR.

A window of 27 bytes takes two vectors of 16. Four of its idle lanes, a word, get constants, by
which four weights of each filter are multiplied. So the sum of all products has the first value
already, and no block of filters adds it.

    lanes        12     13     14     15
    constants    -128   -128   -128   1
    weights      a      b      c      d      first value = -128 * (a + b + c) + d

Larger first values take more words, whose lanes are all -128.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from npu_plans.kernels.row_blocks import WORD, WORDS
from npu_plans.kernels.sixteen_plan import is_worth

LARGE = -128
"""What each lane of the words but the last one is set to."""
LEAST, MOST = np.iinfo(np.int8).min, np.iinfo(np.int8).max
"""The least and the greatest weight."""

CODE = 300
"""Bytes of code that several words take more, about, as fewer layers share it."""


def constant(word: int, words: int) -> int:
    """What the lanes of one of some words are set to, as a word, the first one lowest."""
    lanes = np.full(WORD, LARGE, np.int8)
    if word == words - 1:
        lanes[-1] = 1
    return int(lanes.view("<i4")[0])


def idle_words(size: int) -> int:
    """How many words of the last vector of `size` bytes have none of them."""
    used = -(-size // WORD)
    return -used % WORDS


def saved(blocks: int, windows: int, sums: int, words: int) -> int:
    """The instructions that lanes save beside additions of first values; none where they do not.

    Some `windows` have the lanes of some `words` set once for all `blocks` of filters. Each block
    would load its first values, and add them to some `sums`: one for each window, or their greatest
    one. Several words have to save half of these, as their constants take registers, too.
    """
    added, taken = blocks * (1 + sums), windows * words
    return added - taken if taken < added and (words == 1 or 2 * taken <= added) else 0


def weights_of(values: NDArray[np.int64], words: int) -> NDArray[np.int8] | None:
    """The weights [filters, lanes] whose products add up to first values; None if one is too large.

    They are one word, or all of some `words`: layers of one shape shall differ in their tables
    alone, so that they share code. The sum for `LARGE` is spread over its lanes as evenly as it
    goes.
    """
    rest = (values + 64) % 128 - 64
    total = (values - rest) // LARGE
    for count in sorted({1, words}):
        lanes = count * WORD - 1
        if count <= words and lanes * LEAST <= total.min() <= total.max() <= lanes * MOST:
            shares = [(total + lane) // lanes for lane in range(lanes)]
            return np.stack([*shares, rest], axis=1).astype(np.int8)
    return None


def is_worth_words(filters: int, words: int, saved: float) -> bool:
    """Whether the weights of several words are worth what they save, where rows end behind them."""
    return words == 1 or is_worth(saved, filters * WORD * (words - 1) + CODE)
