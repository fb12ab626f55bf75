"""Batches, groups, multipliers and slices: kernels, C and the interpreter give the same bits."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from helpers.kernel_roads import (
    BYTES,
    DSP,
    M0,
    M7,
    ROADS,
    SMALL,
    VECTORS,
    Road,
    lowered,
    placed,
    same,
)
from helpers.kernel_slices import SliceMaker
from helpers.program_runs import check_board, check_host
from helpers.quantized.build import Array
from npu_dialect.interpreters import run_function
from npu_tools.compiling.check import random_inputs

WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""An example takes long, and is small enough without shrinking."""
EXAMPLES = pytest.param(8, id="some")
MANY = pytest.param(40, id="many", marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize("examples", [EXAMPLES, MANY])
def test_loops(examples: int) -> None:
    """Loops with the kernels of each machine, and general loops, are interpreted."""

    @settings(max_examples=examples, deadline=None, phases=WITHOUT_SHRINKING)
    @given(st.integers(0, 10**6))
    def each(seed: int) -> None:
        module = SliceMaker(Random(seed)).network()
        module.verify()
        inputs = random_inputs(module, seed)
        wanted = list(run_function(module, None, inputs))
        layers = placed(module, concat=True)
        for road in ROADS if examples > 8 else (DSP, BYTES):
            same(list(run_function(lowered(layers, road), None, inputs)), wanted, road)

    each()


def program(seed: int, networks: int = 6) -> tuple[ModuleOp, list[Array], list[Array]]:
    """Several networks in one function on buffers, with inputs and expected outputs."""
    module = SliceMaker(Random(seed)).network(networks)
    module.verify()
    inputs = random_inputs(module, seed)
    return placed(module, concat=True), inputs, list(run_function(module, None, inputs))


@pytest.mark.parametrize("road", [DSP, SMALL, pytest.param(BYTES, marks=pytest.mark.slow)], ids=str)
def test_host(road: Road) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    layers, inputs, wanted = program(20 + ROADS.index(road))
    check_host(lowered(layers, road), inputs, wanted, road)


@pytest.mark.parametrize(
    ("road", "seed"),
    [
        (DSP, 31),
        *(
            pytest.param(road, seed, marks=pytest.mark.slow)
            for road in (DSP, M0, M7, BYTES, VECTORS)
            for seed in (32, 34)
        ),
    ],
    ids=str,
)
def test_machines(road: Road, seed: int, tmp_path: Path) -> None:
    """The same programs on emulated boards."""
    layers, inputs, wanted = program(seed)
    check_board(road.machine, lowered(layers, road), inputs, wanted, tmp_path)
