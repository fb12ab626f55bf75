"""Compile each model of a folder in several forms, compare it with onnxruntime, print a table.

    python examples/zoo/table.py zoo
    python examples/zoo/table.py zoo --forms float qdq operators-u8 --names vit yolo

Each form of `forms.py` is compiled for this computer and for the smallest machine that holds it.
Columns: bytes of the arena, their lower bound, that machine, and instructions of a run on an
emulated Cortex-M4, for those that fit one. The last column says why a model is refused, cannot run
or is held by no machine. The exit code is 1 if it says anything.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from forms import FORMS

from npu_dialect.machine import Machine
from npu_tools.commands import compile
from npu_tools.importers.torch import exported_onnx
from npu_tools.reports.table import columns
from npu_tools.verifying.emulators import EmulatorError, Interface, run_on

BOARD = "cortex-m4"
SUFFIXES = (".onnx", ".pt2")
HOST = "host"
NOT_HELD = "available on"
"""What each message says about a network that needs more memory than a machine has."""


@dataclass(frozen=True)
class Row:
    """What became of one model in one form."""

    name: str
    form: str
    arena: int | None = None
    bound: int | None = None
    machine: str = ""
    instructions: int | None = None
    remark: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """The texts of the row."""
        numbers = ["" if n is None else str(n) for n in (self.arena, self.bound, self.instructions)]
        return self.name, self.form, *numbers[:2], self.machine, numbers[2], self.remark


def machines(least: int) -> list[str]:
    """The listed machines that may hold so many live bytes: those without transfers first, by size.

    A machine with transfers holds maps that are larger than its SRAM too.
    """
    known = [Machine.load(name) for name in Machine.known() if name != HOST]
    large = [each for each in known if each.dma_channels or each.sram_bytes >= least]
    large.sort(key=lambda each: (each.dma_channels > 0, each.sram_bytes, each.flash_bytes))
    return [each.name for each in large]


def compiled(
    model: Path, machine: str, folder: Path, *, verify: bool = True
) -> dict[str, Any] | str:
    """The report of a model that is compiled for a machine and compared, or the error."""
    printed, errors = io.StringIO(), io.StringIO()
    options = ["--target", machine, "-o", str(folder), "--prefix", "net", "--json"]
    options += ["--verify"] if verify else []
    with redirect_stdout(printed), redirect_stderr(errors):
        status = compile.main([str(model), *options])
    if status:
        lines = [line for line in errors.getvalue().splitlines() if "error: " in line]
        return lines[0].partition("error: ")[2].removeprefix(f"{model}: ")
    return json.loads(printed.getvalue())


def measured(folder: Path) -> int:
    """Instructions of one run on the emulated board.

    Raises: EmulatorError if it cannot run.
    """
    interface, random = Interface.read(folder / "net.h"), np.random.default_rng(0)
    feeds = {
        each.name: random.standard_normal(each.elements).astype(each.dtype)
        for each in interface.inputs
    }
    return run_on(BOARD, folder / "net.c", [feeds]).runs[0].instructions


def row_of(name: str, form: str, model: Path, folder: Path) -> Row:
    """Compile a model for the host, then for the smallest machine that holds it; run it."""
    report = compiled(model, HOST, folder / HOST)
    if isinstance(report, str):
        return Row(name, form, remark=report)
    memory = report["memory"]
    row = Row(name, form, memory["arena_bytes"], memory["live_bound_bytes"])
    said: dict[str, Any] | str = NOT_HELD
    for machine in machines(memory["live_bound_bytes"]):
        said = compiled(model, machine, folder / machine)
        if not isinstance(said, str):
            row = replace(row, machine=machine)
        if not isinstance(said, str) or NOT_HELD not in said:
            break
    board = folder / BOARD
    if not isinstance(said, str) and row.machine != BOARD:
        said = compiled(model, BOARD, board, verify=False)
    if isinstance(said, str):
        return row if row.machine and NOT_HELD in said else replace(row, remark=said)
    try:
        return replace(row, instructions=measured(board))
    except EmulatorError as error:
        return replace(row, remark=str(error).splitlines()[0])


def as_onnx(model: Path, folder: Path) -> Path:
    """The model as an ONNX file, which is written to the folder for a program of torch.export."""
    if model.suffix == ".onnx":
        return model
    path = folder / "exported.onnx"
    path.write_bytes(exported_onnx(model))
    return path


def rows_of(model: Path, forms: Sequence[str]) -> list[Row]:
    """The rows of a model in its forms."""
    rows: list[Row] = []
    for form in forms:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            made = FORMS[form]
            source = folder / f"{model.stem}.onnx" if made else model
            if made and (said := made(as_onnx(model, folder), source)):
                rows.append(Row(model.stem, form, remark=f"not quantised: {said}"))
            else:
                rows.append(row_of(model.stem, form, source, folder))
            print(*rows[-1].cells, file=sys.stderr, flush=True)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns 1 if a model is refused."""
    parser = argparse.ArgumentParser(description="Compile and compare the models of a folder.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--forms", nargs="+", choices=list(FORMS), default=["float"])
    parser.add_argument("--names", nargs="+", default=(), metavar="NAME", help="these models only")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="models at a time")
    options = parser.parse_args(arguments)
    models = sorted(path for path in options.folder.iterdir() if path.suffix in SUFFIXES)
    chosen = [model for model in models if not options.names or model.stem in options.names]
    with ProcessPoolExecutor(options.jobs, None, logging.disable, (logging.CRITICAL,)) as pool:
        found = pool.map(partial(rows_of, forms=options.forms), chosen)
        rows = [row for rows in found for row in rows]
    titles = ("network", "form", "arena bytes", "bound", "machine", "instructions", "remark")
    print("\n".join(columns([titles, *(row.cells for row in rows)], 2)))
    good = sum(not row.remark for row in rows)
    print(f"\n{good} of {len(rows)} compile and agree with onnxruntime")
    return int(good < len(rows))


if __name__ == "__main__":
    sys.exit(main())
