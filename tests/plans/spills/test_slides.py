"""Which layers write over their input: chains of layers, and maps that are worth it."""

from __future__ import annotations

import pytest

from npu_plans.spills.slides import Life, Link, Slide, slides_of

CAPACITY = 64
LARGE, MIDDLE, SMALL = Life(0, 40, 16), Life(0, 12, 8), Life(0, 1, 7)
"""A map of a 4th of the chip, one of an 8th that lives for twelve layers, and a smaller one."""


def link(layer: int, source: int, target: int, reach: int = 1) -> Link:
    """A layer that writes one map and reads another one."""
    return Link(layer, source, target, reach)


def test_layers_one_behind_the_other_share_a_buffer() -> None:
    """Its rows more are those of a block, and of the window that reaches furthest."""
    links = [link(3, 0, 1, 0), link(4, 5, 6), link(7, 1, 2, 2)]
    assert slides_of(links, [LARGE] * 7, CAPACITY, 4) == [
        Slide((links[0], links[2]), 6),
        Slide((links[1],), 5),
    ]


@pytest.mark.parametrize(
    ("life", "slides"),
    [(LARGE, 1), (MIDDLE, 1), (SMALL, 0), (Life(0, 13, 8), 0), (Life(0, 13, 15), 0)],
)
@pytest.mark.parametrize("number", [0, 1])
def test_small_maps_and_those_that_live_for_long_stay_apart(
    life: Life, slides: int, number: int
) -> None:
    lives = [LARGE, LARGE]
    lives[number] = life
    assert len(slides_of([link(3, 0, 1)], lives, CAPACITY, 4)) == slides


def test_a_map_that_stays_apart_cuts_a_chain() -> None:
    links = [link(1, 0, 1), link(2, 1, 2), link(3, 2, 3), link(4, 3, 4)]
    lives = [LARGE, LARGE, SMALL, LARGE, LARGE]
    found = slides_of(links, lives, CAPACITY, 1)
    assert [each.links for each in found] == [(links[0],), (links[3],)]
