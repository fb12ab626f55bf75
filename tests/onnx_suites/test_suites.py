"""The tests of the onnx package: what is taken is right, and docs/operators.md is up to date."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from dataclasses import replace
from importlib import import_module

import numpy as np
import onnx
import pytest

from helpers.onnx_suites.cases import SUITES, Case, cases
from helpers.onnx_suites.known import NOT_RIGHT
from helpers.onnx_suites.programs import RIGHT, compared, fenced, in_child, results
from helpers.onnx_suites.verdicts import Verdict, judge
from helpers.paths import ROOT
from npu_dialect.interpreters import run_function

PAGE = ROOT / "docs" / "operators.md"
TOGETHER = 40
"""How many programs are built into one library."""
SAMPLE = 40
"""Of how many tests one is run in C by `make test`."""

FOUND = re.search(r"onnx (\d+\.\d+\.\d+)", PAGE.read_text(encoding="utf-8"))
assert FOUND is not None
VERSION = FOUND[1]
needs_its_version = pytest.mark.skipif(
    onnx.__version__ != VERSION, reason=f"the page is about onnx {VERSION}"
)
needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def taken(suite: str) -> list[Verdict]:
    """The tests of a suite that the importer takes."""
    return [each for each in map(judge, cases(suite)) if each.module is not None]


def interpreted(verdict: Verdict) -> str:
    """`right`, or what is wrong with what the layers of a test mean."""
    case, module = verdict.case, verdict.module
    assert module is not None
    inputs = [array.copy() for array in case.inputs.values()]
    outputs = run_function(module, None, inputs)
    return compared(case, dict(zip(case.outputs, outputs, strict=True)))


def in_c(found: list[Case]) -> dict[str, str]:
    """The results of tests, by name, but for those that are right."""
    said: list[str] = []
    for start in range(0, len(found), TOGETHER):
        said += results(found[start : start + TOGETHER])
    pairs = zip(found, said, strict=True)
    return {case.name: result for case, result in pairs if result != RIGHT}


def check(found: list[Verdict]) -> None:
    """Check what tests mean in the interpreter, and some of them also in C."""
    pairs = ((each.case.name, interpreted(each)) for each in found)
    wrong = {name: result for name, result in pairs if result != RIGHT}
    assert wrong.keys() <= NOT_RIGHT.keys(), wrong
    if shutil.which("gcc") is not None:
        sample = in_c([each.case for each in found[::SAMPLE]])
        assert sample.keys() <= NOT_RIGHT.keys(), sample


@pytest.mark.slow
def test_what_is_taken_is_right_and_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """One test for both, as importing all models takes most of the time."""
    judged = {suite: [judge(case) for case in cases(suite)] for suite in SUITES}
    for verdicts in judged.values():
        check([each for each in verdicts if each.module is not None])
    if onnx.__version__ == VERSION:
        monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
        made = import_module("operators").text(judged)
        assert made == PAGE.read_text(encoding="utf-8"), "stale: run `make reference`"


@pytest.mark.slow
@needs_compiler
@needs_its_version
def test_all_that_is_taken_is_right_in_c() -> None:
    found = [each.case for suite in SUITES for each in taken(suite)]
    assert in_c(found) == {name: known.result for name, known in NOT_RIGHT.items()}


def small_case(want: list[float]) -> Case:
    """A test with one output."""
    array = np.array(want, np.float32)
    return Case("node", "small", onnx.ModelProto(), {}, {"y": array}, 1e-3, 1e-7)


@pytest.mark.parametrize(
    ("want", "got", "right"),
    [
        ([1.0, 2.0], [1.0, 2.001], True),
        ([1.0, 2.0], [1.0, 2.01], False),
        ([1.0, float("nan")], [1.0, float("nan")], True),
        ([1.0, float("nan")], [float("nan"), 1.0], False),
        ([1.0, float("inf")], [1.0, float("inf")], True),
        ([1.0, float("inf")], [1.0, -float("inf")], False),
        ([1.0, float("inf")], [1.0, 3e38], False),
        ([1.0], [1.0, 1.0], False),
    ],
)
def test_what_counts_as_right(want: list[float], got: list[float], right: bool) -> None:
    said = compared(small_case(want), {"y": np.array(got, np.float32)})
    assert (said == RIGHT) is right


def test_integers_are_no_floats() -> None:
    assert compared(small_case([1.0]), {"y": np.array([1], np.int32)}).startswith("wrong: y holds")


def test_a_crash_is_noticed() -> None:
    assert in_child(lambda: None) == ""
    assert in_child(lambda: os.kill(os.getpid(), signal.SIGKILL)) == "crashed: SIGKILL"
    assert in_child(lambda: int("x")) == "failed: exit code 1"  # pyright: ignore[reportArgumentType]


def test_memory_has_a_fence() -> None:
    memory = fenced(10)
    assert memory.ctypes.data % 16 == 0
    assert memory.size > 10
    assert (memory == 0xA5).all()


@pytest.mark.slow
@needs_compiler
def test_a_wrong_expectation_is_noticed() -> None:
    """The same road as all tests, with an output that is not what the operator gives."""
    case = next(each for each in cases("node") if each.name == "test_relu")
    shifted = replace(case, outputs={name: y + 1 for name, y in case.outputs.items()})
    first, second = results([case, shifted])
    assert first == RIGHT
    assert second.startswith("wrong: y differs")
