"""Watched machines: what was asked holds for exactly the machines that give the same answers."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_dialect.machine import Machine
from npu_tools.exploring.watching import Leaked, Seen, Watch

MACHINE = Machine("tiny", 1000, 5000, alignment=8)

QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "at most": lambda size: size <= 700,
    "more than a sum": lambda size: 300 + 450 > size,
    "a rest": lambda size: size - 96 >= 640,
    "a part": lambda size: size // 4 > 180,
    "a part of a rest": lambda size: (size - 100) // 3 - 7 < 200,
    "the smaller": lambda size: min(size // 2, 400),
    "the larger": lambda size: max(500, size - 300),
    "equal": lambda size: size == 720,
    "a fraction": lambda size: size > Fraction(1501, 2),
    "infinite": lambda size: size < float("inf"),
    "apart": lambda size: (size - 10) - (size - 30),
    "a multiple": lambda size: size // 16 * 16,
    "below": lambda size: 3000 - size,
    "text": lambda size: f"{size} bytes",
    "in numpy": lambda size: (np.array([100, 800]) <= size).tolist(),
    "a range": lambda size: len(range(size // 100)),
    "remembered": lambda size: {(1, size - 5): "yes"}[1, size - 5],
    "a truth": lambda size: bool(size // 900),
    "a quotient": lambda size: size / 3 < 240,
}


def asked(question: Callable[[Any], Any], machine: Machine) -> tuple[Any, Seen]:
    watch = Watch()
    answer = question(watch(machine).sram_bytes)
    return int(answer) if hasattr(answer, "known") else answer, watch.end()


@pytest.mark.parametrize("name", QUESTIONS)
@given(one=st.integers(1, 3000), other=st.integers(1, 3000))
@settings(max_examples=60, deadline=None)
def test_sizes_in_the_range_give_the_same_answer(name: str, one: int, other: int) -> None:
    question = QUESTIONS[name]
    machine = replace(MACHINE, sram_bytes=one)
    watch = Watch()
    answer = question(watch(machine).sram_bytes)
    answer = answer.known() if hasattr(answer, "known") else answer
    assert answer == question(one)
    if watch.seen.holds(replace(MACHINE, sram_bytes=other)):
        assert answer == question(other)
    assert watch.seen.holds(machine)


def test_ranges_are_as_wide_as_the_answers_allow() -> None:
    for question, least, most in (
        (QUESTIONS["at most"], 701, None),
        (QUESTIONS["more than a sum"], 750, None),
        (QUESTIONS["a part of a rest"], 721, None),
        (QUESTIONS["apart"], 0, None),
        (QUESTIONS["text"], 1000, 1000),
        (QUESTIONS["a multiple"], 992, 1007),
    ):
        _, seen = asked(question, MACHINE)
        assert (seen.least, seen.most) == (least, most)


def test_other_numbers_are_noted_as_they_are() -> None:
    watch = Watch()
    machine = watch(MACHINE)
    assert machine.alignment == 8
    assert isinstance(machine, Machine)
    assert watch.seen.exact == {"alignment": 8}
    assert watch.seen.holds(replace(MACHINE, flash_bytes=1, sram_bytes=1))
    assert not watch.seen.holds(replace(MACHINE, alignment=4))
    assert machine == MACHINE, "which reads all numbers"
    assert not watch.seen.holds(replace(MACHINE, flash_bytes=1))


def test_what_leaks_is_found() -> None:
    watch = Watch()
    machine = watch(MACHINE)
    size = machine.sram_bytes
    watch.end()
    with pytest.raises(Leaked):
        assert size > 3
    with pytest.raises(Leaked):
        assert machine.alignment
