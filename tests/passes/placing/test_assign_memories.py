"""Networks in several poisoned arenas compute what their tensors compute, in memories as tight as
they can be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from helpers.pipeline import arena_bytes, context, parse, run_passes
from helpers.random_graphs import networks
from npu_dialect.arenas import arenas_of, memory_of_type
from npu_dialect.attributes import TARGET
from npu_dialect.interpreters import run_function
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_passes.support.refuse import DoesNotFit

BUFFERS = "npu-bufferize,npu-overlay-maps"
OFFSETS = "npu-assign-sram-offsets{{strategy={}}}"


def board(*sizes: int) -> Machine:
    """A machine with memories of these sizes, each half as fast as the one before."""
    tables = [
        {"name": f"m{index}", "bytes": size, "read_bytes_per_cycle": 16 >> index}
        for index, size in enumerate(sizes)
    ]
    return Machine.from_table({"name": "board", "flash_bytes": 0, "memory": tables}, "board")


def on(module: ModuleOp, machine: Machine) -> ModuleOp:
    """A copy of a module for a machine."""
    copy = module.clone()
    TARGET.set(copy, TargetAttr.of(machine))
    return copy


def arenas(module: ModuleOp) -> dict[str, int]:
    """The arenas of the only function."""
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    return dict(arenas_of(function))


@settings(max_examples=40, deadline=None)
@given(text=networks(), share=st.integers(1, 9), strategy=st.sampled_from(("greedy", "exact")))
def test_networks_in_two_memories(text: str, share: int, strategy: str) -> None:
    ctx = context()
    module = parse(ctx, text)
    whole = arena_bytes(run_passes(ctx, module, f"{BUFFERS},{OFFSETS.format('greedy')}"))
    random = np.random.default_rng(share)
    inputs = [random.standard_normal((2, 3)).astype(np.float32) for _ in range(2)]
    expected = run_function(module, "f", inputs)
    for first in (max(1, whole * share // 10), whole - 1, whole):
        machine = board(first, whole)
        passes = f"{BUFFERS},npu-assign-memories,{OFFSETS.format(strategy)}"
        planned = run_passes(ctx, on(module, machine), passes)
        found = arenas(planned)
        assert all(
            found[each.name] <= each.bytes for each in machine.memories if each.name in found
        )
        assert first < whole or list(found) == ["m0"]
        results = run_function(planned, "f", inputs)
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, wanted)


SOFTMAX = """
func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  %a = npu.softmax %x axis 0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %b = npu.add %a, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %b : tensor<2x3xf32>
}
"""
"""Both inputs of 24 bytes live together; all else is computed in their places."""


@pytest.mark.parametrize("sizes", [(23, 47), (24, 23), (23, 23, 47)])
def test_memories_that_are_too_small_are_rejected(sizes: tuple[int, ...]) -> None:
    ctx = context()
    module = on(run_passes(ctx, parse(ctx, SOFTMAX), BUFFERS), board(*sizes))
    with pytest.raises(DoesNotFit, match="do not fit into the memories of board:") as raised:
        run_passes(ctx, module, "npu-assign-memories")
    assert raised.value.needed is not None
    assert raised.value.needed == 48


@pytest.mark.parametrize("sizes", [(24, 24), (48, 1), (23, 24, 24)])
def test_a_byte_more_is_enough(sizes: tuple[int, ...]) -> None:
    ctx = context()
    module = on(run_passes(ctx, parse(ctx, SOFTMAX), BUFFERS), board(*sizes))
    run_passes(ctx, module, f"npu-assign-memories,{OFFSETS.format('greedy')}")


def test_tied_buffers_lie_in_one_memory() -> None:
    """A value may be either of two buffers, so both have its type, although %x is used most."""
    kind = "memref<4xf32, #npu.sram>"
    inputs = f"%x: {kind} {{sram.input}}, %y: {kind} {{sram.input}}"
    text = f"""
    func.func @f({inputs}, %z: {kind} {{sram.output}}) {{
      %t = arith.constant true
      npu.relu ins(%x : {kind}) outs(%x : {kind})
      %either = scf.if %t -> ({kind}) {{
        scf.yield %x : {kind}
      }} else {{
        scf.yield %y : {kind}
      }}
      npu.relu ins(%either : {kind}) outs(%z : {kind})
      func.return
    }}
    """
    ctx = context()
    module = on(parse(ctx, text), board(16, 64))
    planned = run_passes(ctx, module, "npu-assign-memories,npu-assign-sram-offsets")
    assert arenas(planned) == {"m0": 16, "m1": 32}
    (function,) = planned.ops
    assert isinstance(function, FuncOp)
    assert [memory_of_type(each) for each in function.function_type.inputs] == ["m1", "m1", "m0"]
    x, y = np.arange(-2, 2, dtype=np.float32), np.zeros(4, np.float32)
    (result,) = run_function(planned, "f", [x, y])
    np.testing.assert_array_equal(result, np.maximum(x, 0))
