"""The key `time` of report.json: cycles, energy and roofline, of the whole run and of each layer.

The cycles are those of `npu-estimate-time`. Energy is that of the machine's file: of each
multiply-accumulate, of each byte that layers and transfers read or write on chip, and of each byte
that crosses the border of the chip. The roofline of a layer has its operations (two for each
multiply-accumulate) for each byte over the border. Below the machine's ridge, a layer waits for
data however well its transfers hide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npu_dialect.machine import Machine
from npu_dialect.target import machine_of
from npu_passes.analysis.timed_ops import NotTimed
from npu_passes.analysis.timed_program import read_program
from npu_plans.time.rates import Rates, UnknownRate, says_time
from npu_plans.time.simulate import Cycles, ProgramError, simulate, total_of
from npu_tools.shared.text import columns

Row = dict[str, Any]


def time_of(module: ModuleOp, function: FuncOp) -> Row | None:
    """The time of one run of a function; None if the machine's file has no number of time.

    If it cannot be counted, the only key is `not_timed`, which says why.
    """
    machine = machine_of(module)
    if machine is None or not says_time(machine):
        return None
    try:
        rates = Rates.of(machine)
        program = read_program(function, rates)
        ledger = simulate(program.body, rates)
    except (NotTimed, ProgramError, UnknownRate) as reason:
        return {"not_timed": str(reason)}
    whole, types = total_of(ledger), frozenset[str]().union(*program.elements.values())
    energies = [
        energy_of(each, machine, program.elements.get(name, set())) for name, each in ledger.items()
    ]
    return {
        **row_of(whole),
        "clock_hz": machine.clock_hz,
        "frames_per_second": machine.clock_hz / whole.total if whole.total else None,
        "energy_pj": total_energy(energies),
        **roofline_of(whole, rates, types),
        "layers": [
            {
                "name": name,
                **row_of(each),
                "energy_pj": energy,
                **roofline_of(each, rates, program.elements.get(name, set())),
            }
            for (name, each), energy in zip(ledger.items(), energies, strict=True)
        ],
    }


def row_of(cycles: Cycles) -> Row:
    """The numbers of a layer or of the whole run; `memory_cycles` if slower memories cost any."""
    return {
        "cycles": cycles.total,
        "compute_cycles": cycles.compute,
        "transfer_cycles": cycles.transfer,
        "bus_cycles": cycles.bus,
        "exposed_cycles": cycles.exposed,
        "transfers": cycles.transfers,
        "transferred_bytes": cycles.bytes,
        "exposed_bytes": cycles.exposed_bytes,
        "bare_bytes": cycles.bare_bytes,
        "on_chip_bytes": cycles.on_chip_bytes,
        "macs": cycles.macs,
        **({"memory_cycles": cycles.stall} if cycles.stall else {}),
    }


def energy_of(cycles: Cycles, machine: Machine, types: AbstractSet[str]) -> Row | None:
    """Energies in pJ; None if the machine's file has no number for a part.

    `types`: the element types of the multiply-accumulates.
    """
    macs = Fraction()
    if cycles.macs:
        per_mac = dict(machine.mac_pj)
        if len(types) != 1 or not types <= per_mac.keys():
            return None
        macs = cycles.macs * per_mac[next(iter(types))]
    if not machine.sram_byte_pj or (cycles.bytes and not machine.dram_byte_pj):
        return None
    on_chip = (cycles.on_chip_bytes + cycles.bytes) * machine.sram_byte_pj
    off_chip = cycles.bytes * machine.dram_byte_pj
    parts = {"macs": macs, "on_chip": on_chip, "off_chip": off_chip}
    return {key: float(part) for key, part in {**parts, "total": sum(parts.values())}.items()}


def total_energy(rows: list[Row | None]) -> Row | None:
    """The energies of all layers; None if those of one are not known."""
    known = [row for row in rows if row is not None]
    if len(known) < len(rows) or not known:
        return None
    return {key: sum(row[key] for row in known) for key in known[0]}


def roofline_of(cycles: Cycles, rates: Rates, types: AbstractSet[str]) -> Row:
    """Operations for each byte over the border, and the machine's ridge; empty without DMA.

    The number is None if no byte crosses, the ridge if multiply-accumulates have several types.
    """
    if not rates.channels:
        return {}
    per_byte = 2 * cycles.macs / cycles.bytes if cycles.bytes else None
    (rate,) = [rates.macs_per_cycle.get(each) for each in types] if len(types) == 1 else [None]
    ridge = None if rate is None else float(2 * rate / rates.dma_bytes_per_cycle)
    return {"operations_per_byte": per_byte, "ridge_operations_per_byte": ridge}


def time_lines(time: Mapping[str, Any] | None, target: str | None) -> Iterator[str]:
    """The table of time that npu-compile prints; nothing without numbers of time."""
    if time is None:
        return
    yield ""
    if "not_timed" in time:
        yield f"time on {target}: not counted: {time['not_timed']}"
        return
    total = time["cycles"]
    share = {
        key: f"{100 * time.get(key, 0) / max(1, total):.1f}"
        for key in ("compute_cycles", "exposed_cycles", "memory_cycles")
    }
    rows = [
        (f"time on {target}", "cycles", "%"),
        ("computing", str(time["compute_cycles"]), share["compute_cycles"]),
        ("waiting for transfers", str(time["exposed_cycles"]), share["exposed_cycles"]),
        ("all", str(total), "100.0"),
    ]
    if "memory_cycles" in time:
        slow = str(time["memory_cycles"]), share["memory_cycles"]
        rows.insert(2, ("  of it for slower memories", *slow))
    if time["transfers"]:
        rows.append(("transfers, each alone", str(time["transfer_cycles"]), ""))
    yield from columns(rows, 1)
    if time["frames_per_second"] is not None:
        yield (
            f"{time['frames_per_second']:.6g} frames a second at {time['clock_hz'] / 1e6:g} MHz"
            f"{energy_text(time['energy_pj'])}; docs/time.md says what is counted"
        )


def energy_text(energy: Mapping[str, float] | None) -> str:
    """A text with the energy of one run; empty if it is not known."""
    return "" if energy is None else f", {energy['total'] / 1e6:.4g} uJ each"
