"""The command `npu-train sweep`, and its table.

    npu-train sweep --out table

writes `table/table.md`, and `table/rows.json` with the numbers unrounded.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean

import torch

from npu_tools.commands.arguments import natural, positive, usage_error
from npu_tools.shared.errors import UserError
from npu_tools.shared.files import write_files
from npu_train.data import load
from npu_train.pruning import check_share
from npu_train.schedule import Recipe
from npu_train.sweep import METHODS, Row, Seed, Sweep
from npu_train.zebra import ZebraOptions

THRESHOLDS = (0.0, 0.05, 0.1, 0.15, 0.2)
TITLES = {
    "zebra": "Zebra",
    "zebra + slimming": "Zebra + slimming",
    "zebra + weight pruning": "Zebra + weight pruning",
    "slimming": "slimming alone",
}


def sweep(args: Sequence[str]) -> int:
    """Run `npu-train sweep`; returns the exit code.

    Raises: UserError for a wrong option.
    """
    options = argument_parser().parse_args(args)
    what = sweep_of(options)
    seeds = range(options.seed, options.seed + options.seeds)
    rows = list(rows_of(what, seeds, options.jobs, options.scheduler))
    text = table(rows)
    print(f"\n{text}")
    held = json.dumps([asdict(row) for row in rows], indent=2) + "\n"
    for path in write_files(options.out, {"table.md": text, "rows.json": held}):
        print(f"wrote {path}")
    return 0


def rows_of(
    what: Sweep, seeds: Sequence[int], jobs: int, scheduler: str | None = None
) -> Iterator[Row]:
    """The rows of all seeds and methods; `jobs` of them are trained at once, or on a scheduler of
    Dask as many as it has workers.

    The order of the rows does not depend on where they are computed.

    Raises: UserError if the scheduler cannot be reached, or is lost.
    """
    parts = [(replace(what, methods=(name,)), seed) for seed in seeds for name in what.methods]
    if scheduler is not None:
        yield from rows_on(scheduler, parts)
    elif jobs == 1:
        for part in parts:
            yield from part_of(part)
    else:
        fresh = get_context("spawn")  # torch's threads do not survive a fork
        with ProcessPoolExecutor(jobs, fresh) as pool:
            for rows in pool.map(part_of, parts):
                yield from rows


def rows_on(scheduler: str, parts: Sequence[tuple[Sweep, int]]) -> Iterator[Row]:
    """The rows of all parts, from the workers of a scheduler of Dask.

    Raises: UserError if Dask is missing, or if the scheduler cannot be reached, or is lost.
    """
    if find_spec("distributed") is None:
        raise UserError("--scheduler needs distributed: pip install 'npu-dialect[explore]'")
    from npu_tools.exploring.pools import RETRIES, asked, connected

    with connected(scheduler, None) as client:
        futures = client.map(part_of, parts, retries=RETRIES, pure=False)
        for future in futures:
            yield from asked(future.result)


def part_of(part: tuple[Sweep, int]) -> list[Row]:
    """The rows of one seed and one method."""
    torch.set_num_threads(1)  # the table must not depend on the number of cores
    what, seed = part
    return list(Seed(what, load("digits"), seed, say).rows())


def say(text: str) -> None:
    """Print a line and flush it, so that it appears at once in files and pipes too."""
    print(text, flush=True)


def argument_parser() -> argparse.ArgumentParser:
    """The argument parser with all options of the sweep."""
    parser = argparse.ArgumentParser(
        "npu-train sweep", description="Thresholds against accuracy and bandwidth, on digits."
    )
    parser.error = usage_error
    add = parser.add_argument
    add("--out", required=True, type=Path, metavar="DIR", help="where to write")
    add("--thresholds", type=numbers, default=THRESHOLDS, metavar="T,T,...", help="Zebra's targets")
    add("--methods", type=methods, default=METHODS, metavar="NAME,...", help=", ".join(METHODS))
    add("--width", type=float, default=0.125, help="factor for channels (default: %(default)s)")
    add("--block", type=positive, default=4, metavar="B", help="default: %(default)s")
    add("--pretrain", type=positive, default=8, metavar="N", help="epochs without Zebra")
    add("--epochs", type=positive, default=6, metavar="N", help="epochs after --pretrain")
    add("--tuning-rate", type=float, default=0.02, help="learning rate in --epochs (%(default)s)")
    add("--batch", type=positive, default=32, metavar="N", help="images a step (%(default)s)")
    add("--weight-decay", type=float, default=0.02, help="default: %(default)s")
    add("--regularisation", type=float, default=0.1, help="Zebra's penalty (%(default)s)")
    add("--slimming", type=float, default=1e-4, help="L1 penalty (default: %(default)s)")
    add("--prune-channels", type=float, default=0.3, metavar="SHARE", help="default: %(default)s")
    add("--prune-weights", type=float, default=0.4, metavar="SHARE", help="default: %(default)s")
    add("--images", type=positive, default=100, metavar="N", help="images that the C runs on")
    add("--sram", type=positive, default=131072, metavar="BYTES", help="SRAM of the machine")
    add("--jobs", type=positive, default=1, metavar="N", help="methods at once (%(default)s)")
    add("--scheduler", metavar="tcp://HOST:PORT", help="train on the workers of Dask instead")
    add("--seed", type=natural, default=0, help="the first seed (default: %(default)s)")
    add("--seeds", type=positive, default=1, metavar="N", help="trainings of each network")
    return parser


def sweep_of(options: argparse.Namespace) -> Sweep:
    """The options of the sweep, checked before anything is trained.

    Raises: UserError if a threshold, share or other number is out of range.
    """
    for threshold in options.thresholds:
        ZebraOptions(options.block, threshold)
    for share in (options.prune_channels, options.prune_weights):
        check_share(share)
    Recipe(options.epochs, learning_rate=options.tuning_rate)  # checks it
    recipe = Recipe(
        options.epochs,
        options.batch,
        weight_decay=options.weight_decay,
        regularisation=options.regularisation,
        slimming=options.slimming,
    )
    return Sweep(
        options.thresholds,
        options.methods,
        recipe,
        options.tuning_rate,
        options.pretrain,
        options.width,
        options.block,
        options.prune_channels,
        options.prune_weights,
        options.images,
        options.sram,
    )


def numbers(text: str) -> tuple[float, ...]:
    """Parse numbers with commas between them.

    Raises: UserError if one is no number.
    """
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"--thresholds {text}: expected numbers with commas between them") from None


def methods(text: str) -> tuple[str, ...]:
    """Parse names of methods with commas between them.

    Raises: UserError if one does not exist.
    """
    names = tuple(text.split(","))
    for name in names:
        if name not in METHODS:
            raise UserError(f"--methods: expected some of {', '.join(METHODS)}, got {name!r}")
    return names


def table(rows: Sequence[Row]) -> str:
    """The table in Markdown: a row for each threshold, a column for each method.

    Cells are means over the seeds.
    """
    names = list(dict.fromkeys(row.method for row in rows))
    thresholds = sorted({row.threshold for row in rows})
    lines = [
        "| threshold | "
        + " | ".join(f"{TITLES[name]}: less moved, accuracy" for name in names)
        + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for threshold in thresholds:
        cells = [f"{threshold:g}"]
        for name in names:
            cells.append(cell([r for r in rows if (r.method, r.threshold) == (name, threshold)]))
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    lines.append(headline(rows))
    return "\n".join(lines) + "\n"


def cell(rows: Sequence[Row]) -> str:
    """A cell of the table: saved traffic and accuracy, means over trainings of one network."""
    less, accuracy = fmean(row.reduced for row in rows), fmean(row.accuracy for row in rows)
    return f"{100 * less:.1f} %, {100 * accuracy:.2f} %"


def headline(rows: Sequence[Row]) -> str:
    """The line below the table: for how many images the C and torch find different classes."""
    differing = sum(row.differing for row in rows)
    return f"Images to which the C gives another class than torch, of all networks: {differing}."
