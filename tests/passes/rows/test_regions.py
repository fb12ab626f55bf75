"""Regions of layers with skip connections compute the same row by row, after every pass."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from xdsl.ir import Attribute, SSAValue

from helpers.chains import Case, Network, agree, context, outputs
from helpers.regions import regions, wrap_all
from npu_dialect.attributes import ROW_TIME
from npu_dialect.npu import AddOp, Conv2dOp
from npu_dialect.npu.maps import shape_of
from npu_passes.buffers.bufferize import BufferizePass
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass


def residual(kernel: int) -> Case:
    """The sum of a map and of what two convolutions compute from it."""
    network = Network.start((1, 2, 8, 8), 1)
    weights = [network.constant(2, 2, size, size) for size in (1, kernel, kernel)]
    known: list[SSAValue] = []
    for weight in weights:
        pads = (shape_of(weight)[2] // 2,) * 4
        network.add(partial(convolution, weight, pads))
        known.append(network.value)
    network.add(lambda x, out: AddOp(x, known[0], out))
    return Case(network.module())


def behind(before: int) -> Case:
    """A convolution behind another one. If `before` is 2, its first row can wait for the second.

    If it is 1, the ring has lost the first row by then.
    """
    network = Network.start((1, 2, 8, 3), 1)
    first, second = network.constant(2, 2, 1, 1), network.constant(2, 2, 2 * before + 1, 1)
    network.add(partial(convolution, first, (0, 0, 0, 0)))
    pads = (before, 0, before, 0)
    network.add(lambda x, out: Conv2dOp(x, second, None, out, strides=(2, 1), pads=pads))
    return Case(network.module())


def dilated() -> Case:
    """A convolution behind another one; some of its rows have taps on padding, two rows apart."""
    network = Network.start((1, 2, 15, 3), 1)
    first, second = network.constant(2, 2, 1, 1), network.constant(2, 2, 5, 1)
    network.add(partial(convolution, first, (0, 0, 0, 0)))
    pads = (1, 0, 3, 0)
    network.add(
        lambda x, out: Conv2dOp(x, second, None, out, strides=(2, 1), pads=pads, dilations=(2, 1))
    )
    return Case(network.module())


def outside(kernel: int, pads: tuple[int, ...], stride: int) -> Case:
    """Two convolutions, the first of which has windows that lie in the padding only."""
    network = Network.start((1, 2, 5, 3), 1)
    first, second = network.constant(2, 2, kernel, 1), network.constant(2, 2, 1, 1)
    network.add(lambda x, out: Conv2dOp(x, first, None, out, strides=(stride, 1), pads=pads))
    network.add(partial(convolution, second, (0, 0, 0, 0)))
    return Case(network.module())


def convolution(weight: SSAValue, pads: tuple[int, ...], x: SSAValue, out: Attribute) -> Conv2dOp:
    return Conv2dOp(x, weight, None, out, pads=pads)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(case=regions(), top_rows=st.booleans())
@example(case=residual(3), top_rows=False)
@example(case=residual(5), top_rows=True)
@example(case=outside(2, (2, 0, 3, 0), 1), top_rows=False)
@example(case=outside(1, (2, 1, 0, 0), 2), top_rows=False)
@example(case=dilated(), top_rows=False)
@example(case=behind(1), top_rows=True)
@example(case=behind(2), top_rows=True)
def test_every_stop_computes_the_same(case: Case, top_rows: bool) -> None:
    ctx, module = context(), case.module.clone()
    expected = outputs(module.clone())
    assume(wrap_all(module, top_rows=top_rows))
    agree(module, expected)
    BufferizePass().apply(ctx, module)
    assert not any(ROW_TIME.get(op) for op in module.walk())
    AssignSramOffsetsPass().apply(ctx, module)
    agree(module, expected)
    LowerToLoopsPass().apply(ctx, module)
    agree(module, expected)
