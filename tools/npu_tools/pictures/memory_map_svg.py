"""Draws a memory map as an SVG picture: SRAM addresses upwards, execution order to the right.

It needs matplotlib, which is an extra (`plot`). The same map always gives the same bytes: ids come
from a fixed salt, no date is written, and the user's settings of matplotlib are not used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from io import StringIO
from itertools import combinations, count, starmap
from math import ceil
from typing import Any, TypeAlias
from warnings import catch_warnings, simplefilter
from xml.sax.saxutils import escape

from npu_tools.pictures.memory_map import Box, MemoryMap
from npu_tools.pictures.memory_map_labels import (
    UNITS,
    Area,
    Scale,
    labels,
    printable,
    shortened,
    size_text,
)

Figure: TypeAlias = Any
Axes: TypeAlias = Any
"""Any for matplotlib's classes, whose stubs do not type keyword arguments."""

INK, PAPER, FAINT = "#22303c", "#ffffff", "#7b8794"
ENDS = {"input": "#7fb3d9", "output": "#8cc79a", "state": "#e6c65c", "scratch": "#c9ced4"}
MAPS = ("#f4c38b", "#c9b3dd", "#f2a9a0", "#9fd3d0", "#e8dc8a", "#e3b7cf")
"""Colours of feature maps, used in turns so that neighbours differ."""
SRAM_RED, BOUND_BLUE, PEAK = "#c0392b", "#2a5d9c", "#f3f0e6"

SETTINGS = {"svg.hashsalt": "npu-dialect", "svg.fonttype": "none", "text.parse_math": False}
"""Ids are always the same, text stays text, and a name with dollar signs is no formula."""
NEAR = 8
"""A label that is fewer points above its buffer than this gets no line."""
LABELLED_STEPS = 60
"""Most names on the x axis."""
MOVES = ("load ", "store ")
"""How the names of transfers begin; the x axis names layers only."""
WIDEST = 18.0
"""Most inches from the first to the last step."""
OFF_SCALE = 2.0
"""If the SRAM is larger than the arena by more than this factor, its line is above the picture."""


def svg(memory: MemoryMap) -> str:
    """The picture as the text of an SVG file."""
    matplotlib: Any = import_module("matplotlib")
    out = StringIO()
    with matplotlib.rc_context(), catch_warnings():
        simplefilter("ignore")  # matplotlib warns of letters that its font lacks; viewers have more
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        figure = draw(memory)
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": "npu-compile"})
    return with_tooltips(out.getvalue(), memory)


def with_tooltips(picture: str, memory: MemoryMap) -> str:
    """The picture with a `<title>` in the group of each buffer and of its name."""

    def titled(group: re.Match[str]) -> str:
        return f"{group[0]}\n<title>{escape(tooltip(memory, memory.boxes[int(group[1])]))}</title>"

    return re.sub(r'<g id="(?:buffer|name)-(\d+)">', titled, picture)


def tooltip(memory: MemoryMap, box: Box) -> str:
    """What a viewer shows of a buffer below the pointer."""
    first, last = (printable(memory.steps[step]) for step in (box.first, box.last))
    lines = [
        " ".join(part for part in (printable(box.name), box.type) if part),
        f"{box.size:,} bytes at {box.place}",
        first if box.first == box.last else f"{first} to {last}",
    ]
    others = [each for each in memory.boxes if each is not box and share_memory(box, each)]
    if others:
        lines.append(f"shares bytes with {', '.join(printable(each.name) for each in others)}")
    return "\n".join(lines)


def draw(memory: MemoryMap) -> Figure:
    """Draw the whole picture as a figure of matplotlib."""
    names = [shortened(name) for name in memory.steps]
    longest = max((len(name) for name in names if not name.startswith(MOVES)), default=0)
    inches = min(WIDEST, max(6.0, 0.5 * len(names)))
    left, right, above, below = 0.9, 1.75, 0.75, 0.25 + 0.072 * longest
    height = 4.6 + inches / 20
    whole = (left + inches + right, below + height + above)
    figure: Figure = import_module("matplotlib.figure").Figure(whole, facecolor=PAPER)
    axes = figure.add_axes(
        (left / whole[0], below / whole[1], inches / whole[0], height / whole[1])
    )
    top = top_of(memory)
    scale = Scale(inches * 72, height * 72, len(names), top)
    axes.set_xlim(0, len(names))
    axes.set_ylim(0, top)
    axes.axvspan(memory.peak, memory.peak + 1, color=PEAK, linewidth=0, zorder=0)
    draw_boxes(axes, memory, scale)
    draw_levels(axes, memory, scale)
    draw_axes(axes, names, top)
    for text, up, look in (
        (title(memory), 34, {"fontsize": 12, "fontweight": "bold", "color": INK}),
        (subtitle(memory), 16, {"fontsize": 9, "color": FAINT}),
    ):
        axes.text(0, 1 + up / scale.height, text, transform=axes.transAxes, **look)
    return figure


def top_of(memory: MemoryMap) -> float:
    """The bytes at the upper end of the picture, which leaves room for labels above the arena."""
    arena = max(memory.arena, 1)
    if memory.sram is None or memory.sram > OFF_SCALE * arena:
        return 1.15 * arena
    return max(1.15 * arena, 1.04 * memory.sram)


def title(memory: MemoryMap) -> str:
    """The title: model and machine."""
    return " on ".join(part for part in (printable(memory.model), memory.machine) if part)


def subtitle(memory: MemoryMap) -> str:
    """The line below the title: the sizes in bytes, and notes on what is drawn."""
    parts = [f"arena {memory.arena:,} bytes", f"bound {memory.bound:,}"]
    if memory.sram is not None:
        parts.append(f"{100 * memory.arena / memory.sram:.3g} % of {memory.sram:,} bytes of SRAM")
    notes = [", ".join(parts), "shaded: the step that needs most"]
    if any(starmap(share_memory, combinations(memory.boxes, 2))):
        notes.append("one buffer over another: it lies where the other is not filled yet")
    return "; ".join(notes)


def share_memory(one: Box, two: Box) -> bool:
    """Whether two buffers that live together share memory."""
    together = one.first <= two.last and two.first <= one.last
    return together and one.offset < two.offset + two.size and two.offset < one.offset + one.size


def draw_boxes(axes: Axes, memory: MemoryMap, scale: Scale) -> None:
    """Draw the buffers and their names."""
    rectangle: Any = import_module("matplotlib.patches").Rectangle
    turns, places = count(), {id(box): place for place, box in enumerate(memory.boxes)}
    for place, box in enumerate(memory.boxes):
        colour = ENDS.get(box.role) or MAPS[next(turns) % len(MAPS)]
        corner, length = (box.first, box.offset), box.last - box.first + 1
        look = {"facecolor": colour, "edgecolor": INK, "linewidth": 0.7, "alpha": 0.88, "zorder": 2}
        axes.add_patch(rectangle(corner, length, box.size, gid=f"buffer-{place}", **look))
    for box, label in labels(memory, scale):
        if label.beside:
            draw_leader(axes, scale, scale.area(box), label.area)
        middle = scale.place(*label.area.middle)
        turn = 90 if label.upright else 0
        look = {"fontsize": label.size, "color": INK, "rotation": turn, "linespacing": 1.1}
        look |= {"ha": "center", "va": "center", "gid": f"name-{places[id(box)]}"}
        axes.text(*middle, label.text, zorder=4, **look)


def draw_leader(axes: Axes, scale: Scale, own: Area, label: Area) -> None:
    """Draw a line from a buffer to its label, unless the label stands right above it."""
    across, up = own.middle
    across = min(max(label.middle[0], own.left + 2), own.left + own.width - 2)
    if label.bottom - (own.bottom + own.height) < NEAR:
        return
    start, end = scale.place(across, up), scale.place(label.middle[0], label.bottom + 1)
    line = zip(start, end, strict=True)
    dot = {"marker": "o", "markersize": 2, "markevery": [0]}
    axes.plot(*line, color=INK, linewidth=0.5, zorder=3, **dot)


def draw_levels(axes: Axes, memory: MemoryMap, scale: Scale) -> None:
    """Draw lines for the arena, the bound and the SRAM, with their names at the right edge."""
    levels = [(memory.arena, INK, "solid", "arena"), (memory.bound, BOUND_BLUE, "dotted", "bound")]
    if memory.arena == memory.bound:
        levels = [(memory.arena, BOUND_BLUE, "solid", "arena = bound")]
    if memory.sram is not None:
        levels.append((memory.sram, SRAM_RED, "dashed", "SRAM"))
    lowest = 0.0
    for size, colour, style, name in sorted(levels, key=lambda level: level[0]):
        there, text = min(size, scale.top), f"{name} {size_text(size)}"
        if there == size:
            axes.axhline(size, color=colour, linestyle=style, linewidth=1.1, zorder=3.5)
        here = there * scale.height / scale.top
        lowest = max(here, lowest)
        axes.annotate(
            text if there == size else f"{text} \u2191",
            (1, there),
            (6, lowest - here),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            color=colour,
            fontsize=8,
            va="center",
        )
        lowest += 11


def draw_axes(axes: Axes, names: Sequence[str], top: float) -> None:
    """Write the names of the steps below the picture and the addresses to its left."""
    named = [index for index, name in enumerate(names) if not name.startswith(MOVES)]
    shown = named[:: max(1, ceil(len(named) / LABELLED_STEPS))]
    axes.set_xticks([index + 0.5 for index in shown], [names[index] for index in shown])
    axes.tick_params(axis="x", rotation=90)
    step = 1
    while top / step > 10:
        step *= 2
    marks = range(0, int(top) + 1, step)
    unit, bytes_each = unit_of(step)
    axes.set_yticks(list(marks), [f"{mark / bytes_each:g}" for mark in marks])
    axes.set_ylabel(f"SRAM address ({unit})", fontsize=9, color=INK)
    axes.grid(axis="y", color="#e4e7eb", linewidth=0.6, zorder=0)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, length=3, labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def unit_of(step: int) -> tuple[str, int]:
    """The name and the bytes of the unit in which multiples of `step` bytes are short numbers."""
    for name, size in UNITS:
        if step * 4 >= size:
            return name, size
    return "bytes", 1
