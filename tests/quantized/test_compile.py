"""Quantised networks through npu-compile: memory, C, and onnxruntime as the judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from npu_tools.compile import main
from quantized.networks import residual


def compiled(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    """The report of a verified compilation."""
    path = folder / "net.onnx"
    arguments = [str(path), "--target", "cortex-m4", "-o", str(folder / "out"), "--json", *more]
    code = main([*arguments, "--verify"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


@pytest.mark.parametrize("inner", ["int8", "uint8"])
@pytest.mark.parametrize("pipeline", ["default", "naive", "rows", "unlu2020"])
def test_pipelines(
    inner: str, pipeline: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.onnx").write_bytes(residual(inner=inner).SerializeToString())
    strategy = ["--strategy", "greedy"] if pipeline == "unlu2020" else []
    report = compiled(tmp_path, capsys, "--pipeline", pipeline, "--check-passes", *strategy)
    assert report["verify"]["outputs"][0]["steps"] <= 2


def test_the_sums_of_a_convolution_never_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.onnx").write_bytes(residual().SerializeToString())
    report = compiled(tmp_path, capsys)
    ops = [layer["op"] for layer in report["layers"]]
    assert "npu.requantize" not in ops
    assert "int32_t *" not in (tmp_path / "out" / "net.h").read_text()
