"""Short loops around double-buffered ones, step by step: the same results, in less time."""

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
