"""report.json for each map: the most bytes in blocks, the prediction, uncompressed maps."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.zero_blocks.spilling import BLOCKS, files
from npu_tools.commands import compile
from npu_tools.reports.zero_block_table import plan_table


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A network of which two maps leave the chip of a machine, and two samples."""
    monkeypatch.chdir(tmp_path)
    files(Path())
    data = np.random.default_rng(0).standard_normal((2, 2, 20, 22)).astype(np.float32)
    data[:, :, :, 8:] = 0
    np.savez("data.npz", x=data)
    return ["net.onnx", "--target", "small.toml", "-o", "out"]


def compiled(*options: str) -> dict[str, Any]:
    assert compile.main(list(options)) == 0
    return json.loads(Path("out/report.json").read_text())


def maps_moved(report: dict[str, Any]) -> int:
    traffic = report["off_chip"]
    return traffic["feature_map_read_bytes"] + traffic["feature_map_write_bytes"]


@pytest.mark.slow
def test_rows_add_up_to_the_traffic(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    report = compiled(*options, "--pipeline", BLOCKS)
    said = capsys.readouterr().out
    plain = compiled(
        *options, "--pipeline", BLOCKS.replace("npu-compress-spills{block-size=4},", "")
    )
    rows = report["zero_blocks"]
    assert "zero_blocks" not in plain
    assert [row["layers"] for row in rows] == [["c1", "s"], ["c2"]]  # the sum runs in place
    assert all(row["compressed"] and row["reason"] is None for row in rows)
    assert all(row["predicted_sparsity"] is None for row in rows)
    assert [row["index_bytes"] for row in rows] == [30, 30]
    assert [row["shape"] for row in rows] == [[1, 8, 20, 22]] * 2
    indices = sum(row["bytes_at_most"] - row["bytes_before"] for row in rows)
    assert 60 < indices == maps_moved(report) - maps_moved(plain)
    ends = 4 * sum(map(prod, (*report["inputs"].values(), *report["outputs"].values())))
    assert sum(row["bytes_before"] for row in rows) == maps_moved(plain) - ends
    for row in rows:
        (line,) = [line for line in said.splitlines() if line.startswith(f"{row['map']} ")]
        assert line.split()[1:] == ["8x20x22", "-", *(str(row[key]) for key in NUMBERS)]


NUMBERS = ("bytes_before", "index_bytes", "bytes_at_most")


def test_what_is_expected(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The predictions are the shares that npu-report finds in the same samples."""
    from npu_tools.commands import report as report_command

    report = compiled(*options, "--pipeline", BLOCKS, "--calibrate", "data.npz")
    capsys.readouterr()
    assert report_command.main(["zero-blocks", "net.onnx", "--input", "data.npz", "--json"]) == 0
    measured = {row["layer"]: row for row in json.loads(capsys.readouterr().out)["maps"]}
    for row in report["zero_blocks"]:
        found = [measured[name] for name in row["layers"]]
        kept = sum((each["bytes_after"] - each["index_bytes"]) for each in found)
        share = 1 - kept / sum(each["bytes_before"] for each in found)
        assert row["predicted_sparsity"] == pytest.approx(share)
        assert row["compressed"] is (row["predicted_sparsity"] >= 1 / 512)


def test_what_is_left_alone(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Tiles are chosen without `block-size`, so they cut blocks, and maps stay as they are."""
    text = BLOCKS.replace("npu-tile-loops{block-size=4}", "npu-tile-loops")
    report = compiled(*options, "--pipeline", text)
    left = [row for row in report["zero_blocks"] if not row["compressed"]]
    (row,) = left
    assert "cut blocks of 4 x 4" in row["reason"]
    assert row["index_bytes"] == 0
    assert row["bytes_at_most"] == row["bytes_before"] > 0
    assert row["reason"] in capsys.readouterr().out


def test_no_blocks_no_key(options: list[str]) -> None:
    assert "zero_blocks" not in compiled(*options)


def test_nothing_to_save() -> None:
    """A network that prunes blocks says so if none of its maps leaves the chip."""
    said = "maps off the chip: none, so zero blocks have nothing to save"
    assert list(plan_table((), ["npu.conv2d", "npu.prune_zero_blocks"])) == ["", said]
    assert not list(plan_table((), ["npu.conv2d"]))
