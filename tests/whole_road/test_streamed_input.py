"""Programs whose input arrives in rows compute the same, however many rows are pushed at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from helpers.c_harness import run_c
from helpers.chains import Case
from helpers.paths import LENET5_FOLDER
from helpers.pipeline import context, run_passes
from helpers.quantized.residual_blocks import ResidualMaker
from helpers.regions import regions
from helpers.road import c_files
from helpers.streams import built, in_one_function
from npu_dialect.interpreters import run_function
from npu_passes.emit.c import emit
from npu_tools.compiling.check import random_inputs
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.shadow import check

WHEN = ("input", "always", "smallest")


def portions_of(height: int, seed: int) -> list[list[int]]:
    """All rows at once, one by one with portions of none, and in random portions."""
    random, rest, found = Random(seed), height, list[int]()
    while rest:
        found.append(random.randint(0, rest))
        rest -= found[-1]
    return [[height], [0, *[1] * height, 0], found]


def compare(module: ModuleOp, when: str, machine: str, seed: int, language: str = "c") -> None:
    """Check the plan byte by byte, and the results on all levels, with many portions."""
    (image,) = random_inputs(module, seed)
    (want,) = run_function(module, None, [image])
    whole = in_one_function(module, when, machine)
    assert not check(whole)
    np.testing.assert_array_equal(close_to(run_function(whole, None, [image])[0], want), want)
    files = emit(run_passes(context(), whole, "npu-split-stream"), "net")
    with built(files, image, want, language) as program:
        for portions in portions_of(image.shape[2], seed):
            np.testing.assert_array_equal(close_to(program.run(image, portions), want), want)


def close_to(got: NDArray[Any], want: NDArray[Any]) -> NDArray[Any]:
    """The wanted numbers if others are floats close to them; else the others."""
    near = 1e-5 * (1 + np.abs(want).max(initial=0))
    is_float = want.dtype.kind == "f"
    return want if is_float and np.allclose(got, want, rtol=1e-5, atol=near) else got


def streamable(module: ModuleOp) -> bool:
    """Whether the rows of a network's input can arrive one at a time."""
    try:
        in_one_function(module, "input", "host")
    except PassFailedException:
        return False
    return True


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(case=regions(), when=st.sampled_from(WHEN), seed=st.integers(0, 99))
def test_floats_in_any_portions(case: Case, when: str, seed: int) -> None:
    assume(streamable(case.module))
    compare(case.module, when, "host", seed)


TWICE = """
func.func @f(%x: tensor<1x1x2x1xf32>) -> tensor<1x1x2x1xf32> {
  %sum = npu.add %x, %x : (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>) -> tensor<1x1x2x1xf32>
  %w = arith.constant dense<0.5> : tensor<1x1x3x3xf32>
  %y = npu.conv2d %sum, %w strides [1, 1] pads [1, 1, 1, 1]
    : (tensor<1x1x2x1xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x2x1xf32>
  func.return %y : tensor<1x1x2x1xf32>
}
"""


def test_a_layer_that_reads_each_row_twice() -> None:
    compare(Parser(context(), TWICE).parse_module(), "always", "host", 0)


@pytest.mark.parametrize(
    "machine", ["cortex-m4", pytest.param("cortex-m0", marks=pytest.mark.slow)]
)
def test_integers_are_the_same_bits(machine: str) -> None:
    found = 0
    for seed in range(4):
        module = ResidualMaker(seed, quantised=True).network()
        if streamable(module):
            found += 1
            compare(module, WHEN[seed % 3], machine, seed, "c" if seed % 2 else "c++")
    assert found > 1


@pytest.mark.parametrize("pipeline", [pytest.param("default", marks=pytest.mark.slow), "rows"])
def test_lenet5_gives_the_bits_of_the_normal_program(tmp_path: Path, pipeline: str) -> None:
    with np.load(LENET5_FOLDER / "heldout.npz") as held:
        image = held["images"][0].astype(np.float32).reshape(1, 1, 32, 32) / np.float32(255)
    job = Job(LENET5_FOLDER / "lenet5.onnx", "cortex-m4", prefix="net", pipeline=pipeline)
    normal = c_files(compile_model(job))
    (want,) = run_c(normal, "net", [image], [(1, 10)])
    streamed = compile_model(replace(job, stream_input=True))
    assert streamed.report.arena_bytes == {"default": 5476, "rows": 4068}[pipeline]
    with built(c_files(streamed), image, want) as program:
        for portions in portions_of(32, 0):
            np.testing.assert_array_equal(program.run(image, portions), want)
