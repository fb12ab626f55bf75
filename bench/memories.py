"""Networks on machines with several memories: bytes in each, and cycles by the time model.

    python bench/memories.py [NETWORK ...]

Networks are those of examples/networks in float32. Each is compiled three times: without tiles that
the core copies, with them (the default), and with constants that stay in fast memory
(`npu-compile --keep-constants`). Arenas are the same with and without tiles.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from npu_passes.pipelines import DEFAULT, PIPELINES
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.reports.report import Report
from npu_tools.shared.text import columns

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "tests"))

from helpers.networks.zoo import build

TITLES = ("network", "machine", "arenas", "in place", "in tiles", "with copies", "copied bytes")
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


class InMemory(Protocol):
    """Some bytes of a memory."""

    @property
    def memory(self) -> str | None:
        """The name of the memory."""
        ...

    @property
    def bytes(self) -> int:
        """How many bytes of it."""
        ...


def in_memories(parts: Iterable[InMemory]) -> str:
    """The bytes of each memory as text."""
    return ", ".join(f"{each.bytes} in {each.memory}" for each in parts) or "-"


def millions(report: Report) -> str:
    """The million cycles of a run."""
    return "-" if report.time is None else f"{report.time['cycles'] / 1e6:.2f}"


def measured(name: str) -> tuple[str, ...]:
    """The row of a network."""
    case = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        path.write_bytes(build(case.network, **case.options).SerializeToString())
        job = Job(path, case.machine, weights="bin")
        plain = compile_model(replace(job, pipeline=IN_PLACE)).report
        tiled = compile_model(job).report
        kept = compile_model(replace(job, keep_constants=True)).report
    cycles = map(millions, (plain, tiled, kept))
    copies = sorted(kept.kept_constants, key=lambda each: each.bytes)
    return name, case.machine, in_memories(tiled.arenas), *cycles, in_memories(copies)


def table(names: Iterable[str]) -> str:
    """The table of some networks; cycles are millions."""
    return "\n".join(columns([TITLES, *map(measured, names)], 3))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("networks", nargs="*", default=list(CASES), metavar="NETWORK")
    options = parser.parse_args()
    if unknown := set(options.networks) - set(CASES):
        parser.error(f"no network {', '.join(sorted(unknown))}: expected {', '.join(CASES)}")
    print(table(options.networks))
    return 0


if __name__ == "__main__":
    sys.exit(main())
