"""Trace events as a few bars."""

from typing import Any

import pytest

from npu_tools.pages.timeline_bars import Bar, joined, timeline_data


def event(row: int, kind: str, name: str, begin: int, cycles: int, size: int = 0) -> dict[str, Any]:
    what = {"begin": begin, "cycles": cycles, **({"bytes": size} if size else {})}
    return {"name": name, "cat": kind, "ph": "X", "tid": row, "args": what}


def test_bars_of_events() -> None:
    events = [
        {"name": "thread_name", "ph": "M", "tid": 0, "args": {"name": "core"}},
        {"name": "thread_name", "ph": "M", "tid": 1, "args": {"name": "DMA channel 0"}},
        {"name": "thread_name", "ph": "M", "tid": 2, "args": {"name": "DMA channel 1"}},
        event(2, "transfer", "conv1", 0, 10, 64),
        event(0, "wait", "wait: conv1", 0, 10),
        event(0, "work", "conv1", 10, 5),
        event(0, "work", "work", 15, 2),
    ]
    data = timeline_data(events, 1000)
    assert data is not None
    assert data["rows"] == ["core", "DMA channel 1"]
    assert data["total"] == 17
    assert data["bars"] == [
        [1, "transfer", "conv1", 0, 10, 64, 1, 10],
        [0, "wait", "conv1", 0, 10, 0, 1, 10],
        [0, "work", "conv1", 10, 5, 0, 1, 5],
        [0, "work", "", 15, 2, 0, 1, 2],
    ]
    assert timeline_data([], 1000) is None


def test_neighbours_of_one_layer_become_one_bar() -> None:
    bars = [Bar(1, "transfer", "a", at, at + 4, 8, busy=4) for at in (0, 10, 20, 40)]
    found = joined(bars, 6)
    assert [(bar.begin, bar.end, bar.count, bar.busy, bar.bytes) for bar in found] == [
        (0, 24, 3, 12, 24),
        (40, 44, 1, 4, 8),
    ]
    other = [Bar(1, "transfer", name, at, at + 4) for at, name in ((0, "a"), (4, "b"), (8, "a"))]
    assert len(joined(other, 100)) == 3


def test_many_events_become_few_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npu_tools.pages.timeline_bars.MOST_BARS", 10)
    events = [event(0, kind, "a", at, 1) for at in range(0, 1000, 2) for kind in ("work", "wait")]
    data = timeline_data(events, 0)
    assert data is not None
    assert len(data["bars"]) <= 10
    assert sum(bar[7] for bar in data["bars"]) == len(events)
    assert data["total"] == 999
