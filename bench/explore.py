"""What sweeps cost: CPU against separate runs of npu-compile, workers, and the scheduler.

    python bench/explore.py              36 points of ResNet-18: a sweep against 36 runs
    python bench/explore.py --workers    the same sweep with one worker and with two
    python bench/explore.py --overhead 10000
                                         points that compute nothing: what the scheduler adds

The first exits with code 1 if the sweep takes more than 1 / 2.5 of the CPU, or if a row differs
from what npu-compile reports. The last exits with code 1 if a point takes 20 ms or more.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from npu_dialect.machine import Machine
from npu_tools.compiling.driver import Job
from npu_tools.exploring.engine import run
from npu_tools.exploring.evaluating import Outcome
from npu_tools.exploring.points import Point, machine_numbers, toml_of
from npu_tools.exploring.pools import OnDask, connected
from npu_tools.exploring.store import Store

# The folder of the tests replaces this one, whose modules could hide others of the same name.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.networks.zoo import build

MACHINE = "exynos-npu"
SIZES = tuple(2**power for power in range(16, 22))
PIPELINES = ("off-chip", "tails")
RATES = (4, 8, 16)
LEAST_GAIN = 2.5
MOST_OVERHEAD = 0.020
WARM = 16
SPACE = (
    *("--set", f"sram_bytes={','.join(map(str, SIZES))}"),
    *("--set", f"pipeline={','.join(PIPELINES)}"),
    *("--set", f"dma_bytes_per_cycle={','.join(map(str, RATES))}"),
)


def main() -> int:
    """Measure what is asked; returns the exit code."""
    parser = argparse.ArgumentParser("bench/explore.py", description="What sweeps cost.")
    parser.add_argument("--workers", action="store_true", help="one worker against two")
    parser.add_argument("--overhead", type=int, metavar="N", help="N points that compute nothing")
    options = parser.parse_args()
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="npu-") as folder:
        if options.overhead is not None:
            return overhead(options.overhead, Path(folder))
        model = Path(folder) / "resnet18.onnx"
        model.write_bytes(build("resnet18", bias=False).SerializeToString())
        return workers(model) if options.workers else against_runs(model)


def cpu_of(module: str, args: Sequence[str]) -> tuple[float, float]:
    """Run a command; returns the seconds of CPU, those of its own processes with them, and of time.

    Raises: CalledProcessError if it fails.
    """
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", f"npu_tools.commands.{module}", *args]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - start
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, wall


def swept(model: Path, store: Path, jobs: int) -> tuple[float, float]:
    """The seconds of CPU and of time of the sweep."""
    options = ("--target", MACHINE, "--plan-as", "i8", "--store", str(store), "--jobs", str(jobs))
    return cpu_of("explore", [str(model), *options, *SPACE])


def rows_of(store: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a store."""
    held = Store(store)
    yield from held.frame().to_dict("records")
    held.close()


def against_runs(model: Path) -> int:
    """Compare a sweep with a run of npu-compile for each point; returns the exit code."""
    store = model.parent / "store"
    sweep, _ = swept(model, store, jobs=0)
    single, differing = 0.0, 0
    for row in rows_of(store):
        target = model.parent / "machine.toml"
        machine = Machine.load(MACHINE)
        changed = {"dma_bytes_per_cycle": row["dma_bytes_per_cycle"]}
        numbers = machine_numbers(replace(machine, sram_bytes=int(row["sram_bytes"])))
        target.write_text(toml_of({**numbers, **changed}))
        out = model.parent / "out"
        options = ["--target", str(target), "--plan-as", "i8", "--pipeline", row["pipeline"]]
        used, _ = cpu_of("compile", [str(model), *options, "-o", str(out)])
        single += used
        differing += differs(row, json.loads((out / "report.json").read_text()))
    points = len(SIZES) * len(PIPELINES) * len(RATES)
    print(f"{points} points of ResNet-18 on {MACHINE}, planned as i8; seconds of CPU")
    print(f"  {points} runs of npu-compile  {single:8.1f}")
    print(f"  npu-explore --jobs 0     {sweep:8.1f}   {single / sweep:.2f} times less")
    print(f"  rows that differ from report.json: {differing}")
    return int(differing > 0 or single < LEAST_GAIN * sweep)


def differs(row: Mapping[str, Any], report: Mapping[str, Any]) -> bool:
    """Whether a row says something else than a report."""
    traffic, times = report["off_chip"], report["time"]
    energy = times["energy_pj"]
    expected = {
        **{f"off_chip.{key}": value for key, value in traffic.items()},
        **{key: times[key] for key in ("cycles", "compute_cycles", "exposed_cycles")},
        **{key: report[key] for key in ("arena_bytes", "weights_bytes", "scratch_bytes")},
        "live_bound_bytes": report["memory"]["live_bound_bytes"],
        "frames_per_second": times["frames_per_second"],
    }
    if energy is not None:
        expected["energy_pj"] = energy["total"]
    return row["status"] != "ok" or any(row[key] != value for key, value in expected.items())


def workers(model: Path) -> int:
    """Compare one worker with two; returns 0, as that depends on what else the machine does."""
    found = {jobs: swept(model, model.parent / f"store{jobs}", jobs) for jobs in (1, 2)}
    for jobs, (used, wall) in found.items():
        print(f"{jobs} worker(s): {wall:6.1f} s of time, {used:6.1f} s of CPU")
    print(f"two are {found[1][1] / found[2][1]:.2f} times as fast as one")
    return 0


def nothing(bundle: Sequence[Point], version: str) -> list[Outcome]:
    """The outcomes of points without computing anything."""
    return [Outcome(point.key, {"status": "ok", "arena_bytes": 1}) for point in bundle]


def overhead(count: int, folder: Path) -> int:
    """Run points that compute nothing on two workers; returns the exit code."""
    machine = Machine.load(MACHINE)
    job = Job(folder / "model.onnx", MACHINE)
    points = [Point(job, replace(machine, sram_bytes=1 + n), "0" * 32) for n in range(count)]
    store = Store(folder / "store")
    with connected(None, 2) as client:
        run(points[:WARM], store, OnDask(client, nothing))  # the workers import what they need
        start = time.monotonic()
        run(points, store, OnDask(client, nothing))
        store.flush()
        seconds = time.monotonic() - start
    rows = len(store.keys)
    store.close()
    each = seconds / (count - WARM)
    print(f"{rows} points in {seconds:.1f} s: {1000 * each:.2f} ms a point")
    return int(rows != count or each >= MOST_OVERHEAD)


if __name__ == "__main__":
    sys.exit(main())
