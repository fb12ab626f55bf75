"""npu-fuse-additions: the same numbers bit for bit, and the sum overwrites the residual."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from helpers.c_harness import run_c
from helpers.pipeline import arena_bytes, context, run_passes
from helpers.quantized.residual_blocks import ResidualMaker, resnet
from npu_dialect.attributes import TARGET
from npu_dialect.interpreters import run_function
from npu_dialect.machine import Machine
from npu_dialect.npu import Conv2dOp
from npu_dialect.target import TargetAttr
from npu_passes.emit.c import emit
from npu_passes.pipelines import PIPELINES, SUMS
from npu_tools.compiling.check import random_inputs

FUSE = "npu-fuse-conv-relu-pool"
ROAD = PIPELINES["default"].text
UNFUSED = ROAD.replace(f"{SUMS},", "")
TARGETS = ("cortex-m4", "fe310", "host")


def on(target: str, passes: str) -> str:
    """The text of passes for a machine."""
    return passes if target == "host" else f"npu-attach-target{{target={target}}},{passes}"


def in_c(module: ModuleOp, wanted: NDArray[Any], inputs: list[NDArray[Any]]) -> NDArray[Any]:
    """The output of the C of a lowered module, in the shape and type of `wanted`."""
    kinds = [wanted.dtype.name]
    return run_c(emit(module), "f", inputs, [wanted.shape], output_types=kinds)[0]


def additions(module: ModuleOp) -> list[Conv2dOp]:
    """The convolutions that add."""
    return [op for op in module.walk() if isinstance(op, Conv2dOp) and op.addition is not None]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from((None, "float", "fixed")))
def test_a_fused_network_means_the_same(seed: int, quantised: bool, mode: str | None) -> None:
    """In all modes of requantisation, on tensors and on buffers."""
    module = ResidualMaker(seed, quantised=quantised).network()
    module.verify()
    inputs = random_inputs(module, seed)
    first = f"npu-requantize-mode{{mode={mode}}},{FUSE}" if mode else FUSE
    plain = run_passes(context(), module, first)
    wanted = run_function(plain, None, inputs)[0]
    fused = run_passes(context(), plain, "npu-fuse-additions")
    np.testing.assert_array_equal(run_function(fused, None, inputs)[0], wanted)
    placed = run_passes(context(), fused, "npu-bufferize,npu-assign-sram-offsets")
    np.testing.assert_array_equal(run_function(placed, None, inputs)[0], wanted)
    if mode:
        late = run_passes(
            context(), module, f"{FUSE},npu-fuse-additions,npu-requantize-mode{{mode={mode}}}"
        )
        np.testing.assert_array_equal(run_function(late, None, inputs)[0], wanted)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_c_of_integers_is_what_the_interpreter_says(seed: int) -> None:
    module = ResidualMaker(seed, quantised=True).network()
    inputs = random_inputs(module, seed)
    wanted = run_function(module, None, inputs)[0]
    lowered = run_passes(context(), module, on(TARGETS[seed % 3], ROAD))
    np.testing.assert_array_equal(in_c(lowered, wanted, inputs), wanted)


@pytest.mark.parametrize("seed", range(2))
def test_c_of_floats_is_that_of_single_layers(seed: int) -> None:
    """The bits are those of the C without fusion; numpy adds in another order."""
    module = ResidualMaker(seed, quantised=False).network()
    inputs = random_inputs(module, seed)
    wanted = run_function(module, None, inputs)[0]
    made = [
        in_c(run_passes(context(), module, on(TARGETS[seed % 3], road)), wanted, inputs)
        for road in (ROAD, UNFUSED)
    ]
    np.testing.assert_array_equal(made[0], made[1])
    np.testing.assert_allclose(made[0], wanted, rtol=1e-3, atol=1e-3)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from((900, 2500, 10**5)))
def test_off_chip(seed: int, quantised: bool, sram_bytes: int) -> None:
    """If maps move in tiles, a convolution adds tile by tile."""
    module = ResidualMaker(seed, quantised=quantised).network()
    inputs = random_inputs(module, seed)
    wanted = run_function(module, None, inputs)[0]
    machine = Machine("small", sram_bytes, 10**6, dma_channels=4)
    TARGET.set(module, TargetAttr.of(machine))
    passes = PIPELINES["off-chip"].text.partition(",npu-assign-sram-offsets")[0]
    placed = run_passes(context(), module, passes)
    found = run_function(placed, None, inputs)[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    if quantised:
        np.testing.assert_array_equal(found, wanted)


def test_a_residual_network_needs_two_maps() -> None:
    module = resnet()
    largest = 8 * 32 * 32
    passes = ROAD.partition(",npu-outline-layers")[0]
    fused = run_passes(context(), module, passes)
    assert arena_bytes(fused) == 2 * largest
    found = additions(fused)
    assert len(found) == 3
    assert all(layer.residual is layer.destination for layer in found)
    apart = run_passes(context(), module, passes.replace(f"{SUMS},", ""))
    assert arena_bytes(apart) == 2 * largest + 520  # a third map, over one that a layer has read


def test_the_later_convolution_adds() -> None:
    """Every block has one addition fewer, and as many convolutions as before."""
    module = resnet()
    fused = run_passes(context(), module, f"{FUSE},npu-fuse-additions")
    names = [op.layer_name for op in additions(fused)]
    assert names == ["layer3", "layer7", "layer11"]
    assert not [op for op in fused.walk() if op.name == "npu.quantized_add"]
