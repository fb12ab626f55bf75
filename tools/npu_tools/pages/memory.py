"""The memory map as data of a page: boxes with shapes, and which of them share bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from npu_tools.pictures.memory_map import Box, MemoryMap


def map_data(memory: MemoryMap) -> dict[str, Any]:
    """The data of a memory map, also for the key `memory_map` of report.json."""
    return {
        "steps": list(memory.steps),
        "arena": memory.arena,
        "bound": memory.bound,
        "peak": memory.peak,
        "sram": memory.sram,
        "boxes": [
            {
                "name": box.name,
                "role": box.role,
                "type": box.type,
                "offset": box.offset,
                "size": box.size,
                "first": box.first,
                "last": box.last,
                **({} if box.memory is None else {"memory": box.memory}),
            }
            for box in memory.boxes
        ],
    }


def map_entry(memory: MemoryMap | None) -> dict[str, Any]:
    """The entry `memory_map` of report.json; nothing without a map."""
    return {} if memory is None else {"memory_map": map_data(memory)}


def sharing(boxes: Sequence[Box]) -> list[list[int]]:
    """For each box the others that hold some of its bytes during one of its steps."""
    return [
        [place for place, other in enumerate(boxes) if other is not box and share(box, other)]
        for box in boxes
    ]


def share(one: Box, other: Box) -> bool:
    """Whether two boxes share bytes during a step."""
    return (
        one.first <= other.last
        and other.first <= one.last
        and one.offset < other.offset + other.size
        and other.offset < one.offset + one.size
    )


def peak_boxes(memory: MemoryMap) -> Iterator[Box]:
    """The boxes that live at the peak, the largest first."""
    live = [box for box in memory.boxes if box.first <= memory.peak <= box.last]
    yield from sorted(live, key=lambda box: (-box.size, box.offset))
