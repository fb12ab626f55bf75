"""A row for each layer: what report.json, the time model and the graph know of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from npu_dialect.machine import Machine
from npu_tools.pages.graph import Graph

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Roof:
    """The roofline of a machine: operations in a cycle, and bytes in a cycle.

    `where` says which bytes: those over the border of the chip, or those on chip without DMA.
    """

    peak: float
    bandwidth: float
    where: str
    key: str


def roof_of(machine: Machine, report: Table) -> Roof | None:
    """The roofline of a machine for the element type of a report; None if a number is missing."""
    rates = dict(machine.macs_per_cycle)
    width = report["memory"]["element_bytes"]
    likely = [report.get("planned_as"), {4: "f32", 2: "i16", 1: "i8"}.get(width)]
    rate = next((rates[each] for each in likely if each in rates), None)
    if machine.dma_channels:
        bandwidth, where, key = machine.dma_bytes_per_cycle, "off chip", "transferred_bytes"
    else:
        bandwidth, where, key = machine.sram_bytes_per_cycle, "on chip", "on_chip_bytes"
    if not rate or not bandwidth:
        return None
    return Roof(float(2 * rate), float(bandwidth), where, key)


def layer_rows(
    report: Table, graph: Graph | None, spilled: Sequence[str], roof: Roof | None
) -> list[dict[str, Any]]:
    """The rows of all layers in execution order; parts of a layer that run apart are one row."""
    rows: dict[str, dict[str, Any]] = {}
    for layer in report["layers"]:
        row = rows.get(layer["name"])
        if row is None:
            rows[layer["name"]] = {**layer, "id": len(rows), "kind": kind_of(layer["op"])}
        else:
            row["macs"] += layer["macs"]
    time: Table = report.get("time") or {}
    times = {each["name"]: each for each in time.get("layers", ())}
    nodes = {} if graph is None else {node.name: node for node in graph.nodes}
    for name, row in rows.items():
        node = nodes.get(name)
        row.setdefault("instructions", None)
        row["module"] = None if node is None else node.module
        row["rows"] = None if node is None else node.rows
        if node is not None:
            row["shape"] = node.shape
        row["spilled"] = name in spilled
        row.update(timed(row, times.get(name), roof))
    return list(rows.values())


def timed(row: Table, time: Table | None, roof: Roof | None) -> Iterator[tuple[str, Any]]:
    """Cycles, the share that waits, bytes over the border, and the place below the roofline."""
    yield "cycles", None if time is None else time["cycles"]
    yield "waits", None if time is None else time["exposed_cycles"]
    yield "moved", None if time is None else time["transferred_bytes"]
    yield "energy", None if time is None or not time["energy_pj"] else time["energy_pj"]["total"]
    if time is None or roof is None or not row["macs"] or not time["cycles"]:
        return
    moved = time[roof.key]
    yield "per_byte", 2 * row["macs"] / moved if moved else None
    yield "per_cycle", 2 * row["macs"] / time["cycles"]


def kind_of(op: str) -> str:
    """A short name for an op: `conv2d` for `npu.conv2d`."""
    return op.removeprefix("npu.").replace("_", " ")
