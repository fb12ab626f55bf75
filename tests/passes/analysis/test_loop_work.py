"""The work of loops, counted in the IR, beside counts by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.parser import Parser

from npu_passes.analysis.index_values import compared
from npu_passes.analysis.loop_work import CALL, ROW, SHORT, STEP, UnknownWork, work_of
from npu_tools.shared.installed import context

READ = "%v = memref.load %a[%c0] : memref<64xi32>"
"""An op that counts as 1."""


def work(body: str, arguments: str = "%a: memref<64xi32>", more: str = "") -> float:
    """The work of a function with constants %c0, %c1, %c3, %c10."""
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 3, 10))
    text = f"func.func @f({arguments}) {{\n{constants}\n{body}\nfunc.return }}\n{more}"
    return work_of(Parser(context(), text).parse_module())


def loop(body: str, low: str = "%c0", high: str = "%c10", name: str = "%i") -> str:
    return f"scf.for {name} = {low} to {high} step %c1 {{\n{body}\n}}"


def test_an_op_counts_as_often_as_it_runs() -> None:
    assert work("") == 0
    assert work(READ) == 1
    assert work(loop(READ)) == 10 * (STEP + 1)
    assert work(loop(loop(READ), high="%c3", name="%j")) == 3 * (STEP + 10 * (STEP + 1))
    assert work(loop(READ, low="%c10")) == 0


def test_a_short_innermost_loop_has_no_steps() -> None:
    assert 3 <= SHORT < 10
    assert work(loop(READ, high="%c3")) == 3


@given(st.integers(1, 12), st.integers(0, 12))
@settings(max_examples=20, deadline=None)
def test_bounds_may_follow_from_outer_counters(size: int, window: int) -> None:
    """Windows that are cut at the end of a map, as at padded borders."""
    body = f"""%n = arith.constant {size} : index
    %k = arith.constant {window} : index
    {
        loop(
            f'''%far = arith.addi %i, %k : index
    %end = arith.minsi %far, %n : index
    scf.for %j = %i to %end step %c1 {{
      scf.for %l = %c0 to %c10 step %c1 {{ {READ} }}
    }}''',
            high="%n",
        )
    }"""
    trips = [len(range(at, min(at + window, size))) for at in range(size)]
    inner = STEP + 10 * (STEP + 1)
    assert work(body) == sum(STEP + count * inner for count in trips)


def test_of_a_branch_the_side_that_is_taken_counts() -> None:
    test = "%first = arith.cmpi eq, %i, %c0 : index"
    branch = f"scf.if %first {{ }} else {{ {READ} }}"
    assert work(loop(f"{test}\n{branch}")) == 10 * (STEP + 1 + STEP) + 9
    unknown = work(branch, "%a: memref<64xi32>, %first: i1")
    assert unknown == STEP + 1


def test_of_a_branch_that_is_hardly_ever_taken_the_other_side_counts() -> None:
    branch = f"scf.if %near {{ {loop(READ)} }} else {{ {READ} }} {{npu.seldom}}"
    assert work(branch, "%a: memref<64xi32>, %near: i1") == STEP + 1


def test_calls_count_what_the_function_does() -> None:
    callee = f"func.func private @g(%a: memref<64xi32>) {{ %c0 = arith.constant 0 : index {READ}"
    called = loop("func.call @g(%a) : (memref<64xi32>) -> ()")
    assert work(called, more=f"{callee} func.return }}") == 10 * (STEP + CALL + 1)


@pytest.mark.parametrize("bound", ["%n", "%0"])
def test_an_unknown_bound_is_an_error(bound: str) -> None:
    body = f"%0 = arith.addi %n, %c1 : index\n{loop(READ, high=bound)}"
    with pytest.raises(UnknownWork, match="bounds that follow from constants"):
        work(body, "%a: memref<64xi32>, %n: index")


@given(st.integers(-5, 5), st.integers(-5, 5))
@settings(max_examples=50, deadline=None)
def test_comparisons(left: int, right: int) -> None:
    one, two = left % 2**64, right % 2**64
    expected = [
        *(left == right, left != right, left < right, left <= right, left > right, left >= right),
        *(one < two, one <= two, one > two, one >= two),
    ]
    assert [compared(predicate, left, right) for predicate in range(10)] == expected


RUNS = """%r = mve.mul_runs %m[%c0] by %a[%c0] rows ROWS run 32 apart 0 pitch 32 step 8 filters 1
  : memref<128xi8>, memref<64xi32> -> vector<4xi32>"""


def test_runs_count_for_each_row() -> None:
    """Two vectors with a load each, weights and products, and what moves on; and two moves."""
    arguments = "%m: memref<128xi8>, %a: memref<64xi32>"
    one, three = (work(RUNS.replace("ROWS", each), arguments) for each in ("%c1", "%c3"))
    assert three - one == 2 * (2 * 3 + ROW)
    assert one == 2 * 3 + ROW + 4
    inside = work(loop(RUNS.replace("ROWS", "%i"), low="%c1", high="%c3"), arguments)
    assert inside == 3 * (2 * 3 + ROW) + 2 * 4
    with pytest.raises(UnknownWork, match="a number of rows that follows from constants"):
        work(RUNS.replace("ROWS", "%n"), f"{arguments}, %n: index")
