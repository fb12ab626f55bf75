"""Runs npu-quantize on small models in the working folder."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto

from npu_tools.commands.quantize import main

Array: TypeAlias = NDArray[Any]


def save(folder: Path, proto: ModelProto, **arrays: Any) -> list[str]:
    """Write a model and its calibration data; returns the arguments that name them."""
    (folder / "net.onnx").write_bytes(proto.SerializeToString())
    np.savez(folder / "data.npz", allow_pickle=True, **arrays)
    return ["net.onnx", "--calibrate", "data.npz", "-o", "int8.onnx"]


def inputs(count: int = 8, shape: tuple[int, ...] = (1, 8, 8)) -> Array:
    """Samples for the small network."""
    return np.random.default_rng(3).standard_normal((count, *shape)).astype(np.float32)


def quantised_small(arguments: list[str], *more: str) -> ModelProto:
    """The quantised model of a run that must succeed."""
    assert main([*arguments, *more]) == 0
    return ModelProto.FromString(Path("int8.onnx").read_bytes())


def rejected(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], *parts: str
) -> None:
    """Check that a run fails with one message and leaves no file."""
    before = sorted(os.listdir(folder))
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("npu-quantize: error: ")
    assert said.err.count("\n") == 1
    for part in parts:
        assert part in said.err
    assert sorted(os.listdir(folder)) == before
    assert os.listdir(tempfile.gettempdir()) == []
