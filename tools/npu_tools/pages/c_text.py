"""The C of a network as data of a page: without the numbers of weights, and where layers stand.

A layer stands where its number is reported, and in the functions that are called right before:

    lenet5_conv1(image, pool1_out);
    LENET5_ON_LAYER(0, "conv1");
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from npu_tools.pages.ir_steps import clipped, spans

REPORTED = re.compile(r"\s+\w+_ON_LAYER\((\d+), ")
CALL = re.compile(r"\s+(?:const \w+ \w+ = )?(\w+)\(")
FUNCTION = re.compile(r"^(?:static|int|void)\b[^=;]*?\b(\w+)\(")
ARRAY = re.compile(r"^(?:static )?const .*= \{$")
SHOWN = 2
"""How many lines of an array are shown."""
MOST_BYTES = 4_000_000
"""The longest C text that a page holds."""


def c_data(files: Mapping[str, str | bytes], name: str, layers: Sequence[str]) -> dict[str, Any]:
    """The text of the C file, and the lines of each layer; `layers` are names by number."""
    text = files.get(f"{name}.c", "")
    if not isinstance(text, str) or not text:
        return {}
    lines = list(without_numbers(text.splitlines()))
    short = "\n".join(lines)
    if len(short) > MOST_BYTES:
        short = short[:MOST_BYTES] + "\n/* \u2026 the rest is left out */"
    return {"name": f"{name}.c", "text": short, "layers": places(lines, layers)}


def without_numbers(lines: Sequence[str]) -> Iterator[str]:
    """The lines without most numbers of arrays."""
    inside = -1
    for line in lines:
        if inside >= 0 and line.startswith("}"):
            if inside > SHOWN:
                yield f"    /* \u2026 {inside - SHOWN} more lines of numbers */"
            inside = -1
        if inside < SHOWN:
            yield clipped(line)
        inside = 0 if ARRAY.match(line) else inside + (inside >= 0)


def places(lines: Sequence[str], layers: Sequence[str]) -> dict[str, tuple[tuple[int, int], ...]]:
    """Where each layer stands in the text."""
    ranges = {name: (first, last) for name, first, last in functions(lines)}
    found: dict[str, set[int]] = {}
    for at, line in enumerate(lines):
        if (reported := REPORTED.match(line)) is None or int(reported[1]) >= len(layers):
            continue
        mine = found.setdefault(layers[int(reported[1])], set())
        mine.add(at)
        for above in range(at - 1, max(at - 12, 0), -1):
            call = CALL.match(lines[above])
            if call is not None and call[1] in ranges:
                first, last = ranges[call[1]]
                mine |= {above, *range(first, last + 1)}
                break
    return {layer: spans(numbers) for layer, numbers in found.items()}


def functions(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """The functions of the text with their first and last lines, comments in front included."""
    start, comment = None, 0
    for at, line in enumerate(lines):
        if line.startswith("/*"):
            comment = at
        if (found := FUNCTION.match(line)) is not None:
            start = (found[1], comment if lines[at - 1].endswith("*/") else at)
        if line == "}" and start is not None:
            yield (*start, at)
            start = None
