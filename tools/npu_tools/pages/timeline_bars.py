"""The timeline as data of a page: what the core and each channel do, in at most some bars.

A network on a machine with DMA has many thousands of events. Neighbours in a row that belong to
the same layer become one bar if the gap between them is too short to be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from npu_tools.pictures.timeline import CORE, TraceEvent

MOST_BARS = 3000
"""Most bars of a page."""


@dataclass
class Bar:
    """What a row does from one cycle to another; `count` events with `bytes` in all."""

    row: int
    kind: str
    name: str
    begin: int
    end: int
    bytes: int = 0
    count: int = 1
    busy: int = 0

    def joins(self, other: Bar, gap: float) -> bool:
        """Whether another bar of the same layer follows after at most `gap` cycles."""
        same = (self.row, self.kind, self.name) == (other.row, other.kind, other.name)
        return same and other.begin - self.end <= gap

    def take(self, other: Bar) -> None:
        """Grow over another bar."""
        self.end = max(self.end, other.end)
        self.bytes += other.bytes
        self.count += other.count
        self.busy += other.busy


def timeline_data(events: Sequence[TraceEvent], clock_hz: int) -> dict[str, Any] | None:
    """The bars of trace events; None without events."""
    names = {
        event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"
    }
    bars = [bar_of(event) for event in events if event["ph"] == "X"]
    if not bars:
        return None
    total = max(bar.end for bar in bars)
    gap = 0.0
    found = joined(bars, gap)
    while len(found) > MOST_BARS:
        gap = max(2 * gap, total / 50_000)
        found = joined(bars, gap)
    used = sorted({bar.row for bar in found} | {CORE})
    rows = {row: place for place, row in enumerate(used)}
    return {
        "rows": [names.get(row, str(row)) for row in used],
        "total": total,
        "gap": gap,
        "hz": clock_hz,
        "bars": [
            [rows[b.row], b.kind, b.name, b.begin, b.end - b.begin, b.bytes, b.count, b.busy]
            for b in found
        ],
    }


def bar_of(event: Mapping[str, Any]) -> Bar:
    """The bar of one event."""
    what, cycles = event["args"], event["args"]["cycles"]
    name = event["name"].removeprefix("wait: ")
    name = "" if name == event["cat"] else name
    begin = what["begin"]
    size = what.get("bytes", 0)
    return Bar(event["tid"], event["cat"], name, begin, begin + cycles, size, busy=cycles)


def joined(bars: Iterable[Bar], gap: float) -> list[Bar]:
    """The bars with neighbours joined; each row has the order of its begins."""
    found: list[Bar] = []
    last: dict[tuple[int, str], Bar] = {}
    for bar in bars:
        key = (bar.row, bar.kind)
        before = last.get(key)
        if before is not None and before.joins(bar, gap):
            before.take(bar)
            continue
        copy = Bar(**vars(bar))
        last[key] = copy
        found.append(copy)
    return found
