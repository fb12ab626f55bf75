"""Published networks on a neural processor with DMA: what they compute, and what they move.

The emitted C runs with the strict engine of `npu_dma.h`. Its results must be the recorded ones or
those of onnxruntime, and its counters those of report.json.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.networks.light import light_file, ramp, recorded_output, seeded
from helpers.networks.machines import SRAM_BYTES, TARGET, machine_file
from helpers.networks.zoo import build
from npu_tools.compiling.check import relative_error
from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.verifying.harness import built
from npu_tools.verifying.samples import feeds_of, random_samples
from npu_tools.verifying.sessions import session_of

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")

Array = NDArray[np.float32]

TOLERANCE = 1e-4
"""Relative to the largest magnitude: sums of thousands of products, in another order."""

SLOW_LIGHT = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "vgg19",
    "zfnet512",
)
SLOW = (
    "flownet_s",
    "inception_v3",
    "mobilenet_v2",
    "resnet18",
    "resnet50",
    "squeezenet1_1",
    "xception",
)
OURS = (
    *((name, 1) for name in ("inception_small", *SLOW)),
    *(
        (name, 4)
        for name in ("inception_small", "flownet_s", "mobilenet_v2", "resnet18", "squeezenet1_1")
    ),
)


def moved_as_reported(found: Compiled, image: Array) -> Array:
    """Run a network on an image and compare its counters; returns its only output."""
    with built(found.name, found.files, found.report) as harness:
        (got,), counters = harness.run_and_count([image[np.newaxis]])
    assert counters is not None
    expected = asdict(found.report.off_chip)
    assert {key: vars(counters)[key] for key in expected} == expected
    assert counters.feature_map_reads > 0
    # Windows with a stride may end before the last rows and columns.
    assert counters.feature_map_read_bytes >= 0.95 * image.nbytes
    assert counters.feature_map_write_bytes >= got.nbytes
    return got[0]


def agrees_with_onnxruntime(found: Compiled, image: Array) -> None:
    got = moved_as_reported(found, image)
    feeds = feeds_of(found.report, [image])
    (want,) = session_of(found.reference).run(list(found.report.outputs), feeds)
    assert np.std(want) > 0.05 * np.abs(want).max()  # equal scores would prove little
    assert relative_error(got, want) <= TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezenet", "inception_v1", "shufflenet", "zfnet512"])
def test_light_models_give_what_is_recorded(name: str) -> None:
    found = compile_model(Job(light_file(name), TARGET, weights="bin"))
    (shape,) = found.report.inputs.values()
    got = moved_as_reported(found, ramp(*shape))
    assert found.report.arena_bytes <= SRAM_BYTES
    assert relative_error(got, recorded_output(name)) <= TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezenet", *SLOW_LIGHT])
def test_light_models_with_seeded_weights(name: str, tmp_path: Path) -> None:
    """Equal weights would hide most mistakes. Numbers are so large that LRN changes the result."""
    model = tmp_path / f"{name}.onnx"
    model.write_bytes(seeded(name).SerializeToString())
    found = compile_model(Job(model, TARGET, weights="bin"))
    (shape,) = found.report.inputs.values()
    image = np.random.default_rng(1).standard_normal(shape, np.float32) * np.float32(64)
    agrees_with_onnxruntime(found, image)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "times"), OURS)
def test_networks_agree_with_onnxruntime(name: str, times: int, tmp_path: Path) -> None:
    """With 1024 KB, and with four times as much, which for float32 is what 1024 KB is for int8."""
    model = tmp_path / f"{name}.onnx"
    model.write_bytes(build(name).SerializeToString())
    target = machine_file(tmp_path, times * SRAM_BYTES)
    found = compile_model(Job(model, target, weights="bin"))
    assert found.report.arena_bytes <= times * SRAM_BYTES
    agrees_with_onnxruntime(found, random_samples(found.report, 0)[0][0])
