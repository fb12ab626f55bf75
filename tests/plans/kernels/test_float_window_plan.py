"""Windows of outputs in lanes: what they read, which weights they load, and where they pay."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from npu_dialect.windows import Axis
from npu_plans.kernels.float_window_plan import FloatWindowPlan, Layer
from npu_plans.kernels.vector_plan import LANES

POOL = Axis(28, 2, 2), Axis(28, 2, 2)
FIRST = Layer(Axis(32, 5), Axis(32, 5), POOL, 1, 6, (32, 1))
"""The first layer of LeNet-5."""
AXES = st.builds(
    Axis, st.integers(1, 40), st.integers(1, 5), st.integers(1, 3), dilation=st.integers(1, 2)
)


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    """A layer without padding, with or without a pool."""
    rows, columns = draw(AXES), draw(AXES)
    assume(rows.outputs > 0 and columns.outputs > 0)
    sizes = draw(st.none() | st.tuples(st.integers(1, 3), st.integers(1, 2)))
    pool = None
    if sizes is not None:
        steps = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
        pool = Axis(rows.outputs, sizes[0], steps[0]), Axis(columns.outputs, sizes[1], steps[1])
        assume(all(axis.outputs > 0 for axis in pool))
    return Layer(rows, columns, pool, draw(st.integers(1, 5)), draw(st.integers(1, 9)), (64, 1))


@given(layers())
def test_products(layer: Layer) -> None:
    """Each output gets all of its taps in their order; a weight is loaded before it is used."""
    plan = FloatWindowPlan.of(layer, alone=True)
    assume(plan is not None)
    assert plan is not None
    rows, columns = layer.rows, layer.columns
    taps: list[list[int]] = [[] for _ in range(plan.sums)]
    held: set[int] = set()
    dilations = [each.dilation for each in layer.pool] if layer.pool else [1, 1]
    for element in plan.elements:
        for each in element.products:
            y, x = divmod(each.output, plan.width)
            ky, kx = divmod(each.tap, columns.kernel)
            assert element.row == y * dilations[0] * rows.stride + ky * rows.dilation
            assert element.column == x * dilations[1] * columns.stride + kx * columns.dilation
            taps[each.output].append(each.tap)
            assert each.fresh or each.tap in held
            held.add(each.tap)
    assert taps == [list(range(rows.kernel * columns.kernel))] * plan.sums


@given(layers())
def test_blocks(layer: Layer) -> None:
    """The blocks of a row compute all of its outputs, and read no element outside of the map."""
    plan = FloatWindowPlan.of(layer, alone=True)
    assume(plan is not None)
    assert plan is not None
    total = layer.outputs[1]
    firsts = [min(block * plan.block, plan.last) for block in range(plan.blocks)]
    visited = {first + output for first, output in product(firsts, range(plan.block))}
    assert visited == set(range(total))
    scale = layer.columns.stride * (layer.pool[1].stride if layer.pool else 1)
    assert max(firsts) * scale + plan.reach[1] <= layer.columns.size
    places = [
        element.column + lane * plan.lane_step for element in plan.elements for lane in range(LANES)
    ]
    assert max(places) + 1 == plan.reach[1]
    assert max(element.row for element in plan.elements) + 1 == plan.reach[0]


def test_each_weight_is_loaded_once() -> None:
    """Two rows of outputs keep the weights of a kernel row, which is fewer than fit."""
    plan = FloatWindowPlan.of(FIRST, alone=False)
    assert plan is not None
    products = [each for element in plan.elements for each in element.products]
    assert (plan.height, plan.width, len(plan.elements), len(products)) == (2, 2, 36, 100)
    assert sum(each.fresh for each in products) == 25
    assert plan.addresses == 1
    assert plan.instructions == 64736
    assert plan.instructions < FIRST.filters_in_lanes()


def test_few_registers_of_weights() -> None:
    """Nine columns of taps do not fit twice: a weight that is used later is loaded again."""
    layer = replace(FIRST, rows=Axis(36, 3), columns=Axis(36, 9))
    plan = FloatWindowPlan(layer, 2, 2)
    products = [each for element in plan.elements for each in element.products]
    assert sum(each.fresh for each in products) == 36


@pytest.mark.parametrize(
    "layer",
    [
        replace(FIRST, rows=Axis(32, 5, 1, 2, 2)),
        replace(FIRST, pool=(Axis(28, 3, 3), Axis(28, 3, 3))),
        replace(FIRST, pool=(Axis(28, 2, 2), Axis(28, 2, 9))),
        Layer(Axis(14, 5), Axis(14, 5), (Axis(10, 2, 2), Axis(10, 2, 2)), 6, 16, (14, 1)),
        Layer(Axis(18, 3), Axis(18, 3), None, 16, 8, (288, 1)),
    ],
    ids=["padding", "nine sums", "short rows", "five columns", "full lanes"],
)
def test_other_forms(layer: Layer) -> None:
    assert FloatWindowPlan.of(layer, alone=False) is None
