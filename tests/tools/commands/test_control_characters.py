"""What commands print about a model cannot move the cursor or change the colours of a terminal."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

from helpers.quantized.networks import residual
from helpers.small_models import SaveModel, small_net
from npu_tools.commands import compile, report, run

EVIL = "\x1b[31mred\x07\r"
SHOWN = "\\x1b[31mred\\x07\\r"


def renamed(model: ModelProto) -> ModelProto:
    """The model with a control sequence in the names of its nodes and of its output."""
    for node in model.graph.node:
        node.name += EVIL
        node.output[:] = [
            name + EVIL if name == model.graph.output[0].name else name for name in node.output
        ]
    model.graph.output[0].name += EVIL
    return model


def check(text: str) -> None:
    """Control characters are shown as escapes, but for the ends of lines."""
    assert SHOWN in text
    assert all(letter.isprintable() or letter == "\n" for letter in text)


@pytest.mark.parametrize("target", ["host", "exynos-npu"])
def test_tables_and_remarks(
    save: SaveModel, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    path = save(renamed(small_net()))
    out = path.parent / "out"
    verify = ["--verify"] if shutil.which("cc") else []
    options = [str(path), "--target", target, "-o", str(out), "--verbose", *verify]
    assert compile.main(options) == 0
    said = capsys.readouterr()
    check(said.out)
    rows = [line for line in said.out.splitlines() if "npu.fully_connected" in line]
    assert len({row.index("npu.") for row in rows}) == 1  # columns stay aligned


def test_other_commands(save: SaveModel, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(renamed(small_net()))
    image = np.zeros((1, 1, 8, 8), np.float32)
    np.save(path.parent / "x.npy", image)
    np.savez(path.parent / "x.npz", input=image)
    assert run.main([str(path), "--input", str(path.parent / "x.npy")]) == 0
    check(capsys.readouterr().out)
    data = ["--input", str(path.parent / "x.npz")]
    assert report.main(["zero-blocks", str(path), "--block-size", "2", *data]) == 0
    check(capsys.readouterr().out)


def test_warnings(
    save: SaveModel, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    path: Path = save(renamed(residual(softmax=True)))
    with caplog.at_level(logging.WARNING):
        assert compile.main([str(path), "--target", "host", "-o", str(path.parent / "o")]) == 0
    check("\n".join(record.getMessage() for record in caplog.records))
    check(capsys.readouterr().out)
