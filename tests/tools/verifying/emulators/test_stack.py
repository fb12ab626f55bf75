"""The worst-case stack that npu-compile reports, compared with the stack that a run used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.paths import LENET5
from helpers.quantized.networks import residual
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.shared.files import write_files
from npu_tools.verifying.emulators import run_on
from npu_tools.verifying.stack import measure_stack


@pytest.mark.parametrize("network", ["floats", pytest.param("integers", marks=pytest.mark.slow)])
def test_static_is_at_least_measured(machine: str, network: str, tmp_path: Path) -> None:
    model = LENET5
    inputs = {"image": np.linspace(0, 1, 1024, dtype=np.float32)}
    if network != "floats":
        model = tmp_path / "net.onnx"
        model.write_bytes(residual(softmax=True).SerializeToString())
        inputs = {"x": np.linspace(-1, 1, 192, dtype=np.float32)}
    files = compile_model(Job(model, machine, prefix="net")).files
    write_files(tmp_path, files)
    static = measure_stack(files, "net", machine)
    assert static.bytes is not None
    assert static.without == ()
    result = run_on(machine, tmp_path / "net.c", [inputs], flags=["-O2"])
    around = result.frames["main"] + result.frames.get("_start", 0)
    assert static.bytes + around >= result.stack_bytes
    # The bound is close; some parts of frames are never touched.
    assert static.bytes <= result.stack_bytes + 100
