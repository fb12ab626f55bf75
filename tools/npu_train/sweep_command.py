"""The commands `npu-train sweep` and `npu-train table`.

    npu-train sweep --keep networks --out table
    npu-train table networks --out table

Both write `table/table.md`, and `table/rows.json` with the numbers unrounded. The second makes it
again from the networks that the first has kept.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

import torch

from npu_tools.commands.arguments import natural, positive, usage_error
from npu_tools.shared.errors import UserError
from npu_tools.shared.files import write_files
from npu_train import checkpoint
from npu_train.distributed import joined
from npu_train.markdown import markdown
from npu_train.options import check_folder
from npu_train.pruning import check_share
from npu_train.running import say
from npu_train.stretches import Settings
from npu_train.sweep import Pruning, Sweep, check_sweep, part_of
from npu_train.table import Measuring, Row, Table, line
from npu_train.zebra import ZebraOptions

THRESHOLDS = (0.0, 0.05, 0.1, 0.15, 0.2)
METHODS = ("zebra", "zebra + slimming", "zebra + weight pruning")
"""What can be asked for; each is trained with all thresholds, and without Zebra."""


def sweep(args: Sequence[str]) -> int:
    """Run `npu-train sweep`; returns the exit code.

    Raises: UserError for a wrong option.
    """
    options = sweep_parser().parse_args(args)
    what = sweep_of(options)
    check_folder(options.out)
    check_sweep(what, options.seed)
    seeds = range(options.seed, options.seed + options.seeds)
    written(list(rows_of(what, seeds, options.jobs, options.scheduler)), options.out)
    return 0


def table(args: Sequence[str]) -> int:
    """Run `npu-train table`; returns the exit code.

    Raises: UserError for a wrong option, or if a folder does not hold finished networks.
    """
    options = table_parser().parse_args(args)
    torch.set_num_threads(1)
    networks = networks_in(options.networks)
    zebra = [settings for _, settings in networks if settings.block is not None]
    thresholds = options.thresholds or tuple(sorted({0.0, *(each.threshold for each in zebra)}))
    block = options.block or block_of(options.networks, zebra)
    measuring = Measuring(options.data, thresholds, block, options.images, options.sram)
    rows: list[Row] = []
    with joined() as place:
        made = Table(measuring, place)
        for network, _ in networks:
            for row in made.rows(network):
                say(f"{network.relative_to(options.networks)}: {line(row)}")
                rows.append(row)
    written(rows, options.out)
    return 0


def block_of(folder: Path, networks: Sequence[Settings]) -> int:
    """The block size that the networks of a folder have in common.

    Raises: UserError if there is none.
    """
    blocks = sorted({each.block for each in networks if each.block is not None})
    if len(blocks) != 1:
        found = f"blocks of {' and '.join(map(str, blocks))}" if blocks else "no blocks"
        raise UserError(f"{folder}: trained with {found}: expected --block")
    return blocks[0]


def networks_in(folder: Path) -> list[tuple[Path, Settings]]:
    """The networks in a folder, but for those that end before pruning; in the order of the table.

    Raises: UserError if there are none.
    """
    held = [
        (path.parent, checkpoint.parsed(path)) for path in sorted(folder.rglob(checkpoint.NAME))
    ]
    networks = [(path, Settings.of(found.settings)) for path, found in held if found.stretch]
    if not networks:
        raise UserError(f"{folder}: no networks: expected a folder of npu-train sweep --keep")
    return sorted(networks, key=lambda each: order(each[1]))


def order(settings: Settings) -> tuple[float, ...]:
    """The place of a network's rows among others."""
    zebra = settings.threshold if settings.block is not None else 0.0
    return settings.recipe.seed, settings.prune_weights, settings.prune_channels, zebra


def written(rows: Sequence[Row], folder: Path | None) -> None:
    """Print the table; write it into a folder, if there is one."""
    text = markdown(rows)
    print(f"\n{text}")
    if folder is None:
        return
    held = json.dumps([asdict(row) for row in rows], indent=2) + "\n"
    for path in write_files(folder, {"table.md": text, "rows.json": held}):
        print(f"wrote {path}")


def rows_of(
    what: Sweep, seeds: Sequence[int], jobs: int, scheduler: str | None = None
) -> Iterator[Row]:
    """The rows of all seeds; `jobs` parts of the sweep are trained at once, or on a scheduler of
    Dask as many as it has workers.

    The order of the rows does not depend on where they are computed.

    Raises: UserError if the scheduler cannot be reached, or is lost.
    """
    parts = [part for seed in seeds for part in what.parts(seed)]
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


def sweep_parser() -> argparse.ArgumentParser:
    """The argument parser with all options of the sweep."""
    parser = argparse.ArgumentParser(
        "npu-train sweep", description="Thresholds against accuracy and bandwidth."
    )
    parser.error = usage_error
    add = parser.add_argument
    add("--out", required=True, type=Path, metavar="DIR", help="where to write the table")
    add(
        "--keep",
        type=Path,
        metavar="DIR",
        help="where the networks stay; those that are there already are not trained again",
    )
    add("--model", default="resnet18", metavar="NAME", help="default: %(default)s")
    add("--methods", type=methods, default=METHODS, metavar="NAME,...", help=", ".join(METHODS))
    add("--width", type=float, default=0.125, help="factor for channels (default: %(default)s)")
    add("--validation", type=float, default=0.1, metavar="SHARE", help="default: %(default)s")
    add("--pretrain", type=positive, default=8, metavar="N", help="epochs without Zebra")
    add("--epochs", type=positive, default=6, metavar="N", help="epochs after --pretrain")
    add("--tuning-rate", type=float, default=0.02, help="learning rate in --epochs (%(default)s)")
    add("--batch", type=positive, default=32, metavar="N", help="images a step (%(default)s)")
    add("--weight-decay", type=float, default=0.02, help="default: %(default)s")
    add("--regularisation", type=float, default=0.1, help="Zebra's penalty (%(default)s)")
    add("--slimming", type=float, default=1e-4, help="L1 penalty (default: %(default)s)")
    for what, shares in (("channels", "0.3"), ("weights", "0.4")):
        name = f"--prune-{what}"
        add(
            name, type=numbers(name), default=shares, metavar="SHARE,...", help=f"default: {shares}"
        )
    add("--jobs", type=positive, default=1, metavar="N", help="parts at once (%(default)s)")
    add("--scheduler", metavar="tcp://HOST:PORT", help="train on the workers of Dask instead")
    add("--seed", type=natural, default=0, help="the first seed (default: %(default)s)")
    add("--seeds", type=positive, default=1, metavar="N", help="trainings of each network")
    add_measuring(parser, THRESHOLDS, 4)
    return parser


def table_parser() -> argparse.ArgumentParser:
    """The argument parser with all options of `npu-train table`."""
    parser = argparse.ArgumentParser(
        "npu-train table", description="The table of a sweep again, from the networks it has kept."
    )
    parser.error = usage_error
    parser.add_argument("networks", type=Path, metavar="DIR", help="--keep of the sweep")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write the table")
    add_measuring(parser, None, None)
    return parser


def add_measuring(
    parser: argparse.ArgumentParser, thresholds: tuple[float, ...] | None, block: int | None
) -> None:
    """Add the options for the rows; without defaults, the networks say thresholds and block."""
    add = parser.add_argument
    add(
        "--thresholds",
        type=numbers("--thresholds"),
        default=thresholds,
        metavar="T,...",
        help="Zebra's targets",
    )
    add("--block", type=positive, default=block, metavar="B", help="blocks of B x B")
    add("--data", default="digits", metavar="NAME", help="as for npu-train (%(default)s)")
    add(
        "--images",
        type=natural,
        default=100,
        metavar="N",
        help="test images that the C runs on; with 0 no C is made (%(default)s)",
    )
    add("--sram", type=positive, default=131072, metavar="BYTES", help="SRAM of the machine")


def sweep_of(options: argparse.Namespace) -> Sweep:
    """The options of the sweep, checked before anything is trained.

    Raises: UserError if a threshold or share is out of range.
    """
    for threshold in options.thresholds:
        ZebraOptions(options.block, threshold)
    for share in (*options.prune_channels, *options.prune_weights):
        check_share(share)
    common = [f"--data={options.data}", f"--model={options.model}"]
    for name in COMMON:
        common += [f"--{name}", str(getattr(options, name.replace("-", "_")))]
    prunings = {
        "zebra": (Pruning(),),
        "zebra + slimming": tuple(Pruning(channels=each) for each in options.prune_channels),
        "zebra + weight pruning": tuple(Pruning(weights=each) for each in options.prune_weights),
    }
    return Sweep(
        tuple(common),
        ("--block", str(options.block), "--regularisation", str(options.regularisation)),
        options.slimming,
        tuple(pruning for name in options.methods for pruning in prunings[name]),
        Measuring(options.data, options.thresholds, options.block, options.images, options.sram),
        None if options.keep is None else options.keep.absolute(),
    )


COMMON = ("width", "validation", "pretrain", "epochs", "tuning-rate", "batch", "weight-decay")
"""The options that the networks of a sweep share, beside the images and the network."""


def numbers(name: str) -> Callable[[str], tuple[float, ...]]:
    """A `type` for argparse: numbers with commas between them.

    Raises: UserError if one is no number.
    """

    def parse(text: str) -> tuple[float, ...]:
        try:
            return tuple(float(part) for part in text.split(","))
        except ValueError:
            raise UserError(f"{name} {text}: expected numbers with commas between them") from None

    return parse


def methods(text: str) -> tuple[str, ...]:
    """Parse names of methods with commas between them.

    Raises: UserError if one does not exist.
    """
    names = tuple(text.split(","))
    for name in names:
        if name not in METHODS:
            raise UserError(f"--methods: expected some of {', '.join(METHODS)}, got {name!r}")
    return names
