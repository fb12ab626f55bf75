"""The off-chip traffic of the modules of a report, as Table 1 of paper 001 prints it.

    module        W      naive: maps  all     planned: maps  all   all %  maps %  reads  writes ...
    reduction_a   1125   1798.5       2923.5  300            1425  48.74  16.68   5      5      ...

The columns are those of Table 1. `W` is weights, `maps` are feature maps, `all` is both, in KB of
1024 bytes. `reads` and `writes` count accesses to maps. The percentages are planned over naive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from npu_plans.modules.traffic import Traffic, total
from npu_tools.reports.report import Report
from npu_tools.shared.text import columns

GROUPS = ("", "", "naive", "", "planned", "", "planned/naive", "", "naive", "", "planned", "")
HEADINGS = (
    *("off chip, KB", "weights", "maps", "all", "maps", "all", "all %", "maps %"),
    *("reads", "writes", "reads", "writes"),
)
KILOBYTE = 1024


def rows(modules: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """The cells of a row for each module of a report, then of their total.

    `modules` is the key `modules` of report.json. The first cell is the name.
    """
    naive = [Traffic(**each["naive"]) for each in modules]
    planned = [Traffic(**each["off_chip"]) for each in modules]
    for each, before, after in zip(modules, naive, planned, strict=True):
        yield (str(each["name"]), *cells(before, after))
    yield ("total", *cells(total(naive), total(planned)))


def cells(naive: Traffic, planned: Traffic) -> tuple[str, ...]:
    """The eleven numbers of a row of Table 1."""
    return (
        kilobytes(naive.weight_bytes),
        kilobytes(naive.feature_map_bytes),
        kilobytes(naive.overall_bytes),
        kilobytes(planned.feature_map_bytes),
        kilobytes(planned.overall_bytes),
        percent(planned.overall_bytes, naive.overall_bytes),
        percent(planned.feature_map_bytes, naive.feature_map_bytes),
        str(naive.feature_map_reads),
        str(naive.feature_map_writes),
        str(planned.feature_map_reads),
        str(planned.feature_map_writes),
    )


def kilobytes(size: int) -> str:
    """Bytes as KB of 1024 bytes, with one decimal unless that is zero."""
    return f"{size / KILOBYTE:.1f}".removesuffix(".0")


def percent(part: int, whole: int) -> str:
    """`part` of `whole` in percent with two decimals; "-" if `whole` is zero."""
    return f"{100 * part / whole:.2f}" if whole else "-"


def module_table(report: Report) -> Iterator[str]:
    """The lines of the table of modules, then those of the whole network's traffic.

    The first part is left out if there are no modules, the second if the report counts no
    layer-by-layer reads, as for a machine without DMA.
    """
    if report.modules:
        yield ""
        yield from columns([GROUPS, HEADINGS, *rows(report.modules)], 1)
        second = [str(each["name"]) for each in report.modules if each["policy"] == "II"]
        yield f"output map off chip (policy II): {', '.join(second) or 'none'}"
        left = [str(each["name"]) for each in report.modules if each["policy"] == "none"]
        if left:
            yield f"without a plan, layer by layer: {', '.join(left)}"
    if report.naive.feature_map_reads:
        placed = any(layer.offset is not None for layer in report.layers)
        yield ""
        yield from whole_network(report.naive, report.off_chip, placed=placed)


def whole_network(naive: Traffic, planned: Traffic, *, placed: bool) -> Iterator[str]:
    """The lines that compare the whole network's traffic, planned and layer by layer.

    `placed`: whether a layer has an offset, so that all transfers are known. Else layers outside
    modules have no plan, and a last line says so.
    """
    lines = [("whole network off chip, KB", "layer by layer", "planned", "%")]
    for what, before, after in (
        ("maps", naive.feature_map_bytes, planned.feature_map_bytes),
        ("weights", naive.weight_bytes, planned.weight_bytes),
        ("all", naive.overall_bytes, planned.overall_bytes),
    ):
        share = f"{100 * after / before:.1f}" if before else "-"
        lines.append((what, f"{before / KILOBYTE:.1f}", f"{after / KILOBYTE:.1f}", share))
    yield from columns(lines, 1)
    if not placed:
        yield "layers outside modules count layer by layer in both columns"
