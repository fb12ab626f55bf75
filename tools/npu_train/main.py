"""npu-train: train a network whose feature maps have many zero blocks.

    npu-train --data digits --model resnet18 --width 0.125 --epochs 12 --block 4 --threshold 0.1 \\
        --regularisation 0.1 --out digits
    npu-train --data folder:photos --module net.py:Net --epochs 20 --block 4 --out photos
    npu-compile digits/model.onnx --target exynos-npu --pipeline zero-blocks

writes the folder `digits`: `model.onnx`, `calibration.npz` with some training images for
`npu-compile --calibrate`, `checkpoint.pt` and `log.jsonl` (a line for each epoch).
`npu-train sweep` makes the table of docs/training.md. torch is imported only when it is needed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from npu_tools.shared.errors import UserError, guarded
from npu_train.options import TOOL, argument_parser, check, settings_of

if TYPE_CHECKING:
    from npu_train.data import Classified
    from npu_train.distributed import Worker
    from npu_train.stretches import Session, Settings

CALIBRATED = 16
"""How many training images are in calibration.npz."""


def main(args: Sequence[str] | None = None) -> int:
    """Run npu-train; returns the exit code."""

    def body() -> int:
        given = list(sys.argv[1:] if args is None else args)
        if given[:1] == ["sweep"]:
            need_torch()
            from npu_train.sweep_command import sweep

            return sweep(given[1:])
        options = argument_parser().parse_args(given)
        check(options)
        need_torch()
        return run(options)

    return guarded(TOOL, body)


def need_torch() -> None:
    """Check that torch and onnxscript are installed, before the work begins.

    Raises: UserError that says what to install.
    """
    for package in ("torch", "onnxscript"):
        if find_spec(package) is None:
            raise UserError(f"{TOOL} needs {package}: pip install 'npu-dialect[train]'")


def run(options: argparse.Namespace) -> int:
    """Train the network and export it; returns the exit code."""
    from npu_train.distributed import joined

    data = data_of(options)
    settings = settings_of(options, data)
    with joined() as place:
        train(settings, data, options, placed(place, options.sync_batch_norm))
    return 0


def data_of(options: argparse.Namespace) -> Classified:
    """The images that the options ask for.

    Raises: UserError if they cannot be read, or cannot be split.
    """
    from dataclasses import replace

    from npu_train.data import load, with_validation

    data = load(options.data, options.image_size)
    data = with_validation(data, options.validation, options.seed)
    return replace(data, flips=True) if options.vary else data


def placed(place: Worker, synchronised: bool) -> Worker:
    """The place of this process, with batch norms of all processes together if they are asked for.

    Raises: UserError if they cannot be had.
    """
    from dataclasses import replace

    if synchronised and (place.processes == 1 or place.device.type != "cuda"):
        raise UserError("--sync-batch-norm: expected several processes on GPUs, by torchrun")
    return replace(place, synchronised=synchronised)


def train(settings: Settings, data: Classified, options: argparse.Namespace, place: Worker) -> None:
    """Train; process 0 exports. Networks from `Place.spread` are deleted on return."""
    from npu_train import checkpoint
    from npu_train.loading import Reading
    from npu_train.loop import evaluate
    from npu_train.stretches import Session, finished, log_test

    reading = Reading(options.workers, place.device.type == "cuda")
    session = Session(settings, data, options.out, place, say, reading, options.weights)
    if options.module is not None and place.first:
        rehearse(session)
    auto = options.resume == "auto" and checkpoint.exists(options.out)
    model = session.run(options.resume == "always" or auto)
    if place.first:
        small = finished(model, data)
        found = evaluate(small, data.held_out, alone(place), reading)
        if data.validation is None:
            say(f"exported: {found}")
        else:
            say(f"exported: {found}, on test images that are read once, now")
            log_test(options.out, found)
        for path in write(small, data, options.out):
            say(f"wrote {path}")


def rehearse(session: Session) -> None:
    """Check that the network of a user's module can be pruned and exported when it is trained.

    Raises: UserError if it cannot.
    """
    import tempfile
    from dataclasses import replace

    from npu_train.export import export
    from npu_train.stretches import finished, prepared

    quiet = replace(session, tell=silent)
    model = prepared(quiet.begun(), session.settings, session.data)
    with tempfile.TemporaryDirectory(prefix="npu-") as folder:
        export(finished(model, session.data), Path(folder) / "model.onnx", *session.data.shape)


def silent(text: str) -> None:
    """Print nothing."""


def say(text: str) -> None:
    """Print a line and flush it, so that it appears at once in files and pipes too."""
    print(text, flush=True)


def alone(place: Worker) -> Worker:
    """The place of this process as if it were the only one, to evaluate without the others."""
    from dataclasses import replace

    return replace(place, rank=0, processes=1)


def write(model: object, data: Classified, folder: Path) -> list[Path]:
    """Write the exported network, and images to calibrate npu-compile; returns the paths."""
    import io

    import numpy as np
    from torch import nn

    from npu_tools.shared.files import write_files
    from npu_train.data import together
    from npu_train.export import export

    assert isinstance(model, nn.Module)
    channels, size = data.shape
    path = folder / "model.onnx"
    export(model, path, channels, size)
    images, _ = together(data.train, range(min(CALIBRATED, len(data.train))))
    held = io.BytesIO()
    np.savez(held, input=np.asarray(images, np.float32))
    return [path, *write_files(folder, {"calibration.npz": held.getvalue()})]


if __name__ == "__main__":
    sys.exit(main())
