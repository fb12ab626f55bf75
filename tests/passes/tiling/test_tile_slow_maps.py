"""Layers whose slow maps are copied in tiles compute the same, in less time, in the same arenas."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp

from helpers.pipeline import context, parse, run_passes
from npu_dialect.arenas import arenas_of
from npu_dialect.attributes import TARGET, TILE
from npu_dialect.interpreters import run_function
from npu_dialect.machine import Machine
from npu_dialect.npu.layer import LayerOp
from npu_dialect.target import TargetAttr
from npu_dialect.time_attributes import CYCLES

BUFFERS = "npu-fuse-conv-relu-pool,npu-bufferize,npu-choose-layouts{rows=true},npu-overlay-maps"
PLACES = f"{BUFFERS},npu-assign-memories"
TILES = "npu-tile-slow-maps"
OFFSETS = "npu-assign-sram-offsets"


def board(fast: int, slow: int = 1 << 20) -> Machine:
    """A machine with `fast` bytes of fast memory, and `slow` of a memory an eighth as fast."""
    tables = [
        {"name": "fast", "bytes": fast, "read_bytes_per_cycle": 4},
        {"name": "slow", "bytes": slow, "read_bytes_per_cycle": Fraction(1, 2)},
    ]
    table: dict[str, object] = {
        "name": "board",
        "flash_bytes": 1 << 20,
        "clock_hz": 1000,
        "macs_per_cycle": {"f32": 1, "i8": 1},
        "memory": tables,
    }
    return Machine.from_table(table, "board")


def on(module: ModuleOp, machine: Machine) -> ModuleOp:
    """A copy of a module for a machine."""
    copy = module.clone()
    TARGET.set(copy, TargetAttr.of(machine))
    return copy


def function_of(module: ModuleOp) -> FuncOp:
    """The only function."""
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    return function


def cycles(module: ModuleOp) -> int:
    """The cycles of the only function by the model of time."""
    record = CYCLES.get(function_of(run_passes(context(), module, "npu-estimate-time")))
    assert record is not None
    total = record.data["total"]
    assert isinstance(total, IntegerAttr)
    return total.value.data


def tiled(module: ModuleOp) -> list[LayerOp]:
    """The first tile of each layer that runs in tiles."""
    return [op for op in module.walk() if isinstance(op, LayerOp) and TILE.is_on(op)]


def kind(*shape: int) -> str:
    """The type of a map."""
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[str, tuple[int, ...]]:
    """A convolution, perhaps with a ReLU, a pool or an addition behind it; the shape of its map."""
    images, size = draw(st.integers(1, 2)), draw(st.integers(4, 13))
    groups = draw(st.sampled_from((1, 1, 2, 4)))
    depth = draw(st.integers(1, 3)) * (1 if groups == 4 else 2)
    kernel, stride = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    pads, dilation = draw(st.integers(0, kernel - 1)), draw(st.integers(1, 2))
    channels, filters = depth * groups, groups * draw(st.integers(1, 2))
    reach = (kernel - 1) * dilation + 1
    out = (size + 2 * pads - reach) // stride + 1
    shape = (images, channels, size, size)
    after = (images, filters, out, out)
    if out < 2:
        return draw(convolutions())
    weight = kind(filters, depth, kernel, kernel)
    lines = [
        f"%w = arith.constant dense<2.0> : {weight}",
        f"%s = npu.relu %x : {kind(*shape)} -> {kind(*shape)}",
        f"%c = npu.conv2d %s, %w strides [{stride}, {stride}] pads [{pads}, {pads}, {pads}, "
        f"{pads}] dilations [{dilation}, {dilation}] groups {groups} : ({kind(*shape)}, {weight}) "
        f"-> {kind(*after)}",
    ]
    last = "%c"
    behind = draw(st.sampled_from(("nothing", "relu", "pool", "add")))
    if behind == "pool":
        pooled = (images, filters, out // 2, out // 2)
        lines.append(
            f"%p = npu.max_pool2d %c kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] : "
            f"{kind(*after)} -> {kind(*pooled)}"
        )
        last, after = "%p", pooled
    elif behind == "relu":
        lines.append(f"%p = npu.relu %c : {kind(*after)} -> {kind(*after)}")
        last = "%p"
    elif behind == "add":
        lines.append(f"%p = npu.add %c, %c : ({kind(*after)}, {kind(*after)}) -> {kind(*after)}")
        last = "%p"
    body = "\n  ".join([*lines, f"func.return {last} : {kind(*after)}"])
    return f"func.func @f(%x: {kind(*shape)}) -> ({kind(*after)}) {{\n  {body}\n}}\n", shape


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(case=convolutions(), share=st.integers(0, 9))
def test_convolutions_compute_the_same(case: tuple[str, tuple[int, ...]], share: int) -> None:
    """Whole numbers, so that sums are exact in any order."""
    text, shape = case
    ctx = context()
    module = parse(ctx, text)
    random = np.random.default_rng(share)
    x = random.integers(-4, 5, shape).astype(np.float32)
    (wanted,) = run_function(module, "f", [x])
    size = 4 * int(np.prod(shape))
    placed = run_passes(ctx, on(module, board(max(64, size * share // 8))), PLACES)
    plain = run_passes(ctx, placed, OFFSETS)
    done = run_passes(ctx, placed, f"{TILES},{OFFSETS}")
    (result,) = run_function(done, "f", [x])
    np.testing.assert_array_equal(result, wanted)
    assert cycles(done) <= cycles(plain)
    assert bool(tiled(done)) == (cycles(done) < cycles(plain))
    before, after = arenas_of(function_of(plain)), arenas_of(function_of(done))
    assert after.get("fast", 0) <= max(64, size * share // 8)
    assert after.get("slow", 0) <= before.get("slow", 0) or 100 * cycles(done) <= 99 * cycles(plain)


DEPTHWISE = """
func.func @f(%x: tensor<1x4x40x8xf32>) -> (tensor<1x4x40x8xf32>) {
  %w = arith.constant dense<2.0> : tensor<4x1x3x3xf32>
  %c = npu.conv2d %x, %w strides [1, 1] pads [1, 1, 1, 1] groups 4
    : (tensor<1x4x40x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x40x8xf32>
  func.return %c : tensor<1x4x40x8xf32>
}
"""
"""Maps of 5 120 bytes; a row of all channels has 128."""


@pytest.mark.parametrize(("fast", "rows"), [(383, 0), (384, 1), (1024, 6), (5119, 20)])
def test_as_many_rows_as_there_is_room_for(fast: int, rows: int) -> None:
    """A tile has two rows of halo, or one at the border; without room for the whole map, the
    fewest bytes are copied in two tiles."""
    ctx = context()
    placed = run_passes(ctx, on(parse(ctx, DEPTHWISE), board(fast)), PLACES)
    done = run_passes(ctx, placed, TILES)
    found = [rows_of(each) for each in tiled(done)]
    assert found == ([rows] if rows else [])


@pytest.mark.parametrize("fast", [384, 1024, 5120])
def test_tiles_compute_the_same(fast: int) -> None:
    ctx = context()
    module = parse(ctx, DEPTHWISE)
    x = np.random.default_rng(fast).integers(-4, 5, (1, 4, 40, 8)).astype(np.float32)
    (wanted,) = run_function(module, "f", [x])
    done = run_passes(ctx, on(module, board(fast)), f"{PLACES},{TILES},{OFFSETS}")
    (result,) = run_function(done, "f", [x])
    np.testing.assert_array_equal(result, wanted)


def test_tiles_for_which_there_is_no_memory_are_not_taken() -> None:
    """In planes the output follows its input plane by plane, which tiles of rows cannot do."""
    ctx = context()
    module = parse(ctx, DEPTHWISE)
    plain = run_passes(ctx, on(module, board(1024)), f"{PLACES},{OFFSETS}")
    needed = arenas_of(function_of(plain))["slow"]
    for slow, expected in ((needed, 0), (2 * 5120, 1)):
        passes = f"{PLACES},{TILES},{OFFSETS}"
        done = run_passes(ctx, on(module, board(1024, slow)), passes)
        assert len(tiled(done)) == expected


def rows_of(layer: LayerOp) -> int:
    """The rows of the tiles of a layer."""
    record = TILE.get(layer)
    assert record is not None
    sizes = record.data["sizes"]
    assert isinstance(sizes, DictionaryAttr)
    rows = sizes.data["rows"]
    assert isinstance(rows, IntegerAttr)
    return rows.value.data


def test_predicted_cycles_are_those_of_the_model() -> None:
    """But for 200 cycles a tile, `saved_cycles` is exact. A loop is around all tiles, one around
    those in the middle."""
    ctx = context()
    placed = run_passes(ctx, on(parse(ctx, DEPTHWISE), board(1024)), PLACES)
    done = run_passes(ctx, placed, TILES)
    copies = [op for op in done.walk() if isinstance(op, memref.CopyOp)]
    loops = [op for op in done.walk() if isinstance(op, scf.ForOp)]
    assert (len(copies), len(loops)) == (3, 2)
    (layer,) = tiled(done)
    record = TILE.get(layer)
    assert record is not None
    saved = record.data["saved_cycles"]
    assert isinstance(saved, IntegerAttr)
    assert saved.value.data + 7 * 200 == cycles(placed) - cycles(done)
