"""Small models for the tests of the tools."""

from pathlib import Path

import pytest
from onnx import ModelProto

from helpers.small_models import SaveModel, small_net


@pytest.fixture
def save(tmp_path: Path) -> SaveModel:
    """A function that writes a model to `net.onnx` and returns the path."""

    def write(model: ModelProto) -> Path:
        path = tmp_path / "net.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    return write


@pytest.fixture
def small(save: SaveModel) -> Path:
    """The path of a small network."""
    return save(small_net())


@pytest.fixture
def dynamic(save: SaveModel) -> Path:
    """The path of the small network with a dynamic batch dimension."""
    return save(small_net("batch"))
