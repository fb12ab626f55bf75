"""Tiles of any layer: the part of each operand that a tile of the output needs. No IR in here.

A layer is a set of loops (over images, output channels, rows, ...). Each axis of each operand
follows one of them, element by element or as a sliding window, or it is needed as a whole.

    loops     out (64), in (6), rows (192), columns (256)
    weight    axis 0 follows out, axis 1 follows in, axes 2 and 3 are whole
    input     axis 1 follows in, axis 2 is a window over rows, axis 3 one over columns

A loop is cut into pieces. Neighbouring pieces that need parts of the same sizes and pads form one
segment, which becomes one loop of the loop nest. Transfers and elements are counted in closed form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from npu_dialect.windows import Axis

Pads = tuple[tuple[int, int], ...]
"""Elements of padding (before, behind) for each window of an axis."""


@dataclass(frozen=True)
class Loop:
    """One loop over tiles: its name, and its extent in elements.

    `sums`: whether it accumulates outputs, which are finished only after its last piece. `fixed`:
    it must not be cut. `apart`: its pieces differ in more than their place, because each has
    parameters of its own in the op; so no two pieces can share a segment.
    """

    name: str
    extent: int
    sums: bool = False
    fixed: bool = False
    apart: bool = False


@dataclass(frozen=True)
class Piece:
    """`count` elements of a loop from `first` on.

    `opens`: whether accumulation starts with this piece; `closes`: whether it ends with it. Both
    are true for loops that do not accumulate.
    """

    first: int
    count: int
    opens: bool = True
    closes: bool = True


@dataclass(frozen=True)
class Span:
    """The `size` elements from `low` on that a tile needs of an axis, and the windows' padding."""

    low: int
    size: int
    pads: Pads = ()


@dataclass(frozen=True)
class Along:
    """How an operand's axis of `extent` elements follows the loop named `loop`.

    Without a loop, a tile needs the whole axis. With `windows`, the first one slides over the axis,
    each further one over the outputs of the one before, and the loop runs over the outputs of the
    last one. With `outer`, two loops index the axis: a step of the outer loop is `pitch` elements.
    """

    extent: int
    loop: str = ""
    windows: tuple[Axis, ...] = ()
    outer: str = ""
    pitch: int = 0

    @property
    def loops(self) -> tuple[str, ...]:
        """The loops that index the axis."""
        return tuple(name for name in (self.outer, self.loop) if name)

    def span(self, tile: Mapping[str, Piece]) -> Span:
        """The part of the axis that a tile needs; `tile` gives the piece of each loop."""
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
    """First element, number of elements and padding that `count` windows from `first` on read."""
    start = window.start(first)
    end = window.start(first + count - 1) + window.reach
    low, high = max(0, start), min(window.size, end)
    return low, high - low, (low - start, end - high)


def can_cut(windows: Sequence[Axis]) -> bool:
    """Whether the loop over the outputs of these windows can be cut into pieces of any size.

    It cannot if some output reads padding only, as a tile needs at least one element of the map.
    """
    for position in range(windows[-1].outputs):
        first, count = position, 1
        for window in reversed(windows):
            first, count, _ = needed(window, first, count)
            if count < 1:
                return False
    return True


@dataclass(frozen=True)
class Segment:
    """`runs` neighbouring pieces of one loop with parts of the same sizes; `piece` is the first."""

    piece: Piece
    runs: int

    def at(self, index: int) -> Piece:
        """The piece at a position in the segment."""
        first = self.piece.first + index * self.piece.count
        return Piece(first, self.piece.count, self.piece.opens, self.piece.closes)


@dataclass(frozen=True)
class Moves:
    """How many transfers and elements of one operand are moved."""

    transfers: int = 0
    elements: int = 0


@dataclass(frozen=True)
class Space:
    """The loops of a layer, in their original order, and how the axes of each operand follow them.

    The last operand is the destination.
    """

    loops: tuple[Loop, ...]
    operands: tuple[tuple[Along, ...], ...]

    def loop(self, name: str) -> Loop:
        """A loop by its name."""
        return next(loop for loop in self.loops if loop.name == name)

    @property
    def whole(self) -> dict[str, int]:
        """For each loop the size of a tile that is the whole layer."""
        return {loop.name: loop.extent for loop in self.loops}

    @property
    def smallest(self) -> dict[str, int]:
        """For each loop the size of the smallest tile: 1, or the extent of a fixed loop."""
        return {loop.name: loop.extent if loop.fixed else 1 for loop in self.loops}

    def has_tiles(self, sizes: Mapping[str, int]) -> bool:
        """Whether tiles of these sizes are parts of all operands.

        Where two loops index an axis, a tile of several steps of the outer one has all elements of
        the inner one. Otherwise it would be several parts of the axis.
        """
        return all(
            sizes[axis.outer] == 1 or sizes[axis.loop] == self.loop(axis.loop).extent
            for axes in self.operands
            for axis in axes
            if axis.outer
        )

    def windowed(self, name: str) -> Iterator[Along]:
        """The axes of all operands with windows that slide along a loop."""
        for axes in self.operands:
            yield from (axis for axis in axes if axis.windows and axis.loop == name)


@dataclass(frozen=True)
class Cut:
    """A space cut into tiles.

    `sizes`: the tile size along each loop, in elements. `order`: the loops of more than one step,
    outermost first.
    """

    space: Space
    sizes: tuple[tuple[str, int], ...]
    order: tuple[str, ...]

    @staticmethod
    def of(space: Space, sizes: Mapping[str, int], order: Sequence[str] = ()) -> Cut:
        """Cut a space into tiles of these sizes.

        Loops that are missing in `order` come outermost, in the order of the space.
        """
        moving = [loop.name for loop in space.loops if sizes[loop.name] < loop.extent]
        outer = [name for name in moving if name not in order]
        inner = [name for name in order if name in moving]
        return Cut(space, tuple(sizes.items()), (*outer, *inner))

    def size(self, name: str) -> int:
        """The size of a tile along a loop, in elements."""
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
        """The pieces of a loop, with neighbours of equal needs combined."""
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
        """Whether a loop has a segment of several pieces, and so becomes a loop of the nest."""
        loop, steps = self.space.loop(name), self.steps([name])
        if any(self.space.windowed(name)):
            return any(segment.runs > 1 for segment in self.segments(name))
        if loop.apart:
            return False
        return steps > 3 if loop.sums else loop.extent // self.size(name) > 1

    def needs(self, name: str, piece: Piece) -> tuple[object, ...]:
        """The properties that two pieces of a loop must share to form a segment."""
        spans = [axis.span({name: piece}) for axis in self.space.windowed(name)]
        parts = [(span.size, span.pads) for span in spans]
        place = piece.first if self.space.loop(name).apart else 0
        return place, piece.count, piece.opens, piece.closes, *parts

    def indexing(self, operand: int) -> set[str]:
        """The loops that index an operand."""
        return {name for axis in self.space.operands[operand] for name in axis.loops}

    def level(self, operand: int) -> int:
        """Position in `order` of the innermost loop that indexes an operand; -1 if none does."""
        indexing = self.indexing(operand)
        return max((i for i, name in enumerate(self.order) if name in indexing), default=-1)

    def shape(self, operand: int) -> tuple[int, ...]:
        """The shape of the largest tile of an operand."""
        return self.largest(self.space.operands[operand])

    def largest(self, axes: Sequence[Along]) -> tuple[int, ...]:
        """The shape of the largest tile of an operand with these axes."""
        return tuple(max(self.axis_sizes(axis)) for axis in axes)

    def axis_sizes(self, axis: Along) -> list[int]:
        """Elements that tiles need along one axis.

        With windows: one number for each piece of the loop. Otherwise: the largest number only.
        """
        if not axis.loop:
            return [axis.extent]
        if not axis.windows:
            outer = self.size(axis.outer) if axis.outer else 1
            return [(outer - 1) * axis.pitch + self.size(axis.loop)]
        return [axis.span({axis.loop: piece}).size for piece in self.pieces(axis.loop)]

    def steps(self, names: Sequence[str]) -> int:
        """The number of tiles along some loops, multiplied."""
        return prod(-(-self.space.loop(name).extent // self.size(name)) for name in names)

    def loads(self, operand: int, *, opening: bool = False) -> Moves:
        """What is moved if an operand's tile is brought on chip each time that it changes.

        With `opening`, only the first part of sums needs it.
        """
        level, indexing = self.level(operand), self.indexing(operand)
        others = [name for name in self.order[: level + 1] if name not in indexing]
        again = self.steps(
            [name for name in others if not (opening and self.space.loop(name).sums)]
        )
        transfers = self.steps([name for name in self.order if name in indexing])
        axes = self.space.operands[operand]
        elements = prod(sum(self.axis_sizes(a)) if a.windows else a.extent for a in axes)
        return Moves(transfers * again, elements * again)

    def rereads(self) -> Moves:
        """The output tiles that are read again: sums that an outer loop has left unfinished."""
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
    """Tile sizes in descending order: for each number of tiles the smallest size that gives it."""
    last = 0
    for count in range(1, extent + 1):
        size = -(-extent // count)
        if size != last:
            yield size
        last = size
