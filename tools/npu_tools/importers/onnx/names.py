"""Names of a model as C identifiers and as SSA value names."""

from __future__ import annotations

import re


def identifier(text: str, fallback: str) -> str:
    """The nearest C identifier: `/conv1/Conv_output_0` becomes `conv1_Conv_output_0`.

    `fallback` is used when nothing is left, and stands in front of a leading digit.
    """
    cleaned = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    if not cleaned:
        return fallback
    return f"{fallback}_{cleaned}" if cleaned[0].isdigit() else cleaned


class UniqueNames:
    """Gives out each name hint once.

    xDSL drops a number behind the last underscore of a hint (`w_1` becomes `w`), so the number is
    joined to the word (`w1`), and a second taker of a name gets `w1x2`.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def hint(self, text: str, fallback: str) -> str:
        """A name hint near `text` that no other value has."""
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
