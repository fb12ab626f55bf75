"""The off-chip traffic of networks on exynos-npu; with --time, the time of compiling and planning.

    python bench/off_chip.py [--time] [NETWORK ...]

One table, in KB of 1024 bytes, for networks planned as int8. Its columns are the traffic of
layer-by-layer execution, of the paper's passes (pipeline `kim2019`), of ours (`off-chip`), and the
compulsory traffic: image, scores, and each parameter once. The last column is ours in percent of
layer by layer. A NETWORK is a script of examples/networks, or `light:NAME` for a model of the onnx
package. The exit code is 1 if ours moves more than the paper's passes.

With `--time` it prints the time and memory of npu-compile for Inception-V3, and the time of the
passes that detect, reorder and plan modules on ten networks. The exit code is 1 if one is over its
limit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path

from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr
from npu_plans.modules.traffic import Traffic
from npu_tools.compiling.driver import Job, compile_model, job_passes, paused_collector
from npu_tools.importers.frontends import load
from npu_tools.shared.installed import context

# The folder of the tests replaces this one, whose modules could hide others of the same name.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.networks.light import FOLDER, light_file
from helpers.networks.machines import SRAM_BYTES, machine_file
from helpers.networks.zoo import build

MACHINE = "exynos-npu"
PAPER = "kim2019"
NETWORKS = ("resnet50", "mobilenet_v2", "squeezenet1_1", "inception_v3")
LIGHT = tuple(sorted(path.stem.removeprefix("light_") for path in FOLDER.glob("light_*.onnx")))

COMPILE_SECONDS, COMPILE_BYTES, PLAN_SECONDS = 60.0, 2e9, 10.0
"""Limits for npu-compile of Inception-V3 (seconds, bytes of memory) and for all planning."""

PLANNING = ("npu-detect-modules", "npu-reorder-branches", "npu-plan-modules")


def model_file(name: str, folder: Path) -> Path:
    """The file of a network: one of the onnx package, or one built in `folder`.

    Networks are built without biases, as the paper counts them.
    """
    if name.startswith("light:"):
        return light_file(name.removeprefix("light:"))
    path = folder / f"{name}.onnx"
    if not path.exists():
        path.write_bytes(build(name, bias=False).SerializeToString())
    return path


def kilobytes(size: int) -> str:
    """Bytes as KB of 1024 bytes, with one decimal."""
    return f"{size / 1024:.1f}"


def pair(traffic: Traffic) -> list[str]:
    """Two cells: the KB of maps, and those of maps and weights."""
    return [kilobytes(traffic.feature_map_bytes), kilobytes(traffic.overall_bytes)]


def measured(name: str, model: Path) -> tuple[list[str], bool]:
    """The row of a network, and whether our passes move no more than the paper's."""
    ours = compile_model(Job(model, MACHINE, plan_as="i8")).report
    paper = compile_model(Job(model, MACHINE, plan_as="i8", pipeline=PAPER)).report.off_chip
    ends = sum(prod(shape) for shape in (*ours.inputs.values(), *ours.outputs.values()))
    least = Traffic(weight_bytes=ours.weights_bytes, feature_map_read_bytes=ends)
    share = 100 * ours.off_chip.overall_bytes / ours.naive.overall_bytes
    line = [
        name,
        *(part for each in (ours.naive, paper, ours.off_chip, least) for part in pair(each)),
    ]
    good = (
        ours.off_chip.feature_map_bytes <= paper.feature_map_bytes
        and ours.off_chip.overall_bytes <= paper.overall_bytes
    )
    return [*line, f"{share:.1f}"], good


def traffic_table(names: Sequence[str], folder: Path) -> bool:
    """Print the table; returns whether our passes never move more than the paper's."""
    kinds = ("layer by layer", "paper 001", "ours", "compulsory")
    print("| | " + " | ".join(f"{kind}: maps | all" for kind in kinds) + " | % |")
    print("|---" + "|---:" * (2 * len(kinds) + 1) + "|")
    result = True
    for name in names:
        line, good = measured(name, model_file(name, folder))
        print("| " + " | ".join(line) + " |" + ("" if good else " ABOVE THE PAPER'S"), flush=True)
        result = result and good
    return result


def run_and_measure(command: Sequence[str]) -> tuple[float, int]:
    """Run a command; returns its seconds and its peak memory in bytes.

    Raises: CalledProcessError if it fails.
    """
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.monotonic() - start, usage.ru_maxrss * 1024


def compile_times(folder: Path) -> bool:
    """Time npu-compile of Inception-V3 in float32; returns whether the limits are met.

    The machine has 1024 KB of SRAM, then four times as much.
    """
    good = True
    model = model_file("inception_v3", folder)
    for sram_bytes in (SRAM_BYTES, 4 * SRAM_BYTES):
        target, out = machine_file(folder, sram_bytes), str(folder / "out")
        command = [sys.executable, "-m", "npu_tools.commands.compile", str(model)]
        seconds, memory = run_and_measure([*command, "--target", target, "-o", out])
        good = good and seconds < COMPILE_SECONDS and memory < COMPILE_BYTES
        what = f"npu-compile, Inception-V3, {sram_bytes // 1024} KB"
        limit = f"limit {COMPILE_SECONDS:.0f} s, {COMPILE_BYTES / 1e6:.0f} MB"
        print(f"{what:44} {seconds:6.2f} s {memory / 1e6:7.0f} MB  {limit}", flush=True)
    return good


def planning_times(folder: Path) -> bool:
    """Time the planning of the light models and Inception-V3; returns whether the limit is met."""
    whole = 0.0
    for name in (*(f"light:{each}" for each in LIGHT), "inception_v3"):
        taken = dict(planning_steps(model_file(name, folder)))
        steps = ", ".join(f"{step} {seconds:.2f}" for step, seconds in taken.items())
        print(f"{name:20} {steps}", flush=True)
        whole += sum(taken.values())
    print(f"{'all together':44} {whole:6.2f} s  limit {PLAN_SECONDS:.0f} s")
    return whole < PLAN_SECONDS


def planning_steps(model: Path) -> Iterator[tuple[str, float]]:
    """The passes of `PLANNING` and their seconds, in the pipeline `off-chip` with int8."""
    machine = Machine.load(MACHINE)
    with paused_collector():
        module = load(model, {}).module
        TARGET.set(module, TargetAttr.of(machine))
        for each in job_passes(Job(model, MACHINE, plan_as="i8"), machine):
            start = time.monotonic()
            each.apply(context(), module)
            if each.name in PLANNING:
                yield each.name, time.monotonic() - start
            if each.name == PLANNING[-1]:
                return


def main() -> int:
    """Print the table, or the times; returns the exit code."""
    parser = argparse.ArgumentParser("off_chip.py", description="Off-chip traffic of networks.")
    parser.add_argument("--time", action="store_true", help="measure times")
    parser.add_argument("networks", nargs="*", default=NETWORKS, metavar="NETWORK")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if options.time:
            # The order matters: a process inherits the peak memory of the one that starts it.
            results = [compile_times(folder), planning_times(folder)]
        else:
            results = [traffic_table(options.networks, folder)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
