"""Quantised layers as loops and as C give the bits of the interpreted layers."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType, i8, i16

from helpers.c_harness import run_c
from helpers.quantized.random_layers import KINDS, LayerMaker
from npu_dialect.interpreters import run_function
from npu_dialect.npu import NPU, Conv2dOp, RequantizeAttr
from npu_dialect.npu.epilogue import Epilogue
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import limits_of, ui8
from npu_passes.buffers.bufferize import BufferizePass
from npu_passes.emit.c import emit
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.lowering.outline_layers import OutlineLayersPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_passes.rows.fuse_rows import FuseRowsPass
from npu_tools.compiling.check import random_inputs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_loops_and_c_mean_the_same(kind: str, seed: int) -> None:
    agree(LayerMaker(seed).module(kind), kind, seed)


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"lookup"}))
@pytest.mark.parametrize("seed", range(3))
def test_maps_of_16_bits(kind: str, seed: int) -> None:
    """Layers of 16-bit maps, alone or beside maps of bytes; some have i64 sums."""
    agree(LayerMaker(100 + seed, (i16, i16, i8)).module(kind), kind, seed)


def agree(module: ModuleOp, kind: str, seed: int) -> None:
    """Check that a layer means the same as interpreted, as loops and as C."""
    module.verify()
    feeds = random_inputs(module, seed)
    if kind == "quantize":
        feeds = [np.where(value > 1, np.float32(1e9) * value, value) for value in feeds]
    wanted = run_function(module, None, feeds)
    passes = (
        BufferizePass(),
        AssignSramOffsetsPass(),
        OutlineLayersPass(),
        LowerToLoopsPass(registers=(0, 16, 32)[seed % 3], unroll=(1, 8, 256)[seed % 3]),
    )
    context = Context()
    context.load_dialect(NPU)
    for each in passes:
        each.apply(context, module)
        module.verify()
        np.testing.assert_array_equal(run_function(module, None, feeds)[0], wanted[0], each.name)
    if seed % 2 == 0:
        got = run_c(
            emit(module),
            "f",
            feeds,
            [value.shape for value in wanted],
            output_types=[value.dtype.name for value in wanted],
        )
        np.testing.assert_array_equal(got[0], wanted[0])


@pytest.mark.parametrize("element", [i8, ui8])
def test_rows_beyond_a_map_are_its_zero(element: IntegerType) -> None:
    """Two padded convolutions in rows, with a zero point that is not 0."""
    maker = LayerMaker(3)
    value = maker.argument(element, (1, 2, 9, 7))
    low = limits_of(element)[0]
    for filters in (3, 2):
        depth = shape_of(value)[1]
        weight = maker.constant(maker.numbers.integers(-128, 128, (filters, depth, 3, 3)), i8)
        layer = Conv2dOp(
            value,
            weight,
            None,
            TensorType(element, []),
            pads=(1, 1, 1, 1),
            zero_points=(low + 5, 0),
            epilogue=Epilogue(RequantizeAttr.of([0.002], low + 5)),
        )
        value = maker.add(layer, element)
    module = maker.finished(value)
    module.verify()
    feeds = random_inputs(module, 1)
    wanted = run_function(module, None, feeds)[0]
    context = Context()
    context.load_dialect(NPU)
    for each in (FuseRowsPass(when="always"), BufferizePass(), AssignSramOffsetsPass()):
        each.apply(context, module)
        module.verify()
    assert any(op.name == "scf.for" for op in module.walk())
    np.testing.assert_array_equal(run_function(module, None, feeds)[0], wanted)
    LowerToLoopsPass().apply(context, module)
    np.testing.assert_array_equal(run_function(module, None, feeds)[0], wanted)
    kinds = [wanted.dtype.name]
    got = run_c(emit(module), "f", feeds, [wanted.shape], output_types=kinds)
    np.testing.assert_array_equal(got[0], wanted)
