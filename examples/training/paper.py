"""Train the networks of tables I and II of paper 003, and print them beside the paper's figures.

    python examples/training/paper.py cifar10 DIR -o runs
    python examples/training/paper.py tiny_imagenet DIR -o runs --rows 'resnet18-0.2*' --epochs 60
    python examples/training/paper.py cifar10 DIR -o runs -- --precision bfloat16 --workers 8

DIR is the folder as it is published. Each row is one `npu-train`, on a GPU if there is one; its
command is printed. A row that is done is not trained again, and one that was interrupted goes on.
What stands behind `--` is passed to npu-train. Bandwidth is what the paper counts: each map once,
with its index. The paper's figures lie in `cifar10.toml` and `tiny_imagenet.toml`.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from npu_tools.shared.text import columns
from npu_train import main

HERE = Path(__file__).resolve().parent
TABLES = {"cifar10": "cifar10", "tiny_imagenet": "tiny-imagenet"}
"""The tables, and the name of their images for npu-train."""
SLIMMING = "1e-4"
"""The penalty of Z. Liu et al. 2017, whom the paper follows."""
HEADER = ("network", "reduced %", "paper", "accuracy %", "paper")


@dataclass(frozen=True)
class Row:
    """A row of a table: what is trained, and what the paper has for it, both in percent."""

    model: str
    threshold: float
    reduced: float
    accuracy: float
    channels: float = 0.0
    weights: float = 0.0

    @property
    def name(self) -> str:
        """The folder of the network."""
        pruned = f"-ns{self.channels:g}" * bool(self.channels)
        pruned += f"-wp{self.weights:g}" * bool(self.weights)
        return f"{self.model}-{self.threshold:g}{pruned}"

    def options(self, block: int, epochs: int) -> list[str]:
        """The options of npu-train for the network; pruned ones are trained for twice as long."""
        options = ["--model", self.model, "--epochs", str(epochs)]
        if self.channels or self.weights:
            options += ["--pretrain", str(epochs)]
        if self.channels:
            options += ["--slimming", SLIMMING, "--prune-channels", str(self.channels)]
        if self.weights:
            options += ["--prune-weights", str(self.weights)]
        if self.threshold:
            options += ["--block", str(block), "--threshold", str(self.threshold)]
        return options


def run(args: Sequence[str]) -> int:
    """Train the rows and print the table; returns the exit code."""
    own = list(args)
    more = own[own.index("--") + 1 :] if "--" in own else []
    options = parser().parse_args(own[: len(own) - len(more) - ("--" in own)])
    held = tomllib.loads((HERE / f"{options.table}.toml").read_text(encoding="utf-8"))
    rows = [Row(**row) for row in held["rows"]]
    data = f"{TABLES[options.table]}:{options.images}"
    lines: list[tuple[str, ...]] = [HEADER]
    for row in rows:
        if not any(fnmatch(row.name, pattern) for pattern in options.rows):
            continue
        given = ["--data", data, *row.options(held["block"], options.epochs), *more]
        found = trained(row, options.out / row.name, given, held["block"])
        if found is None:
            return 1
        reduced, accuracy = 100 * found["once"], 100 * found["accuracy"]
        figures = (reduced, row.reduced, accuracy, row.accuracy)
        lines.append((row.name, *(f"{figure:.2f}" for figure in figures)))
    print("", *columns(lines), sep="\n")
    return 0


def trained(row: Row, out: Path, options: Sequence[str], block: int) -> dict[str, Any] | None:
    """Train a row, and evaluate it; None if npu-train fails, which has said why."""
    command = [*options, "--out", str(out), "--resume=auto"]
    print(f"npu-train {shlex.join(command)}", flush=True)
    at = ["--block", str(block), "--thresholds", "0", "--images", "0", *options[:2]]
    if main.main(command) or main.main(["table", str(out), *at, "--out", str(out)]):
        return None
    rows: list[dict[str, Any]] = json.loads((out / "rows.json").read_text(encoding="utf-8"))
    return rows[0]


def parser() -> argparse.ArgumentParser:
    """The argument parser; what stands behind `--` is not for it."""
    made = argparse.ArgumentParser(description="Tables I and II of paper 003.")
    made.add_argument("table", choices=list(TABLES))
    made.add_argument("images", type=Path, metavar="DIR", help="the published folder")
    made.add_argument("-o", "--out", type=Path, required=True, help="where the networks stay")
    made.add_argument("--epochs", type=int, default=160, help="of each stretch (%(default)s)")
    made.add_argument("--rows", nargs="+", default=["*"], metavar="PATTERN", help="resnet18-*")
    return made


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
