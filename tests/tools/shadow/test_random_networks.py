"""The plans of random networks, made by all pipelines, are right."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from helpers import kernel_roads
from helpers.kernel_chains import ChainMaker
from helpers.shadow.networks import LOWERING, lowered
from npu_tools.shadow import check

COUNT = 200
QUICK = 2 * len(LOWERING)
PART = 23


pytestmark = pytest.mark.usefixtures("no_warnings")


def checked(folder: Path, seed: int) -> None:
    """Check the plan of a network; two networks in a row have the same pipeline."""
    pipeline = LOWERING[seed // 2 % len(LOWERING)]
    assert not check(lowered(folder, seed, pipeline)), f"seed {seed}, {pipeline}"


@pytest.mark.parametrize("seed", range(QUICK))
def test_some(seed: int, tmp_path: Path) -> None:
    checked(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, COUNT, PART))
def test_many(first: int, tmp_path: Path) -> None:
    for seed in range(first, min(first + PART, COUNT)):
        checked(tmp_path, seed)


@pytest.mark.parametrize(
    "road",
    [
        pytest.param(each, marks=pytest.mark.slow) if each in kernel_roads.SLOW else each
        for each in kernel_roads.ROADS
    ],
    ids=str,
)
def test_kernels(road: kernel_roads.Road) -> None:
    """Kernels of int8 layers load words, and read ahead."""
    for seed in range(3):
        module = ChainMaker(Random(seed)).network()
        assert not check(kernel_roads.lowered(kernel_roads.placed(module), road)), f"seed {seed}"
