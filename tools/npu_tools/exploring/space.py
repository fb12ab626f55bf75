"""The space of a sweep: the values that keys of the machine and options of the compiler take.

    --set sram_bytes=64K:2M:x2 --set dma_bytes_per_cycle=4,8,16 --set pipeline=off-chip,tails

A range `A:B:xN` goes from A to B in steps of a factor, `A:B:N` or `A:B:+N` in steps of a sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import product
from math import prod
from typing import Any, TypeAlias

from npu_dialect.machine import LEAST, RATES, RATES_BY_TYPE
from npu_dialect.machine_values import TIMED_TYPES, Table
from npu_passes.pipelines import PIPELINES
from npu_tools.exploring.points import OPTIONS
from npu_tools.shared.errors import UserError

Value: TypeAlias = int | Decimal | str | bool | None

INTEGERS = (*LEAST, "weights_in_sram")
NUMBERS = (*RATES, *(f"{key}.{name}" for key in RATES_BY_TYPE for name in TIMED_TYPES))
WORDS: Mapping[str, tuple[str, ...]] = {
    "overlap": ("line-buffer", "recompute", "none"),
    "strategy": ("greedy", "exact", "modules", "ping-pong", "none"),
    "objective": ("bytes", "time"),
    "plan_as": ("i8", "i16", "f16", "bf16"),
    "io": ("model", "int8"),
    "requantize": ("float", "fixed"),
    "flash": ("fast", "small"),
    "working_memory": ("none", "stride-1-map"),
    "stream_input": ("true", "false"),
}
KEYS = ("target", "pipeline", *INTEGERS, *NUMBERS, *WORDS)
SUFFIXES = {"K": 2**10, "M": 2**20, "G": 2**30}
MOST_VALUES = 100_000
"""The most values of one key: a range with more is a slip of the pen."""


@dataclass(frozen=True)
class Setting:
    """What one point of a space sets: the machine's file, keys of it, and options of the job."""

    target: str | None
    machine: Table
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Space:
    """The values of each key that varies."""

    axes: Mapping[str, tuple[Value, ...]]

    @property
    def size(self) -> int:
        """How many points there are."""
        return prod(len(values) for values in self.axes.values())

    def settings(self) -> Iterator[Setting]:
        """All points, the large values of the SRAM first, as they answer for smaller ones."""
        ordered = {
            key: sorted_down(values) if key == "sram_bytes" else values
            for key, values in self.axes.items()
        }
        # the SRAM changes slowest, so that the first points are of different pipelines
        keys = sorted(ordered, key=lambda key: key != "sram_bytes")
        for values in product(*(ordered[key] for key in keys)):
            yield setting_of(dict(zip(keys, values, strict=True)))


def sorted_down(values: Sequence[Value]) -> list[Value]:
    """Numbers, the largest first."""
    return sorted(values, key=lambda value: -Decimal(str(value)))


def setting_of(values: Mapping[str, Value]) -> Setting:
    """The setting with some values."""
    machine: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for key, value in values.items():
        table, _, name = key.partition(".")
        if key in OPTIONS:
            options[key] = value
        elif name:
            machine[table] = {**machine.get(table, {}), name: value}
        elif key != "target":
            machine[key] = value
    target = values.get("target")
    return Setting(None if target is None else str(target), machine, options)


def space_of(texts: Sequence[str]) -> Space:
    """The space of some `KEY=RANGE`; the values of a key that stands twice are joined.

    Raises: UserError for an unknown key, or a range that is empty or no range.
    """
    axes: dict[str, tuple[Value, ...]] = {}
    for text in texts:
        key, equals, rest = text.partition("=")
        key = key.strip().replace("-", "_") if key.strip() not in KEYS else key.strip()
        if not equals:
            raise UserError(f"--set {text}: expected KEY=RANGE, such as sram_bytes=64K:2M:x2")
        if key not in KEYS:
            raise UserError(f"--set {text}: unknown key {key!r}: expected {', '.join(KEYS)}")
        values = tuple(values_of(key, rest, text))
        if not values:
            raise UserError(f"--set {text}: the range is empty: expected at least one value")
        axes[key] = tuple(dict.fromkeys((*axes.get(key, ()), *values)))
    return Space(axes)


def values_of(key: str, text: str, where: str) -> Iterator[Value]:
    """The values of a range.

    Raises: UserError, which begins with `where`, if it is none.
    """
    for item in items_of(key, text):
        if not item:
            raise UserError(f"--set {where}: the range is empty: expected at least one value")
        if key in (*INTEGERS, *NUMBERS):
            yield from numbers_of(item, where, whole=key in INTEGERS)
        elif key in WORDS and item not in WORDS[key]:
            raise UserError(f"--set {where}: expected {' or '.join(WORDS[key])}, got {item!r}")
        else:
            yield item == "true" if key == "stream_input" else item


def items_of(key: str, text: str) -> list[str]:
    """The parts of a list with commas; the text of a pipeline that has no name is one part."""
    items = [item.strip() for item in text.split(",")]
    if key == "pipeline" and not all(item in (*PIPELINES, "") for item in items):
        return [text.strip()]
    return items


def numbers_of(item: str, where: str, *, whole: bool) -> Iterator[Value]:
    """The numbers of `N` or of a range `A:B:xN`, `A:B:+N`, `A:B:N`.

    Raises: UserError, as `values_of`.
    """
    first, *rest = item.split(":")
    if not rest:
        yield number_of(first, where, whole=whole)
        return
    if len(rest) != 2:
        raise UserError(f"--set {where}: expected A:B:xN or A:B:+N, got {item!r}")
    at, last = (Decimal(str(number_of(text, where, whole=whole))) for text in (first, rest[0]))
    factor = rest[1].startswith("x")
    step = Decimal(str(number_of(rest[1].lstrip("x+"), where, whole=False)))
    if (factor and (step <= 1 or at <= 0)) or step <= 0:
        raise UserError(f"--set {where}: expected a range that grows, got {item!r}")
    count = 0
    while at <= last:
        count += 1
        if count > MOST_VALUES:
            raise UserError(f"--set {where}: expected at most {MOST_VALUES} values, got {item!r}")
        yield int(at) if whole else at
        at = at * step if factor else at + step


def number_of(text: str, where: str, *, whole: bool) -> int | Decimal:
    """A number such as `64K` (1024 each), or one with a fraction.

    Raises: UserError, as `values_of`.
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([KMG]?)", text.strip())
    try:
        number = Decimal(found[1]) * SUFFIXES.get(found[2], 1) if found else None
    except InvalidOperation:
        number = None
    if number is None or (whole and number != int(number)):
        what = "an integer such as 65536 or 64K" if whole else "a number such as 8 or 0.25"
        raise UserError(f"--set {where}: expected {what}, got {text!r}")
    return int(number) if number == int(number) else number.normalize()
