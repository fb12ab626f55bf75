"""Networks on machines with several memories: bytes in each, and cycles by the time model.

    python bench/memories.py [NETWORK ...] [FILE:MACHINE ...]

Networks are those of examples/networks in float32. Each is compiled three times: without tiles that
the core copies, with them (the default), and with constants that stay in fast memory
(`npu-compile --keep-constants`). Arenas are the same with and without tiles.

`parts` is how many percent of the cycles parts of constants could save at most, if a constant could
lie in several memories: the linear relaxation of the choice of npu-keep-constants. Networks of
files, such as `lenet5.onnx:stm32h743`, get a row, too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npu_dialect.arenas import arenas_of, has_arenas
from npu_dialect.kept_attributes import READY, copied_constants
from npu_dialect.target import machine_of
from npu_dialect.walking import walk_kind
from npu_passes.analysis.constant_reads import constant_reads
from npu_passes.pipelines import DEFAULT, PIPELINES
from npu_passes.placing.keep_constants import candidates_of, places_in
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.reports.arena_report import ArenaReport
from npu_tools.reports.kept_report import KeptReport
from npu_tools.reports.report import Report
from npu_tools.shared.errors import guarded
from npu_tools.shared.text import columns

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "tests"))

from helpers.networks.zoo import build

TITLES = (
    "network",
    "machine",
    "arenas",
    "in place",
    "in tiles",
    "with copies",
    "parts",
    "copied bytes",
)
KEEP = "npu-keep-constants"
Array: TypeAlias = npt.NDArray[np.float64]

IN_PLACE = PIPELINES[DEFAULT].text.replace("npu-tile-slow-maps,", "")
"""The default pipeline without copies of tiles."""


@dataclass(frozen=True)
class Case:
    """A network, its machine, and options of its script."""

    network: str
    machine: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


SMALL: Mapping[str, Any] = {"size": (96, 96), "width": 0.35, "classes": 10}
CASES: Mapping[str, Case] = {
    "mobilenet_v2 0.35, 96x96": Case("mobilenet_v2", "stm32h743", SMALL),
    "mobilenet_v2, 224x224": Case("mobilenet_v2", "esp32s3"),
    "squeezenet1_1, 224x224": Case("squeezenet1_1", "esp32s3"),
}


def in_memories(parts: Iterable[ArenaReport | KeptReport]) -> str:
    """The bytes of each memory as text."""
    return ", ".join(f"{each.bytes} in {each.memory}" for each in parts) or "-"


def millions(report: Report) -> str:
    """The million cycles of a run."""
    return "-" if report.time is None else f"{report.time['cycles'] / 1e6:.2f}"


@dataclass
class Parts:
    """Reads how much of the time parts of constants could save more than whole ones do."""

    cycles: float = 0

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Look at the program behind the pass that chooses copies."""
        machine = machine_of(module)
        functions = (op for op in module.ops if isinstance(op, FuncOp) and has_arenas(op))
        function = next(functions, None)
        if step != KEEP or machine is None or machine.stored is None or function is None:
            return
        gets = list(walk_kind(module, memref.GetGlobalOp))
        rates = {each.name: each.read_bytes_per_cycle for each in machine.memory}
        reads = constant_reads(module)
        candidates = list(candidates_of(gets, reads, rates, machine.stored.name))
        arenas = {**arenas_of(function), **(READY.get(function) or {})}
        places = list(places_in(machine, arenas))
        room = [each.memory.bytes - each.used for each in places]
        saved = np.array(
            [
                [float(c.stored - c.read / each.memory.read_bytes_per_cycle) for each in places]
                for c in candidates
            ]
        )
        names = {c.symbol: row for row, c in enumerate(candidates)}
        columns_ = {each.name: column for column, each in enumerate(places)}
        whole = {
            (names[op.name_.string_value()], columns_[copied.memory])
            for op, copied in copied_constants(module)
        }
        found = float(sum(saved[each] for each in whole))
        self.cycles = most_saved(saved, [c.size for c in candidates], room) - found


def most_saved(saved: Array, sizes: Sequence[int], room: Sequence[int]) -> float:
    """The most cycles that constants save if any part of each may lie in any memory.

    `saved`: the cycles that each constant saves in each memory. `room`: the bytes of the memories.
    """
    constants, memories = saved.shape
    fits = np.kron(np.array(sizes, float), np.eye(memories))
    once = np.kron(np.eye(constants), np.ones(memories))
    limits = [*room, *(1.0 for _ in sizes)]
    solver: Any = import_module("scipy.optimize")
    done = solver.linprog(-saved.ravel(), np.vstack([fits, once]), limits, bounds=(0, 1))
    return -float(done.fun)


def measured(name: str) -> tuple[str, ...]:
    """The row of a network, by its name or file and machine."""
    with tempfile.TemporaryDirectory() as folder:
        path, machine = Path(folder) / "net.onnx", name.rpartition(":")[2]
        if (case := CASES.get(name)) is None:
            path = Path(name.rpartition(":")[0])
        else:
            path.write_bytes(build(case.network, **case.options).SerializeToString())
            machine = case.machine
        parts = Parts()
        job = Job(path, machine, weights="bin")
        plain = compile_model(replace(job, pipeline=IN_PLACE)).report
        tiled = compile_model(job).report
        kept = compile_model(replace(job, keep_constants=True, observers=(parts,))).report
    cycles = map(millions, (plain, tiled, kept))
    copies = sorted(kept.kept_constants, key=lambda each: each.bytes)
    share = f"{100 * parts.cycles / kept.time['cycles']:.2f} %" if kept.time else "-"
    return (
        name if case else path.stem,
        machine,
        in_memories(tiled.arenas),
        *cycles,
        share,
        in_memories(copies),
    )


def table(names: Iterable[str]) -> str:
    """The table of some networks; cycles are millions."""
    return "\n".join(columns([TITLES, *map(measured, names)], 3))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("networks", nargs="*", default=list(CASES), metavar="NETWORK")
    options = parser.parse_args()
    if unknown := [each for each in options.networks if each not in CASES and ":" not in each]:
        expected = ", ".join(CASES)
        parser.error(f"no network {', '.join(unknown)}: expected {expected}, or FILE:MACHINE")
    print(table(options.networks))
    return 0


if __name__ == "__main__":
    sys.exit(guarded("bench/memories.py", main))
