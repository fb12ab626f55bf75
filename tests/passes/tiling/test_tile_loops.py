"""Layers in tiles compute the same, move what was predicted, and fit into the free SRAM."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import Builtin, FunctionType, MemRefType, ModuleOp
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.rewriter import Rewriter
from xdsl.utils.hints import isa

from helpers.layers_text import (
    LayerText,
    convolutions,
    dense_layers,
    layer_text,
    moving_layers,
    pools,
    simple_layers,
)
from helpers.tiles.machines import MACHINE, TIMED
from npu_dialect.attributes import TARGET
from npu_dialect.dma import DMA
from npu_dialect.interpreters import run_function
from npu_dialect.interpreters.dma import Counters
from npu_dialect.interpreters.signature import Port, Signature
from npu_dialect.machine import Machine
from npu_dialect.npu import NPU
from npu_dialect.npu.attributes import DramSpace, SramSpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.sram import SRAM
from npu_dialect.target import TargetAttr
from npu_passes.analysis.lifetimes import lifetimes_of
from npu_passes.analysis.on_chip import size_of
from npu_passes.overlap.double_buffer import DoubleBufferPass
from npu_passes.tiling.stage import off_chip_operands
from npu_passes.tiling.staging import least_bytes
from npu_passes.tiling.tile_loops import TileLoopsPass, stage_function

LAYERS = st.one_of(
    convolutions(), convolutions(), pools(), dense_layers(), simple_layers(), moving_layers()
)


def parsed(text: str) -> tuple[Context, ModuleOp]:
    context = Context()
    for dialect in (Builtin, arith.Arith, func.Func, memref.MemRef, scf.Scf, NPU, SRAM, DMA):
        context.load_dialect(dialect)
    return context, Parser(context, text).parse_module()


def layer_of(module: ModuleOp) -> LayerOp:
    return next(op for op in module.walk() if isinstance(op, LayerOp))


def function_of(module: ModuleOp) -> func.FuncOp:
    return next(op for op in module.walk() if isinstance(op, func.FuncOp))


def place(module: ModuleOp, off_chip: list[bool], machine: Machine) -> None:
    """Put each argument off or on the chip, and attach the machine."""
    function = function_of(module)
    for argument, off in zip(function.args, off_chip, strict=False):
        kind = argument.type
        assert isa(kind, MemRefType[Attribute])
        space = DramSpace() if off else SramSpace()
        placed = MemRefType(kind.element_type, kind.get_shape(), memory_space=space)
        Rewriter.replace_value_with_new_type(argument, placed)
    function.properties["function_type"] = FunctionType.from_lists(
        [argument.type for argument in function.args], []
    )
    TARGET.set(module, TargetAttr.of(machine))
    module.verify()


def run(module: ModuleOp, layer: LayerText, counters: Counters | None = None) -> np.ndarray:
    """The output on small integers, whose sums are exact in any order."""
    random = np.random.default_rng(3)
    inputs = [random.integers(-3, 4, shape).astype(np.float32) for shape in layer.inputs]
    out = np.full(layer.output, np.float32(1e30))
    return run_function(module.clone(), None, [*inputs, out], counters=counters)[-1]


def moved(counters: Counters) -> tuple[int, int]:
    maps = counters.feature_map_read_bytes + counters.feature_map_write_bytes
    return maps + counters.weight_bytes, counters.transfers


def check(
    layer: LayerText, off_chip: list[bool], machine: Machine, options: TileLoopsPass
) -> ModuleOp:
    """Tile a layer on a machine, and check it; returns the module."""
    context, module = parsed(layer.text)
    place(module, off_chip, machine)
    expected = run(module, layer)
    (staged,) = options.staged(function_of(module.clone()), machine).ops
    options.apply(context, module)
    module.verify()
    for op in module.walk():
        assert not isinstance(op, LayerOp) or not off_chip_operands(op)
    counters = Counters()
    np.testing.assert_allclose(run(module, layer, counters), expected, rtol=1e-5, atol=1e-5)
    if staged.staging is not None:
        assert moved(counters) == (staged.staging.bytes, staged.staging.transfers)
        assert staged.staging.footprint <= staged.free
        assert on_chip(module) <= staged.staging.footprint
    DoubleBufferPass().apply(context, module)
    module.verify()
    again = Counters()
    np.testing.assert_allclose(run(module, layer, again), expected, rtol=1e-5, atol=1e-5)
    assert moved(again) == moved(counters)
    if staged.staging is not None:
        assert on_chip(module) <= staged.staging.footprint
    return module


def on_chip(module: ModuleOp) -> int:
    """The most bytes of on-chip buffers that live at once."""
    found = lifetimes_of(function_of(module), SramSpace())
    return max(
        sum(buffer.size for buffer in found.buffers if buffer.first <= point <= buffer.last)
        for point in range(len(found.ops))
    )


def test_picked_pixels_are_planned_as_they_move() -> None:
    """A 1x1 convolution with a stride may read a view of its pixels, whose tiles count."""
    text = (
        "func.func @f(%a0 : memref<1x1x1x5xf32>, %a1 : memref<2x1x1x1xf32>, "
        "%out : memref<1x2x1x3xf32>) {\n"
        "npu.conv2d ins(%a0, %a1 : memref<1x1x1x5xf32>, memref<2x1x1x1xf32>) "
        "outs(%out : memref<1x2x1x3xf32>) strides [1, 2]\nfunc.return\n}"
    )
    layer = LayerText(text, ((1, 1, 1, 5), (2, 1, 1, 1)), (1, 2, 1, 3))
    off_chip, machine = [True, True, False], replace(MACHINE, sram_bytes=8, weight_buffers=2)
    _, module = parsed(text)
    place(module, off_chip, machine)
    check(layer, off_chip, machine, TileLoopsPass(minimize="bytes", double_buffer=False))


@settings(max_examples=60, deadline=None)
@given(
    layer=LAYERS,
    off_chip=st.lists(st.booleans(), min_size=6, max_size=6),
    fraction=st.sampled_from([0.0, 0.1, 0.3, 1.0, 2.5]),
    minimize=st.sampled_from(["bytes", "cost", "time"]),
    double=st.booleans(),
    kernel_group=st.sampled_from([0, 0, 2]),
)
def test_tiles_mean_the_same(
    layer: LayerText,
    off_chip: list[bool],
    fraction: float,
    minimize: Literal["bytes", "cost", "time"],
    double: bool,
    kernel_group: int,
) -> None:
    _, module = parsed(layer.text)
    operands = len(layer.inputs) + 1
    assume(any(off_chip[:operands]))
    machine = replace(MACHINE, kernel_group=kernel_group, weight_buffers=2)
    place(module, off_chip, machine)
    op = layer_of(module)
    least = least_bytes(op, off_chip_operands(op), machine)
    whole = sum(size_of(op, value.type) for value in off_chip_operands(op))
    budget = least + int(fraction * max(0, whole - least))
    machine = replace(machine, sram_bytes=max(1, budget))
    machine = replace(machine, **TIMED) if minimize == "time" else machine
    options = TileLoopsPass(minimize=minimize, double_buffer=double)
    check(layer, off_chip, machine, options)


@pytest.mark.parametrize("rows", ["0 to 4 each 3", "0 to 4, 4", "4 to 0", "none, 0 to 4, none"])
@pytest.mark.parametrize("fraction", [0.0, 0.4])
def test_picked_elements(rows: str, fraction: float) -> None:
    """Rows in order are cut into tiles, even if they are repeated; other lists are taken whole."""
    extent = {"0 to 4 each 3": 15, "0 to 4, 4": 6, "4 to 0": 5}.get(rows, 7)
    fill = " fill 0.5" if "none" in rows else ""
    clauses = f"axis 2 [{rows}] axis 3 [0 to 3 each 2]{fill}"
    layer = layer_text("npu.pick", clauses, [(1, 2, 5, 4)], (1, 2, extent, 8))
    _, module = parsed(layer.text)
    place(module, [True, True], MACHINE)
    op = layer_of(module)
    least = least_bytes(op, off_chip_operands(op), MACHINE)
    whole = sum(size_of(op, value.type) for value in op.operands)
    machine = replace(MACHINE, sram_bytes=least + int(fraction * (whole - least)))
    check(layer, [True, True], machine, TileLoopsPass())


@pytest.mark.parametrize("side", ["first", "second"])
def test_a_residual_is_loaded_for_the_first_part_of_the_sums(side: str) -> None:
    """Tiles of output channels change fastest, so sums leave the chip unfinished and come back."""
    inputs = [(1, 6, 4, 4), (4, 6, 1, 1), (1, 4, 4, 4)]
    clauses = f"then add residual {side} then relu"
    layer = layer_text("npu.conv2d", clauses, inputs, (1, 4, 4, 4))
    options = TileLoopsPass(tile_sizes=(2, 4, 2, 2))
    module = check(layer, [True] * 4, MACHINE, options)
    loaded = [op for op in module.walk() if isinstance(op, LayerOp) and len(op.inputs) == 3]
    assert 0 < sum(op.repetitions for op in loaded) == 4


def text(signature: str, body: str) -> str:
    return f"func.func @f({signature}) {{\n  {body}\n  func.return\n}}\n"


QUANTISED = (
    text(
        "%x: memref<1x3x6x6xi8>, %w: memref<5x3x3x3xi8>, %b: memref<5xi32>, %y: memref<1x5x6x6xi8>",
        "npu.conv2d ins(%x, %w, %b : memref<1x3x6x6xi8>, memref<5x3x3x3xi8>, memref<5xi32>) "
        "outs(%y : memref<1x5x6x6xi8>) strides [1, 1] pads [1, 1, 1, 1] zero_points [3, 1] then "
        "requantize scales [0.01, 0.02, 0.03, 0.04, 0.05] zero_point -3 mode float",
    ),
    text(
        "%x: memref<1x12xi8>, %w: memref<4x12xi8>, %y: memref<1x4xi32>",
        "npu.fully_connected ins(%x, %w : memref<1x12xi8>, memref<4x12xi8>) "
        "outs(%y : memref<1x4xi32>) zero_points [3, 1]",
    ),
    text(
        "%x: memref<1x3x4x4xi32>, %y: memref<1x3x4x4xi8>",
        "npu.requantize ins(%x : memref<1x3x4x4xi32>) outs(%y : memref<1x3x4x4xi8>) "
        "scales [0.5, 0.25, 2.0] zero_points [0, -3] mode float",
    ),
    text(
        "%x: memref<2x3x4x4xi8>, %y: memref<2x3x2x2xi8>",
        "npu.quantized_avg_pool2d ins(%x : memref<2x3x4x4xi8>) outs(%y : memref<2x3x2x2xi8>) "
        "kernel [2, 2] strides [2, 2] scales [0.1, 0.2] zero_points [3, 0] mode float",
    ),
)
"""Quantised layers: a scale for each channel, sums in parts, element types of different widths."""


@pytest.mark.parametrize("layer", QUANTISED)
def test_quantised_layers_in_their_smallest_tiles(layer: str) -> None:
    _, module = parsed(layer)
    function = function_of(module)
    types = [arg.type for arg in function.args]
    place(module, [True] * len(types), MACHINE)
    op = layer_of(module)
    machine = replace(MACHINE, sram_bytes=least_bytes(op, off_chip_operands(op), MACHINE))
    place(module, [True] * len(types), machine)
    random = np.random.default_rng(5)
    inputs = [random.integers(-9, 9, value.shape).astype(value.dtype) for value in ports(module)]
    before = run_function(module.clone(), None, inputs)[-1]
    context, _ = parsed(layer)
    (staged,) = stage_function(function, machine, TileLoopsPass().options).ops
    TileLoopsPass().apply(context, module)
    module.verify()
    counters = Counters()
    after = run_function(module.clone(), None, inputs, counters=counters)[-1]
    np.testing.assert_array_equal(after, before)
    assert staged.staging is not None
    assert moved(counters) == (staged.staging.bytes, staged.staging.transfers)


KERNELS = text(
    "%x: memref<1x4x2x2xi8>, %w: memref<40x4x1x1xi8>, %y: memref<1x40x2x2xi8>",
    "npu.conv2d ins(%x, %w : memref<1x4x2x2xi8>, memref<40x4x1x1xi8>) outs(%y : "
    "memref<1x40x2x2xi8>) strides [1, 1] zero_points [3, 1] then requantize scales [SCALES] "
    "zero_point -3 mode float",
)


@pytest.mark.parametrize(
    ("scales", "sram_bytes", "tiles"),
    [(40, 1 << 20, 7), (1, 1 << 20, 1), (40, 17, 10), (40, 9, 20)],
)
def test_kernels_with_scales_of_their_own(scales: int, sram_bytes: int, tiles: int) -> None:
    """Groups of two kernels are one loop, or few tiles if each has scales of its own."""
    numbers = ", ".join(f"0.0{n + 10}" for n in range(scales))
    context, module = parsed(KERNELS.replace("SCALES", numbers))
    machine = replace(MACHINE, sram_bytes=sram_bytes, kernel_group=2, alignment=1)
    place(module, [False, True, False], machine)
    random = np.random.default_rng(5)
    inputs = [random.integers(-9, 9, value.shape).astype(value.dtype) for value in ports(module)]
    before = run_function(module.clone(), None, inputs)[-1]
    TileLoopsPass().apply(context, module)
    module.verify()
    np.testing.assert_array_equal(run_function(module.clone(), None, inputs)[-1], before)
    assert sum(isinstance(op, LayerOp) for op in module.walk()) == tiles
    assert on_chip(module) <= sram_bytes


def ports(module: ModuleOp) -> list[Port]:
    return list(Signature.of(function_of(module)).inputs)


def test_what_lives_on_chip_leaves_less() -> None:
    """On-chip maps that live across a layer, and its own on-chip map, leave less for tiles."""
    layer = text(
        "%x: memref<1x4x4x4xf32, #npu.dram>, %z: memref<100xf32, #npu.sram> {sram.input, "
        "sram.output}, %y: memref<1x4x4x4xf32, #npu.sram> {sram.output}",
        "npu.relu ins(%x : memref<1x4x4x4xf32, #npu.dram>) outs(%y : memref<1x4x4x4xf32, "
        "#npu.sram>)",
    )
    _, module = parsed(layer)
    machine = replace(MACHINE, sram_bytes=1000)
    (staged,) = stage_function(function_of(module), machine, TileLoopsPass().options).ops
    assert staged.free == 1000 - 400 - 256


def test_copies_and_in_place_layers() -> None:
    """Copies and in-place layers pass through one buffer, from and to off-chip memory."""
    layer = text(
        "%x: memref<50xf32, #npu.dram>, %y: memref<50xf32, #npu.dram>",
        "npu.relu ins(%x : memref<50xf32, #npu.dram>) outs(%x : memref<50xf32, #npu.dram>)\n"
        '  "memref.copy"(%x, %y) : (memref<50xf32, #npu.dram>, memref<50xf32, #npu.dram>) -> ()',
    )
    context, module = parsed(layer)
    place(module, [True, True], replace(MACHINE, sram_bytes=64))
    data = np.arange(-25, 25, dtype=np.float32)
    TileLoopsPass().apply(context, module)
    DoubleBufferPass().apply(context, module)
    module.verify()
    counters = Counters()
    out = run_function(module.clone(), None, [data, data], counters=counters)[-1]
    np.testing.assert_array_equal(out, np.maximum(data, 0))
    assert moved(counters)[0] == 4 * 50 * 4
    assert (counters.feature_map_reads, counters.feature_map_writes) == (2, 2)


MAP = "memref<1x4x12x12xf32, #npu.dram>"
WEIGHT = "memref<4x4x3x3xf32, #npu.dram>"


@pytest.mark.parametrize(
    ("residual", "out"),
    [("%x", "%y"), ("%z", "%y"), ("%z", "%z")],
    ids=["input", "map", "in place"],
)
@pytest.mark.parametrize("sram_bytes", [1200, 3000])
def test_an_addition_in_tiles(residual: str, out: str, sram_bytes: int) -> None:
    """The added map is cut into tiles like the output."""
    layer = text(
        f"%x: {MAP}, %w: {WEIGHT}, %z: {MAP}, %y: {MAP}",
        f"npu.conv2d ins(%x, %w, {residual} : {MAP}, {WEIGHT}, {MAP}) outs({out} : {MAP})"
        " pads [1, 1, 1, 1] then add residual first then relu",
    )
    context, module = parsed(layer)
    place(module, [True] * 4, replace(MACHINE, sram_bytes=sram_bytes))
    random = np.random.default_rng(5)
    shapes = [(1, 4, 12, 12), (4, 4, 3, 3), (1, 4, 12, 12), (1, 4, 12, 12)]
    data = [random.integers(-3, 4, shape).astype(np.float32) for shape in shapes]
    place_of_out = 2 if out == "%z" else 3
    wanted = run_function(module.clone(), None, [each.copy() for each in data])[place_of_out]
    for passes in (TileLoopsPass(), DoubleBufferPass()):
        passes.apply(context, module)
        module.verify()
        counters = Counters()
        copies = [each.copy() for each in data]
        found = run_function(module.clone(), None, copies, counters=counters)[place_of_out]
        np.testing.assert_array_equal(found, wanted)
    whole = 4 * 12 * 12 * 4
    assert counters.feature_map_write_bytes == whole
    assert counters.feature_map_read_bytes >= 2 * whole
