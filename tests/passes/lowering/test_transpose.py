"""Transpositions as loops: random axes and layouts, on cores with and without vectors."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from helpers.c_harness import run_c
from helpers.kernel_roads import DSP, SMALL, VECTORS, Road, lowered
from helpers.pipeline import context, parse, run_passes
from npu_dialect.interpreters import run_function
from npu_passes.emit.c import emit
from npu_tools.compiling.check import random_inputs

PLACE = "npu-bufferize,npu-assign-sram-offsets,npu-outline-layers"


def network(shape: list[int], perm: list[int], element: str) -> ModuleOp:
    """A transposition, as a function."""
    before = f"tensor<{'x'.join(map(str, shape))}x{element}>"
    behind = f"tensor<{'x'.join(str(shape[axis]) for axis in perm)}x{element}>"
    return parse(
        context(),
        f"""
        func.func @f(%x: {before}) -> {behind} {{
          %y = npu.transpose %x perm {perm} : {before} -> {behind}
          func.return %y : {behind}
        }}""",
    )


def check(module: ModuleOp, road: Road) -> str:
    """Check the loops of a network; returns their text."""
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    loops = lowered(run_passes(context(), module, PLACE), road)
    np.testing.assert_array_equal(run_function(loops, None, inputs)[0], wanted)
    return str(loops)


SHAPES = st.lists(st.sampled_from((1, 2, 3, 5, 8, 9, 19)), min_size=1, max_size=4).filter(
    lambda shape: prod(shape) < 3000
)


@settings(deadline=None, max_examples=60)
@given(
    SHAPES.flatmap(
        lambda shape: st.tuples(st.just(shape), st.permutations(list(range(len(shape)))))
    ),
    st.sampled_from(("i8", "ui8", "i16", "f32")),
    st.sampled_from((DSP, SMALL, VECTORS)),
)
def test_loops_move_every_element(
    case: tuple[list[int], list[int]], element: str, road: Road
) -> None:
    check(network(*case, element), road)


@pytest.mark.parametrize("element", ["i8", "ui8"])
def test_bytes_move_in_vectors(element: str) -> None:
    assert "mve.gather" in check(network([1, 19, 3, 5], [0, 2, 3, 1], element), VECTORS)
    assert "mve.scatter" in check(network([1, 5, 4, 3], [0, 2, 3, 1], element), VECTORS)
    assert "mve." not in check(network([1, 5, 2, 3], [0, 2, 3, 1], element), VECTORS)


def test_other_elements_and_machines_have_no_vectors() -> None:
    for element, road in (("i16", VECTORS), ("f32", VECTORS), ("i8", DSP)):
        text = check(network([1, 19, 3, 5], [0, 2, 3, 1], element), road)
        assert "mve." not in text.replace('"mve"', "")


@pytest.mark.parametrize("road", [DSP, VECTORS], ids=str)
@pytest.mark.parametrize("shape", [[1, 19, 3, 5], [1, 5, 4, 3]])
def test_host(shape: list[int], road: Road) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    module = network(shape, [0, 2, 3, 1], "i8")
    inputs = random_inputs(module, 6)
    (wanted,) = run_function(module, None, inputs)
    files = emit(lowered(run_passes(context(), module, PLACE), road))
    (found,) = run_c(files, "f", inputs, [wanted.shape], output_types=["int8"])
    np.testing.assert_array_equal(found, wanted)
