"""Blocks of filters and pixels for vectors of floats, and what strips of outputs read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.vector_plan import LANES, SUMS, Strip, VectorBlock, vector_block


@given(st.integers(1, 70), st.integers(1, 200))
def test_blocks_cover_all_filters(filters: int, width: int) -> None:
    block = vector_block(filters, width)
    vectors = block.blocks(filters)
    assert block.vectors * block.pixels <= SUMS
    assert 0 <= sum(vectors) * LANES - filters < LANES
    assert all(each == block.vectors for each in vectors[:-1])


def test_block_for_its_work() -> None:
    assert vector_block(64, 30) == VectorBlock(2, 3)
    assert vector_block(64, 1) == VectorBlock(6, 1)
    assert vector_block(4, 30) == VectorBlock(1, 6)
    assert vector_block(12, 2) == VectorBlock(3, 2)
    assert VectorBlock(2, 3).blocks(20) == [2, 2, 1]
    assert VectorBlock(2, 3).instructions(20, 7) == 2 * (2 * 13 + 7) + (2 * 9 + 5)


AXES = st.builds(
    Axis, st.integers(4, 9), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2),
    st.integers(0, 2), st.integers(1, 2),
).filter(lambda axis: axis.outputs > 0)  # fmt: skip


@given(AXES, st.data())
def test_a_strip_reads_the_taps_on_the_map(axis: Axis, data: st.DataObject) -> None:
    column = data.draw(st.integers(0, axis.outputs - 1))
    steps = range(data.draw(st.integers(1, axis.outputs - column)))
    strip = Strip.of(axis, column, steps)
    found = {(strip.origin + place, output, tap) for place, output, tap in strip.reads()}
    wanted = {
        (axis.start(column + step) + tap * axis.dilation, step, tap)
        for step in steps
        for tap in range(axis.kernel)
        if 0 <= axis.start(column + step) + tap * axis.dilation < axis.size
    }
    assert found == wanted
    if wanted:
        places = [place for place, _, _ in wanted]
        assert (strip.origin, strip.reach) == (min(places), max(places) - min(places) + 1)


def test_a_strip_at_an_unknown_column() -> None:
    strip = Strip.of(Axis(20, 3, 2, 1, 1), None, range(2))
    assert strip.reads() == [(0, 0, 0), (1, 0, 1), (2, 0, 2), (2, 1, 0), (3, 1, 1), (4, 1, 2)]
    assert (strip.origin, strip.reach) == (0, 5)


@given(AXES, st.integers(1, 5), st.integers(1, 4))
def test_products_with_few_weights(axis: Axis, width: int, room: int) -> None:
    """Each product has its weight in one of `room` registers, and none is lost."""
    strip = Strip.of(axis, 0, range(min(width, axis.outputs)))
    held: set[int] = set()
    found: list[tuple[int, int, int]] = []
    for products in strip.products(room):
        assert len({each.place for each in products}) == 1
        for each in products:
            held |= {each.tap} if each.fresh else set()
            assert each.tap in held
            found.append((each.place, each.output, each.tap))
    assert sorted(found) == strip.reads()


def test_a_weight_that_is_needed_soon_stays() -> None:
    """Five outputs of a padded row of three taps load two of the weights twice."""
    products = Strip.of(Axis(5, 3, 1, 1, 1), 0, range(5)).products(2)
    assert [sum(each.fresh for each in some) for some in products] == [2, 1, 1, 1, 0]
    whole = Strip.of(Axis(5, 3, 1, 1, 1), 0, range(5)).products(3)
    assert sum(each.fresh for some in whole for each in some) == 3
