"""Convolutions that read and write the model's layout: kernels, C and interpreter agree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from helpers.kernel_chains import ChainMaker
from helpers.kernel_planes import PlanesMaker
from helpers.kernel_roads import BYTES, DSP, M7, ROADS, SMALL, VECTORS, Road, lowered, placed, same
from helpers.program_runs import check_board, check_host
from helpers.quantized.build import Array
from npu_dialect.interpreters import run_function
from npu_dialect.npu.maps import map_type
from npu_tools.compiling.check import random_inputs

EXAMPLES = pytest.param(6, id="some")
MANY = pytest.param(100, id="many", marks=pytest.mark.slow)


@pytest.mark.parametrize("examples", [EXAMPLES, MANY])
def test_loops(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(st.integers(0, 10**6))
    def each(seed: int) -> None:
        module = PlanesMaker(Random(seed)).network()
        module.verify()
        inputs = random_inputs(module, seed)
        wanted = list(run_function(module, None, inputs))
        layers = placed(module)
        for road in ROADS:
            same(list(run_function(lowered(layers, road), None, inputs)), wanted, road)

    each()


@dataclass(frozen=True)
class Case:
    """A convolution: channels, rows and columns of its input, and its parameters."""

    input: tuple[int, int, int]
    filters: int
    kernel: int = 3
    stride: int = 1
    pad: int = 1
    dilation: int = 1
    groups: int = 1


CASES = {
    "one tap": Case((6, 4, 7), 5, 1, pad=0),
    "one tap, an odd number of channels": Case((5, 3, 4), 4, 1, pad=0),
    "one tap, many channels": Case((35, 2, 3), 4, 1, pad=0),
    "one tap, padded": Case((4, 3, 5), 4, 1),
    "one tap, strided, in groups": Case((6, 4, 5), 4, 1, 2, 0, groups=2),
    "dilated": Case((3, 8, 12), 5, dilation=2, pad=2),
    "dilated by three": Case((2, 8, 12), 3, dilation=3, pad=2),
    "depthwise": Case((3, 6, 13), 3, groups=3),
    "depthwise, a wide border": Case((2, 9, 9), 2, 5, pad=2, groups=2),
    "depthwise, two filters": Case((3, 5, 8), 6, groups=3),
    "depthwise, two filters, strided": Case((3, 7, 9), 6, 3, 2, groups=3),
    "depthwise, dilated": Case((2, 7, 14), 2, dilation=2, pad=2, groups=2),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    """Each of them with some zero points and element types."""
    case = CASES[name]
    for seed in range(4):
        maker = ChainMaker(Random(seed))
        x = maker.argument(maker.integer(), (1, *case.input))
        layer = maker.convolution(
            x,
            case.filters,
            [case.kernel] * 2,
            [case.stride] * 2,
            [case.pad] * 4,
            [case.dilation] * 2,
            groups=case.groups,
        )
        module = maker.finished(maker.add(layer, map_type(layer.results[0]).get_element_type()))
        inputs = random_inputs(module, seed)
        wanted = list(run_function(module, None, inputs))
        layers = placed(module)
        for road in (DSP, BYTES):
            same(list(run_function(lowered(layers, road), None, inputs)), wanted, road)


def program(seed: int) -> tuple[ModuleOp, list[Array], list[Array]]:
    """Several layers in one function on buffers, with inputs and expected outputs."""
    module = PlanesMaker(Random(seed)).network(12)
    inputs = random_inputs(module, seed)
    return placed(module), inputs, list(run_function(module, None, inputs))


@pytest.mark.parametrize(
    ("road", "seed"),
    [
        (DSP, 0),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in ((DSP, 1), (SMALL, 0), (BYTES, 0))
        ),
    ],
    ids=str,
)
def test_host(road: Road, seed: int) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    layers, inputs, wanted = program(seed)
    check_host(lowered(layers, road), inputs, wanted, road)


@pytest.mark.parametrize(
    ("road", "seed"),
    [
        (DSP, 3),
        *(pytest.param(road, 4, marks=pytest.mark.slow) for road in (DSP, M7, BYTES, VECTORS)),
    ],
    ids=str,
)
def test_machines(road: Road, seed: int, tmp_path: Path) -> None:
    """The same programs on emulated boards."""
    layers, inputs, wanted = program(seed)
    check_board(road.machine, lowered(layers, road), inputs, wanted, tmp_path)
