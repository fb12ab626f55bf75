"""A memory map as a picture: SRAM address upwards, execution order to the right.

Drawn with matplotlib, which is an extra (`plot`). The same map gives the same bytes: ids come from
a fixed salt, there is no date, and no setting of the user's matplotlib counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from itertools import count, product
from math import ceil
from typing import Any, TypeAlias

from npu_tools.memory_map import Box, MemoryMap

Figure: TypeAlias = Any
Axes: TypeAlias = Any
"""matplotlib's: its stubs leave every keyword argument unknown, so nothing would be checked."""

INK, PAPER, FAINT = "#22303c", "#ffffff", "#7b8794"
ENDS = {"input": "#7fb3d9", "output": "#8cc79a", "scratch": "#c9ced4"}
MAPS = ("#f4c38b", "#c9b3dd", "#f2a9a0", "#9fd3d0", "#e8dc8a", "#e3b7cf")
"""Colours of the maps in turns, so that neighbours differ."""
SRAM_RED, BOUND_BLUE, PEAK = "#c0392b", "#2a5d9c", "#f3f0e6"

SIZES = (8.0, 7.0, 6.0)
"""Font sizes in points that a label may have, the best first."""
EM = 0.62
"""Width of a character, as a part of the font size."""
NEAR = 8
"""Points between a buffer and a label that needs no line to it."""
LINE = 1.25
"""Height of a line of text, as a part of the font size."""
LABELLED_STEPS = 60
"""Most names on the x axis."""
LONGEST_NAME = 28
"""Characters of a name that are shown."""
HEAD = 8
"""How many of them are from its start; what tells layers apart is at the end."""
WIDEST = 44.0
"""Most inches from the first to the last step."""
OFF_SCALE = 2.0
"""SRAM of more arenas than this lies above the picture."""
PLACES = (0.5, 0.25, 0.75, 0.0, 1.0)
"""Where a label may stand in its buffer, as parts of the free length."""
UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


@dataclass(frozen=True)
class Area:
    """A rectangle in points, from the lower left corner of the axes."""

    left: float
    bottom: float
    width: float
    height: float

    @property
    def middle(self) -> tuple[float, float]:
        """The middle."""
        return self.left + self.width / 2, self.bottom + self.height / 2

    def overlaps(self, other: Area) -> bool:
        """Whether two areas share more than an edge."""
        return (
            self.left < other.left + other.width
            and other.left < self.left + self.width
            and self.bottom < other.bottom + other.height
            and other.bottom < self.bottom + self.height
        )


@dataclass(frozen=True)
class Scale:
    """From steps and bytes to points; `width` and `height` are those of the axes."""

    width: float
    height: float
    steps: int
    top: float

    def area(self, box: Box) -> Area:
        """Where a buffer lies."""
        across, up = self.width / self.steps, self.height / self.top
        length = (box.last - box.first + 1) * across
        return Area(box.first * across, box.offset * up, length, box.size * up)

    def place(self, across: float, up: float) -> tuple[float, float]:
        """Points as (step, byte)."""
        return across * self.steps / self.width, up * self.top / self.height


@dataclass(frozen=True)
class Label:
    """Text with its middle at a place, in points; `area` is what it covers."""

    text: str
    area: Area
    size: float
    upright: bool = False
    beside: bool = False
    """Whether it stands outside its buffer, and a line leads there."""


def svg(memory: MemoryMap) -> str:
    """The picture as the text of an SVG file."""
    matplotlib: Any = import_module("matplotlib")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.hashsalt": "npu-dialect", "svg.fonttype": "none"})
        out = StringIO()
        figure = draw(memory)
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": "npu-compile"})
    return out.getvalue()


def draw(memory: MemoryMap) -> Figure:
    """The picture."""
    names = [shortened(name) for name in memory.steps]
    inches = min(WIDEST, max(6.0, 0.5 * len(names)))
    below, above, left, right, height = (
        0.25 + 0.072 * max(map(len, names)),
        0.75,
        0.9,
        1.75,
        4.6 + inches / 20,
    )
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
    """Bytes at the upper end of the picture: there is room above the arena for labels."""
    arena = max(memory.arena, 1)
    if memory.sram is None or memory.sram > OFF_SCALE * arena:
        return 1.15 * arena
    return max(1.15 * arena, 1.04 * memory.sram)


def title(memory: MemoryMap) -> str:
    """What is shown."""
    return " on ".join(part for part in (memory.model, memory.machine) if part) or "SRAM"


def subtitle(memory: MemoryMap) -> str:
    """The figures in full."""
    parts = [f"arena {memory.arena:,} bytes", f"bound {memory.bound:,}"]
    if memory.sram is not None:
        parts.append(f"{100 * memory.arena / memory.sram:.3g} % of {memory.sram:,} bytes of SRAM")
    return f"{', '.join(parts)}; shaded: the step that needs most"


def draw_boxes(axes: Axes, memory: MemoryMap, scale: Scale) -> None:
    """The buffers, and their names."""
    rectangle: Any = import_module("matplotlib.patches").Rectangle
    turns = count()
    for box in memory.boxes:
        colour = ENDS.get(box.role) or MAPS[next(turns) % len(MAPS)]
        corner, length = (box.first, box.offset), box.last - box.first + 1
        look = {"facecolor": colour, "edgecolor": INK, "linewidth": 0.7, "alpha": 0.88, "zorder": 2}
        axes.add_patch(rectangle(corner, length, box.size, **look))
    for box, label in labels(memory, scale):
        if label.beside:
            draw_leader(axes, scale, scale.area(box), label.area)
        middle = scale.place(*label.area.middle)
        turn = 90 if label.upright else 0
        look = {"fontsize": label.size, "color": INK, "rotation": turn, "linespacing": 1.1}
        axes.text(*middle, label.text, ha="center", va="center", zorder=4, **look)


def draw_leader(axes: Axes, scale: Scale, own: Area, label: Area) -> None:
    """A line from a buffer to its label, unless that stands right above it."""
    across, up = own.middle
    across = min(max(label.middle[0], own.left + 2), own.left + own.width - 2)
    if label.bottom - (own.bottom + own.height) < NEAR:
        return
    start, end = scale.place(across, up), scale.place(label.middle[0], label.bottom + 1)
    line = zip(start, end, strict=True)
    dot = {"marker": "o", "markersize": 2, "markevery": [0]}
    axes.plot(*line, color=INK, linewidth=0.5, zorder=3, **dot)


def labels(memory: MemoryMap, scale: Scale) -> Iterator[tuple[Box, Label]]:
    """A label for each buffer: inside where it fits, else in free space above it."""
    areas = [scale.area(box) for box in memory.boxes]
    taken = [area for area in areas if area.height > 1]
    outside: list[tuple[Box, Area]] = []
    for index, (box, area) in enumerate(zip(memory.boxes, areas, strict=True)):
        above = [other for other in areas[index + 1 :] if other.overlaps(area)]
        if (label := inside(box, area, above)) is not None:
            yield box, label
        else:
            outside.append((box, area))
    for box, area in outside:
        label = beside(box, area, scale, taken)
        taken.append(label.area)
        yield box, label


def inside(box: Box, area: Area, above: Sequence[Area]) -> Label | None:
    """The label within a buffer, in the largest font that fits; None if none does.

    `above` are the buffers that are drawn over this one, as they share memory with it.
    """
    name, size_line = shortened(box.name), size_text(box.size)
    full = (f"{name}\n{size_line}", f"{name} {size_line}", f"{wrapped(name)}\n{size_line}")
    for texts in (full, (name, wrapped(name))):
        for size, text in product(SIZES, texts):
            width, height = extent(text, size)
            for upright in (False, True):
                wide, high = (height, width) if upright else (width, height)
                if (place := free_place(area, wide + 2, high + 2, above)) is not None:
                    return Label(text, place, size, upright)
    return None


def free_place(area: Area, width: float, height: float, above: Sequence[Area]) -> Area | None:
    """A place of a size within an area and beside others, as near to its middle as there is."""
    across, up = area.width - width, area.height - height
    if across < 0 or up < 0:
        return None
    for x, y in product(PLACES, PLACES):
        place = Area(area.left + x * across, area.bottom + y * up, width, height)
        if not any(place.overlaps(other) for other in above):
            return place
    return None


def beside(box: Box, area: Area, scale: Scale, taken: Sequence[Area]) -> Label:
    """The label in the nearest free space above a buffer; in its place if there is none."""
    text, size = f"{shortened(box.name)} {size_text(box.size)}", SIZES[1]
    width, height = extent(text, size)
    bottom = area.bottom + area.height + 3
    first = min(max(0.0, area.left), scale.width - width)
    middle = area.left + (area.width - width) / 2
    lefts = [min(max(0.0, left), scale.width - width) for left in (middle, first)]
    for up in range(0, int(scale.height), 4):
        for left in lefts:
            place = Area(left, bottom + up, width, height)
            free = place.bottom + height <= scale.height
            if free and not any(place.overlaps(other) for other in taken):
                return Label(text, place, size, beside=True)
    return Label(text, Area(lefts[0], area.bottom, width, height), SIZES[-1], beside=True)


def extent(text: str, size: float) -> tuple[float, float]:
    """Width and height of a text in points, estimated."""
    lines = text.split("\n")
    return max(map(len, lines)) * EM * size, len(lines) * LINE * size


def draw_levels(axes: Axes, memory: MemoryMap, scale: Scale) -> None:
    """Lines for the arena, the live-set bound and the SRAM, named at the right edge."""
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
    """The names of the steps below, addresses to the left."""
    every = ceil(len(names) / LABELLED_STEPS)
    shown = range(0, len(names), every)
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
    """The unit in which multiples of a number of bytes are short numbers."""
    for name, size in UNITS:
        if step * 4 >= size:
            return name, size
    return "bytes", 1


def size_text(size: int) -> str:
    """Bytes for a label: exact below 10 KiB, else rounded."""
    for name, unit in UNITS:
        if size >= unit and size >= 10 * 2**10:
            return f"{size / unit:.4g} {name}"
    return f"{size} B"


def shortened(name: str) -> str:
    """A name with its middle left out if it is long."""
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:HEAD]}\u2026{name[HEAD + 1 - LONGEST_NAME :]}"


def wrapped(name: str) -> str:
    """A name in two lines, broken behind the / or _ that is nearest to its middle."""
    places = [index + 1 for index, letter in enumerate(name[:-1]) if letter in "/_."]
    if not places:
        return name
    cut = min(places, key=lambda place: abs(2 * place - len(name)))
    return f"{name[:cut]}\n{name[cut:]}"
