"""Cycles of FlowNet-S and of Inception-V3 on the virtual clock: the tables of docs/time.md.

    python bench/cycles.py [flownet_s|inception_v3]

FlowNet-S, on zynq7020, stands beside paper 004; its seconds are at the paper's 667 MHz.
Inception-V3, on exynos-npu, stands beside paper 001, layer by layer and as compiled.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from npu_dialect.machine import Machine
from npu_dialect.target import machine_of
from npu_passes.analysis.timed_program import TimedProgram, read_program
from npu_passes.pipelines import PIPELINES
from npu_plans.time.rates import Rates
from npu_plans.time.simulate import Cycles, simulate, total_of
from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.reports.report import planned_function
from npu_tools.reports.time_report import energy_of

# The folder of the tests replaces this one, whose modules could hide others of the same name.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.networks.zoo import build

PAPER_SECONDS = {"no double buffers": 1573, "naive tiles": 838, "optimal tiles": 805}
"""Paper 004, section 6.1: FlowNet-S without caches."""
PAPER_MACS = Fraction("0.0225")
"""Multiply-accumulates in a cycle of the paper's core, so that 805 s are computing: an
assumption."""


@dataclass
class Programs:
    """An observer that keeps the program of the last step in which buffers have offsets.

    It is read for each of some rates, as reading already rounds the cycles of layers.
    """

    changes: Mapping[str, Callable[[Rates], Rates]]
    found: dict[str, Cycles] = field(default_factory=dict[str, Cycles])

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Simulate the program of a module, if it has one."""
        function, machine = planned_function(module), machine_of(module)
        if function is None or machine is None:
            return
        for name, change in self.changes.items():
            rates = change(Rates.of(machine))
            program: TimedProgram = read_program(function, rates)
            self.found[name] = total_of(simulate(program.body, rates))


def compiled(
    network: str, target: str, pipeline: str, programs: Programs, plan_as: str | None
) -> Compiled:
    """Compile a network of examples/networks, as a plan with `plan_as`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{network}.onnx"
        path.write_bytes(build(network).SerializeToString())
        job = Job(path, target, pipeline=pipeline, plan_as=plan_as, observers=(programs,))
        return compile_model(job)


def same(rates: Rates) -> Rates:
    """The machine's own rates."""
    return rates


def as_slow_as_the_papers(rates: Rates) -> Rates:
    """A core that computes as slowly as that of paper 004 without caches."""
    return replace(rates, macs_per_cycle={"f32": PAPER_MACS})


def flownet_s() -> Iterator[str]:
    """The rows for FlowNet-S: computing, waiting, and both, in seconds."""
    double = Programs({"zynq7020": same, "slow": as_slow_as_the_papers})
    compiled("flownet_s", "zynq7020", "default", double, None)
    text = PIPELINES["off-chip"].text
    single = Programs({"zynq7020": same})
    whole = text.replace("npu-tile-loops", "npu-tile-loops{double-buffer=false}")
    compiled("flownet_s", "zynq7020", whole, single, None)
    for what, seconds in PAPER_SECONDS.items():
        yield f"| paper 004: {what} | | | {seconds} | |"
    hertz = Machine.load("zynq7020").clock_hz
    for what, cycles in (
        ("`zynq7020`", double.found["zynq7020"]),
        ("`zynq7020`, `npu-tile-loops{double-buffer=false}`", single.found["zynq7020"]),
        (f"`zynq7020` with {float(PAPER_MACS)} MACs a cycle", double.found["slow"]),
    ):
        parts = (cycles.compute, cycles.exposed, cycles.total)
        seconds = " | ".join(f"{part / hertz:.3f}" for part in parts)
        yield f"| {what} | {seconds} | {100 * cycles.exposed / cycles.total:.2f} |"


def inception_v3() -> Iterator[str]:
    """The rows for Inception-V3: MB, cycles in millions, frames a second, mJ over the border."""
    machine = Machine.load("exynos-npu")
    for name, plan_as in (("f32", None), ("i8", "i8")):
        programs = Programs({"": same})
        found = compiled("inception_v3", machine.name, "default", programs, plan_as)
        cycles = programs.found[""]
        naive = found.report.naive
        moved = naive.weight_bytes + naive.feature_map_read_bytes + naive.feature_map_write_bytes
        bus = moved / machine.dma_bytes_per_cycle
        border = float(moved * machine.dram_byte_pj) / 1e9
        yield (
            f"| {name}, layer by layer | {moved / 1e6:.1f} | at least {float(bus) / 1e6:.2f} | | "
            f"at most {machine.clock_hz / float(bus):.1f} | {border:.1f} | |"
        )
        energy = energy_of(cycles, machine, {name})
        assert energy is not None
        yield (
            f"| {name}, as compiled | {cycles.bytes / 1e6:.1f} | {cycles.total / 1e6:.2f} | "
            f"{100 * cycles.exposed / cycles.total:.1f} | {machine.clock_hz / cycles.total:.1f} | "
            f"{energy['off_chip'] / 1e9:.1f} | {energy['total'] / 1e9:.1f} |"
        )


TABLES: Mapping[str, Callable[[], Iterator[str]]] = {
    "flownet_s": flownet_s,
    "inception_v3": inception_v3,
}


def main(arguments: list[str]) -> int:
    """Print the rows of the tables that are named, or of all."""
    for name, rows in TABLES.items():
        if name in arguments or not arguments:
            for row in rows():
                print(row)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
