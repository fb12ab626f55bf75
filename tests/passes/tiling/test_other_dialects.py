"""Ops of linalg in tiles, double buffered and placed, compute what they compute as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.transforms.convert_linalg_to_loops import ConvertLinalgToLoopsPass
from xdsl.transforms.lower_affine import LowerAffinePass
from xdsl.utils.exceptions import DiagnosticException

from helpers.pipeline import context, parse
from npu_dialect.attributes import TILE
from npu_dialect.computing import computation_of
from npu_dialect.interpreters import run_function
from npu_dialect.interpreters.dma import Counters
from npu_dialect.interpreters.signature import Signature, find_function
from npu_passes.overlap.double_buffer import DoubleBufferPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_passes.tiling.tile_loops import TileLoopsPass

TARGET = (
    'builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = SRAM : i64, '
    "flash_bytes = 0 : i64, dma_channels = 4 : i64}>}"
)


def program(shapes: list[tuple[int, ...]], op: str) -> str:
    """A function with one op on off-chip buffers `%0`, `%1`, ..., the last one the output."""
    types = [f"memref<{'x'.join(map(str, shape))}xf32, #npu.dram>" for shape in shapes]
    marks = ["{dram.input}"] * (len(types) - 1) + ["{dram.input, dram.output}"]
    names = [f"%a{index}" for index in range(len(types))]
    arguments = ", ".join(
        f"{name}: {type_} {mark}" for name, type_, mark in zip(names, types, marks, strict=True)
    )
    ends = f"ins({', '.join(names[:-1])} : {', '.join(types[:-1])}) outs({names[-1]} : {types[-1]})"
    return f"{TARGET} {{ func.func @f({arguments}) {{ {op.replace('ENDS', ends)} func.return }} }}"


def run(module: ModuleOp, inputs: list[np.ndarray], counters: Counters | None = None) -> np.ndarray:
    """The output of a module with ops of linalg, which become loops first."""
    lowered = module.clone()
    ConvertLinalgToLoopsPass().apply(context(), lowered)
    LowerAffinePass().apply(context(), lowered)
    return run_function(lowered, None, inputs, counters=counters)[-1]


def check(text: str, sram_bytes: int) -> None:
    """Tile a program, and compare it with itself as a whole."""
    module = parse(context(), text.replace("SRAM", str(sram_bytes)))
    ports = Signature.of(find_function(module, None)).inputs
    random = np.random.default_rng(1)
    inputs = [random.integers(-4, 5, port.shape).astype(np.float32) for port in ports]
    expected = run(module, inputs)
    TileLoopsPass().apply(context(), module)
    (predicted,) = (tile for op in module.walk() if (tile := TILE.get(op)) is not None)
    DoubleBufferPass().apply(context(), module)
    AssignSramOffsetsPass().apply(context(), module)
    module.verify()
    counters = Counters()
    np.testing.assert_array_equal(run(module, inputs, counters), expected)
    moved = counters.feature_map_read_bytes + counters.feature_map_write_bytes
    for key, count in (("bytes", moved), ("transfers", counters.transfers)):
        assert predicted.data[key] == IntegerAttr(count, i64)


SIZES = st.integers(1, 9)


@settings(deadline=None)
@given(st.tuples(SIZES, SIZES, SIZES), st.sampled_from([100, 200, 400, 4000]))
def test_products(sizes: tuple[int, int, int], sram_bytes: int) -> None:
    rows, depth, columns = sizes
    text = program([(rows, depth), (depth, columns), (rows, columns)], "linalg.matmul ENDS")
    check(text, sram_bytes)


@settings(deadline=None)
@given(st.data(), st.sampled_from([600, 1000, 8000]))
def test_convolutions(data: st.DataObject, sram_bytes: int) -> None:
    channels, filters, kernel, stride, dilation, rows, columns = (
        data.draw(st.integers(1, most)) for most in (4, 5, 3, 3, 2, 5, 5)
    )
    reach = (kernel - 1) * dilation + 1
    height, width = ((extent - 1) * stride + reach for extent in (rows, columns))
    more = data.draw(st.integers(0, 2))  # rows that no window needs
    text = program(
        [
            (1, channels, height + more, width),
            (filters, channels, kernel, kernel),
            (1, filters, rows, columns),
        ],
        f"linalg.conv_2d_nchw_fchw {{dilations = dense<{dilation}> : tensor<2xi64>, "
        f"strides = dense<{stride}> : tensor<2xi64>}} ENDS",
    )
    check(text, sram_bytes)


INDICES = {
    "(d0, d1) -> (d0, d1)": (6, 8),
    "(d0, d1) -> (d1, d0)": (8, 6),
    "(d0, d1) -> (d0, d1 + 1)": (6, 9),
    "(d0, d1) -> (d0 * 2, d1)": (11, 8),
    "(d0, d1) -> (d0, d1 floordiv 2)": (6, 4),
    "(d0, d1) -> (d0 + d1, d1)": (13, 8),
    "(d0, d1) -> (d1)": (8,),
}
"""Indices into an input of this shape, for an output of 6x8."""
LEAST = {"(d0, d1) -> (d0 + d1, d1)": 608}
"""The fewest bytes of SRAM for those that are never cut."""


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("sram_bytes", [250, 420, 2000])
@pytest.mark.parametrize("adds", [False, True])
def test_indices(index: str, sram_bytes: int, adds: bool) -> None:
    first = "%out" if adds else "%in"
    text = program(
        [INDICES[index], (6, 8)],
        f"linalg.generic {{indexing_maps = [affine_map<{index}>, affine_map<(d0, d1) -> (d0, d1)>],"
        ' iterator_types = ["parallel", "parallel"]} ENDS { ^bb0(%in: f32, %out: f32): '
        f"%s = arith.addf %in, {first} : f32 linalg.yield %s : f32 }}",
    )
    if sram_bytes >= LEAST.get(index, 0):
        check(text, sram_bytes)
    else:
        with pytest.raises(DiagnosticException, match="its smallest tile needs"):
            check(text, sram_bytes)


def test_who_computes() -> None:
    """Ops with two outputs, and those that compute nothing, are none of the interface's."""
    text = program([(4,), (4,)], "linalg.copy ENDS")
    module = parse(context(), text.replace("SRAM", "100"))
    found = [op.name for op in module.walk() if computation_of(op) is not None]
    assert found == ["linalg.copy"]
