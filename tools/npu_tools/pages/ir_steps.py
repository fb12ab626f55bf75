"""The IR after each pass as data of a page: its lines, what changed, and where each layer stands.

Passes leave most lines as they are. So all texts share one table of lines, and a text is a list of
places in that table:

    {"lines": ["builtin.module {", ...],
     "steps": [{"name": "import", "text": [0, 1, 2], "changes": [], "layers": {"conv1": [[4, 4]]}},
               {"name": "npu-bufferize", "text": [0, 7, 2], "changes": [[1, 2, 1, 2]], ...}]}

A change [a, b, c, d] replaces the lines from a to b of the step before by those from c to d. Lines
that differ only in the numbers of unnamed values count as equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import StringLiteral

from npu_tools.compiling.printer import ir_text

NUMBERED = re.compile(r"%\d+|(?<=[a-z])_\d+\b")
"""Names that the printer numbers: `%12`, and the `_1` of `%part_1`."""
ON_LAYER = re.compile(r'npu\.layer = ("(?:[^"\\]|\\.)*")')
CALLED = re.compile(r"func\.call @([\w$.]+|\"(?:[^\"\\]|\\.)*\")\(")
BUFFER = re.compile(
    r"\s*(%[\w$.-]+) = (?:sram\.alloc|dram\.alloc|memref\.get_global|memref\.subview|"
    r"arith\.constant dense)"
)
"""The definition of a buffer, of a part of one, or of weights."""
VALUE = re.compile(r"%[\w$.-]+")
DEFINED = re.compile(r"\s*func\.func private @([\w$.]+|\"(?:[^\"\\]|\\.)*\")\(")

LONGEST_LINE = 2_000
"""Most characters of a line that are kept: small weights and tables can be long."""
MOST_LINES = 20_000
"""Most lines of a text that are compared with those of the step before it."""

Span = tuple[int, int]


@dataclass(frozen=True)
class IrStep:
    """The text of one step; `text` are places in the table of lines."""

    name: str
    text: tuple[int, ...]
    changes: tuple[tuple[int, int, int, int], ...]
    layers: Mapping[str, tuple[Span, ...]]

    @property
    def counts(self) -> tuple[int, int]:
        """How many lines are new, and how many are gone."""
        added = sum(end - start for _, _, start, end in self.changes)
        return added, sum(end - start for start, end, _, _ in self.changes)


@dataclass
class IrSteps:
    """An observer that keeps the IR after each step, without large constants."""

    lines: dict[str, int] = field(default_factory=dict[str, int])
    steps: list[IrStep] = field(default_factory=list[IrStep])
    keys: dict[int, int] = field(default_factory=dict[int, int])
    """For each line the first line that differs from it in numbers only."""
    plain: dict[str, int] = field(default_factory=dict[str, int])

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Keep the text of the module."""
        cut = [clipped(line) for line in ir_text(module, elide_weights=True).splitlines()]
        text = tuple(self.place(line) for line in cut)
        before = self.steps[-1].text if self.steps else text
        changes = () if text == before else tuple(self.changes(before, text))
        layers = {} if len(cut) > 4 * MOST_LINES else layers_of(cut)
        self.steps.append(IrStep(step, text, changes, layers))

    def place(self, line: str) -> int:
        """The place of a line in the table."""
        found = self.lines.get(line)
        if found is None:
            found = self.lines[line] = len(self.lines)
            self.keys[found] = self.plain.setdefault(NUMBERED.sub("%", line), found)
        return found

    def changes(
        self, before: Sequence[int], after: Sequence[int]
    ) -> Iterator[tuple[int, int, int, int]]:
        """The parts of two texts that differ."""
        old, new = ([self.keys[line] for line in text] for text in (before, after))
        head = common(old, new)
        tail = min(common(old[::-1], new[::-1]), len(old) - head, len(new) - head)
        old, new = old[head : len(old) - tail], new[head : len(new) - tail]
        if len(old) > MOST_LINES or len(new) > MOST_LINES:
            yield head, head + len(old), head, head + len(new)
            return
        for tag, *places in SequenceMatcher(None, old, new).get_opcodes():
            if tag != "equal":
                first, last, start, end = (head + place for place in places)
                yield first, last, start, end

    def data(self) -> dict[str, Any]:
        """The data of the page."""
        steps = [
            {
                "name": each.name,
                "text": None if index and each.text == self.steps[index - 1].text else each.text,
                "changes": each.changes,
                "layers": each.layers,
            }
            for index, each in enumerate(self.steps)
        ]
        return {"lines": list(self.lines), "steps": steps}


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many numbers at the start of two sequences are equal."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def clipped(line: str) -> str:
    """A line without the middle if it is very long."""
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[: LONGEST_LINE // 2]} \u2026 {line[-LONGEST_LINE // 2 :]}"


def layers_of(lines: Sequence[str]) -> dict[str, tuple[Span, ...]]:
    """Where each layer stands: first and last lines.

    Its functions count to it, and so do the buffers and weights that it reads and writes.
    """
    found: dict[str, set[int]] = {}
    callers: dict[str, set[str]] = {}
    buffers: dict[str, int] = {}
    for at, line in enumerate(lines):
        if (defined := BUFFER.match(line)) is not None:
            buffers[defined[1]] = at
        if (named := ON_LAYER.search(line)) is not None:
            mine = found.setdefault(named[1], set())
            mine |= {at, *(buffers[value] for value in VALUE.findall(line) if value in buffers)}
            if (call := CALLED.search(line)) is not None:
                callers.setdefault(call[1], set()).add(named[1])
    for symbol, first, last in functions_of(lines):
        for layer in callers.get(symbol, ()):
            found[layer] |= set(range(first, last + 1))
    return {unquoted(layer): spans(places) for layer, places in found.items()}


def functions_of(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """The private functions of a text, each with its first and last line."""
    at = 0
    while at < len(lines):
        if (defined := DEFINED.match(lines[at])) is not None:
            indent = len(lines[at]) - len(lines[at].lstrip())
            end = " " * indent + "}"
            last = next((i for i in range(at + 1, len(lines)) if lines[i] == end), at)
            yield defined[1], at, last
            at = last
        at += 1


def spans(places: set[int]) -> tuple[Span, ...]:
    """Places as ranges of neighbours: first and last."""
    runs = groupby(enumerate(sorted(places)), key=lambda pair: pair[1] - pair[0])
    groups = ([place for _, place in run] for _, run in runs)
    return tuple((group[0], group[-1]) for group in groups)


def unquoted(text: str) -> str:
    """The text that a literal of IR stands for, without its quotes and escapes."""
    return StringLiteral(0, len(text), Input(text, "")).string_contents
