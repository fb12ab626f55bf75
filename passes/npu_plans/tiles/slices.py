"""Loops of a layer whose slices are computed one by one. No IR in here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npu_plans.tiles.operand_regions import Along, Space


def loops_of(space: Space) -> Iterator[str]:
    """The loops of a layer whose slices are computed one by one, from slices of its operands."""
    for loop in space.loops:
        if loop.sums or loop.fixed or loop.extent == 1 or any(space.windowed(loop.name)):
            continue
        along = [axis for operand in space.operands for axis in operand if loop.name in axis.loops]
        inner = [axis for axis in along if axis.outer and axis.loop == loop.name]
        if not any(space.loop(axis.outer).extent > 1 for axis in inner):
            yield loop.name


def axis_along(operand: Sequence[Along], name: str) -> int | None:
    """The axis of an operand that follows a loop, if there is one."""
    found = [index for index, axis in enumerate(operand) if name in axis.loops]
    return found[0] if len(found) == 1 else None
