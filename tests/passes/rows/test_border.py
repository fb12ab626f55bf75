"""Regions on machines with DMA: networks that do not fit compute the same after every pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument
from xdsl.utils.exceptions import PassFailedException

from helpers.chains import Case, Network, outputs
from helpers.networks.machines import KB, machine_file
from helpers.networks.zoo import build
from helpers.pipeline import context, run_passes
from helpers.regions import regions, same_size
from npu_dialect.attributes import ARENA, LAYER, OVERLAP_ROWS, ROW_BUFFER, TARGET
from npu_dialect.machine import Machine
from npu_dialect.npu import AddOp, Conv2dOp, ReluOp
from npu_dialect.npu.layers import ConcatOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.rows import RowsOp
from npu_dialect.target import TargetAttr
from npu_passes.buffers.spaces import Spaces
from npu_passes.modules.layer_reader import read_layers
from npu_tools.importers.onnx import import_model

PASSES = (
    "npu-order-layers{when=needed},npu-fuse-regions{when=needed}",
    "npu-fuse-rows{when=needed},npu-fuse-additions,npu-fuse-activations",
    "npu-bufferize,npu-concat-in-place",
    "npu-spill-maps,npu-tile-loops,npu-overlap-rows,npu-double-buffer",
    "npu-assign-sram-offsets,npu-assign-dram-offsets",
    "npu-outline-layers,npu-lower-to-loops",
)


def machine_of(sram: int) -> Machine:
    """A neural processor that stores maps in patches, with this SRAM."""
    return Machine(
        "npu", sram, 2**30, row_multiple=2, column_multiple=2, kernel_group=2, dma_channels=4
    )


def peak_of(module: ModuleOp) -> int:
    """The most bytes of maps that live at a time."""
    (function,) = [op for op in module.walk() if isinstance(op, FuncOp)]
    program = read_layers(function, Spaces.of(machine_of(1)))
    assert program is not None
    return program.graph.peak(range(len(program.units)))


def agrees_after_all_passes(module: ModuleOp, sram: int) -> list[RowsOp]:
    """Run the passes; returns the regions. The results stay the same, in no more than the SRAM."""
    expected, ctx = outputs(module.clone()), context()
    TARGET.set(module, TargetAttr.of(machine_of(sram)))
    found: list[RowsOp] = []
    for each in PASSES:
        try:
            module = run_passes(ctx, module, each)
        except PassFailedException:
            assume(False)
        module.verify()
        for got, want in zip(outputs(module.clone()), expected, strict=True):
            close = 1e-5 * max(1.0, float(np.abs(want).max(initial=0)))
            np.testing.assert_allclose(got, want, rtol=0, atol=close)
        found += [op.clone() for op in module.walk() if isinstance(op, RowsOp) and op.is_region]
    (function,) = [op for op in module.walk() if isinstance(op, FuncOp) and ARENA.is_on(op)]
    assert (ARENA.get(function) or 0) <= sram
    return found


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(case=regions(), percent=st.integers(10, 99))
def test_networks_that_do_not_fit_compute_the_same(case: Case, percent: int) -> None:
    module = case.module.clone()
    agrees_after_all_passes(module, 16 + peak_of(module) * percent // 100)


def bottleneck(network: Network, inner: int, outer: int, stride: int) -> None:
    """A residual block: 1x1, 3x3 and 1x1 convolutions, beside a 1x1 one with the stride."""
    before = network.value
    channels = shape_of(before)[1]
    shapes = ((inner, channels, 1), (inner, inner, 3), (outer, inner, 1))
    for count, depth, kernel in shapes:
        weight = network.constant(count, depth, kernel, kernel)
        steps = (stride, stride) if kernel == 3 else (1, 1)
        pads = (kernel // 2,) * 4
        network.add(
            lambda x, out, w=weight, s=steps, p=pads: Conv2dOp(x, w, None, out, strides=s, pads=p)
        )
    inside, other = network.value, before
    if stride > 1 or channels != outer:
        weight = network.constant(outer, channels, 1, 1)
        skip = Conv2dOp(before, weight, None, inside.type, strides=(stride, stride))
        network.block.add_op(skip)
        other = skip.output
    network.add(lambda x, out: AddOp(other, x, out))
    network.add(ReluOp)


def residual() -> ModuleOp:
    """Two residual blocks, of which the second halves the map, and has more kernels than fit."""
    network = Network.start((1, 3, 16, 16), 1)
    network.add(same_size(network, 3))
    bottleneck(network, 2, 16, 1)
    bottleneck(network, 2, 16, 1)
    bottleneck(network, 8, 32, 2)
    return network.module()


def test_an_activation_belongs_to_the_sum_before_it() -> None:
    """Whether a convolution takes in the sum, or none: it would be moved with maps off chip."""
    for with_convolution in (True, False):
        network = Network.start((1, 4, 8, 8), 1)
        before = network.value
        if with_convolution:
            weight = network.constant(4, 4, 1, 1)
            network.add(lambda x, out, w=weight: Conv2dOp(x, w, None, out))
        network.add(lambda x, out, other=before: AddOp(other, x, out))
        network.add(ReluOp)
        (function,) = [op for op in network.module().walk() if isinstance(op, FuncOp)]
        for machine, together in ((machine_of(1), True), (None, False)):
            program = read_layers(function, Spaces.of(machine))
            assert program is not None
            adding = next(
                unit for unit in program.units if any(isinstance(op, AddOp) for op in unit)
            )
            assert any(isinstance(op, ReluOp) for op in adding) is together


@pytest.mark.slow
def test_blocks_of_maps_that_never_fit_are_regions() -> None:
    """Their rows come and leave one at a time, while others are computed."""
    network = Network.start((1, 3, 16, 16), 1)
    network.add(same_size(network, 8))
    bottleneck(network, 2, 8, 1)
    bottleneck(network, 2, 8, 1)
    found = agrees_after_all_passes(network.module(), 6_000)
    inner = [rows for rows in found if not isinstance(rows.input, BlockArgument)]
    assert any(OVERLAP_ROWS.is_on(rows) and ROW_BUFFER.is_on(rows) for rows in inner)


@pytest.mark.slow
def test_pixels_and_the_branch_beside_them_are_joined() -> None:
    """The second block's strided convolution reads pixels that the region has computed."""
    module = residual()
    found = agrees_after_all_passes(module, 20_000)
    assert any(isinstance(op, ConcatOp) for rows in found for op in rows.layers)


@pytest.mark.parametrize(("kilobytes", "needed"), [(32, False), (68, True)])
def test_cells_need_no_regions(kilobytes: int, needed: bool, tmp_path: Path) -> None:
    """Parts of concatenations leave the chip once, whatever runs meanwhile. Rows in rings move."""
    model = build("nasnet_a", size=(16, 16))
    module = import_model(model.SerializeToString(), name="net", base_dir=None)
    TARGET.set(module, TargetAttr.of(Machine.load(machine_file(tmp_path, kilobytes * KB))))
    front = "npu-plan-as{type=i8},npu-fold-batch-norm,npu-fuse-conv-relu-pool"
    order = "npu-order-layers{when=needed},npu-fuse-regions{when=needed}"
    done = run_passes(context(), module, f"{front},{order}")
    assert any(isinstance(op, RowsOp) for op in done.walk()) is needed
    splits = [op for op in done.walk() if "_pixels" in (LAYER.get(op) or "")]
    assert needed or not splits
