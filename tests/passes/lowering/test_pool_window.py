"""The pooling windows that hold outputs of a loop's steps, where they are the same in each step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from npu_dialect.interpreters import run_function
from npu_dialect.windows import Axis
from npu_passes.lowering.pool_window import WindowsAround, alike, few_windows_with, windows_around
from npu_passes.support.loop_builder import Index, LoopBuilder

AXES = st.builds(
    Axis,
    size=st.integers(4, 30),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 3),
    before=st.integers(0, 2),
    after=st.integers(0, 2),
    dilation=st.integers(1, 2),
)


def builder() -> LoopBuilder:
    """A builder in a function without ops."""
    end = ReturnOp()
    FuncOp("f", ((), ()), Region(Block([end])))
    return LoopBuilder(end)


@settings(deadline=None, max_examples=300)
@given(AXES, st.integers(0, 5), st.integers(2, 8), st.integers(1, 4), st.integers(1, 3))
@example(Axis(31, 3, 2), 1, 13, 2, 2)
@example(Axis(31, 3, 2), 1, 13, 3, 1)
def test_windows_of_a_loop(axis: Axis, low: int, steps: int, step: int, count: int) -> None:
    found: list[WindowsAround | None] = []
    b = builder()

    def body(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
        found.append(windows_around(b, axis, index, count))
        return ()

    b.loop(low, low + steps * step, body, step=step)
    here = [
        [axis.holders(at + n) for n in range(count)] for at in range(low, low + steps * step, step)
    ]
    moves = step // axis.stride
    alike = step % axis.stride == 0 and all(
        held == [range(each.start + number * moves, each.stop + number * moves) for each in here[0]]
        for number, held in enumerate(here)
    )
    (around,) = found
    assert (around is not None) == (alike and axis.dilation == 1)
    assert around is None or list(around.held) == here[0]


@settings(deadline=None, max_examples=300)
@given(AXES, st.integers(0, 5), st.integers(0, 9), st.integers(1, 4), st.integers(1, 3))
@example(Axis(31, 3, 2), 1, 15, 2, 2)
def test_steps_that_are_alike(axis: Axis, low: int, steps: int, step: int, count: int) -> None:
    """All neighbours of the middle step with its windows; all steps where no windows are."""
    columns = range(low, low + steps * step, step)
    parts = alike(axis, columns, count)
    assert [at for part in parts for at in part] == list(columns)
    if axis.dilation > 1 or step % axis.stride:
        assert parts[1] == columns
        return

    def distances(at: int) -> list[tuple[int, int]]:
        held = [axis.holders(at + number) for number in range(count)]
        return [(each.start * axis.stride - at, each.stop * axis.stride - at) for each in held]

    middle = distances(columns[len(columns) // 2]) if columns else []
    assert all(distances(at) == middle for at in parts[1])
    assert all(distances(at) != middle for at in (*parts[0][-1:], *parts[2][:1]))


def test_a_pair_at_the_end_has_one_window() -> None:
    """In an axis of 31 outputs the last pair has no second window, as a first one without it."""
    axis = Axis(31, 3, 2)
    assert alike(axis, range(1, 31, 2), 2) == (range(1, 1, 2), range(1, 29, 2), range(29, 31, 2))


def test_a_place_that_is_known() -> None:
    axis = Axis(31, 3, 2)
    assert windows_around(builder(), axis, 4, 2) == WindowsAround(0, 2, (range(1, 3), range(2, 3)))


def test_a_place_that_no_loop_visits() -> None:
    b = builder()
    assert windows_around(b, Axis(31, 3, 2), b.value(4), 2) is None


@settings(deadline=None, max_examples=100)
@given(AXES, st.integers(1, 9))
@example(Axis(31, 3, 2), 16)
@example(Axis(31, 3, 3), 5)
def test_places_of_windows(axis: Axis, size: int) -> None:
    """A loop that moves by a window moves by its bytes, whatever the stride."""
    moved = 5 * axis.stride
    around = WindowsAround(moved, axis.stride, ())
    assert around.place(builder(), size) == 5 * size


@settings(deadline=None, max_examples=100)
@given(AXES)
@example(Axis(31, 3, 2))
@example(Axis(9, 3, 3))
@example(Axis(9, 2, 3))
@example(Axis(9, 4, 2, before=1, after=1))
def test_windows_that_hold_an_output(axis: Axis) -> None:
    """Each of them is visited once, in any order."""
    size, outputs = axis.size, max(axis.outputs, 0)
    visits = MemRefType(i32, [size + 1, outputs + 1])
    end = ReturnOp()
    block = Block([end], arg_types=[visits])
    function = FuncOp("f", ([visits], []), Region(block))
    b = LoopBuilder(end)

    def of_output(position: Index, _: Sequence[SSAValue]) -> tuple[()]:
        def visit(window: Index) -> tuple[()]:
            at = [b.value(position), b.value(window)]
            before = b.insert(memref.LoadOp.get(block.args[0], at)).res
            more = b.insert(arith.AddiOp(before, b.integer(1))).result
            b.insert(memref.StoreOp.get(more, block.args[0], at))
            return ()

        few_windows_with(b, axis, position, visit, "w")
        return ()

    b.loop(0, size, of_output)
    wanted = np.zeros((size + 1, outputs + 1), np.int32)
    (counts,) = run_function(ModuleOp([function]), "f", [wanted])
    for position in range(size):
        for window in axis.holders(position):
            distance = position + axis.before - window * axis.stride
            wanted[position, window] = distance % axis.dilation == 0
    np.testing.assert_array_equal(counts, wanted)
