"""Mode fixed against mode float: at most one away, and equal in at least 99.9 % of random cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.quantized.build import NICE, Array, rng
from helpers.quantized.random_layers import LayerMaker
from npu_dialect.interpreters import run_function
from npu_dialect.interpreters.quantized import requantized
from npu_dialect.npu.quantization import Multiplier
from npu_passes.graph.requantize_mode import RequantizeModePass
from npu_tools.compiling.check import random_inputs


def distances(one: Array, two: Array) -> Array:
    """The distances of two results, element by element."""
    return np.abs(one.astype(np.int64) - two.astype(np.int64))


def test_random_sums() -> None:
    generator = rng(1)
    sums = generator.integers(-200_000, 200_000, (1, 50, 4000))
    for scales in (generator.uniform(1e-5, 2e-3, 50), generator.choice(NICE, 50) * 0.004):
        numbers = [float(np.float32(scale)) for scale in scales]
        found = [requantized(sums, numbers, 3, (-128, 127), mode) for mode in ("float", "fixed")]
        apart = distances(*found)
        assert apart.max() <= 1
        assert (apart == 0).mean() >= 0.999


@pytest.mark.parametrize("kind", ["add", "average", "conv", "dense", "pair", "requantize"])
def test_layers(kind: str) -> None:
    apart: list[Array] = []
    for seed in range(25):
        module = LayerMaker(seed).module(kind)
        feeds = random_inputs(module, seed)
        results: list[Array] = []
        for mode in ("float", "fixed"):
            RequantizeModePass(mode).apply(_context(), module)
            results.append(run_function(module, None, feeds)[0])
        apart.append(distances(*results).reshape(-1))
    together = np.concatenate(apart)
    assert together.max() <= 1
    assert (together == 0).mean() >= 0.98  # the scales of the tests give many ties


def _context() -> Any:
    """An empty context; the passes here need none."""
    return None


@settings(max_examples=50, deadline=None)
@given(number=st.floats(2.0**-100, 2.0**30, width=32))
def test_multipliers_are_exact(number: float) -> None:
    found = Multiplier.of(number)
    assert 0 <= found.value < 2**31
    assert 1 <= found.shift <= 62
    if found.value and number < 2**29:
        assert found.value * 2.0**-found.shift == number


@pytest.mark.parametrize(
    ("value", "wanted"), [(1, 0), (3, 2), (5, 2), (-1, 0), (-3, -2), (-5, -2), (7, 4), (8, 4)]
)
def test_ties_go_to_even(value: int, wanted: int) -> None:
    half = Multiplier.of(0.5)
    assert half.scaled(value * half.value) == wanted
