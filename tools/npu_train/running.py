"""One run of npu-train: from its options to the files in its folder."""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from torch import nn

from npu_tools.shared.errors import UserError
from npu_tools.shared.files import write_files
from npu_train import checkpoint
from npu_train.data import Classified, load, together, with_validation
from npu_train.distributed import Worker, joined
from npu_train.export import export
from npu_train.loading import Reading
from npu_train.loop import evaluate
from npu_train.options import settings_of
from npu_train.stretches import Session, Settings, finished, log_test, prepared

CALIBRATED = 16
"""How many training images are in calibration.npz."""


def run(options: argparse.Namespace) -> int:
    """Train the network and export it; returns the exit code."""
    data = data_of(options)
    settings = settings_of(options, data)
    with joined() as place:
        train(settings, data, options, placed(place, options.sync_batch_norm))
    return 0


def data_of(options: argparse.Namespace) -> Classified:
    """The images that the options ask for.

    Raises: UserError if they cannot be read, or cannot be split.
    """
    data = load(options.data, options.image_size)
    data = with_validation(data, options.validation, options.seed)
    return replace(data, flips=True) if options.vary else data


def placed(place: Worker, synchronised: bool) -> Worker:
    """The place of this process, with batch norms of all processes together if they are asked for.

    Raises: UserError if they cannot be had.
    """
    if synchronised and (place.processes == 1 or place.device.type != "cuda"):
        raise UserError("--sync-batch-norm: expected several processes on GPUs, by torchrun")
    return replace(place, synchronised=synchronised)


def say(text: str) -> None:
    """Print a line and flush it, so that it appears at once in files and pipes too."""
    print(text, flush=True)


def silent(text: str) -> None:
    """Print nothing."""


def train(
    settings: Settings,
    data: Classified,
    options: argparse.Namespace,
    place: Worker,
    tell: Callable[[str], None] = say,
) -> None:
    """Train; process 0 exports. Networks from `Place.spread` are deleted on return."""
    reading = Reading(options.workers, place.device.type == "cuda")
    session = Session(settings, data, options.out, place, tell, reading, options.weights)
    if options.module is not None and place.first:
        rehearse(session)
    auto = options.resume == "auto" and checkpoint.exists(options.out)
    model = session.run(options.resume == "always" or auto)
    if place.first:
        small = finished(model, data)
        found = evaluate(small, data.held_out, alone(place), reading)
        if data.validation is None:
            tell(f"exported: {found}")
        else:
            tell(f"exported: {found}, on test images that are read once, now")
            log_test(options.out, found)
        for path in write(small, data, options.out):
            tell(f"wrote {path}")


def rehearse(session: Session) -> None:
    """Check that the network of a user's module can be pruned and exported when it is trained.

    Raises: UserError if it cannot.
    """
    quiet = replace(session, tell=silent)
    model = prepared(quiet.begun(), session.settings, session.data)
    with tempfile.TemporaryDirectory(prefix="npu-") as folder:
        export(finished(model, session.data), Path(folder) / "model.onnx", *session.data.shape)


def alone(place: Worker) -> Worker:
    """The place of this process as if it were the only one, to evaluate without the others."""
    return replace(place, rank=0, processes=1)


def write(model: nn.Module, data: Classified, folder: Path) -> list[Path]:
    """Write the exported network, and images to calibrate npu-compile; returns the paths."""
    channels, size = data.shape
    path = folder / "model.onnx"
    export(model, path, channels, size)
    images, _ = together(data.train, range(min(CALIBRATED, len(data.train))))
    held = io.BytesIO()
    np.savez(held, input=np.asarray(images, np.float32))
    return [path, *write_files(folder, {"calibration.npz": held.getvalue()})]
