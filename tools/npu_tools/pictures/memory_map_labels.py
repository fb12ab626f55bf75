"""Where the names of buffers stand in the picture of a memory map: geometry, without matplotlib.

A name stands in its buffer where it fits, else above it in free space, where a line leads. Lengths
are in points from the lower left corner of the axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from npu_tools.pictures.memory_map import Box, MemoryMap

SIZES = (8.0, 7.0, 6.0)
"""Font sizes in points that a label may have, the best first."""
PLACES = (0.5, 0.25, 0.75, 0.0, 1.0)
"""Where a label may stand in its buffer, as parts of the free length."""
EM = 0.62
"""Width of a character, as a part of the font size."""
LINE = 1.25
"""Height of a line of text, as a part of the font size."""
LONGEST_NAME = 28
"""Characters of a name that are shown."""
HEAD = 8
"""How many of them are from its start; what tells layers apart is at the end."""
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


def size_text(size: int) -> str:
    """Bytes for a label: exact below 10 KiB, else rounded."""
    for name, unit in UNITS:
        if size >= unit and size >= 10 * 2**10:
            return f"{size / unit:.4g} {name}"
    return f"{size} B"


def shortened(name: str) -> str:
    """A name that can be shown, with its middle left out if it is long."""
    name = printable(name)
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:HEAD]}\u2026{name[HEAD + 1 - LONGEST_NAME :]}"


def printable(name: str) -> str:
    """A name in which every character can be shown, and stand in XML."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def wrapped(name: str) -> str:
    """A name in two lines, broken behind the / or _ that is nearest to its middle."""
    places = [index + 1 for index, letter in enumerate(name[:-1]) if letter in "/_."]
    if not places:
        return name
    cut = min(places, key=lambda place: abs(2 * place - len(name)))
    return f"{name[:cut]}\n{name[cut:]}"
