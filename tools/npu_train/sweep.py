"""`npu-train sweep`: networks for several thresholds, as in tables I and III of paper 003.

Each network is one run of npu-train, with options that can be typed. Networks that share their
first epochs start from one checkpoint:

    DIR/seed-0/start                  the first epochs, without Zebra
    DIR/seed-0/plain                  trained further as it is
    DIR/seed-0/zebra-0.1              trained further with Zebra, threshold 0.1
    DIR/seed-0/slimming-0.3           pruned, then trained further as it is
    DIR/seed-0/slimming-0.3-zebra-0.1 pruned, then trained further with Zebra
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from npu_train import checkpoint
from npu_train.distributed import Worker, joined
from npu_train.loading import Reading
from npu_train.options import argument_parser, check, settings_of
from npu_train.running import data_of, say, silent, train
from npu_train.stretches import Session, Settings
from npu_train.table import Measuring, Row, Table, line


@dataclass(frozen=True)
class Pruning:
    """What is pruned after the first epochs: a share of the channels, or of the weights."""

    channels: float = 0.0
    weights: float = 0.0

    def name(self, threshold: float) -> str:
        """The name of a network that is trained with a threshold; with 0, without Zebra."""
        pruned = [
            *([f"slimming-{self.channels:g}"] if self.channels else []),
            *([f"pruning-{self.weights:g}"] if self.weights else []),
        ]
        zebra = [f"zebra-{threshold:g}"] if threshold else []
        return "-".join([*pruned, *zebra]) or "plain"


@dataclass(frozen=True)
class Sweep:
    """The options of a sweep.

    `common`: options of npu-train for all networks; `zebra`: for those with Zebra. `slimming`: the
    penalty in the first epochs of networks that lose channels. `prunings` are trained for each of
    the thresholds of `measuring`; 0 stands for a network without Zebra. `keep`: the folder in which
    the networks stay.
    """

    common: tuple[str, ...]
    zebra: tuple[str, ...]
    slimming: float
    prunings: tuple[Pruning, ...]
    measuring: Measuring
    keep: Path | None = None

    def options(self, pruning: Pruning, threshold: float, seed: int) -> list[str]:
        """The options of npu-train that train a network, without --out."""
        return [
            *self.common,
            *(["--slimming", str(self.slimming)] if pruning.channels else []),
            *(["--prune-channels", str(pruning.channels)] if pruning.channels else []),
            *(["--prune-weights", str(pruning.weights)] if pruning.weights else []),
            *([*self.zebra, "--threshold", str(threshold)] if threshold else []),
            *["--seed", str(seed)],
        ]

    def thresholds(self) -> tuple[float, ...]:
        """The thresholds that networks are trained with: 0 first, for the one without Zebra."""
        return (0.0, *[each for each in self.measuring.thresholds if each > 0])

    def parts(self, seed: int) -> list[tuple[Sweep, int]]:
        """The sweep in parts that share nothing: by what the first epochs are."""
        by_start: dict[bool, tuple[Pruning, ...]] = {}
        for pruning in self.prunings:
            slims = bool(pruning.channels)
            by_start[slims] = (*by_start.get(slims, ()), pruning)
        return [(replace(self, prunings=each), seed) for each in by_start.values()]


def check_sweep(what: Sweep, seed: int) -> None:
    """Check the options of all networks before anything is trained.

    Raises: UserError if one is out of range, or if the network cannot be built.
    """
    for pruning in what.prunings:
        for threshold in what.thresholds():
            options = parsed(what.options(pruning, threshold, seed), Path("network"))
            data = data_of(options)
            settings = settings_of(options, data)
            Session(settings, data, options.out, Worker(), silent).begun()


def part_of(part: tuple[Sweep, int]) -> list[Row]:
    """Train the networks of one part of a sweep, and make their rows."""
    torch.set_num_threads(1)  # the table must not depend on the number of cores
    what, seed = part
    rows: list[Row] = []
    with kept(what.keep) as folder, joined() as place:
        table = Table(what.measuring, place)
        for pruning in what.prunings:
            for threshold in what.thresholds():
                network = folder / f"seed-{seed}" / pruning.name(threshold)
                made(what.options(pruning, threshold, seed), network, place)
                for row in table.rows(network):
                    say(f"{network.parent.name}/{network.name}: {line(row)}")
                    rows.append(row)
    return rows


@contextmanager
def kept(folder: Path | None) -> Generator[Path]:
    """The folder for the networks; without one, they are removed at the end."""
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="npu-") as name:
        yield Path(name)


def parsed(arguments: list[str], out: Path) -> argparse.Namespace:
    """The options of npu-train from its command line."""
    given = [*arguments, "--resume=auto", "--out", str(out)]
    options = argument_parser().parse_args(given)
    check(options)
    return options


def made(arguments: list[str], network: Path, place: Worker) -> None:
    """Train a network with the options of npu-train, unless it is there already."""
    options = parsed(arguments, network)
    data = data_of(options)
    settings = settings_of(options, data)
    if not checkpoint.exists(network):
        first = unpruned(settings)
        slims = bool(settings.recipe.slimming)
        start = network.parent / ("start-slimming" if slims else "start")
        reading = Reading(options.workers, place.device.type == "cuda")
        session = Session(first, data, start, place, silent, reading)
        session.run(checkpoint.exists(start), stretches=1)
        shared = checkpoint.read(start, first.as_dict())
        replace(shared, settings=settings.as_dict()).write(network)
    train(settings, data, options, place, silent)


def unpruned(settings: Settings) -> Settings:
    """The settings of a start, which several networks share."""
    return replace(
        settings,
        block=None,
        threshold=0.0,
        prune_channels=0.0,
        prune_weights=0.0,
        recipe=replace(settings.recipe, regularisation=0.0),
    )
