"""Random networks on the emulated boards: padded convolutions, softmax (expf), normalisation."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.random_onnx import random_model, run
from npu_tools.compiling.check import RELATIVE, relative_error
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.shared.files import write_files
from npu_tools.verifying.emulators import run_on


@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, 24])
def test_random_network(machine: str, seed: int, tmp_path: Path) -> None:
    model, feeds = random_model(seed)
    assert {node.op_type for node in model.graph.node} & {"Softmax", "LRN"}
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    compiled = compile_model(Job(tmp_path / "net.onnx", machine))
    write_files(tmp_path, compiled.files)
    outputs = run_on(machine, tmp_path / "net.c", [feeds]).runs[0].outputs
    for value, wanted in zip(model.graph.output, run(model, feeds), strict=True):
        assert relative_error(outputs[value.name], wanted.ravel()) <= RELATIVE
