"""Compile each model of a folder, compare it with onnxruntime, and print a table.

    python examples/zoo/table.py zoo

Columns: bytes of the arena, their lower bound, and instructions of a run on an emulated Cortex-M4,
for those networks that fit one. The last column says why a model is refused. The exit code is 1 if
a model is refused or gives other numbers.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from npu_tools.reports.table import columns
from npu_tools.verifying.emulators import EmulatorError, Interface, run_on

MACHINE = "cortex-m4"
SUFFIXES = (".onnx", ".pt2")


@dataclass(frozen=True)
class Row:
    """What became of one model."""

    name: str
    arena: int | None = None
    bound: int | None = None
    instructions: int | None = None
    remark: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """The texts of the row."""
        numbers = (self.arena, self.bound, self.instructions)
        return self.name, *("" if n is None else str(n) for n in numbers), self.remark


def compiled(model: Path, machine: str, folder: Path) -> dict[str, Any] | str:
    """The report of a model that is compiled for a machine and compared, or the error."""
    command = [sys.executable, "-m", "npu_tools.commands.compile", str(model)]
    options = ["--target", machine, "-o", str(folder), "--prefix", "net", "--verify", "--json"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip().splitlines()[0]
    return json.loads(done.stdout)


def measured(folder: Path) -> int:
    """Instructions of one run on the emulated machine.

    Raises: EmulatorError if it cannot run.
    """
    interface, random = Interface.read(folder / "net.h"), np.random.default_rng(0)
    feeds = {
        each.name: random.standard_normal(each.elements).astype(each.dtype)
        for each in interface.inputs
    }
    return run_on(MACHINE, folder / "net.c", [feeds]).runs[0].instructions


def row_of(model: Path) -> Row:
    """Compile a model for the host, then for the small machine, and run it there."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        report = compiled(model, "host", folder / "host")
        if isinstance(report, str):
            return Row(model.stem, remark=report)
        memory = report["memory"]
        arena, bound = memory["arena_bytes"], memory["live_bound_bytes"]
        small = compiled(model, MACHINE, folder / "small")
        if isinstance(small, str):
            return Row(model.stem, arena, bound, remark=f"host: {small}")
        try:
            return Row(model.stem, arena, bound, measured(folder / "small"), MACHINE)
        except EmulatorError as error:
            return Row(model.stem, arena, bound, remark=f"host: {error}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns 1 if a model is refused."""
    parser = argparse.ArgumentParser(description="Compile and compare the models of a folder.")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    models = sorted(path for path in options.folder.iterdir() if path.suffix in SUFFIXES)
    rows = [row_of(model) for model in models]
    titles = ("network", "arena bytes", "bound", "instructions", "where, or why not")
    print("\n".join(columns([titles, *(row.cells for row in rows)], 1)))
    good = sum(row.arena is not None for row in rows)
    print(f"\n{good} of {len(rows)} compile and agree with onnxruntime")
    return int(good < len(rows))


if __name__ == "__main__":
    sys.exit(main())
