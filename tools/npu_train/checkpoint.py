"""Checkpoints: files from which a training resumes. Reading one runs no code.

A checkpoint is a dictionary of tensors and plain data, read by `torch.load` with
`weights_only=True`. It is written under a temporary name and then renamed. An interruption so
leaves the previous checkpoint.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from npu_tools.shared.errors import UserError
from npu_tools.shared.files import write_files

FORMAT = "npu-train checkpoint 2"
NAME = "checkpoint.pt"


@dataclass(frozen=True)
class Checkpoint:
    """The state of a training after `done` epochs of stretch number `stretch` (see stretches.py).

    `settings`: the options; to resume, they must be the same. `start`: the network's state at the
    end of the first stretch, before pruning; empty in the first stretch. `model`, `optimizer`,
    `scaler` (of float16's gradients): their states. `log`: an entry for each epoch. `random`: the
    state of torch's generator.
    """

    settings: Mapping[str, Any]
    stretch: int
    done: int
    start: Mapping[str, Any]
    model: Mapping[str, Any]
    optimizer: Mapping[str, Any]
    scaler: Mapping[str, Any]
    log: list[dict[str, Any]]
    random: torch.Tensor

    def write(self, folder: Path) -> None:
        """Write `checkpoint.pt` into a folder.

        Raises: UserError if it cannot be written.
        """
        held = io.BytesIO()
        torch.save({"format": FORMAT, **{key: getattr(self, key) for key in KEYS}}, held)
        write_files(folder, {NAME: held.getvalue()})


KEYS = tuple(field.name for field in fields(Checkpoint))


def read(folder: Path, settings: Mapping[str, Any]) -> Checkpoint:
    """Read the checkpoint in a folder.

    Only the number of epochs may differ: a training may be extended.

    Raises: UserError if there is none, if the file is no checkpoint, if its settings differ, or if
    more epochs than those of the settings are done.
    """
    path = folder / NAME
    if not path.is_file():
        raise UserError(f"{folder}: no {NAME}: nothing to --resume")
    checkpoint = parsed(path)
    for key in [key for key in settings if key != "epochs"]:
        was, now = checkpoint.settings.get(key), settings[key]
        if was != now:
            raise UserError(
                f"{path}: made with {key} {said(was)}, not {said(now)}: give the options of then, "
                "or another folder without --resume"
            )
    if checkpoint.stretch and checkpoint.done > settings["epochs"]:
        raise UserError(
            f"{path}: trained for {checkpoint.done} epochs: expected --epochs of at least that, "
            f"not {settings['epochs']}"
        )
    return checkpoint


def parsed(path: Path) -> Checkpoint:
    """Read the checkpoint in a file.

    Raises: UserError if the file is no checkpoint.
    """
    load: Any = torch.load
    try:
        found = load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # zip, pickle and torch's own errors
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise UserError(f"{path}: not a checkpoint of npu-train: {reason}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path}: not a checkpoint of npu-train")
    held = cast("dict[str, Any]", found)
    if held.get("format") != FORMAT or not all(
        isinstance(held.get(key), KINDS[key]) for key in KEYS
    ):
        raise UserError(f"{path}: not a checkpoint of npu-train: expected {FORMAT!r}")
    return Checkpoint(**{key: held[key] for key in KEYS})


KINDS: Mapping[str, type] = {
    "settings": dict,
    "stretch": int,
    "done": int,
    "start": dict,
    "model": dict,
    "optimizer": dict,
    "scaler": dict,
    "log": list,
    "random": torch.Tensor,
}


def said(value: object) -> str:
    """The text of an option's value in a message."""
    return "nothing" if value is None else str(value)


def fill(module: nn.Module, state: Mapping[str, Any], path: Path) -> None:
    """Load a state into a network; `path` is its file, for the message.

    Raises: UserError if the state is of another network.
    """
    try:
        module.load_state_dict(state)
    except Exception as error:  # torch and Python raise many types for wrong names and shapes
        text = " ".join(str(error).split())
        raise UserError(f"{path}: a checkpoint of another network: {text[:200]}") from None


def exists(folder: Path) -> bool:
    """Whether a folder holds a checkpoint."""
    return os.path.lexists(folder / NAME)
