"""Tiles of any layer: which part of each operand a part of the output needs. No IR in here.

A layer is a set of loops (images, output channels, rows, ...), and each axis of each operand
follows one of them: element by element, or as a sliding window, or it is needed as a whole.

    loops     out (64), in (6), rows (192), columns (256)
    weight    axis 0 follows out, axis 1 follows in, axes 2 and 3 are whole
    input     axis 1 follows in, axis 2 is a window over rows, axis 3 one over columns

Cutting a loop gives pieces; neighbours that need parts of the same sizes and pads are one segment,
which is one loop of the nest. Everything that moves is counted in closed form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from npu_dialect.windows import Axis

Pads = tuple[tuple[int, int], ...]
"""Elements of padding before and behind, for each of the windows of an axis."""


@dataclass(frozen=True)
class Loop:
    """One loop over tiles: its name, its extent in elements, whether it adds up.

    The sums of a loop that adds up are finished behind its last piece. A `fixed` loop has one
    piece. The pieces of a loop `apart` differ in more than their place (each has numbers of its
    own in the op), so no two of them are one loop.
    """

    name: str
    extent: int
    sums: bool = False
    fixed: bool = False
    apart: bool = False


@dataclass(frozen=True)
class Piece:
    """The elements `first` to `first + count` of a loop; whether it is the first or last piece."""

    first: int
    count: int
    opens: bool = True
    closes: bool = True


@dataclass(frozen=True)
class Span:
    """The elements of an operand's axis that a tile needs, and the padding of its windows."""

    low: int
    size: int
    pads: Pads = ()


@dataclass(frozen=True)
class Along:
    """How an axis of `extent` elements follows a loop; without one, all of it is needed.

    With windows, the axis is what the first of them slides over, and the loop counts the outputs of
    the last one. With `outer`, a step of that loop is `pitch` elements: the axis is split in two.
    """

    extent: int
    loop: str = ""
    windows: tuple[Axis, ...] = ()
    outer: str = ""
    pitch: int = 0

    @property
    def loops(self) -> tuple[str, ...]:
        """The loops that change what is needed."""
        return tuple(name for name in (self.outer, self.loop) if name)

    def span(self, tile: Mapping[str, Piece]) -> Span:
        """What a tile needs."""
        if not self.loop:
            return Span(0, self.extent)
        inner = tile[self.loop]
        low, size, pads = inner.first, inner.count, ()
        for window in reversed(self.windows):
            low, size, pad = needed(window, low, size)
            pads = (pad, *pads)
        if self.outer:
            outer = tile[self.outer]
            low += outer.first * self.pitch
            size += (outer.count - 1) * self.pitch
        return Span(low, size, pads)


def needed(window: Axis, first: int, count: int) -> tuple[int, int, tuple[int, int]]:
    """First element, number of elements and padding that `count` windows from `first` on need."""
    start = window.start(first)
    end = window.start(first + count - 1) + window.reach
    low, high = max(0, start), min(window.size, end)
    return low, high - low, (low - start, end - high)


def can_cut(windows: Sequence[Axis]) -> bool:
    """Whether every tile of one output has an element of the map: padding alone is no tile."""
    for position in range(windows[-1].outputs):
        first, count = position, 1
        for window in reversed(windows):
            first, count, _ = needed(window, first, count)
            if count < 1:
                return False
    return True


@dataclass(frozen=True)
class Segment:
    """Neighbouring pieces of one loop that need parts of the same sizes: the first, how many."""

    piece: Piece
    runs: int

    def at(self, index: int) -> Piece:
        """One of the pieces."""
        first = self.piece.first + index * self.piece.count
        return Piece(first, self.piece.count, self.piece.opens, self.piece.closes)


@dataclass(frozen=True)
class Moves:
    """Transfers and elements of one operand."""

    transfers: int = 0
    elements: int = 0


@dataclass(frozen=True)
class Space:
    """The loops of a layer, in their order of old, and how each operand's axes follow them.

    The destination is the last operand.
    """

    loops: tuple[Loop, ...]
    operands: tuple[tuple[Along, ...], ...]

    def loop(self, name: str) -> Loop:
        """A loop by its name."""
        return next(loop for loop in self.loops if loop.name == name)

    @property
    def whole(self) -> dict[str, int]:
        """The sizes of a tile that is the whole layer."""
        return {loop.name: loop.extent for loop in self.loops}

    @property
    def smallest(self) -> dict[str, int]:
        """The sizes of the smallest tile."""
        return {loop.name: loop.extent if loop.fixed else 1 for loop in self.loops}

    def windowed(self, name: str) -> Iterator[Along]:
        """The axes that slide windows along a loop."""
        for axes in self.operands:
            yield from (axis for axis in axes if axis.windows and axis.loop == name)


@dataclass(frozen=True)
class Cut:
    """A space cut into tiles: the size along each loop, and the loops' order, outermost first.

    `order` has all loops that take more than one step.
    """

    space: Space
    sizes: tuple[tuple[str, int], ...]
    order: tuple[str, ...]

    @staticmethod
    def of(space: Space, sizes: Mapping[str, int], order: Sequence[str] = ()) -> Cut:
        """Loops that `order` does not have stand outermost, in the space's own order."""
        moving = [loop.name for loop in space.loops if sizes[loop.name] < loop.extent]
        outer = [name for name in moving if name not in order]
        inner = [name for name in order if name in moving]
        return Cut(space, tuple(sizes.items()), (*outer, *inner))

    def size(self, name: str) -> int:
        """The size of a tile along a loop."""
        return dict(self.sizes)[name]

    def pieces(self, name: str) -> list[Piece]:
        """The pieces of a loop."""
        loop, size = self.space.loop(name), self.size(name)
        return [
            Piece(
                first,
                min(size, loop.extent - first),
                first == 0 or not loop.sums,
                first + size >= loop.extent or not loop.sums,
            )
            for first in range(0, loop.extent, size)
        ]

    def segments(self, name: str) -> list[Segment]:
        """The pieces of a loop, neighbours of equal needs taken together."""
        found: list[Segment] = []
        pieces = self.pieces(name)
        needs = [self.needs(name, piece) for piece in pieces]
        for index, piece in enumerate(pieces):
            if index and needs[index] == needs[index - 1]:
                found[-1] = Segment(found[-1].piece, found[-1].runs + 1)
            else:
                found.append(Segment(piece, 1))
        return found

    def repeats(self, name: str) -> bool:
        """Whether a loop has a segment of several pieces."""
        loop, steps = self.space.loop(name), self.steps([name])
        if any(self.space.windowed(name)):
            return any(segment.runs > 1 for segment in self.segments(name))
        if loop.apart:
            return False
        return steps > 3 if loop.sums else loop.extent // self.size(name) > 1

    def needs(self, name: str, piece: Piece) -> tuple[object, ...]:
        """What makes two pieces of a loop differ, but for their place."""
        spans = [axis.span({name: piece}) for axis in self.space.windowed(name)]
        parts = [(span.size, span.pads) for span in spans]
        place = piece.first if self.space.loop(name).apart else 0
        return place, piece.count, piece.opens, piece.closes, *parts

    def indexing(self, operand: int) -> set[str]:
        """The loops that change an operand's tile."""
        return {name for axis in self.space.operands[operand] for name in axis.loops}

    def level(self, operand: int) -> int:
        """Position in the order of the innermost loop that changes an operand's tile, or -1."""
        indexing = self.indexing(operand)
        return max((i for i, name in enumerate(self.order) if name in indexing), default=-1)

    def shape(self, operand: int) -> tuple[int, ...]:
        """The shape of the largest tile of an operand."""
        return self.largest(self.space.operands[operand])

    def largest(self, axes: Sequence[Along]) -> tuple[int, ...]:
        """The shape of the largest tile of what follows the loops like this."""
        return tuple(max(self.axis_sizes(axis)) for axis in axes)

    def axis_sizes(self, axis: Along) -> list[int]:
        """What is needed along one axis: for each piece of its loop, or at most."""
        if not axis.loop:
            return [axis.extent]
        if not axis.windows:
            outer = self.size(axis.outer) if axis.outer else 1
            return [(outer - 1) * axis.pitch + self.size(axis.loop)]
        return [axis.span({axis.loop: piece}).size for piece in self.pieces(axis.loop)]

    def steps(self, names: Sequence[str]) -> int:
        """Tiles along some loops."""
        return prod(-(-self.space.loop(name).extent // self.size(name)) for name in names)

    def loads(self, operand: int) -> Moves:
        """What moves if an operand's tile is brought on chip each time that it changes."""
        level, indexing = self.level(operand), self.indexing(operand)
        again = self.steps([name for name in self.order[: level + 1] if name not in indexing])
        transfers = self.steps([name for name in self.order if name in indexing])
        axes = self.space.operands[operand]
        elements = prod(sum(self.axis_sizes(a)) if a.windows else a.extent for a in axes)
        return Moves(transfers * again, elements * again)

    def rereads(self) -> Moves:
        """What is read of the output: sums that an outer loop has left unfinished."""
        level = self.level(len(self.space.operands) - 1)
        outer = [name for name in self.order[: level + 1] if self.space.loop(name).sums]
        if not outer:
            return Moves()
        passes = self.steps(outer)
        written = self.loads(len(self.space.operands) - 1)
        return Moves(
            written.transfers // passes * (passes - 1), written.elements // passes * (passes - 1)
        )


def even_sizes(extent: int) -> Iterator[int]:
    """The smallest size for each number of tiles, large ones first."""
    last = 0
    for count in range(1, extent + 1):
        size = -(-extent // count)
        if size != last:
            yield size
        last = size
