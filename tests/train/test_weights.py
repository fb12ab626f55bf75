"""--weights from the command line: a training starts from another network's weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers.train_files import squares
from npu_train import main
from npu_train.checkpoint import NAME, parsed
from npu_train.loop import seeded
from npu_train.models import build
from npu_train.stretches import LOG

DATA = squares()


@pytest.fixture(name="images")
def images_(tmp_path: Path) -> Path:
    """Two classes of squares, in an .npz file."""
    path = tmp_path / "squares.npz"
    arrays: dict[str, Any] = {"x_train": DATA.train.held, "y_train": DATA.train.labels}
    np.savez(path, **arrays)
    return path


def saved(path: Path, classes: int) -> dict[str, torch.Tensor]:
    """Write the weights of a network for another number of classes; returns them."""
    library: Any = pytest.importorskip("safetensors.torch")
    seeded(9)
    model = build("resnet18", classes=classes, channels=1, size=8, width=1 / 16, zebra=None)
    held = {name: value.clone() for name, value in model.state_dict().items()}
    library.save_file(held, path)
    return held


def test_a_training_starts_from_a_file(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At a learning rate of 0 all weights are still the file's, but for the classifier's."""
    file, out = tmp_path / "w.safetensors", tmp_path / "out"
    held = saved(file, classes=5)
    network = ["--data", f"npz:{images}", "--model", "resnet18", "--width", "0.0625"]
    recipe = ["--batch", "8", "--epochs", "1", "--learning-rate", "0", "--block", "2"]
    options = [*network, *recipe, "--out", str(out)]
    assert main.main([*options, "--weights", str(file)]) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    head = ("5.weight", "5.bias")
    for name in head:
        assert f"{file}: {name} is of other classes, and is not read" in said
    found = parsed(out / NAME)
    taken = {name for name, value in held.items() if value.is_floating_point()} - set(head)
    for name in sorted(each for each in taken if "running" not in each):
        assert torch.equal(found.model[name], held[name]), name
    assert found.model["5.weight"].shape == (2, 32)
    assert [json.loads(line)["epoch"] for line in (out / LOG).read_text().splitlines()] == [1]
    saved(file, classes=4)
    assert main.main([*options, "--weights", str(file), "--resume"]) == 1
    assert "made with weights " in capsys.readouterr().err
