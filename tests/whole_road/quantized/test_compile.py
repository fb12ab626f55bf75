"""Quantised networks through npu-compile: memory, and C compared with onnxruntime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.networks.int8 import saved_int8
from helpers.networks.zoo import TINY
from helpers.quantized.networks import residual
from npu_tools.commands.compile import main


def compiled(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    """The report of a verified compilation."""
    path = folder / "net.onnx"
    arguments = [str(path), "--target", "host", "-o", str(folder / "out"), "--json", *more]
    code = main([*arguments, "--verify"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


@pytest.mark.parametrize(
    ("pipeline", "inner"),
    [
        ("default", "int8"),
        ("rows", "int16"),
        pytest.param("naive", "uint8", marks=pytest.mark.slow),
        pytest.param("rows", "int8", marks=pytest.mark.slow),
        pytest.param("unlu2020", "uint8", marks=pytest.mark.slow),
        pytest.param("default", "int16", marks=pytest.mark.slow),
        pytest.param("default", "uint8", marks=pytest.mark.slow),
        pytest.param("naive", "int8", marks=pytest.mark.slow),
        pytest.param("rows", "uint8", marks=pytest.mark.slow),
        pytest.param("unlu2020", "int8", marks=pytest.mark.slow),
    ],
)
def test_pipelines(
    pipeline: str, inner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.onnx").write_bytes(residual(inner=inner).SerializeToString())
    more = ["--check-passes"] if pipeline == "default" else []
    strategy = ["--strategy", "greedy"] if pipeline == "unlu2020" else []
    report = compiled(tmp_path, capsys, "--pipeline", pipeline, *strategy, *more)
    assert report["verify"]["outputs"][0]["steps"] <= 2


@pytest.mark.slow
def test_tiles_with_scales_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Weights come in groups of kernels, each with its own scales; all transfers are counted."""
    model = saved_int8(tmp_path, "resnet8", **TINY["resnet8"])
    model.rename(tmp_path / "net.onnx")
    report = compiled(tmp_path, capsys, "--target", "exynos-npu")
    assert report["verify"]["outputs"][0]["steps"] <= 2
    assert len(report["layers"]) < report["verify"]["counters"]["transfers"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mobilenet_v1", "squeezenet1_1", "ds_cnn"])
def test_plans_for_vectors_are_checked_byte_by_byte(name: str, tmp_path: Path) -> None:
    """Windows that are gathered, scattered outputs, and working memory of bytes."""
    options = TINY[name] | ({"width": 1 / 4} if name == "mobilenet_v1" else {})
    path = saved_int8(tmp_path, name, **options)
    assert main([str(path), "--target", "cortex-m55", "-o", str(tmp_path), "--check-passes"]) == 0


def test_the_sums_of_a_convolution_never_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.onnx").write_bytes(residual().SerializeToString())
    report = compiled(tmp_path, capsys)
    ops = [layer["op"] for layer in report["layers"]]
    assert "npu.requantize" not in ops
    assert "int32_t *" not in (tmp_path / "out" / "net.h").read_text()


@pytest.mark.parametrize(
    ("inner", "requantize"),
    [
        ("int8", "float"),
        ("uint8", "fixed"),
        ("int16", "fixed"),
        pytest.param("int8", "fixed", marks=pytest.mark.slow),
        pytest.param("uint8", "float", marks=pytest.mark.slow),
    ],
)
def test_integers_at_the_edges(
    inner: str, requantize: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.onnx").write_bytes(residual(inner=inner).SerializeToString())
    report = compiled(tmp_path, capsys, "--io", "int8", "--requantize", requantize)
    assert report["verify"]["outputs"][0]["steps"] <= 2
    ops = [layer["op"] for layer in report["layers"]]
    assert not {"npu.quantize", "npu.dequantize"} & set(ops)
    header = (tmp_path / "out" / "net.h").read_text()
    assert f"const {inner}_t *x" in header
    assert f"#define NET_X_SCALE {'0.00015625f' if inner == 'int16' else '0.02f'}" in header
    assert f"#define NET_X_ZERO_POINT ({128 if inner == 'uint8' else 0})" in header
    source = (tmp_path / "out" / "net.c").read_text()
    assert ("float" in source) == (requantize == "float")


def test_a_softmax_in_float_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "net.onnx").write_bytes(residual(softmax=True).SerializeToString())
    arguments = [str(tmp_path / "net.onnx"), "--target", "host", "-o", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert caplog.messages == [
        "node 'the_scores' (Softmax) of a quantised network is computed in float32"
    ]
