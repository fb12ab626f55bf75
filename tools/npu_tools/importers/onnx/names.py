"""Turns names of a model into C identifiers and into hints for names of SSA values."""

from __future__ import annotations

import re


def identifier(text: str, fallback: str) -> str:
    """A C identifier made from a text: `/conv1/Conv_output_0` becomes `conv1_Conv_output_0`.

    `fallback` is used if no character is left, and as a prefix if the first one is a digit.
    """
    cleaned = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    if not cleaned:
        return fallback
    return f"{fallback}_{cleaned}" if cleaned[0].isdigit() else cleaned


class UniqueNames:
    """Makes name hints that are all different.

    xDSL drops a number after the last underscore of a hint: `w_1` becomes `w`. So the number is
    joined to the word, as `w1`. If `w1` is taken, the next value gets `w1x2`.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def hint(self, text: str, fallback: str) -> str:
        """A new name hint made from `text`; `fallback` as for `identifier`."""
        base = re.sub(r"_(\d+)$", r"\1", identifier(text, fallback))
        if base[:1].isdigit():  # as PyTorch's older exporters name values
            base = f"{fallback}{base}"
        name, count = base, self._counts.get(base, 1)
        while name in self._counts:
            count += 1
            name = f"{base}x{count}"
        self._counts[base] = count
        self._counts.setdefault(name, 1)
        return name
