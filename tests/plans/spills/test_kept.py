"""The gaps in which copies stay on chip are those that save most, of all that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

from hypothesis import event, given, settings
from hypothesis import strategies as st

from npu_plans.arena.problem import Buffer
from npu_plans.spills.kept import Gap, kept_gaps, most_saved, runs_of, with_copies
from npu_plans.spills.problem import OpMemory, SpillProblem, TileNeed


@st.composite
def used_parts(draw: st.DrawFn) -> tuple[Gap, ...]:
    """The gaps of a few maps that are used at some of six points, where tiles take some bytes."""
    gaps: list[Gap] = []
    for part in range(draw(st.integers(1, 4))):
        uses = sorted(draw(st.sets(st.integers(0, 5), min_size=2, max_size=4)))
        size = draw(st.integers(2, 20))
        relief = {point: draw(st.integers(0, 2)) for point in uses}
        for first, last in pairwise(uses):
            if draw(st.booleans()):
                ends = relief[first], relief[last]
                gaps.append(Gap(part, size, first, last, ends))
    return tuple(gaps)


def taken(kept: Sequence[Gap], point: int) -> int:
    """The bytes of the parts that are on chip at a point, each once, less what they relieve."""
    ends = {gap.part: gap.size - relief for gap in kept for at, relief in gap.ends if at == point}
    inside = sum(gap.size for gap in kept if gap.first < point < gap.last)
    return inside + sum(ends.values())


def saved(kept: Sequence[Gap]) -> int:
    """The bytes that gaps save."""
    return sum(gap.size for gap in kept)


def most(gaps: Sequence[Gap], free: Sequence[int]) -> int:
    """The most bytes that any choice of gaps saves, with so many free bytes at each point."""
    choices = (
        [gap for gap, chosen in zip(gaps, flags, strict=True) if chosen]
        for flags in product((False, True), repeat=len(gaps))
    )
    return max(
        saved(kept)
        for kept in choices
        if all(taken(kept, point) <= room for point, room in enumerate(free))
    )


FREE = st.lists(st.integers(0, 45), min_size=6, max_size=6)


@settings(max_examples=80, deadline=None)
@given(gaps=used_parts(), free=FREE)
def test_no_choice_saves_more(gaps: tuple[Gap, ...], free: list[int]) -> None:
    kept = most_saved(gaps, dict(enumerate(free)))
    assert all(taken(kept, point) <= room for point, room in enumerate(free))
    assert saved(kept) == most(gaps, free)
    event(f"{min(len(kept), 2)} of {min(len(gaps), 3)}")


def problem_of(free: Sequence[int], capacity: int) -> SpillProblem:
    """An op at each point, whose tile buffers leave so many bytes free."""
    steps = (
        OpMemory(point, (), (TileNeed((), (max(0, capacity - room),)),))
        for point, room in enumerate(free)
    )
    return SpillProblem((), (), tuple(steps))


@settings(max_examples=60, deadline=None)
@given(gaps=used_parts(), free=FREE)
def test_what_is_kept_has_offsets(gaps: tuple[Gap, ...], free: list[int]) -> None:
    """What a gap relieves is not in the sums of the problem here, so not all may fit."""
    problem = problem_of(free, 45)
    kept = kept_gaps(gaps, lambda _: problem, 45)
    assert with_copies(problem, kept).fits(frozenset(), 45)
    assert saved(kept) <= most(gaps, free)
    plain = tuple(replace(gap, relief=(0, 0)) for gap in gaps)
    chosen = most_saved(plain, dict(enumerate(free)))
    if with_copies(problem, chosen).fits(frozenset(), 45):
        assert saved(kept_gaps(plain, lambda _: problem, 45)) == saved(chosen)


def test_a_run_is_one_copy() -> None:
    gaps = (Gap(0, 8, 0, 2), Gap(0, 8, 2, 3), Gap(0, 8, 4, 5), Gap(1, 6, 5, 6))
    assert [len(run) for run in runs_of(gaps)] == [2, 1, 1]
    copies = with_copies(problem_of([45] * 7, 45), gaps)
    assert [(each.size, each.first, each.last) for each in copies.buffers] == [
        (8, 0, 3),
        (8, 4, 5),
        (6, 5, 6),
    ]
    assert [sum(size for _, size in step.live) for step in copies.steps] == [8, 8, 8, 8, 8, 14, 6]


def test_runs_are_taken_one_by_one_where_offsets_are_short() -> None:
    """The sums fit, but a pinned buffer in the middle leaves no room for the larger copy."""
    pinned = (Buffer("pinned", 10, 1, 0, 3, pin=10),)
    steps = tuple(OpMemory(point, ((0, 10),)) for point in range(4))
    problem = SpillProblem(pinned, (None,), steps)
    gaps = (Gap(0, 15, 0, 2), Gap(1, 8, 1, 3))
    assert kept_gaps(gaps, lambda _: problem, 33) == gaps[1:]


def test_an_op_that_takes_more_than_there_is_keeps_nothing() -> None:
    """Sizes of tile buffers are estimates."""
    problem = problem_of([10, -5, 10], 30)
    gaps = (Gap(0, 4, 0, 1), Gap(1, 4, 1, 2))
    assert kept_gaps(gaps, lambda _: problem, 30) == ()
