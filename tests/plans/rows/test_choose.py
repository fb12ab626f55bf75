"""Which layers of a chain run row by row."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.rows.choose import (
    LayerRun,
    Link,
    footprint,
    needed,
    running_totals,
    smallest_peak,
    whole,
)


def chain_of(maps: list[int], windows: list[int]) -> list[Link]:
    """Layers between maps of the given bytes; layer i needs `windows[i]` bytes of map i at once."""
    return [
        Link(ifm, ofm, min(window, ifm))
        for ifm, ofm, window in zip(maps, maps[1:], windows, strict=False)
    ]


def footprint_of(chain: list[Link], run: LayerRun) -> int:
    """The bytes that a run needs, by definition; checked against the running totals of `choose`."""
    links = chain[run.first : run.last + 1]
    windows = sum(link.window + link.inner for link in links)
    if links[0].direct:
        windows -= links[0].window
    bytes_needed = links[0].ifm + links[-1].ofm + windows + sum(link.weights for link in links)
    assert footprint(chain, running_totals(chain), run) == bytes_needed
    return bytes_needed


CHAINS = st.integers(2, 7).flatmap(
    lambda count: st.builds(
        chain_of,
        st.lists(st.integers(1, 100), min_size=count + 1, max_size=count + 1),
        st.lists(st.integers(1, 30), min_size=count, max_size=count),
    )
)


def test_footprint_is_first_map_last_map_and_windows() -> None:
    chain = chain_of([100, 900, 900, 50], [10, 30, 20])
    assert footprint_of(chain, LayerRun(0, 2)) == 100 + 50 + 30 + 20
    padded = [Link(100, 900, 10, direct=False), *chain[1:]]
    assert footprint_of(padded, LayerRun(0, 2)) == 100 + 50 + 10 + 30 + 20


def test_weights_stay_on_chip_where_they_must() -> None:
    chain = [Link(10, 20, 1, weights=5), Link(20, 30, 2, weights=7, inner=3)]
    assert footprint_of(chain, LayerRun(0, 1)) == 10 + 30 + 2 + 3 + 5 + 7
    assert chain[0].alone == 35


def test_only_what_does_not_fit_is_fused() -> None:
    chain = chain_of([100, 900, 900, 50, 40, 30], [10, 30, 20, 10, 10])
    assert needed(chain, 1000) == [LayerRun(0, 1)] or needed(chain, 1000) == [LayerRun(1, 2)]
    assert needed(chain, 2000) == []


def test_the_whole_chain_is_one_run() -> None:
    assert whole(chain_of([1, 2, 3], [1, 1])) == [LayerRun(0, 1)]
    assert whole(chain_of([1, 2], [1])) == []


@settings(max_examples=200)
@given(chain=CHAINS, sram=st.integers(1, 150))
def test_runs_are_apart_and_cover_what_does_not_fit(chain: list[Link], sram: int) -> None:
    runs = needed(chain, sram)
    for before, behind in pairwise(runs):
        assert before.last < behind.first
    covered = {i for run in runs for i in range(run.first, run.last + 1)}
    for index, link in enumerate(chain):
        if link.alone > sram and index not in covered:
            # A layer stays alone only if no run with it needs less than it does.
            footprints = [
                footprint_of(chain, LayerRun(first, last))
                for first in range(index + 1)
                for last in range(index, len(chain))
                if last > first
            ]
            assert all(footprint > sram for footprint in footprints)


def peak(chain: list[Link], runs: list[LayerRun]) -> int:
    covered = {i for run in runs for i in range(run.first, run.last + 1)}
    alone = [link.alone for i, link in enumerate(chain) if i not in covered]
    return max([*alone, *(footprint_of(chain, run) for run in runs)], default=0)


def segmentations(count: int) -> list[list[LayerRun]]:
    """All ways to cut a chain into runs, runs of one layer left out."""
    found: list[list[LayerRun]] = []
    for cuts in range(2 ** (count - 1)):
        ends = [i for i in range(count - 1) if cuts >> i & 1] + [count - 1]
        starts = [0, *(end + 1 for end in ends[:-1])]
        runs = [LayerRun(a, b) for a, b in zip(starts, ends, strict=True)]
        found.append([run for run in runs if len(run) > 1])
    return found


@settings(max_examples=100)
@given(chain=CHAINS)
def test_no_other_runs_have_a_smaller_peak(chain: list[Link]) -> None:
    best = min(peak(chain, runs) for runs in segmentations(len(chain)))
    assert peak(chain, smallest_peak(chain)) == best


@settings(max_examples=200)
@given(chain=CHAINS, sram=st.integers(1, 150))
def test_nothing_is_fused_where_everything_fits(chain: list[Link], sram: int) -> None:
    if all(link.alone <= sram for link in chain):
        assert needed(chain, sram) == []
