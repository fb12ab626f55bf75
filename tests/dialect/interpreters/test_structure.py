"""Modules of branches: what they compute, and errors that only a pass can make, not IR text."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from helpers.reference import parsed
from npu_dialect.interpreters import find_function, register_implementations, run_function
from npu_dialect.npu import BranchedModuleOp, ClampOp, ReluOp

MODULE = """
func.func @f(%x: tensor<1x2x1x1xf32>) -> tensor<1x4x1x1xf32> {
  %y = npu.module concat axis 1 of %x : tensor<1x2x1x1xf32> -> tensor<1x4x1x1xf32> {
    npu.branch part 1 {
      %a = npu.relu %x : tensor<1x2x1x1xf32> -> tensor<1x2x1x1xf32>
      %m = npu.module add of %a : tensor<1x2x1x1xf32> -> tensor<1x2x1x1xf32> {
        npu.branch part 2 {
          npu.yield %a : tensor<1x2x1x1xf32>
        }
        npu.branch part 0 {
          npu.yield %a : tensor<1x2x1x1xf32>
        }
        npu.branch part 1 {
          %c = npu.clamp %a low 0.0 high 1.0 : tensor<1x2x1x1xf32> -> tensor<1x2x1x1xf32>
          npu.yield %c : tensor<1x2x1x1xf32>
        }
      }
      npu.yield %m : tensor<1x2x1x1xf32>
    }
    npu.branch part 0 {
      npu.yield %x : tensor<1x2x1x1xf32>
    }
  }
  func.return %y : tensor<1x4x1x1xf32>
}
"""


def test_parts_are_merged_in_their_places() -> None:
    x = np.array([-3, 2], np.float32).reshape(1, 2, 1, 1)
    (result,) = run_function(parsed(MODULE), None, [x])
    np.testing.assert_array_equal(result.reshape(-1), [-3, 2, 0, 2 + 1 + 2])


def test_branches_run_in_textual_order() -> None:
    text = MODULE.replace("npu.yield %x", "%z = npu.relu %x : T -> T npu.yield %z")
    module = parsed(text.replace("T -> T", " -> ".join(["tensor<1x2x1x1xf32>"] * 2)))
    order: list[str] = []

    class Listener(Interpreter.Listener):
        def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
            if isinstance(op, ReluOp | ClampOp):
                order.append(str(op.result and op.result.name_hint))

    interpreter = Interpreter(module, listeners=(Listener(),))
    register_implementations(interpreter)
    interpreter.call_op(find_function(module, None), (np.zeros((1, 2, 1, 1), np.float32),))
    assert order == ["a", "c", "z"]


def test_depth_and_parts() -> None:
    outer, inner = (op for op in parsed(MODULE).walk() if isinstance(op, BranchedModuleOp))
    assert (outer.depth, inner.depth) == (1, 2)
    assert [part.name_hint for part in outer.parts] == ["x", "m"]
    assert [part.name_hint for part in inner.parts] == ["a", "c", "a"]


def test_a_branch_does_not_read_another_branch() -> None:
    """IR text cannot express this, as each branch has its own names, but a pass can build it."""
    module = parsed(MODULE)
    relu = next(op for op in module.walk() if isinstance(op, ReluOp))
    outer = next(op for op in module.walk() if isinstance(op, BranchedModuleOp))
    last = outer.branches[1].body.block.last_op
    assert last is not None
    last.operands[0] = relu.results[0]
    with pytest.raises(VerifyException, match=r"npu\.yield reads tensor<1x2x1x1xf32> from outside"):
        module.verify()
