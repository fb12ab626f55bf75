"""npu-train: train a network whose feature maps have many zero blocks.

    npu-train --data digits --model resnet18 --width 0.125 --epochs 12 --block 4 --threshold 0.1 \\
        --regularisation 0.1 --out digits
    npu-compile digits/model.onnx --target exynos-npu --pipeline zero-blocks

writes the folder `digits`: `model.onnx`, `calibration.npz` with some training images for
`npu-compile --calibrate`, `checkpoint.pt` and `log.jsonl` (a line for each epoch).
`npu-train sweep` makes the table of docs/training.md. torch is imported only when it is needed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from npu_tools.commands.arguments import natural, positive, usage_error
from npu_tools.shared.errors import UserError, guarded

if TYPE_CHECKING:
    from npu_train.data import Classified
    from npu_train.distributed import Worker
    from npu_train.stretches import Settings

TOOL = "npu-train"
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


def argument_parser() -> argparse.ArgumentParser:
    """The argument parser with all options of npu-train."""
    parser = argparse.ArgumentParser(
        TOOL,
        description="Train a network with zero blocks; `npu-train sweep --help` for the table.",
    )
    parser.error = usage_error
    add = parser.add_argument
    add("-v", "--version", action="version", version=f"{TOOL} {version('npu-dialect')}")
    add("--data", required=True, metavar="NAME", help="digits, cifar10:DIR or tiny-imagenet:DIR")
    add("--model", required=True, metavar="NAME", help="resnet18, resnet56, vgg16 or mobilenet")
    add("--out", required=True, type=Path, metavar="DIR", help="where to write")
    add("--width", type=float, default=1.0, help="factor for the channels of all layers")
    add("--epochs", type=positive, default=200, metavar="N", help="default: %(default)s")
    add("--block", type=positive, metavar="B", help="blocks of B x B (default: no Zebra)")
    add("--threshold", type=float, default=0.1, help="Zebra's target (default: %(default)s)")
    add("--regularisation", type=float, default=0.1, help="Zebra's penalty (%(default)s)")
    add("--pretrain", type=natural, default=0, metavar="N", help="epochs before pruning and Zebra")
    add(
        "--slimming",
        type=float,
        default=0.0,
        help="L1 penalty on the scales of batch norms, during --pretrain if there is any",
    )
    add(
        "--prune-channels",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of channels to remove after --pretrain",
    )
    add(
        "--prune-weights",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of weights to set to zero after --pretrain",
    )
    add("--batch", type=positive, default=128, metavar="N", help="images a step (%(default)s)")
    add("--learning-rate", type=float, default=0.1, help="initial rate (default: %(default)s)")
    add("--momentum", type=float, default=0.9, help="of SGD (default: %(default)s)")
    add("--weight-decay", type=float, default=5e-4, help="default: %(default)s")
    add("--seed", type=natural, default=0, help="of all random numbers (default: %(default)s)")
    add("--resume", action="store_true", help="go on from DIR/checkpoint.pt")
    return parser


def run(options: argparse.Namespace) -> int:
    """Train the network and export it; returns the exit code."""
    from npu_train.data import load
    from npu_train.distributed import joined

    data = load(options.data)
    settings = settings_of(options, data)
    with joined() as place:
        train(settings, data, options, place)
    return 0


def train(settings: Settings, data: Classified, options: argparse.Namespace, place: Worker) -> None:
    """Train; process 0 exports. Networks from `Place.spread` are deleted on return."""
    from npu_train.loop import evaluate
    from npu_train.stretches import Session, finished

    model = Session(settings, data, options.out, place, say).run(options.resume)
    if place.first:
        small = finished(model, data)
        print(f"exported: {evaluate(small, data.held_out, alone(place))}")
        for path in write(small, data, options.out):
            print(f"wrote {path}")


def say(text: str) -> None:
    """Print a line and flush it, so that it appears at once in files and pipes too."""
    print(text, flush=True)


def alone(place: Worker) -> Worker:
    """The place of this process as if it were the only one, to evaluate without the others."""
    from dataclasses import replace

    return replace(place, rank=0, processes=1)


def settings_of(options: argparse.Namespace, data: Classified) -> Settings:
    """The settings that the options ask for.

    Raises: UserError if an option is out of range, or if options contradict each other.
    """
    from npu_train.schedule import Recipe
    from npu_train.stretches import Settings

    if options.seed >= 2**63:
        raise UserError(f"--seed {options.seed}: expected less than 2 to the 63")
    if options.block is not None and options.block > data.shape[1]:
        raise UserError(f"block size {options.block}: expected at most the image's {data.shape[1]}")
    recipe = Recipe(
        options.epochs,
        options.batch,
        options.learning_rate,
        options.momentum,
        options.weight_decay,
        options.regularisation if options.block is not None else 0.0,
        options.slimming,
        options.seed,
    )
    return Settings(
        data.name,
        len(data.train),
        options.model,
        options.width,
        options.block,
        options.threshold,
        options.pretrain,
        options.prune_channels,
        options.prune_weights,
        recipe,
    )


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
