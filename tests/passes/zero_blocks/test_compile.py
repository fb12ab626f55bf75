"""npu-compile with maps in blocks: the report is an upper limit, --verify and --calibrate work."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.zero_blocks.spilling import BLOCKS, files
from npu_tools.commands import compile


def test_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a black image everything is zero, so less moves than the report says."""
    network, machine = files(tmp_path)
    np.savez(tmp_path / "black.npz", x=np.zeros((1, 2, 20, 22), np.float32))
    options = [network, "--target", machine, "-o", str(tmp_path / "out")]
    pipeline = ["--pipeline", BLOCKS, f"--verify={tmp_path / 'black.npz'}"]
    assert compile.main([*options, *pipeline]) == 0, capsys.readouterr().err
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    counted = report["verify"]["counters"]
    assert report["off_chip_at_most"] is True
    for key in ("feature_map_read_bytes", "feature_map_write_bytes"):
        assert counted[key] < report["off_chip"][key] / 2
    sums = [
        sum(held[f"feature_map_{way}_bytes"] for way in ("read", "write"))
        for held in (counted, report["off_chip"])
    ]
    said = "moved {} bytes of maps over the border of the chip, at most {} as the report says"
    assert said.format(*sums) in capsys.readouterr().out


def test_calibrated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A map without a zero block stays as it is, and --verbose says why."""
    network, machine = files(tmp_path)
    image = np.random.default_rng(0).standard_normal((3, 2, 20, 22)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=image)
    options = [network, "--target", machine, "-o", str(tmp_path / "out"), "--verbose"]
    calibrate = ["--calibrate", str(tmp_path / "data.npz")]
    assert compile.main([*options, *calibrate, "--pipeline", BLOCKS]) == 0
    said = capsys.readouterr()
    assert "are expected in zero blocks, an index pays from 0.195 % on" in said.out + said.err
    assert compile.main([*options, *calibrate]) == 1
    assert "expected npu-compress-spills for the options that were given" in capsys.readouterr().err
