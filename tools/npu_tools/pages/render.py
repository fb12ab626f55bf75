"""Renders a build as one HTML file that needs nothing else: Jinja2's templates, Plotly's plots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from npu_tools.pages.against import layer_pairs, totals
from npu_tools.pages.answer import answer_of, moved
from npu_tools.pages.c_text import c_data
from npu_tools.pages.graph import Graph
from npu_tools.pages.layer_rows import Roof, layer_rows, roof_of
from npu_tools.pages.layout import HEIGHT, WIDTH, layout_of
from npu_tools.pages.memory import map_data, sharing
from npu_tools.pages.packing import packed, plotly_script
from npu_tools.pages.page import Build
from npu_tools.pages.timeline_bars import timeline_data
from npu_tools.pictures.memory_map_labels import printable

Table = Mapping[str, Any]


def page_of(build: Build, against: Table | None = None, other: str = "") -> str:
    """The text of the page. `against`: the report.json of another build, from the file `other`."""
    environment = Environment(
        loader=PackageLoader("npu_tools.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = environment.filters  # its own type knows only Jinja's filters
    filters |= {"number": number, "shown": printable, "shown_lines": lines, "cut": cut}
    filters["signed"] = signed
    template = environment.get_template("report.html")
    return template.render(**values(build, against, other))


def values(build: Build, against: Table | None, other: str) -> dict[str, Any]:
    """The values of the template."""
    report, stops, memory = build.report, build.stops, build.stops.memory.found
    roof = roof_of(build.machine, report)
    graph = stops.graph.found
    rows = layer_rows(report, graph, sorted(stops.graph.spilled), roof)
    steps = stops.ir.steps
    data = page_data(build, rows, roof)
    data["against"] = None if against is None else against.get("memory_map")
    return {
        "model": report["model"],
        "target": report["target"],
        "planned_as": report["planned_as"],
        "version": version("npu-dialect"),
        "answer": answer_of(report, memory, rows, build.why, build.advice),
        "memory": memory,
        "rows": rows,
        "graph": None if graph is None or not graph.nodes else drawn_graph(graph, rows, build),
        "traffic": traffic_rows(build),
        "modules": report["modules"],
        "zeros": report.get("zero_blocks", ()),
        "zero_maps": build.zero_maps,
        "timed": bool(data["timeline"]),
        "roof": roof,
        "steps": steps,
        "code": bool(data["c"]),
        "against": None
        if against is None
        else {
            "file": other,
            "model": against["model"],
            "target": against.get("target"),
            "totals": totals(report, against),
            "layers": list(layer_pairs(rows, against)),
            "mapped": bool(against.get("memory_map")),
        },
        "data": packed({key: each for key, each in data.items() if key != "c"}),
        "ir": packed({**stops.ir.data(), "c": data["c"]}),
        "plotly": plotly_script(),
    }


def page_data(build: Build, rows: list[dict[str, Any]], roof: Roof | None) -> dict[str, Any]:
    """The data that the page's script draws."""
    memory, times = build.stops.memory.found, build.stops.times
    shown = None
    if memory is not None:
        shown = map_data(memory)
        for box, others in zip(shown["boxes"], sharing(memory.boxes), strict=True):
            box["shares"] = others
        shown["sram"] = build.machine.sram_bytes
    names = [layer["name"] for layer in build.report["layers"]]
    return {
        "model": build.report["model"],
        "layers": rows,
        "map": shown,
        "timeline": timeline_data(times.found, build.machine.clock_hz),
        "roof": None if roof is None else asdict(roof),
        "traffic": traffic_rows(build),
        "zeros": [{"layer": row["layer"], "grid": row["grid"]} for row in build.zero_maps],
        "c": c_data(build.compiled.files, build.compiled.name, names),
    }


def traffic_rows(build: Build) -> list[dict[str, Any]]:
    """The bytes over the border: layer by layer, as paper 001 plans, and as compiled."""
    if not build.report["naive"]["feature_map_reads"]:
        return []
    found = {
        "layer by layer": build.report["naive"],
        "paper 001": build.paper,
        "as compiled": build.report["off_chip"],
    }
    naive = max(1, moved(build.report["naive"]))
    return [
        {"name": name, **row, "all": moved(row), "share": 100 * moved(row) / naive}
        for name, row in found.items()
        if row is not None
    ]


def drawn_graph(graph: Graph, rows: list[dict[str, Any]], build: Build) -> dict[str, Any]:
    """The graph with its layout: nodes, edges and frames to draw."""
    layout = layout_of(graph)
    ids = {row["name"]: row for row in rows}
    nodes = [
        {
            "node": node,
            "short": node.name.removeprefix(f"{node.module}/"),
            "row": ids.get(node.name),
            "x": corner[0],
            "y": corner[1],
            "spilled": node.name in build.stops.graph.spilled,
            "kind": node.op.removeprefix("npu."),
        }
        for node, corner in zip(graph.nodes, layout.corners, strict=True)
    ]
    return {"layout": layout, "nodes": nodes, "wide": WIDTH, "high": HEIGHT}


def number(value: float | None, digits: int = 4) -> str:
    """A number with separators; a dash where there is none."""
    if value is None:
        return "\u2013"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}g}"


def signed(value: float | None) -> str:
    """A change in percent with its sign, or as a factor if it is large."""
    if value is None:
        return ""
    return f"{value:+.1f} %" if value < 1000 else f"\u00d7 {1 + value / 100:,.3g}"


def cut(text: str, most: int) -> str:
    """A name whose middle is left out if it is long."""
    text = printable(text)
    if len(text) <= most:
        return text
    tail = most * 2 // 3
    return f"{text[: most - tail - 1]}\u2026{text[-tail:]}"


def lines(text: str) -> str:
    """A text of several lines, each of them printable."""
    return "\n".join(map(printable, text.splitlines()))
