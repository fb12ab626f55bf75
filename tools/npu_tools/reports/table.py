"""The table that npu-compile prints for a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npu_tools.reports.instruction_report import instruction_line
from npu_tools.reports.report import LayerReport, Report
from npu_tools.shared.text import columns

HEADINGS = ("layer", "op", "output", "MACs", "in", "out", "weights", "offset")


def table(report: Report, stack: str) -> str:
    """The text of the table: layers, then memory. `stack` is the text on the worst-case stack."""
    lines = [f"{report.model} for {report.target}", ""]
    if report.planned_as is not None:
        lines[:1] = [f"{lines[0]}, planned as if all tensors were {report.planned_as}: no values"]
    if report.elided_weights:
        lines[:1] = [f"{lines[0]}, whose weights were left out of the text: a plan, no C"]
    lines += columns([HEADINGS, *(layer_row(layer) for layer in report.layers)])
    lines += ["", *columns([("on-chip memory", "bytes", "elements"), *memory_rows(report)], 1)]
    lines += list(state_lines(report))
    if report.time is not None:
        from npu_tools.reports.time_report import time_lines

        lines += time_lines(report.time, report.target)
    lines += [
        "",
        f"weights in {'DRAM' if report.naive.feature_map_reads else 'flash'}: "
        f"{report.weights_bytes} bytes{stored(report)}",
        *(
            f"  of it in {each.memory}: {each.bytes} of {each.available} bytes"
            for each in report.stored_constants
        ),
        f"worst-case stack: {stack}",
    ]
    if report.instructions is not None:
        lines.append(instruction_line(report.instructions))
    if report.microcode:
        from npu_tools.reports.microcode_report import microcode_line

        lines.append(microcode_line(report.microcode))
    return "\n".join(lines)


def state_lines(report: Report) -> Iterator[str]:
    """A table of the states, if there are any."""
    if report.states:
        rows = (
            (state.name, state.next, shape_text(state.shape), number(state.offset))
            for state in report.states
        )
        yield ""
        yield from columns([("state", "next value", "shape", "offset"), *rows])


def shape_text(shape: Sequence[int]) -> str:
    """A shape: `1x6x14x14`."""
    return "x".join(str(extent) for extent in shape)


def stored(report: Report) -> str:
    """A text with the bytes of the C's constants; empty if unknown or equal to the weights."""
    if report.stored_bytes in (None, report.weights_bytes):
        return ""
    return f"; as stored, with scales: {report.stored_bytes}"


def layer_row(layer: LayerReport) -> tuple[str, ...]:
    """The cells of one layer; sizes in bytes."""
    return (
        layer.name,
        layer.op,
        shape_text(layer.shape),
        number(layer.macs),
        number(layer.input_bytes),
        number(layer.output_bytes),
        number(layer.weight_bytes),
        number(layer.offset) if layer.memory is None else f"{layer.memory} {layer.offset}",
    )


def memory_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """The rows of the memory table, in bytes and elements: the plans, the bound, the machine."""
    memory, element = report.memory, report.memory.element_bytes
    for what, size in (
        ("naive: a place for every map", memory.naive_bytes),
        ("fused: a place for every map", memory.fused_bytes),
        ("planned: this arena", memory.arena_bytes),
        ("bound: the most that lives at once", memory.live_bound_bytes),
    ):
        yield what, number(size), number(None if size is None else size // element)
    for arena in report.arenas if len(report.arenas) > 1 else ():
        yield f"  of it in {arena.memory}, which has {arena.available}", number(arena.bytes), ""
    for kept in report.kept_constants:
        what = f"  of it copies of {len(kept.constants)} constants in {kept.memory}"
        yield what, number(kept.bytes), ""
    if report.scratch_bytes:
        yield "scratch in the arena, at once", number(report.scratch_bytes), ""
    if report.states:
        yield "states, kept between runs", number(sum(state.bytes for state in report.states)), ""
    if memory.sram_bytes is not None:
        yield f"available on {report.target}", number(memory.sram_bytes), ""


def number(value: int | None) -> str:
    """A number, or a dash where there is none."""
    return "-" if value is None else str(value)
