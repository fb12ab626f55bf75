"""Kernels, general loops, C on three machines and the interpreter give the same bits."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, i8, i16

from helpers.kernel_chains import ChainMaker, LastMaker
from helpers.kernel_roads import BYTES, DSP, M0, ROADS, SMALL, VECTORS, Road, lowered, placed, same
from helpers.program_runs import check_board, check_host
from npu_dialect.interpreters import run_function
from npu_dialect.npu.quantization import BYTE_TYPES
from npu_tools.compiling.check import random_inputs

Arrays = list[NDArray[Any]]

ELEMENTS = {"bytes": BYTE_TYPES, "halves": (i16, i16, i8)}
"""Elements of maps: of 8 bits, or mostly of 16 bits."""
NETWORKS = 6
"""How many networks are in one program."""
WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""An example takes long, and is small enough without shrinking."""


@settings(max_examples=30, deadline=None, phases=WITHOUT_SHRINKING)
@given(
    st.integers(0, 10**6),
    st.sampled_from(("float", "fixed")),
    st.booleans(),
    st.sampled_from(("bytes", "bytes", "halves")),
)
def test_loops(seed: int, mode: str, fold: bool, elements: str) -> None:
    """Loops with the kernels of each machine, and general loops, are interpreted."""
    module = ChainMaker(Random(seed), mode, ELEMENTS[elements]).network()
    module.verify()
    inputs = random_inputs(module, seed)
    wanted = list(run_function(module, None, inputs))
    for layouts, roads in ((True, ROADS), (False, (DSP, VECTORS))):
        layers = placed(module, layouts=layouts, fold=fold)
        same(list(run_function(layers, None, inputs)), wanted, "layers on buffers")
        for road in roads:
            found = run_function(lowered(layers, road), None, inputs)
            same(list(found), wanted, f"{road}, {layouts=}")


@settings(max_examples=12, deadline=None, phases=WITHOUT_SHRINKING)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(("bytes", "bytes", "halves")))
def test_images_with_channels_last(seed: int, fold: bool, elements: str) -> None:
    """Layers with windows read an image where it lies."""
    module = LastMaker(Random(seed), elements=ELEMENTS[elements]).network()
    module.verify()
    inputs = random_inputs(module, seed)
    wanted = list(run_function(module, None, inputs))
    layers = placed(module, fold=fold)
    for road in ROADS:
        same(list(run_function(lowered(layers, road), None, inputs)), wanted, road)


def program(seed: int, mode: str, elements: str = "bytes") -> tuple[ModuleOp, Arrays, Arrays]:
    """Several networks in one function on buffers, with inputs and expected outputs."""
    module = ChainMaker(Random(seed), mode, ELEMENTS[elements]).network(NETWORKS)
    module.verify()
    inputs = random_inputs(module, seed)
    return placed(module), inputs, list(run_function(module, None, inputs))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("road", "mode", "elements"),
    [
        (DSP, "float", "bytes"),
        (SMALL, "fixed", "bytes"),
        (BYTES, "float", "bytes"),
        (DSP, "fixed", "halves"),
        (SMALL, "float", "halves"),
        (VECTORS, "float", "bytes"),
    ],
    ids=str,
)
def test_host(road: Road, mode: str, elements: str) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    layers, inputs, wanted = program(ROADS.index(road), mode, elements)
    check_host(lowered(layers, road), inputs, wanted, road)


@pytest.mark.parametrize(
    ("road", "mode", "seed", "elements"),
    [
        (DSP, "fixed", 11, "bytes"),
        pytest.param(SMALL, "float", 12, "bytes", marks=pytest.mark.slow),
        pytest.param(BYTES, "float", 13, "bytes", marks=pytest.mark.slow),
        pytest.param(M0, "float", 15, "bytes", marks=pytest.mark.slow),
        (DSP, "float", 16, "halves"),
        pytest.param(DSP, "float", 10, "bytes", marks=pytest.mark.slow),
        pytest.param(BYTES, "fixed", 14, "bytes", marks=pytest.mark.slow),
        pytest.param(VECTORS, "float", 17, "bytes", marks=pytest.mark.slow),
        pytest.param(VECTORS, "fixed", 18, "bytes", marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_machines(road: Road, mode: str, seed: int, elements: str, tmp_path: Path) -> None:
    """The same programs on emulated boards."""
    layers, inputs, wanted = program(seed, mode, elements)
    check_board(road.machine, lowered(layers, road), inputs, wanted, tmp_path)
