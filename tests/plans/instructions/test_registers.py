"""What finds no register goes to the stack: as few stores and loads as can be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npu_plans.instructions.registers import Line, Spills, spills


def test_values_that_fit_stay() -> None:
    lines = [Line((), "a"), Line((), "b"), Line(("a", "b"), None)]
    assert spills(lines, 2, (), ()) == Spills(0, 0)


def test_the_value_with_the_farthest_use_goes() -> None:
    lines = [Line((), name) for name in "abc"] + [Line(("a",), None), Line(("b",), None)]
    assert spills([*lines, Line(("c",), None)], 2, (), ()) == Spills(1, 1)


def test_a_value_is_stored_once() -> None:
    uses = [Line((name,), None) for name in "abab"]
    assert spills([Line((), "a"), Line((), "b"), *uses], 1, (), ()) == Spills(2, 4)


def test_values_from_before_that_have_no_register_are_loaded() -> None:
    assert spills([Line((name,), None) for name in "abc"], 2, "abc", ()) == Spills(0, 1)


def test_values_that_are_needed_behind_keep_their_register() -> None:
    lines = [Line((), "a"), Line((), "b"), Line(("b",), None)]
    assert spills(lines, 1, (), ("a",)) == Spills(1, 0)
    assert spills(lines, 1, (), ()) == Spills(0, 0)


def test_what_stays_the_same_is_stored_in_front_of_all_runs() -> None:
    lines = [Line((name,), None) for name in "abab"]
    assert spills(lines, 1, "ab", "ab") == Spills(1, 3)
    assert spills(lines, 1, "ab", "ab", "ab") == Spills(0, 3, 2)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40), st.integers(2, 6))
def test_more_registers_never_load_more(pairs: list[tuple[int, int]], registers: int) -> None:
    lines = [Line((read,), None) for pair in pairs for read in pair]
    fewer, more = (
        spills(lines, count, range(10), ()).loads for count in (registers, registers + 1)
    )
    assert more <= fewer
