"""The first thing on the page: whether the network fits, by how much, and what would fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from npu_tools.advice import Advice
from npu_tools.pictures.memory_map import MemoryMap

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Fact:
    """A number of the page's head: what it is, its value and unit, and a remark."""

    title: str
    value: str
    note: str = ""
    layer: int | None = None
    """The layer that it is about, if there is one."""


@dataclass(frozen=True)
class Answer:
    """Whether the network fits. `why`: what the compiler says if not; `advice`: what would fit."""

    fits: bool
    arena: int
    bound: int
    sram: int | None
    why: str
    facts: tuple[Fact, ...]
    advice: Advice

    @property
    def share(self) -> float | None:
        """The arena as percent of the SRAM."""
        return None if not self.sram else 100 * self.arena / self.sram


def answer_of(
    report: Table, memory: MemoryMap | None, rows: Sequence[Table], why: str, advice: Advice
) -> Answer:
    """The answer of a report; `why` is empty if the network fits."""
    sizes = report["memory"]
    return Answer(
        fits=not why,
        arena=report["arena_bytes"],
        bound=sizes["live_bound_bytes"],
        sram=sizes["sram_bytes"],
        why=why,
        facts=tuple(facts(report, memory, rows)),
        advice=advice,
    )


def facts(report: Table, memory: MemoryMap | None, rows: Sequence[Table]) -> Iterator[Fact]:
    """The numbers of the page's head."""
    sizes = report["memory"]
    bound = sizes["live_bound_bytes"]
    over = report["arena_bytes"] - bound
    gap = "no plan can be smaller" if not over else f"{over:,} bytes above the bound"
    naive = sizes["naive_bytes"]
    share = 100 * report["arena_bytes"] / naive if naive else 0
    saved = f"; {share:.3g} % of layer by layer" if 0 < share <= 100 else ""
    yield Fact("Arena", f"{report['arena_bytes']:,} bytes", gap + saved)
    yield Fact("Bound", f"{bound:,} bytes", "the most that lives at once")
    if memory is not None:
        step = memory.steps[memory.peak]
        name = layer_of(step)
        place = next((row["id"] for row in rows if row["name"] == name), None)
        live = sum(box.first <= memory.peak <= box.last for box in memory.boxes)
        yield Fact(
            "Peak", step, f"step {memory.peak + 1} of {len(memory.steps)}, {live} buffers", place
        )
    yield from off_chip_facts(report)
    yield from time_facts(report.get("time") or {})
    if report.get("instructions"):
        yield Fact("Instructions", f"{report['instructions'] / 1e6:,.4g} M", "predicted, a run")
    where = "in DRAM" if report["naive"]["feature_map_reads"] else "in flash"
    yield Fact("Weights", f"{report['weights_bytes']:,} bytes", where)


def layer_of(step: str) -> str:
    """The layer of a step of a memory map, the first one of several."""
    first = step.split(" .. ")[0]
    verb, _, layer = first.partition(" ")
    return layer if verb in ("load", "store") and layer else first


def off_chip_facts(report: Table) -> Iterator[Fact]:
    """The bytes that cross the border of the chip, if there is one."""
    ours, naive = (moved(report[key]) for key in ("off_chip", "naive"))
    if report["naive"]["feature_map_reads"]:
        percent = f"{100 * ours / max(1, naive):.3g} % of layer by layer"
        yield Fact("Off chip", f"{ours:,} bytes", percent)


def time_facts(time: Table) -> Iterator[Fact]:
    """Cycles and the share that waits; why there are none, if they were not counted."""
    if "not_timed" in time:
        yield Fact("Time", "not counted", time["not_timed"])
    elif time:
        waits = 100 * time["exposed_cycles"] / max(1, time["cycles"])
        rate = time["frames_per_second"]
        note = f"the core waits {waits:.3g} %" if time["transfers"] else "computing only"
        speed = "" if rate is None else f"{rate:,.4g} runs a second; "
        yield Fact("Time", f"{time['cycles']:,} cycles", speed + note)
        if time["energy_pj"]:
            yield Fact("Energy", energy_text(time["energy_pj"]["total"]), "a run")


def moved(traffic: Table) -> int:
    """All bytes of a row of traffic."""
    keys = ("weight_bytes", "feature_map_read_bytes", "feature_map_write_bytes")
    return sum(traffic[key] for key in keys)


def energy_text(picojoules: float) -> str:
    """An energy with the unit in which it is a short number."""
    for unit, size in (("J", 1e12), ("mJ", 1e9), ("\u00b5J", 1e6), ("nJ", 1e3)):
        if picojoules >= size:
            return f"{picojoules / size:.4g} {unit}"
    return f"{picojoules:.4g} pJ"
