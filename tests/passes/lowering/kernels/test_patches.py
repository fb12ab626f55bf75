"""Depthwise convolutions over patches on vectors: random shapes, also in place."""

from __future__ import annotations

from dataclasses import replace
from itertools import starmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from helpers.c_harness import run_c, write_files
from helpers.depthwise import Shape, give, network
from helpers.emulated import require
from helpers.kernel_roads import DSP, VECTORS, lowered
from helpers.pipeline import context, run_passes
from npu_dialect.interpreters import run_function
from npu_dialect.npu import Conv2dOp
from npu_dialect.walking import walk_kind
from npu_dialect.windows import Axis
from npu_passes.emit.c import emit
from npu_passes.support.refuse import Refusal
from npu_plans.kernels.patch_plan import PatchPlan
from npu_tools.compiling.check import random_inputs
from npu_tools.verifying.emulators import Interface, run_on

SHAPES = st.builds(
    Shape,
    st.tuples(*starmap(st.integers, ((1, 2), (4, 6), (1, 9), (1, 11)))),
    st.just(1),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.just((1, 1)),
    st.tuples(*[st.integers(0, 2)] * 4),
    st.just(1),
    st.just(False),
    st.sampled_from((-128, -1, 0, 3, 100)),
    st.just(1),
    st.booleans(),
    st.sampled_from((-128, 0, 9)),
    st.sampled_from((None, (-20.0, 30.0), (-128.0, 101.0))),
)


def axes(shape: Shape) -> tuple[Axis, Axis]:
    """The windows over rows and columns."""
    top, left, bottom, right = shape.pads
    rows = Axis(shape.input[2], shape.kernel[0], shape.strides[0], top, bottom, shape.dilation)
    return rows, Axis(shape.input[3], shape.kernel[1], shape.strides[1], left, right)


def on_buffers(shape: Shape, spare: int = 0) -> tuple[ModuleOp, ModuleOp]:
    """The network, and its layers on buffers, the convolution with a working memory.

    `spare`: the elements that this has more than the kernel needs.
    """
    module = network(shape)
    layers = run_passes(context(), module, "npu-bufferize,npu-choose-layouts")
    (layer,) = walk_kind(layers, Conv2dOp)
    give(layer, PatchPlan(*layer.axes()).elements + spare, in_place=shape.in_place)
    layers.verify()
    places = "npu-assign-sram-offsets,npu-outline-layers"
    return module, run_passes(context(), layers, places)


@settings(deadline=None, max_examples=40)
@given(SHAPES.filter(lambda shape: PatchPlan.fits(*axes(shape))))
def test_patches_give_the_bits_of_the_layer(shape: Shape) -> None:
    module, layers = on_buffers(shape)
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    loops = lowered(layers, VECTORS)
    assert "mve.push_bytes" in str(loops)
    np.testing.assert_array_equal(run_function(loops, None, inputs)[0], wanted)


IN_C = {
    "padded": Shape((1, 5, 7, 9), 1, (3, 3), (1, 1), (1, 1, 1, 1), 1, False, -128, 1, True, -128),
    "two images": Shape(
        (2, 4, 6, 7), 1, (3, 3), (1, 1), (0, 2, 1, 0), 1, False, 5, 1, False, 9, (-20.0, 90.0)
    ),
    "not square": Shape((1, 6, 5, 4), 1, (2, 3), (1, 1), (1, 0, 0, 1), 1, False, -7, 1, False, 0),
    "one row": Shape((1, 4, 1, 6), 1, (3, 1), (1, 1), (1, 0, 1, 0), 1, False, 100, 1, True),
}
"""Shapes whose code has masked lanes of all kinds: last rows and columns, and rows of padding."""


@pytest.mark.parametrize("name", ["padded", "two images"])
def test_host(name: str) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    module, layers = on_buffers(IN_C[name])
    inputs = random_inputs(module, 6)
    (wanted,) = run_function(module, None, inputs)
    files = emit(lowered(layers, VECTORS))
    found = run_c(files, "f", inputs, [wanted.shape], output_types=["int8"])
    np.testing.assert_array_equal(found[0], wanted)


@pytest.mark.parametrize("level", ["-O2", "-O3"])
@pytest.mark.parametrize("name", IN_C)
def test_helium(name: str, level: str, tmp_path: Path) -> None:
    """The instructions on the emulated Cortex-M55."""
    machine = require(VECTORS.machine)
    module, layers = on_buffers(IN_C[name])
    inputs = random_inputs(module, 6)
    (wanted,) = run_function(module, None, inputs)
    write_files(tmp_path, emit(lowered(layers, VECTORS)), "f")
    names = [each.name for each in Interface.read(tmp_path / "f.h").inputs]
    case = dict(zip(names, inputs, strict=True))
    (run,) = run_on(machine, tmp_path / "f.c", [case], flags=[level]).runs
    (found,) = run.outputs.values()
    np.testing.assert_array_equal(found.reshape(wanted.shape), wanted)


PLAIN = Shape((1, 4, 5, 6), 1, (3, 3), (1, 1), (1, 1, 1, 1), 1, False, -7, 1, False)


@pytest.mark.parametrize(
    "shape",
    [
        replace(PLAIN, kernel=(4, 3)),
        replace(PLAIN, kernel=(3, 4)),
        replace(PLAIN, strides=(1, 2)),
        replace(PLAIN, dilation=2),
        replace(PLAIN, pads=(3, 1, 1, 1)),
        replace(PLAIN, multiplier=2),
        replace(PLAIN, unsigned=True, point=7),
    ],
)
def test_layers_that_do_not_fit_get_another_kernel(shape: Shape) -> None:
    module, layers = on_buffers(shape)
    inputs = random_inputs(module, 5)
    (wanted,) = run_function(module, None, inputs)
    loops = lowered(layers, VECTORS)
    assert "mve.push_bytes" not in str(loops)
    np.testing.assert_array_equal(run_function(loops, None, inputs)[0], wanted)


def test_a_working_memory_that_is_too_small_is_not_used() -> None:
    assert "mve.push_bytes" in str(lowered(on_buffers(PLAIN)[1], VECTORS))
    assert "mve.push_bytes" not in str(lowered(on_buffers(PLAIN, -1)[1], VECTORS))
    with pytest.raises(Refusal, match=r"cannot lower npu.conv2d in place"):
        lowered(on_buffers(replace(PLAIN, in_place=True), -1)[1], VECTORS)


def test_other_machines_have_no_patches() -> None:
    assert "mve." not in str(lowered(on_buffers(PLAIN)[1], DSP))
