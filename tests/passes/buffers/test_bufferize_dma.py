"""npu-bufferize for a machine with DMA: maps in patches, inputs and outputs off the chip."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from xdsl.dialects.builtin import TensorType, f32

from helpers.chains import Case, Network, agree, context, networks, outputs
from helpers.concatenations import networks as graphs
from helpers.pipeline import context as all_dialects
from helpers.pipeline import parse, run_passes
from helpers.regions import regions
from npu_dialect.attributes import OVERLAP_ROWS, TARGET
from npu_dialect.interpreters import Counters, run_function
from npu_dialect.machine import Machine
from npu_dialect.npu import ClampOp, Conv2dOp, ReluOp
from npu_dialect.npu.maps import storage_elements
from npu_dialect.npu.rows import RowsOp
from npu_dialect.target import TargetAttr
from npu_passes.buffers.bufferize import BufferizePass
from npu_passes.buffers.spaces import Spaces, dense_strides, reshaped_strides
from npu_passes.graph.fuse_additions import FuseAdditionsPass
from npu_passes.graph.fuse_conv_relu_pool import FuseConvReluPoolPass
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_passes.rows.fuse_regions import FuseRegionsPass
from npu_passes.rows.fuse_rows import FuseRowsPass

MACHINES = st.builds(
    Machine,
    st.just("npu"),
    st.just(2**30),
    st.just(2**30),
    row_multiple=st.sampled_from([1, 4, 8]),
    column_multiple=st.sampled_from([1, 3, 4]),
    dma_channels=st.integers(1, 4),
)


@settings(max_examples=25, deadline=None)
@given(case=networks(norms=True), machine=MACHINES, fused=st.booleans(), rows=st.booleans())
def test_buffers_compute_the_same(case: Case, machine: Machine, fused: bool, rows: bool) -> None:
    ctx, module = context(), case.module.clone()
    expected = outputs(module.clone())
    TARGET.set(module, TargetAttr.of(machine))
    if fused:
        FuseConvReluPoolPass().apply(ctx, module)
    if rows:
        FuseRowsPass(when="always").apply(ctx, module)
    BufferizePass().apply(ctx, module)
    agree(module, expected)
    AssignSramOffsetsPass().apply(ctx, module)
    agree(module, expected)
    LowerToLoopsPass().apply(ctx, module)
    agree(module, expected)


@settings(max_examples=40, deadline=None)
@given(case=regions(), machine=MACHINES, through_loops=st.booleans())
def test_regions_that_fetch_their_rows_compute_the_same(
    case: Case, machine: Machine, through_loops: bool
) -> None:
    """The function's input, its output and all parameters lie off chip."""
    ctx, module = context(), case.module.clone()
    expected = outputs(module.clone())
    TARGET.set(module, TargetAttr.of(machine))
    FuseRegionsPass(when="always").apply(ctx, module)
    agree(module, expected)
    FuseAdditionsPass().apply(ctx, module)
    BufferizePass().apply(ctx, module)
    agree(module, expected)
    AssignSramOffsetsPass().apply(ctx, module)
    agree(module, expected)
    if through_loops:
        LowerToLoopsPass().apply(ctx, module)
        agree(module, expected)


@settings(max_examples=60, deadline=None)
@given(
    kernel=st.integers(1, 3),
    stride=st.integers(1, 4),
    pads=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    rows=st.integers(24, 40),
)
def test_rows_that_no_window_reads_are_not_fetched(
    kernel: int, stride: int, pads: tuple[int, int], rows: int
) -> None:
    """Two convolutions in a region; the first one may leave rows of the input out."""
    network = Network.start((1, 2, rows, 3), 1)
    first, second = network.constant(2, 2, kernel, 1), network.constant(2, 2, 1, 1)
    pads_of = (pads[0], 0, pads[1], 0)
    network.add(lambda x, out: Conv2dOp(x, first, None, out, strides=(stride, 1), pads=pads_of))
    network.add(lambda x, out: Conv2dOp(x, second, None, out))
    module = network.module()
    expected = outputs(module.clone())
    TARGET.set(module, TargetAttr.of(Machine("npu", 2**30, 2**30, dma_channels=4)))
    FuseRegionsPass(when="always").apply(context(), module)
    (region,) = (op for op in module.walk() if isinstance(op, RowsOp))
    OVERLAP_ROWS.set(region, True)
    BufferizePass().apply(context(), module)
    agree(module, expected)
    counters = Counters()
    x = np.zeros((1, 2, rows, 3), np.float32)
    run_function(module.clone(), None, [x], counters=counters)
    windows = range(-pads[0], rows + pads[1] - kernel + 1, stride)
    read = {row for low in windows for row in range(low, low + kernel) if 0 <= row < rows}
    assert counters.feature_map_read_bytes == len(read) * 2 * 3 * 4


@settings(max_examples=40, deadline=None)
@given(text=graphs(), machine=MACHINES)
def test_parts_in_patches_compute_the_same(text: str, machine: Machine) -> None:
    ctx = all_dialects()
    module = parse(ctx, text)
    x = np.random.default_rng(5).standard_normal((1, 2, 2, 2)).astype(np.float32)
    expected = run_function(module, "f", [x])
    TARGET.set(module, TargetAttr.of(machine))
    planned = run_passes(ctx, module, "npu-bufferize,npu-concat-in-place,npu-assign-sram-offsets")
    for got, want in zip(run_function(planned, "f", [x]), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    gaps=st.lists(st.integers(0, 2), min_size=4, max_size=4),
    data=st.data(),
)
def test_strides_of_a_view_say_the_same_elements(
    shape: list[int], gaps: list[int], data: st.DataObject
) -> None:
    """Strides for a reshape are found if and only if numpy can reshape without a copy."""
    padded = [extent + gap for extent, gap in zip(shape, gaps, strict=False)]
    strides = dense_strides(padded)
    memory = np.arange(prod(padded))
    buffer = as_strided(memory, shape, [step * memory.itemsize for step in strides])
    factors = [n for extent in shape for n in ((2, 2) if extent == 4 else (extent,))]
    cuts = data.draw(st.lists(st.integers(0, len(factors)), max_size=3).map(sorted))
    ends = [0, *cuts, len(factors)]
    wanted = [prod(factors[a:b]) for a, b in pairwise(ends)]
    view = buffer.reshape(wanted)
    found = reshaped_strides(shape, strides, wanted)
    assert (found is not None) == np.shares_memory(view, memory)
    if found is not None:
        seen = as_strided(memory, wanted, [step * memory.itemsize for step in found])
        np.testing.assert_array_equal(seen, view)


def test_maps_are_stored_in_patches() -> None:
    """A map of 35x35 in patches of 4x4 takes 36x36; vectors and parameters are not padded."""
    spaces = Spaces.of(Machine.load("exynos-npu"))
    kind = spaces.map_type(TensorType(f32, (1, 64, 35, 35)))
    assert kind.get_strides() == (64 * 36 * 36, 36 * 36, 36, 1)
    assert storage_elements(kind) == 64 * 36 * 36
    for shape in ((1, 64, 36, 36), (1, 64, 1, 1), (64, 35)):
        assert spaces.map_type(TensorType(f32, shape)).get_strides() == tuple(dense_strides(shape))
    assert Spaces.of(None).map_type(TensorType(f32, (1, 64, 35, 35))).get_strides() == tuple(
        dense_strides((1, 64, 35, 35))
    )


def test_layers_off_the_chip_only_read_inputs() -> None:
    """No layer overwrites the caller's inputs."""
    network = Network.start((1, 1, 5, 5), 0)
    network.add(ReluOp)
    network.add(lambda x, out: ClampOp(x, -1.0, 1.0, out))
    module = network.module()
    TARGET.set(module, TargetAttr.of(Machine.load("exynos-npu")))
    BufferizePass().apply(context(), module)
    x = np.random.default_rng(1).standard_normal((1, 1, 5, 5)).astype(np.float32)
    before = x.copy()
    run_function(module, "f", [x])
    np.testing.assert_array_equal(x, before)
