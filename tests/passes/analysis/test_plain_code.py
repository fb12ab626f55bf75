"""Loops as plain data: addresses, and how often blocks run."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from npu_passes.analysis.block_times import block_times
from npu_passes.analysis.plain_code import plain_function
from npu_plans.instructions.code import Access, Branch, Compute, Function, Loop, steps_within
from npu_tools.shared.installed import context

HEAD = """
func.func @f(%x: memref<8x16xf32, #npu.sram>, %b: memref<64xi8, #npu.sram>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
"""


def parsed(body: str) -> FuncOp:
    """A function with this body."""
    module = Parser(context(), f"{HEAD}{body}\n  func.return\n}}").parse_module()
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    return function


def read(body: str) -> Function:
    """A function with this body as plain data."""
    return plain_function(parsed(body), {})


def accesses(function: Function) -> list[Access]:
    """All loads and stores."""
    return [step for step in steps_within(function.body) if isinstance(step, Access)]


def test_addresses_are_followed_through_views() -> None:
    function = read("""
    scf.for %i = %c0 to %c3 step %c1 {
      %row = arith.addi %i, %c1 : index
      %view = memref.subview %x[%row, 2] [1, 4] [1, 1]
        : memref<8x16xf32, #npu.sram> to memref<1x4xf32, strided<[16, 1], offset: ?>, #npu.sram>
      memref.store %zero, %view[%c0, %c3]
        : memref<1x4xf32, strided<[16, 1], offset: ?>, #npu.sram>
    }""")
    (store,) = accesses(function)
    (loop,) = (step for step in steps_within(function.body) if isinstance(step, Loop))
    assert store.root == function.parameters[0]
    assert store.terms == ((loop.index, 64),)
    assert store.offset == 64 + 8 + 12
    assert (store.size, store.element, store.writes) == (4, "f32", True)


def test_words_of_bytes() -> None:
    function = read("%w = dsp.load_word %b[%c8] : memref<64xi8, #npu.sram> -> i32")
    (load,) = accesses(function)
    assert (load.offset, load.size, load.element) == (8, 4, "i8")


def test_the_second_word_of_a_pair_follows_from_the_first() -> None:
    function = read("""
    %t = memref.alloc() : memref<16xi32, #npu.sram>
    %v, %w = dsp.load_pair %t[%c8] : memref<16xi32, #npu.sram> -> i32, i32""")
    (load,) = accesses(function)
    assert (load.offset, load.size, load.element) == (32, 8, "i32")
    (second,) = (step for step in function.body.steps if isinstance(step, Compute))
    assert (second.kind, second.operands) == ("dsp.load_pair.i32", (load.value,))


def test_sums_of_indices_are_no_steps() -> None:
    function = read("""
    %sum = arith.addi %n, %c3 : index
    %double = arith.muli %sum, %c8 : index
    %most = arith.maxsi %double, %c1 : index
    %y = arith.addf %zero, %zero : f32""")
    kinds = [step.kind for step in function.body.steps if isinstance(step, Compute)]
    assert kinds == ["arith.maxsi.index", "arith.addf.f32"]


def test_loops_know_their_numbers() -> None:
    function = read("scf.for %i = %c1 to %c8 step %c3 {\n}")
    (loop,) = (step for step in function.body.steps if isinstance(step, Loop))
    assert loop.numbers == range(1, 8, 3)
    assert loop.body.times == 3


def test_bounds_that_follow_from_outer_loops() -> None:
    function = read("""
    scf.for %i = %c0 to %c8 step %c1 {
      %last = arith.minsi %i, %c3 : index
      scf.for %k = %c0 to %last step %c1 {
        memref.store %zero, %x[%k, %i] : memref<8x16xf32, #npu.sram>
      }
    }""")
    inner = [step for step in steps_within(function.body) if isinstance(step, Loop)][1]
    assert inner.numbers is None
    assert inner.body.times == 0 + 1 + 2 + 3 * 5
    assert len(inner.bounds) == 1


def test_branches_that_follow_from_loops() -> None:
    function = read("""
    scf.for %i = %c0 to %c8 step %c1 {
      %first = arith.cmpi ult, %i, %c3 : index
      scf.if %first {
        memref.store %zero, %x[%c0, %i] : memref<8x16xf32, #npu.sram>
      } else {
        memref.store %zero, %x[%c1, %i] : memref<8x16xf32, #npu.sram>
      }
    }""")
    (branch,) = (step for step in steps_within(function.body) if isinstance(step, Branch))
    assert [side.times for side in branch.sides] == [3, 5]


def test_each_side_of_an_unknown_branch_counts_half() -> None:
    function = read("""
    %some = arith.cmpi ult, %n, %c3 : index
    scf.if %some {
      memref.store %zero, %x[%c0, %c0] : memref<8x16xf32, #npu.sram>
    }""")
    (branch,) = (step for step in function.body.steps if isinstance(step, Branch))
    assert branch.sides[0].times == 0.5


def test_a_branch_that_is_hardly_ever_taken_counts_on_its_other_side() -> None:
    function = read("""
    %near = arith.cmpi ult, %n, %c3 : index
    scf.if %near {
      memref.store %zero, %x[%c0, %c0] : memref<8x16xf32, #npu.sram>
    } else {
      memref.store %zero, %x[%c1, %c0] : memref<8x16xf32, #npu.sram>
    } {npu.seldom}""")
    (branch,) = (step for step in function.body.steps if isinstance(step, Branch))
    assert [side.times for side in branch.sides] == [0, 1]


def test_unknown_bounds_are_refused() -> None:
    with pytest.raises(PassFailedException, match="expected a loop whose bounds follow"):
        block_times(parsed("scf.for %i = %c0 to %n step %c1 {\n}"))


def maximum(predicate: str) -> str:
    """A maximum so far of two floats: what stays first, then what is no number."""
    return f"""
    %best = memref.load %x[%c0, %c0] : memref<8x16xf32, #npu.sram>
    %new = memref.load %x[%c0, %c1] : memref<8x16xf32, #npu.sram>
    %stays = arith.cmpf {predicate}, %best, %new : f32
    %none = arith.cmpf une, %best, %best : f32
    %kept = arith.ori %stays, %none : i1
    %most = arith.select %kept, %best, %new : f32
    memref.store %most, %x[%c0, %c0] : memref<8x16xf32, #npu.sram>"""


@pytest.mark.parametrize(("predicate", "seldom"), [("oge", 2), ("ogt", 0)])
def test_what_only_runs_where_a_maximum_is_raised(predicate: str, seldom: int) -> None:
    steps = steps_within(read(maximum(predicate)).body)
    kinds = [step.kind for step in steps if isinstance(step, Compute)]
    assert kinds.count("arith.cmpf.i1") == (1 if seldom else 2)
    assert sum(kind.endswith(".seldom") for kind in kinds) == seldom
