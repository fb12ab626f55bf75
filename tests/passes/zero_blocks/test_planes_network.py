"""A small int8 network from ONNX to C: each map in the code that calibration finds best."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

from helpers.zero_blocks.spilling import BLOCKS, files
from npu_tools.commands import compile
from npu_tools.quantizing.quantize_model import Recipe, quantised


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")
def test_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The C has the scores of onnxruntime to the bit, and moves less than the report allows."""
    network, machine = files(tmp_path)
    image = 0.02 * np.random.default_rng(3).standard_normal((1, 2, 20, 22)).astype(np.float32)
    image[..., :4, :4] = 1  # most of each map is small against its range
    model = quantised(ModelProto.FromString(Path(network).read_bytes()), [{"x": image}], Recipe())[
        1
    ]
    Path(network).write_bytes(model.SerializeToString())
    text = Path(machine).read_text()
    Path(machine).write_text(text.replace("sram_bytes = 12288", "sram_bytes = 3072"))
    data = tmp_path / "data.npz"
    np.savez(data, x=image)
    options = [network, "--target", machine, "-o", str(tmp_path / "out"), "--pipeline", BLOCKS]
    assert compile.main([*options, "--calibrate", str(data), f"--verify={data}"]) == 0
    said = capsys.readouterr().out
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    found, other = report["zero_blocks"]
    assert (found["code"], other["code"]) == ("bit planes", "zero blocks")  # tiles cut its runs
    assert found["predicted_planes"] < 1 - found["predicted_sparsity"]
    assert "planes %" in said
    assert "  bit planes" in said
    counted = report["verify"]["counters"]
    sums = [
        held["feature_map_read_bytes"] + held["feature_map_write_bytes"]
        for held in (counted, report["off_chip"])
    ]
    assert sums[0] < sums[1]
    assert all(output["steps"] == 0 for output in report["verify"]["outputs"])
