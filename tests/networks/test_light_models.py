"""Nine published networks in C: outputs as the onnx package has recorded, and as onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.networks.light import light_file, ramp, recorded_output, seeded
from npu_tools.compiling.check import relative_error
from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.verifying.harness import built
from npu_tools.verifying.samples import feeds_of
from npu_tools.verifying.sessions import session_of

TOLERANCE = 1e-4
"""Relative to the largest magnitude: sums of thousands of products, in another order."""

MODELS = (
    "squeezenet",
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "vgg19",
    "zfnet512",
)


def compiled(model: Path) -> Compiled:
    return compile_model(Job(model=model, target="host", weights="bin"))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_c_gives_what_is_recorded(name: str) -> None:
    found = compiled(light_file(name))
    ((shape,), (output,)) = found.report.inputs.values(), found.report.outputs
    with built(found.name, found.files, found.report) as harness:
        (got,) = harness.run([ramp(1, *shape)])
    want = recorded_output(name)
    assert found.report.outputs[output] == want.shape
    assert relative_error(got[0], want) <= TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_c_agrees_with_onnxruntime(name: str, tmp_path: Path) -> None:
    """With random weights, and an image of large numbers, so that LRN changes the result."""
    model = tmp_path / f"{name}.onnx"
    model.write_bytes(seeded(name).SerializeToString())
    found = compiled(model)
    (shape,) = found.report.inputs.values()
    image = np.random.default_rng(1).standard_normal(shape, np.float32) * np.float32(64)
    with built(found.name, found.files, found.report) as harness:
        (got,) = harness.run([image[np.newaxis]])
    feeds = feeds_of(found.report, [image])
    (want,) = session_of(found.reference).run(list(found.report.outputs), feeds)
    assert np.std(want) > 0.05 * np.abs(want).max()  # equal scores would prove little
    assert relative_error(got[0], want) <= TOLERANCE
