"""What `npu-prefetch` reads of a function is what the time model says of it."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from helpers.pipeline import context
from npu_dialect.machine import Machine
from npu_dialect.target import machine_of
from npu_passes.analysis.lifetimes import Numbering
from npu_passes.analysis.timed_program import read_program
from npu_passes.overlap.pace import Pace
from npu_passes.overlap.read_block import placed_in, read_block
from npu_plans.prefetch.timeline import Timeline
from npu_plans.time.rates import Rates
from npu_plans.time.simulate import simulate, total_of

TEXT = """
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 1024 : i64,
    flash_bytes = 0 : i64, dma_channels = 2 : i64, clock_hz = 1000 : i64,
    macs_per_cycle = {i8 = 1 : i64}, sram_bytes_per_cycle = 64 : i64,
    dma_bytes_per_cycle = 1 : i64, dma_setup_cycles = 10 : i64}>} {
  func.func @f(%map : memref<4x64xi8, #npu.dram>, %w : memref<16x16xi8, #npu.dram>,
      %x : memref<1x16xi8, #npu.sram> {sram.input, sram.offset = 0 : i64}) {
    %a = sram.alloc at 64 : memref<1x64xi8, #npu.sram>
    %b = sram.alloc at 128 : memref<16x16xi8, #npu.sram>
    %y = sram.alloc at 32 : memref<1x16xi8, #npu.sram>
    %row = memref.subview %map[0, 0] [1, 64] [1, 1] : memref<4x64xi8, #npu.dram>
      to memref<1x64xi8, strided<[64, 1]>, #npu.dram>
    %0 = dma.start %a to %row channel 1 : memref<1x64xi8, #npu.sram>
      to memref<1x64xi8, strided<[64, 1]>, #npu.dram>
    %1 = dma.start weights %w to %b channel 0 : memref<16x16xi8, #npu.dram>
      to memref<16x16xi8, #npu.sram>
    dma.wait %0
    npu.relu ins(%a : memref<1x64xi8, #npu.sram>) outs(%a : memref<1x64xi8, #npu.sram>)
    dma.wait %1
    npu.fully_connected ins(%x, %b : memref<1x16xi8, #npu.sram>, memref<16x16xi8, #npu.sram>)
      outs(%y : memref<1x16xi8, #npu.sram>)
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %c0 to %c3 step %c1 {
      %2 = dma.start weights %w to %b channel 0 : memref<16x16xi8, #npu.dram>
        to memref<16x16xi8, #npu.sram>
      dma.wait %2
    }
    func.return
  }
}
"""


def parsed() -> tuple[ModuleOp, FuncOp, Machine]:
    """The function above."""
    module = Parser(context(), TEXT).parse_module()
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    machine = machine_of(module)
    assert machine is not None
    return module, function, machine


def test_the_clock_is_that_of_the_time_model() -> None:
    """The function's only loop has no work, but its transfers have the bus."""
    _, function, machine = parsed()
    (loop,) = (op for op in function.walk() if isinstance(op, scf.ForOp))
    numbering = Numbering(function, tuple(function.walk()))
    placed, pace = placed_in(function, numbering, machine), Pace.of(function, machine)
    block = read_block(function.body.block, numbering, placed, pace)
    steps = list(function.body.block.ops)
    assert block.steps[steps.index(loop)].moving == 3 * (10 + 256)
    assert block.steps[steps.index(loop)].data == 3 * 256
    total = Timeline(block, range(len(steps))).total
    loop.detach()
    rates = Rates.of(machine)
    assert total == total_of(simulate(read_program(function, rates).body, rates)).total + 3 * 256


def test_a_body_of_a_loop_has_no_clock() -> None:
    """What runs in front of it is another step of it, at most times."""
    _, function, machine = parsed()
    (loop,) = (op for op in function.walk() if isinstance(op, scf.ForOp))
    pace = Pace.of(function, machine)
    assert pace.channels(function.body.block) == 2
    assert pace.channels(loop.body.block) == 0
    assert Pace(None, None).channels(function.body.block) == 0
