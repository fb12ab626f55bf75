"""Short loops around double-buffered ones, and these, step by step: the same in less time."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from npu_dialect.interpreters import run_function
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_passes.analysis.timed_program import read_program
from npu_passes.overlap.double_buffer import DoubleBufferPass
from npu_passes.overlap.prefetch import PrefetchPass
from npu_passes.overlap.unroll_loops import UnrollLoopsPass
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass
from npu_plans.time.rates import Rates
from npu_plans.time.simulate import Cycles, simulate, total_of
from npu_tools.shared.installed import context

MACHINE = Machine.load("exynos-npu")
CHANNELS, COLUMNS = 8, 512


def module_of(outer: int, inner: int) -> ModuleOp:
    """A ReLU of `outer` maps in tiles of a row, of `inner` rows each, with the passes in front."""
    map_, tile = (f"1x{CHANNELS}x{rows}x{COLUMNS}xf32" for rows in (inner, 1))
    strides = (CHANNELS * inner * COLUMNS, inner * COLUMNS, COLUMNS, 1)
    maps = f"memref<{map_.replace('1', str(outer), 1)}, #npu.dram>"
    off, on = (
        f"memref<{tile}, strided<{list(strides)}, offset: ?>, #npu.dram>",
        f"memref<{tile}, #npu.sram>",
    )
    text = f"""
    func.func @f(%x : {maps} {{dram.input}}, %y : {maps} {{dram.output}}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %outer = arith.constant {outer} : index
      %inner = arith.constant {inner} : index
      %a = sram.alloc : {on}
      %b = sram.alloc : {on}
      scf.for %o = %c0 to %outer step %c1 {{
        scf.for %i = %c0 to %inner step %c1 {{
          %in = memref.subview %x[%o, 0, %i, 0] [1, {CHANNELS}, 1, {COLUMNS}] [1, 1, 1, 1]
            : {maps} to {off}
          %t = dma.start %in to %a channel 1 : {off} to {on}
          dma.wait %t
          npu.relu ins(%a : {on}) outs(%b : {on}) {{npu.runs = {outer * inner} : i64}}
          %out = memref.subview %y[%o, 0, %i, 0] [1, {CHANNELS}, 1, {COLUMNS}] [1, 1, 1, 1]
            : {maps} to {off}
          %s = dma.start %b to %out channel 3 : {on} to {off}
          dma.wait %s
        }} {{npu.double_buffer}}
      }}
      func.return
    }}"""
    return double_buffered(text)


def double_buffered(text: str) -> ModuleOp:
    """A program for the machine, with loops whose steps overlap."""
    module = Parser(context(), text).parse_module()
    module.attributes["npu.target"] = TargetAttr.of(MACHINE)
    DoubleBufferPass().apply(context(), module)
    return module


def finished(module: ModuleOp) -> ModuleOp:
    """The module with offsets, and loads that start early."""
    AssignSramOffsetsPass(strategy="greedy").apply(context(), module)
    PrefetchPass().apply(context(), module)
    module.verify()
    return module


def timed(module: ModuleOp) -> Cycles:
    (function,) = (op for op in module.walk() if isinstance(op, func.FuncOp))
    rates = Rates.of(MACHINE)
    return total_of(simulate(read_program(function, rates).body, rates))


@settings(max_examples=12, deadline=None)
@given(outer=st.integers(2, 4), inner=st.integers(4, 6), steps=st.integers(0, 4))
def test_the_same_in_less_time(outer: int, inner: int, steps: int) -> None:
    """The interpreter poisons the target of a transfer until the wait."""
    plain, unrolled = module_of(outer, inner), module_of(outer, inner)
    UnrollLoopsPass(steps=steps).apply(context(), unrolled)
    loops = [op for op in unrolled.walk() if isinstance(op, scf.ForOp)]
    assert any(loop.body.block.args[0].name_hint == "o" for loop in loops) == (steps < outer)
    x = np.random.default_rng(1).normal(size=(outer, CHANNELS, inner, COLUMNS)).astype(np.float32)
    before, after = timed(finished(plain)), timed(finished(unrolled))
    (found,) = run_function(unrolled, "f", [x])
    np.testing.assert_array_equal(found, np.maximum(x, 0))
    assert after.bytes == before.bytes
    if steps < outer:
        assert str(unrolled) == str(plain)
    else:
        assert after.total < before.total
        assert after.bare_bytes < before.bare_bytes


def two_ahead(tiles: int, *, store: bool) -> ModuleOp:
    """A ReLU of a map on chip, and one of a map in `tiles` tiles, whose loads start two ahead.

    With `store` each tile leaves in its step; else the last one leaves behind the loop.
    """
    tile, map_ = (f"1x{CHANNELS}x{rows}x{COLUMNS}xf32" for rows in (1, tiles))
    steps = [CHANNELS * tiles * COLUMNS, tiles * COLUMNS, COLUMNS, 1]
    off = f"memref<{tile}, strided<{steps}, offset: ?>, #npu.dram>"
    on, maps = f"memref<{tile}, #npu.sram>", f"memref<{map_}, #npu.dram>"
    front = f"memref<1x{24 * CHANNELS}x1x{COLUMNS}xf32, #npu.sram>"
    leaves = f"""
          %out = memref.subview %y[0, 0, {"%i" if store else "0"}, 0] [1, {CHANNELS}, 1, {COLUMNS}]
            [1, 1, 1, 1] : {maps} to {off}
          %s = dma.start %b to %out channel 3 : {on} to {off}
          dma.wait %s"""
    text = f"""
    func.func @f(%x : {maps} {{dram.input}}, %y : {maps} {{dram.output}}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %tiles = arith.constant {tiles} : index
      %d = sram.alloc : {front}
      npu.relu ins(%d : {front}) outs(%d : {front}) {{npu.runs = 1 : i64}}
      %a = sram.alloc : {on}
      %b = sram.alloc : {on}
      scf.for %i = %c0 to %tiles step %c1 {{
        %in = memref.subview %x[0, 0, %i, 0] [1, {CHANNELS}, 1, {COLUMNS}] [1, 1, 1, 1]
          : {maps} to {off}
        %t = dma.start %in to %a channel 1 : {off} to {on}
        dma.wait %t
        npu.relu ins(%a : {on}) outs(%b : {on}) {{npu.runs = {tiles} : i64}}
        {leaves if store else ""}
      }} {{npu.double_buffer, npu.two_ahead}}
      {"" if store else leaves}
      func.return
    }}"""
    return double_buffered(text)


@settings(max_examples=8, deadline=None)
@given(tiles=st.integers(5, 8), own_steps=st.integers(0, 6), store=st.booleans())
def test_loads_two_ahead_start_beside_the_layer_in_front(
    tiles: int, own_steps: int, store: bool
) -> None:
    """Two steps are behind the loop, and with stores one is in front of it."""
    plain, unrolled = two_ahead(tiles, store=store), two_ahead(tiles, store=store)
    UnrollLoopsPass(own_steps=own_steps).apply(context(), unrolled)
    loops = [op for op in unrolled.walk() if isinstance(op, scf.ForOp)]
    assert len(loops) == (own_steps < tiles - 2 - store)
    x = np.random.default_rng(1).normal(size=(1, CHANNELS, tiles, COLUMNS)).astype(np.float32)
    before, after = timed(finished(plain)), timed(finished(unrolled))
    (expected,), (found,) = (run_function(each, "f", [x]) for each in (plain, unrolled))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found[:, :, 0], np.maximum(x[:, :, 0 if store else -1], 0))
    assert after.bytes == before.bytes
    assert after.compute == before.compute
    assert after.total == before.total if loops else after.total < before.total
