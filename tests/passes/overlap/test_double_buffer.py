"""Double-buffered loops compute the same as plain ones.

The interpreter poisons the target of a transfer until the wait. So a wrong half or a missing wait
gives wrong results.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser

from helpers.tiles.loops_of_tiles import CASES, Case
from npu_dialect.attributes import (
    ARENA,
    DOUBLE_BUFFER,
    DOUBLE_BUFFERED,
    LATE_SUMS,
    NOT_DOUBLE_BUFFERED,
    TWO_AHEAD,
)
from npu_dialect.dma import DMA, StartOp, TokenType, WaitOp
from npu_dialect.interpreters import run_function
from npu_dialect.npu import NPU
from npu_dialect.npu.layers import ReluOp
from npu_dialect.sram import SRAM
from npu_passes.analysis.tokens import starts_of
from npu_passes.overlap.double_buffer import DoubleBufferPass
from npu_passes.overlap.read_block import touches_of
from npu_passes.placing.assign_sram_offsets import AssignSramOffsetsPass

PLAIN = Case("relu", 0, 1, 4, 2, 3, 2, True, True, False, False)
IN_PLACE = Case("place", 0, 1, 5, 2, 3, 2, True, True, False, False, late=True)
AHEAD = replace(PLAIN, rounds=6, ahead=True)


def parsed(text: str) -> tuple[Context, ModuleOp]:
    context = Context()
    for dialect in (
        *(Builtin, arith.Arith, func.Func, memref.MemRef, scf.Scf),
        *(NPU, SRAM, DMA),
    ):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return context, module


def result(module: ModuleOp, case: Case) -> np.ndarray:
    random = np.random.default_rng(7)
    image = random.standard_normal((1, case.channels, case.height, case.columns))
    kernels = random.standard_normal((case.channels, 1, 1, 1))
    inputs = [array.astype(np.float32) for array in (image, kernels)]
    (found,) = run_function(module.clone(), "f", inputs)
    return found


def attributes(module: ModuleOp) -> list[str]:
    loops = [op for op in module.walk() if isinstance(op, scf.ForOp)]
    return [name for op in loops for name in op.attributes]


@settings(max_examples=50, deadline=None)
@given(case=CASES)
@example(case=PLAIN)
@example(case=IN_PLACE)
@example(case=AHEAD)
@example(case=replace(AHEAD, rounds=3))
@example(case=replace(IN_PLACE, rounds=6, ahead=True))
def test_same_results(case: Case) -> None:
    context, module = parsed(case.text())
    expected = result(module, case)
    DoubleBufferPass().apply(context, module)
    module.verify()
    np.testing.assert_array_equal(result(module, case), expected)
    AssignSramOffsetsPass().apply(context, module)
    np.testing.assert_array_equal(result(module, case), expected)


@settings(max_examples=50, deadline=None)
@given(case=CASES)
def test_what_asks_is_done_or_says_why(case: Case) -> None:
    context, module = parsed(case.text())
    DoubleBufferPass().apply(context, module)
    found = attributes(module)
    assert DOUBLE_BUFFER.name not in found
    assert LATE_SUMS.name not in found
    assert TWO_AHEAD.name not in found
    carried = [value for op in module.walk() if isinstance(op, scf.ForOp) for value in op.iter_args]
    assert case.ahead or not carried
    assert all(isinstance(value.type, TokenType) for value in carried)
    if case.outer and case.kind in ("relu", "place") and case.rounds > 3 + case.ahead:
        assert DOUBLE_BUFFERED.name in found
        assert NOT_DOUBLE_BUFFERED.name not in found
    if case.outer and case.kind == "parts" and case.in_body and case.rounds > 3 + case.ahead:
        assert DOUBLE_BUFFERED.name in found
    if case.inner and case.kind == "sums" and case.channels > 3 + case.ahead and case.rounds:
        assert DOUBLE_BUFFERED.name in found


def arena(case: Case, *, double: bool) -> int:
    context, module = parsed(case.text())
    if double:
        DoubleBufferPass().apply(context, module)
    AssignSramOffsetsPass().apply(context, module)
    function = next(op for op in module.walk() if ARENA.is_on(op))
    return ARENA.get(function) or 0


@pytest.mark.parametrize("kind", ["relu", "groups"])
def test_memory_doubles_and_no_more(kind: str) -> None:
    case = Case(kind, 0, 1, 4, 2, 3, 4, kind == "relu", True, False, False)
    assert arena(case, double=True) == 2 * arena(case, double=False)


@pytest.mark.parametrize(("rounds", "parts"), [(2, 2), (3, 3), (5, 3)])
def test_late_stores_need_a_third_part(rounds: int, parts: int) -> None:
    late = replace(IN_PLACE, rounds=rounds)
    assert arena(late, double=True) == parts * arena(late, double=False)
    assert arena(replace(late, late=False), double=True) == 2 * arena(late, double=False)


@pytest.mark.parametrize(("rounds", "parts"), [(2, 2), (3, 3), (4, 4), (6, 4)])
def test_loads_two_steps_ahead_need_one_part_more(rounds: int, parts: int) -> None:
    case = replace(IN_PLACE, rounds=rounds, ahead=True)
    assert arena(case, double=True) == parts * arena(case, double=False)
    early = replace(case, late=False)
    assert arena(early, double=True) == min(3, rounds) * arena(early, double=False)


def test_loads_two_steps_ahead_are_carried() -> None:
    """A step starts the store, for which it waits, in front of the load for a later step."""
    context, module = parsed(AHEAD.text())
    DoubleBufferPass().apply(context, module)
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    steps = [op for op in loop.body.block.ops if isinstance(op, StartOp | ReluOp | WaitOp)]
    kinds = ["store" if is_store(op) else op.name for op in steps]
    assert kinds == ["store", "dma.start", "npu.relu", "dma.wait", "dma.wait"]
    waits = [op.token for op in steps if isinstance(op, WaitOp)]
    assert waits[0] is loop.body.block.args[1]
    assert loop.body.block.last_op is not None
    assert loop.body.block.last_op.operands[0] is steps[1].results[0]
    starts = starts_of(waits[0])
    assert len(starts) == 2
    assert {start.parent for start in starts} == {loop.body.block, loop.parent}
    assert starts_of(loop.results[0]) == starts
    assert starts_of(waits[1]) == (steps[0],)


def test_a_wait_touches_what_the_carried_transfers_do() -> None:
    context, module = parsed(AHEAD.text())
    DoubleBufferPass().apply(context, module)
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    (behind,) = (use.operation for use in loop.results[0].uses)
    wanted = {touch for start in starts_of(loop.results[0]) for touch in touches_of(start)}
    assert wanted == set(touches_of(behind))
    assert any(touch.writes for touch in wanted)


def is_store(op: Operation) -> bool:
    return isinstance(op, StartOp) and op.channel.value.data == 3


@pytest.mark.parametrize("late", [False, True])
def test_late_stores_run_beside_a_layer(*, late: bool) -> None:
    context, module = parsed(replace(IN_PLACE, late=late).text())
    DoubleBufferPass().apply(context, module)
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    steps = [op for op in loop.body.block.ops if isinstance(op, StartOp | ReluOp | WaitOp)]
    kinds = ["store" if is_store(op) else op.name for op in steps]
    rest = ["npu.relu", "dma.wait", "dma.wait"] if late else ["dma.wait", "dma.wait"]
    assert kinds == ["dma.start", *([] if late else ["npu.relu"]), "store", *rest]


def test_transfers_are_as_many() -> None:
    """The peeled steps and the loop together have as many transfers as the plain loop."""
    context, module = parsed(PLAIN.text())
    DoubleBufferPass().apply(context, module)
    starts = [op for op in module.walk() if isinstance(op, StartOp)]
    in_loop = [op for op in starts if isinstance(op.parent_op(), scf.ForOp)]
    assert len(starts) - len(in_loop) + 2 * len(in_loop) == 2 * PLAIN.rounds
