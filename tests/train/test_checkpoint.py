"""Resumed trainings end with the same weights; files that are no checkpoint are rejected."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from helpers.train_files import squares
from npu_tools.shared.errors import UserError
from npu_train.checkpoint import NAME, Checkpoint, read
from npu_train.distributed import Worker
from npu_train.schedule import Recipe
from npu_train.stretches import LOG, Session, Settings, finished

DATA = squares()
RECIPE = Recipe(epochs=3, batch=8, regularisation=0.1, slimming=1e-3)
SETTINGS = Settings("squares", 32, "resnet18", 1 / 16, 2, 0.1, 2, 0.3, 0.2, RECIPE)
PLAIN = replace(SETTINGS, block=None, pretrain=0, prune_channels=0.0, prune_weights=0.0)
torch_any: Any = torch


class StopError(Exception):
    """Interrupts a training."""


def stopping(after: int) -> Callable[[str], None]:
    """A function that stops the training at the end of an epoch, before it is saved."""
    said: list[str] = []

    def tell(text: str) -> None:
        said.append(text)
        if len(said) == after:
            raise StopError

    return tell


def run(
    folder: Path,
    settings: Settings = SETTINGS,
    *,
    resume: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> nn.Module:
    return Session(settings, DATA, folder, Worker(), tell).run(resume)


def states(model: nn.Module) -> dict[str, bytes]:
    return {name: value.numpy().tobytes() for name, value in model.state_dict().items()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """An uninterrupted training: its folder, its weights."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, states(run(folder))


@pytest.mark.parametrize("epoch", [2, 3, 5])
def test_resumed(tmp_path: Path, whole: tuple[Path, dict[str, bytes]], epoch: int) -> None:
    """The interruption is in the plain stretch, or at the start or end of the Zebra stretch."""
    with pytest.raises(StopError):
        run(tmp_path, tell=stopping(epoch))
    torch.rand(3)
    assert states(run(tmp_path, resume=True)) == whole[1]
    logs = [(folder / LOG).read_text().splitlines() for folder in (tmp_path, whole[0])]
    one, two = ([json.loads(line) | {"seconds": 0} for line in log] for log in logs)
    assert one == two
    assert [(entry["stretch"], entry["epoch"]) for entry in one] == [
        (0, 1),
        (0, 2),
        (1, 1),
        (1, 2),
        (1, 3),
    ]


def test_a_training_that_was_over(whole: tuple[Path, dict[str, bytes]]) -> None:
    """A finished training has no epoch left, but can still be exported."""
    model = run(whole[0], resume=True)
    assert states(model) == whole[1]
    assert any("weight_mask" in name for name in whole[1])
    small = finished(model, DATA)
    assert not any("weight_mask" in name for name in small.state_dict())


def test_extended(tmp_path: Path) -> None:
    """More epochs than before follow the schedule of the longer training; fewer are an error."""
    short, long = (replace(PLAIN, recipe=replace(RECIPE, epochs=count)) for count in (1, 3))
    run(tmp_path, short)
    model = run(tmp_path, long, resume=True)
    assert states(model) == states(run(tmp_path / "whole", long))
    log = [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines()]
    assert [entry["learning_rate"] for entry in log] == pytest.approx([0.1, 0.1, 0.01])
    with pytest.raises(UserError, match=r"trained for 3 epochs: expected --epochs of at least"):
        run(tmp_path, short, resume=True)


def test_a_rate_for_each_stretch() -> None:
    first, second = replace(SETTINGS, tuning_rate=0.02).recipes
    assert (first.learning_rate, second.learning_rate) == (0.1, 0.02)
    assert SETTINGS.recipes[1].learning_rate == 0.1


def test_without_a_plain_stretch(tmp_path: Path) -> None:
    """With one stretch and no pruning, the checkpoint keeps no network to start from."""
    settings = replace(PLAIN, block=2, recipe=replace(RECIPE, epochs=2))
    (tmp_path / "a").mkdir()
    want = states(run(tmp_path / "a", settings))
    with pytest.raises(StopError):
        run(tmp_path / "b", settings, tell=stopping(2))
    assert states(run(tmp_path / "b", settings, resume=True)) == want
    assert read(tmp_path / "b", settings.as_dict()).start == {}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model": "vgg16"}, "made with model resnet18, not vgg16"),
        ({"width": 0.125}, "made with width 0.0625, not 0.125"),
        ({"block": None}, "made with block 2, not nothing"),
        ({"threshold": 0.2}, "made with threshold 0.1, not 0.2"),
        ({"images": 50000}, "made with images 32, not 50000"),
        ({"recipe": replace(RECIPE, seed=7)}, "made with seed 0, not 7"),
        ({"tuning_rate": 0.5}, "made with tuning_rate nothing, not 0.5"),
    ],
)
def test_other_options(
    whole: tuple[Path, dict[str, bytes]], changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=f"checkpoint.pt: {message}: give the options of then"):
        run(whole[0], replace(SETTINGS, **changed), resume=True)


def test_another_network(tmp_path: Path, whole: tuple[Path, dict[str, bytes]]) -> None:
    """The options are the same, but the weights are those of another network."""
    found = read(whole[0], SETTINGS.as_dict())
    start = {name: value for name, value in found.start.items() if "bias" not in name}
    replace(found, start=start).write(tmp_path)
    with pytest.raises(UserError, match=r"checkpoint.pt: a checkpoint of another network: .*bias"):
        run(tmp_path, resume=True)
    replace(found, optimizer={}).write(tmp_path)
    with pytest.raises(UserError, match=r"checkpoint.pt: a checkpoint of another network"):
        run(tmp_path, resume=True)


class Runs:
    """A pickle of it evaluates an expression."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return eval, (self.text,)


def test_a_checkpoint_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    torch_any.save({"format": Runs(f"open({str(mark)!r}, 'w')")}, tmp_path / NAME)
    with pytest.raises(UserError, match=r"checkpoint.pt: not a checkpoint of npu-train: "):
        run(tmp_path, resume=True)
    assert not mark.exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x02}.", bytes(100)])
def test_other_files(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(UserError, match=r"checkpoint.pt: not a checkpoint of npu-train"):
        run(tmp_path, resume=True)


@pytest.mark.parametrize(
    "held", [[1, 2], {}, {"format": "x"}, {"format": "npu-train checkpoint 2"}]
)
def test_other_contents(tmp_path: Path, held: Any) -> None:
    torch_any.save(held, tmp_path / NAME)
    with pytest.raises(UserError, match=r"checkpoint.pt: not a checkpoint of npu-train"):
        run(tmp_path, resume=True)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no checkpoint.pt: nothing to --resume"):
        run(tmp_path / "none", resume=True)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """A new training does not overwrite one in the same folder."""
    settings = replace(PLAIN, recipe=replace(RECIPE, epochs=1))
    run(tmp_path, settings)
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(UserError, match=r"checkpoint.pt is there already: --resume goes on"):
        run(tmp_path, settings)
    assert (tmp_path / NAME).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME, LOG]


def test_written_whole_or_not_at_all(
    tmp_path: Path, whole: tuple[Path, dict[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interruption while a checkpoint is written keeps the previous file."""
    found = read(whole[0], SETTINGS.as_dict())
    found.write(tmp_path)
    before = (tmp_path / NAME).read_bytes()

    def replaced(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", replaced)
    with pytest.raises(KeyboardInterrupt):
        replace(found, done=0).write(tmp_path)
    assert (tmp_path / NAME).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"pretrain": 0}, "pruning needs a trained network: expected --pretrain of at least 1"),
        ({"prune_channels": 1.0}, "share 1.0: expected at least 0 and less than 1"),
        ({"prune_weights": float("nan")}, "share nan"),
        ({"block": 0}, "block size 0: expected at least 1"),
        ({"threshold": -0.1}, "threshold -0.1: expected a finite number of at least 0"),
        ({"threshold": float("nan")}, "threshold nan"),
    ],
)
def test_settings_that_cannot_be(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        replace(SETTINGS, **changed)


def test_what_a_checkpoint_holds(whole: tuple[Path, dict[str, bytes]]) -> None:
    found = read(whole[0], SETTINGS.as_dict())
    assert isinstance(found, Checkpoint)
    assert (found.stretch, found.done, len(found.log)) == (1, 3, 5)
    assert any(name.endswith("weight_mask") for name in found.model)
