"""Places for the names of buffers in the picture of a memory map; it needs no matplotlib.

A name stands in its buffer if it fits. Else it stands in free space above, and a line leads there.
A name for which there is no free space is left out; so is one far from its buffer if there are
many, as lines would cross each other. The picture's tooltips have all names.
Lengths are in points, coordinates start at the lower left corner of the axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from npu_tools.pictures.memory_map import Box, MemoryMap

SIZES = (8.0, 7.0, 6.0)
"""Font sizes of labels in points, the preferred first."""
PLACES = (0.5, 0.25, 0.75, 0.0, 1.0)
"""Places of a label in its buffer, the preferred first: the share of the free length before it."""
EM = 0.62
"""Estimated width of a character, as a multiple of the font size."""
LINE = 1.25
"""Height of a line of text, as a multiple of the font size."""
LONGEST_NAME = 28
"""Most characters of a name that are shown."""
HEAD = 8
"""How many of them are the start of a long name. Most are its end, where layers' names differ."""
FEW = 40
"""If more names than this stand beside their buffers, each must be near."""
REACH = 5
"""How many points a name may be above its buffer then: too few for a line."""
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
        """The middle of the area, in points."""
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
    """Converts steps and bytes into points, and back.

    `width` and `height` are those of the axes in points. `steps` is how many there are, `top` the
    bytes at the upper end.
    """

    width: float
    height: float
    steps: int
    top: float

    def area(self, box: Box) -> Area:
        """The area that a buffer takes in the picture."""
        across, up = self.width / self.steps, self.height / self.top
        length = (box.last - box.first + 1) * across
        return Area(box.first * across, box.offset * up, length, box.size * up)

    def place(self, across: float, up: float) -> tuple[float, float]:
        """A position in points as (step, byte)."""
        return across * self.steps / self.width, up * self.top / self.height


@dataclass(frozen=True)
class Label:
    """A text in the middle of `area`; `size` is that of its font. All lengths are in points."""

    text: str
    area: Area
    size: float
    upright: bool = False
    beside: bool = False
    """Whether the label stands outside its buffer, with a line between them."""


def labels(memory: MemoryMap, scale: Scale) -> Iterator[tuple[Box, Label]]:
    """Labels of buffers: inside if they fit, else in free space above; none overlaps another."""
    areas = [scale.area(box) for box in memory.boxes]
    taken = [area for area in areas if area.height > 1]
    outside: list[tuple[Box, Area]] = []
    for index, (box, area) in enumerate(zip(memory.boxes, areas, strict=True)):
        above = [other for other in areas[index + 1 :] if other.overlaps(area)]
        if (label := inside(box, area, above)) is not None:
            yield box, label
        else:
            outside.append((box, area))
    reach = scale.height if len(outside) <= FEW else REACH
    for box, area in outside:
        label = beside(box, area, scale, taken, reach)
        if label is not None:
            taken.append(label.area)
            yield box, label


def inside(box: Box, area: Area, above: Sequence[Area]) -> Label | None:
    """The label inside a buffer, in the largest font that fits; None if no font fits.

    `above` are the areas of buffers that share memory with this one and are drawn over it.
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
    """A place for a label inside `area` that overlaps none of `above`; None if there is none.

    Places near the middle are tried first.
    """
    across, up = area.width - width, area.height - height
    if across < 0 or up < 0:
        return None
    for x, y in product(PLACES, PLACES):
        place = Area(area.left + x * across, area.bottom + y * up, width, height)
        if not any(place.overlaps(other) for other in above):
            return place
    return None


def beside(box: Box, area: Area, scale: Scale, taken: Sequence[Area], reach: float) -> Label | None:
    """The label in the nearest free space at most `reach` points above a buffer; None without.

    `taken` are the areas of buffers and of labels that are placed already.
    """
    text, size = f"{shortened(box.name)} {size_text(box.size)}", SIZES[1]
    width, height = extent(text, size)
    bottom = area.bottom + area.height + 3
    first = min(max(0.0, area.left), scale.width - width)
    middle = area.left + (area.width - width) / 2
    lefts = [min(max(0.0, left), scale.width - width) for left in (middle, first)]
    for up in range(0, int(reach), 4):
        for left in lefts:
            place = Area(left, bottom + up, width, height)
            free = place.bottom + height <= scale.height
            if free and not any(place.overlaps(other) for other in taken):
                return Label(text, place, size, beside=True)
    return None


def extent(text: str, size: float) -> tuple[float, float]:
    """The estimated width and height of a text in points."""
    lines = text.split("\n")
    return max(map(len, lines)) * EM * size, len(lines) * LINE * size


def size_text(size: int) -> str:
    """A number of bytes as text: exact below 10 KiB, else rounded to four digits with a unit."""
    for name, unit in UNITS:
        if size >= unit and size >= 10 * 2**10:
            return f"{size / unit:.4g} {name}"
    return f"{size} B"


def shortened(name: str) -> str:
    """A printable name; the middle of a long one is replaced by an ellipsis."""
    name = printable(name)
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:HEAD]}\u2026{name[HEAD + 1 - LONGEST_NAME :]}"


def printable(name: str) -> str:
    """A name with `?` for each character that cannot be shown or cannot stand in XML."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def wrapped(name: str) -> str:
    """A name in two lines, broken behind the `/`, `_` or `.` that is nearest to its middle."""
    places = [index + 1 for index, letter in enumerate(name[:-1]) if letter in "/_."]
    if not places:
        return name
    cut = min(places, key=lambda place: abs(2 * place - len(name)))
    return f"{name[:cut]}\n{name[cut:]}"
