"""Random offset problems."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from npu_plans.arena import none
from npu_plans.arena.problem import Buffer, Overlay, Problem


@st.composite
def buffers(draw: st.DrawFn, largest: int, count: int, alignments: tuple[int, ...]) -> Buffer:
    first = draw(st.integers(0, count))
    return Buffer(
        "b",
        draw(st.integers(0, largest)),
        draw(st.sampled_from(alignments)),
        first,
        first + draw(st.integers(0, 4)),
    )


@st.composite
def problems(draw: st.DrawFn, largest: int = 64, most: int = 14) -> Problem:
    """Random buffers. Some are pinned to offsets of a plan, or some pairs may overlap."""
    count = draw(st.integers(0, most))
    found = [draw(buffers(largest, count, (1, 2, 4, 16))) for _ in range(count)]
    found = [replace(each, name=f"b{index}") for index, each in enumerate(found)]
    if count > 1 and draw(st.booleans()):
        place = st.integers(0, count - 1)
        overlays = draw(
            st.lists(
                st.builds(Overlay, place, place, st.integers(-20, 60), st.booleans()), max_size=3
            )
        )
        return Problem(tuple(found), tuple(each for each in overlays if each.below != each.above))
    if draw(st.booleans()):
        plan = none.solve(Problem(tuple(found)))
        pins = draw(st.lists(st.booleans(), min_size=count, max_size=count))
        found = [
            replace(each, pin=at if pinned else None)
            for each, at, pinned in zip(found, plan.offsets, pins, strict=True)
        ]
    return Problem(tuple(found))
