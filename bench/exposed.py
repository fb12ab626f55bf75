"""What share of the transfers hides behind layers, and how long networks take on the virtual clock.

    python bench/exposed.py [--objective bytes|time] [--without setup|jumps] [NETWORK:KB ...]

For each network, planned as int8 on exynos-npu with an SRAM of so many KB: the MB that cross the
border, the percentage of them that moves while no layer runs between start and wait, the million
cycles, and these as a multiple of what the core or the bus needs alone, whichever is more. The last
two columns are bounds for the same plan, as the same multiple. `layer by layer` is what no order of
transfers gets below as long as those of a layer run beside that layer: the core, the bus or the
channels, whichever need longest for it. `any order` is what no order of transfers gets below, with
the memory that there is (`npu_plans/time/bound.py`). LeNet-5 is a float program for zynq7020.
Without networks: all those of docs/time.md. `--objective` is that of npu-compile. `--without` runs
the same plans on a machine on which the starts of transfers, or address jumps, take no time; given
twice, neither does.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from xdsl.dialects.builtin import ModuleOp

from npu_dialect.target import machine_of
from npu_passes.analysis.held_on_chip import held_on_chip
from npu_passes.analysis.timed_program import read_program
from npu_plans.time.bound import least_cycles
from npu_plans.time.rates import Rates
from npu_plans.time.simulate import Cycles, Ledger, simulate, total_of
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.reports.report import planned_function

# The folder of the tests replaces this one, whose modules could hide others of the same name.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.networks.machines import KB, machine_file
from helpers.networks.zoo import build

NETWORKS = (
    "lenet5:0",
    "nasnet_a:128",
    "resnet50:256",
    "resnet50:1024",
    "inception_v3:256",
    "inception_v3:1024",
    "xception:256",
    "xception:1024",
    "flownet_s:1024",
)
"""What docs/time.md shows. 0 KB: zynq7020, as it is."""

LAST = "npu-split-transfers"


WITHOUT = {"setup": "setup", "jumps": "jump"}
"""What can take no time, and the field of the machine's rates."""


@dataclass(frozen=True)
class Timed:
    """The cycles of the layers of a network, with bounds on those of all of it."""

    layers: Ledger
    by_layer: int
    any_order: int


def timed(
    name: str,
    kilobytes: int,
    folder: Path,
    objective: Literal["bytes", "time"] | None,
    without: Sequence[str] = (),
) -> Timed:
    """How long a network takes behind `npu-split-transfers`."""
    found: list[Timed] = []

    def observe(step: str, module: ModuleOp) -> None:
        function, machine = planned_function(module), machine_of(module)
        if step == LAST and function is not None and machine is not None:
            rates = Rates.of(machine)
            body = read_program(function, rates).body
            rates = replace(rates, **{WITHOUT[each]: 0 for each in without})
            layers = simulate(body, rates)
            by_layer = sum(least_alone(each, rates.channels) for each in layers.values())
            least = least_cycles(held_on_chip(function, rates), machine.sram_bytes, rates)
            found.append(Timed(layers, by_layer, least))

    model = folder / f"{name}.onnx"
    model.write_bytes(build(name).SerializeToString())
    if kilobytes:
        target, planned_as = machine_file(folder, kilobytes * KB), "i8"
    else:
        target, planned_as = "zynq7020", None
    job = Job(model, target, plan_as=planned_as, objective=objective, observers=(observe,))
    compile_model(job)
    return found[0]


def larger(cycles: Cycles) -> int:
    """What the core or the bus needs alone, whichever is more."""
    return max(cycles.compute, cycles.bus)


def least_alone(cycles: Cycles, channels: int) -> int:
    """What the core, the bus or the channels need alone for a layer, whichever need longest."""
    return max(larger(cycles), cycles.transfer // channels)


def network(text: str) -> tuple[str, int]:
    """The name and the KB of `NETWORK:KB`.

    Raises: ArgumentTypeError if it is something else.
    """
    name, _, kilobytes = text.partition(":")
    if not kilobytes.isdecimal():
        raise argparse.ArgumentTypeError(f"expected NETWORK:KB, got {text}")
    return name, int(kilobytes)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "networks",
        nargs="*",
        type=network,
        default=[network(each) for each in NETWORKS],
        metavar="NETWORK:KB",
    )
    parser.add_argument("--objective", choices=("bytes", "time"))
    parser.add_argument("--without", choices=tuple(WITHOUT), action="append", default=[])
    options = parser.parse_args()
    print(
        "| network | KB | MB over the border | bare % | million cycles | times the larger "
        "| layer by layer | any order |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, kilobytes in options.networks:
        with tempfile.TemporaryDirectory() as folder:
            found = timed(name, kilobytes, Path(folder), options.objective, options.without)
        cycles = total_of(found.layers)
        alone = larger(cycles)
        print(
            f"| {name} | {kilobytes or 'zynq7020'} | {cycles.bytes / 1e6:.2f} "
            f"| {100 * cycles.bare_bytes / cycles.bytes:.1f} | {cycles.total / 1e6:.2f} "
            f"| {cycles.total / alone:.2f} | {found.by_layer / alone:.2f} "
            f"| {found.any_order / alone:.2f} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
