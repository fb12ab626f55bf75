"""The options of npu-train, and what they ask for; all are checked before the first epoch."""

from __future__ import annotations

import argparse
import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npu_tools.commands.arguments import natural, positive, usage_error
from npu_tools.shared.errors import UserError

if TYPE_CHECKING:
    from npu_train.data import Classified
    from npu_train.stretches import Settings

TOOL = "npu-train"
THRESHOLD = 0.1
REGULARISATION = 0.1
WRITTEN = ("model.onnx", "calibration.npz", "checkpoint.pt", "log.jsonl")


def argument_parser() -> argparse.ArgumentParser:
    """The argument parser with all options of npu-train."""
    parser = argparse.ArgumentParser(
        TOOL,
        description="Train a network with zero blocks; `npu-train sweep --help` for the table.",
    )
    parser.error = usage_error
    shown = f"{TOOL} {version('npu-dialect')}"
    parser.add_argument("-v", "--version", action="version", version=shown)
    add_network(parser.add_argument_group("network"))
    add_images(parser.add_argument_group("images").add_argument)
    add_zebra(parser.add_argument_group("zero blocks and pruning").add_argument)
    add_recipe(parser.add_argument_group("training").add_argument)
    add_running(parser.add_argument_group("running").add_argument)
    return parser


def add_network(group: Any) -> None:
    """Add the options for the network and the folder to write."""
    either = group.add_mutually_exclusive_group(required=True).add_argument
    either("--model", metavar="NAME", help="resnet18, resnet56, vgg16 or mobilenet")
    either(
        "--module",
        metavar="FILE.py:FACTORY",
        help="a network of your own, instead of --model; the file is run",
    )
    add = group.add_argument
    add("--weights", type=Path, metavar="FILE.safetensors", help="weights to start from")
    add("--width", type=float, help="factor for the channels of all layers of --model (1.0)")
    add("--out", required=True, type=Path, metavar="DIR", help="where to write")


def add_images(add: Any) -> None:
    """Add the options for the images."""
    add(
        "--data",
        required=True,
        metavar="NAME",
        help="digits, cifar10:DIR, cifar100:DIR, tiny-imagenet:DIR, folder:DIR or npz:FILE",
    )
    add(
        "--image-size",
        type=positive,
        metavar="N",
        help="rows and columns to which images of folder:DIR are scaled (64)",
    )
    add(
        "--vary",
        action="store_true",
        help="shift and mirror training images at random, as always for cifar and tiny-imagenet",
    )
    add(
        "--validation",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="set a share of the training images apart for the accuracies of epochs; the test "
        "images are read once, at the end",
    )


def add_zebra(add: Any) -> None:
    """Add the options for Zebra modules and for pruning."""
    add("--block", type=positive, metavar="B", help="blocks of B x B (default: no Zebra)")
    add("--threshold", type=float, help=f"Zebra's target (default: {THRESHOLD})")
    add("--regularisation", type=float, help=f"Zebra's penalty ({REGULARISATION})")
    add("--pretrain", type=natural, default=0, metavar="N", help="epochs before pruning and Zebra")
    add(
        "--slimming",
        type=float,
        default=0.0,
        help="L1 penalty on the scales of batch norms, during --pretrain if there is any",
    )
    for what in ("channels", "weights"):
        done = "to remove" if what == "channels" else "to set to zero"
        add(
            f"--prune-{what}",
            type=float,
            default=0.0,
            metavar="SHARE",
            help=f"share of {what} {done} after --pretrain",
        )


def add_recipe(add: Any) -> None:
    """Add the options for the optimiser."""
    add("--epochs", type=positive, default=200, metavar="N", help="default: %(default)s")
    add("--batch", type=positive, default=128, metavar="N", help="images a step (%(default)s)")
    add("--learning-rate", type=float, default=0.1, help="initial rate (default: %(default)s)")
    add("--tuning-rate", type=float, help="initial rate after --pretrain (--learning-rate)")
    add("--momentum", type=float, default=0.9, help="of SGD (default: %(default)s)")
    add("--weight-decay", type=float, default=5e-4, help="default: %(default)s")
    add("--clip", type=float, default=0.0, metavar="NORM", help="largest norm of the gradients")
    add(
        "--precision",
        default="float32",
        metavar="TYPE",
        help="float32, bfloat16 or float16, for the layers that torch.autocast chooses",
    )
    add("--seed", type=natural, default=0, help="of all random numbers (default: %(default)s)")


def add_running(add: Any) -> None:
    """Add the options that the trained weights do not depend on."""
    add(
        "--resume",
        nargs="?",
        const="always",
        choices=("always", "auto"),
        help="go on from DIR/checkpoint.pt; with =auto only if it is there",
    )
    add("--workers", type=natural, default=0, metavar="N", help="processes that read images")
    add(
        "--sync-batch-norm",
        action="store_true",
        help="batch norms see the images of all processes, on GPUs",
    )


def check(options: argparse.Namespace) -> None:
    """Check what can be checked without the data, before torch is imported.

    Raises: UserError if options contradict each other, or if --out cannot be written.
    """
    if options.module is not None and options.width is not None:
        raise UserError("--width is for --model: a module has its own numbers of channels")
    if options.module is not None and ":" not in options.module:
        raise UserError(f"--module {options.module}: expected FILE.py:FACTORY")
    if options.model is not None and ":" in options.model:
        raise UserError(f"--model {options.model}: expected --module {options.model}")
    for name in ("threshold", "regularisation"):
        if getattr(options, name) is not None and options.block is None:
            raise UserError(f"--{name} is for Zebra: expected --block too")
    if options.seed >= 2**63:
        raise UserError(f"--seed {options.seed}: expected less than 2 to the 63")
    check_folder(options.out)


def check_folder(folder: Path) -> None:
    """Check that files can be written into a folder, which need not exist.

    Raises: UserError if they cannot.
    """
    place = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not place.is_dir():
        raise UserError(f"cannot write into {folder}: {place} is a file, expected a folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise UserError(f"cannot write into {folder}: {place} may not be written")
    for name in WRITTEN:
        if (folder / name).is_dir():
            raise UserError(f"cannot write into {folder}: {name} is a folder")


def settings_of(options: argparse.Namespace, data: Classified) -> Settings:
    """The settings that the options ask for.

    Raises: UserError if an option is out of range, or if options contradict each other.
    """
    from npu_train.schedule import Recipe
    from npu_train.stretches import Settings
    from npu_train.weights import fingerprint

    if options.block is not None and options.block > data.shape[1]:
        raise UserError(f"block size {options.block}: expected at most the image's {data.shape[1]}")
    penalty = REGULARISATION if options.regularisation is None else options.regularisation
    recipe = Recipe(
        options.epochs,
        options.batch,
        options.learning_rate,
        options.momentum,
        options.weight_decay,
        penalty if options.block is not None else 0.0,
        options.slimming,
        options.seed,
        options.clip,
        options.precision,
    )
    return Settings(
        data.name,
        len(data.train),
        options.model or options.module,
        1.0 if options.width is None else options.width,
        options.block,
        THRESHOLD if options.threshold is None else options.threshold,
        options.pretrain,
        options.prune_channels,
        options.prune_weights,
        recipe,
        options.tuning_rate,
        options.validation,
        None if options.weights is None else fingerprint(options.weights),
    )
