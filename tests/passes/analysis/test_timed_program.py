"""Programs of the virtual clock, read from IR, are what the interpreter runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter
from xdsl.ir import Operation

from helpers.parsing import parse
from helpers.tiles.loops_of_tiles import CASES, Case
from npu_dialect.dma import StartOp, WaitOp
from npu_dialect.interpreters import run_function
from npu_dialect.npu.layer import LayerOp
from npu_passes.analysis.timed_ops import NotTimed, moved_by, task_of
from npu_passes.analysis.timed_program import read_program
from npu_passes.overlap.double_buffer import DoubleBufferPass
from npu_plans.time.program import Loop, Rename, Start, Wait, Work
from npu_plans.time.rates import Rates
from npu_plans.time.stepping import steps

RATES = Rates({"f32": Fraction(3)}, Fraction(8), Fraction(4), setup=10, jump=1, channels=2)


@dataclass
class Log(Interpreter.Listener):
    """The transfers and layers that run."""

    seen: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])

    def will_interpret_op(self, op: Operation, args: tuple[Any, ...]) -> None:
        """Note what an op costs."""
        match op:
            case StartOp():
                self.seen.append(tuple(moved_by(op)))
            case WaitOp():
                self.seen.append(())
            case LayerOp():
                task = task_of(op, RATES)
                self.seen.append((0 if task is None else task.cycles(RATES),))
            case _:
                pass


def read(module: ModuleOp) -> list[tuple[int, ...]]:
    """The steps of the only function of a module, as `Log` notes them."""
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    found: list[tuple[int, ...]] = []
    for step in steps(read_program(function, RATES).body):
        match step:
            case Start():
                found.append((step.bytes, step.runs))
            case Wait():
                found.append(())
            case Work():
                found.append((step.cycles,))
            case Rename():
                pass  # a loop hands a transfer on to its next step
            case _:
                raise AssertionError(step)
    return found


@pytest.mark.parametrize("double", [False, True])
@settings(max_examples=60, deadline=None)
@given(case=CASES)
def test_programs_are_what_runs(case: Case, double: bool) -> None:
    module = parse(case.text())
    if double:
        DoubleBufferPass().apply(Context(), module)
    log = Log()
    image = np.zeros((1, case.channels, case.height, case.columns), np.float32)
    kernels = np.zeros((case.channels, 1, 1, 1), np.float32)
    run_function(module.clone(), "f", [image, kernels], listeners=(log,))
    assert bool(log.seen) == bool(case.rounds)
    assert read(module) == log.seen


def test_equal_iterations_are_one_body() -> None:
    """The branch is taken in two of a thousand iterations; the loop has two bodies."""
    module = parse("""
    func.func @f(%a : memref<16xf32, #npu.sram>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c500 = arith.constant 500 : index
      %c1000 = arith.constant 1000 : index
      scf.for %i = %c0 to %c1000 step %c1 {
        npu.relu ins(%a : memref<16xf32, #npu.sram>) outs(%a : memref<16xf32, #npu.sram>)
        %part = arith.remui %i, %c500 : index
        %first = arith.cmpi eq, %part, %c0 : index
        scf.if %first {
          npu.relu ins(%a : memref<16xf32, #npu.sram>) outs(%a : memref<16xf32, #npu.sram>)
        }
      }
      func.return
    }""")
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    (loop,) = read_program(function, RATES).body
    assert isinstance(loop, Loop)
    found = list(loop.stretches())
    assert [count for count, _ in found] == [1, 499, 1, 499]


@pytest.mark.slow
def test_too_many_iterations_are_not_read() -> None:
    module = parse("""
    func.func @f(%a : memref<16xf32, #npu.sram>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %many = arith.constant 100000000 : index
      scf.for %i = %c0 to %many step %c1 {
        %first = arith.cmpi eq, %i, %c0 : index
        scf.if %first {
          npu.relu ins(%a : memref<16xf32, #npu.sram>) outs(%a : memref<16xf32, #npu.sram>)
        }
      }
      func.return
    }""")
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    with pytest.raises(NotTimed, match="more than 500000 ops run"):
        read_program(function, RATES)
