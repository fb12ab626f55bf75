"""Plans a depthwise convolution over a copy of one channel with its padding, the *plane*. No IR.

The bytes of a channel lie apart if channels are last. So its rows are copied to a working memory,
where they lie side by side, and the zero point is around them. There any 16 bytes within 256 are
one load. So windows need no care at borders, and each byte of the map is gathered once.

    plane of a 3x4 map         . . . . .      five bytes from row to row: the padding behind a row
    with padding of one        . x x x x      is that in front of the next one
                               . x x x x
                               . x x x x
                               . . . . .

Neighbouring outputs, a *tile* of up to two by two, share the bytes of their windows. These are one
or more vectors, column by column. An output is a sum of products of vectors with its own weights,
which are zero for what is not in its window.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from npu_dialect.windows import Axis
from npu_plans.kernels.gathers import (
    BYTES,
    EIGHT,
    FIRST,
    INSTRUCTION,
    REQUANTISED,
    STORED,
    Block,
    Place,
)

REACH = 256
"""The distance of bytes that are loaded together is below this."""
MOST_KEPT = 5
"""The most vectors of weights that stay in registers."""
LOADED = 2
"""Instructions of a vector of the plane: a load, and one for the address."""
COPIED = (2, 4)
"""Rows and columns that are copied together, if the map has as many."""
COPYING = 6
"""Instructions that copy eight elements: a load, a store, two for addresses, and the loop."""
MOST_FLAT = 2 * EIGHT
"""The most elements of a map that is copied in other parts."""
LEAST_OUTPUTS = 9
"""The fewest outputs of a channel that are worth what it takes in front of them."""
LEAST_TAPS = 9
"""The fewest taps that are worth it."""


@dataclass(frozen=True)
class Tile:
    """The outputs that share vectors: `down` rows of `across`. The first fields are the axes."""

    rows: Axis
    columns: Axis
    down: int
    across: int

    @property
    def height(self) -> int:
        """The rows of the plane in a vector."""
        return self.rows.kernel + (self.down - 1) * self.rows.stride

    @property
    def width(self) -> int:
        """The columns of the plane in a vector."""
        return BYTES // self.height

    @property
    def vectors(self) -> int:
        """The vectors that hold the windows."""
        reach = self.columns.kernel + (self.across - 1) * self.columns.stride
        return -(-reach // self.width)

    @property
    def outputs(self) -> list[Place]:
        """The rows and columns of the outputs."""
        return [(row, column) for row in range(self.down) for column in range(self.across)]

    def read(self, column: int) -> list[int]:
        """The vectors that hold taps of the outputs in a column."""
        first = column * self.columns.stride
        last = first + self.columns.kernel - 1
        return list(range(first // self.width, last // self.width + 1))

    @cached_property
    def weights(self) -> list[tuple[Place, int]]:
        """The output and the vector of each vector of weights, in the order of memory."""
        return [(place, each) for place in self.outputs for each in self.read(place[1])]

    @property
    def instructions(self) -> int:
        """The instructions of a tile until its sums are there."""
        loads = len(self.weights) if len(self.weights) > MOST_KEPT else 0
        return LOADED * self.vectors + len(self.weights) + loads

    def taps(self, place: Place, vector: int) -> list[Place | None]:
        """The kernel row and column by which an output multiplies each byte of a vector."""
        found: list[Place | None] = []
        for byte in range(BYTES):
            column, row = divmod(byte, self.height)
            row -= place[0] * self.rows.stride
            tap = vector * self.width + column - place[1] * self.columns.stride
            inside = 0 <= row < self.rows.kernel and 0 <= tap < self.columns.kernel
            found.append((row, tap) if inside and column < self.width else None)
        return found


@dataclass(frozen=True)
class PlanePlan:
    """The plane of a layer, and what is computed together; `rows` and `columns` are its axes."""

    rows: Axis
    columns: Axis

    @staticmethod
    def fits(rows: Axis, columns: Axis) -> bool:
        """Whether vectors hold the windows, which have taps on the map."""
        for axis in (rows, columns):
            apart = axis.dilation > 1 and axis.kernel > 1
            if apart or min(axis.size, axis.outputs) < 1:
                return False
            if max(axis.before, axis.after) >= axis.kernel or axis.kernel > BYTES:
                return False
        plan = PlanePlan(rows, columns)
        return plan.can_copy and plan.reach(plan.tile) <= REACH

    @property
    def pays(self) -> bool:
        """Whether there are enough outputs and taps."""
        outputs = self.rows.outputs * self.columns.outputs
        taps = min(self.rows.kernel, self.columns.kernel) ** 2
        return outputs >= LEAST_OUTPUTS and taps >= LEAST_TAPS

    # -- the plane -------------------------------------------------------------------------------

    @property
    def pitch(self) -> int:
        """The bytes from row to row. What is behind a row is in front of the next one, too."""
        axis = self.columns
        behind = (axis.outputs - 1) * axis.stride + axis.kernel - axis.before - axis.size
        return axis.size + max(axis.before, behind)

    def at(self, row: int, column: int) -> int:
        """The byte of an element of the map."""
        return (row + self.rows.before) * self.pitch + column + self.columns.before

    def reach(self, tile: Tile) -> int:
        """The bytes from the first one of a vector to the last one."""
        return (tile.height - 1) * self.pitch + tile.width

    @property
    def bytes(self) -> int:
        """The bytes of the plane: of all elements, and of all that vectors hold."""
        tile = self.tile
        row, column = (
            (axis.outputs - 1) // step * step * axis.stride
            for axis, step in ((self.rows, tile.down), (self.columns, tile.across))
        )
        last = row * self.pitch + column + (tile.vectors - 1) * tile.width
        end = max(last + self.reach(tile), self.at(self.rows.size - 1, self.columns.size - 1) + 1)
        return -(-end // BYTES) * BYTES

    # -- copies ----------------------------------------------------------------------------------

    @property
    def is_flat(self) -> bool:
        """Whether the map has too few rows or columns to be copied in parts of one form."""
        return self.rows.size < COPIED[0] or self.columns.size < COPIED[1]

    @property
    def can_copy(self) -> bool:
        """Whether the map can be copied."""
        return not self.is_flat or self.rows.size * self.columns.size <= MOST_FLAT

    def parts(self) -> list[list[Place]]:
        """The elements of each part of a flat map; the last one of all may be copied again."""
        rows, columns = range(self.rows.size), range(self.columns.size)
        places = [(row, column) for row in rows for column in columns]
        starts = range(0, len(places), EIGHT)
        found = [places[start : start + EIGHT] for start in starts]
        return [part + part[-1:] * (EIGHT - len(part)) for part in found]

    # -- outputs ---------------------------------------------------------------------------------

    @cached_property
    def tile(self) -> Tile:
        """The outputs that share vectors: those with the fewest instructions for each."""
        sizes = [(1, 1), (1, 2), (2, 1), (2, 2)]
        tiles = [Tile(self.rows, self.columns, *size) for size in sizes]
        fitting = [
            tile
            for tile in tiles
            if tile.height <= BYTES
            and self.reach(tile) <= REACH
            and tile.down <= self.rows.outputs
            and tile.across <= self.columns.outputs
        ]
        return min(fitting or tiles[:1], key=lambda t: t.instructions / (t.down * t.across))

    def total(self, filters: int) -> int:
        """The instructions of a channel with some filters, about. It is copied once."""
        parts = -(-self.rows.size // COPIED[0]) * -(-self.columns.size // COPIED[1])
        pairs, single = divmod(self.rows.outputs, self.height)
        found = pairs * self.instructions(self.height) + (self.instructions(1) if single else 0)
        return COPYING * parts + filters * found

    def flash(self, filters: int) -> int:
        """Bytes of code, weights and first values."""
        parts = len(self.parts()) if self.is_flat else 1
        code = COPYING * parts + self.instructions(self.height)
        return INSTRUCTION * code + filters * (channel_bytes(self.tile) + FIRST)

    @property
    def height(self) -> int:
        """The rows of outputs that are stored together."""
        if self.tile.down > 1 or self.rows.outputs == 1:
            return self.tile.down
        return 2 if self.instructions(2) < 2 * self.instructions(1) else 1

    def width(self, rows: int) -> int:
        """The most outputs of each of some rows that are stored together."""
        return EIGHT // rows

    def instructions(self, rows: int) -> int:
        """The instructions of one or two rows of outputs."""
        whole, rest = divmod(self.columns.outputs, self.width(rows))
        widths = [self.width(rows)] * whole + ([rest] if rest else [])
        return sum(self.of_block(Block(rows, width)) for width in widths)

    def of_block(self, block: Block) -> int:
        """The instructions of a block."""
        tile = self.tile
        tiles = -(-block.rows // tile.down) * -(-block.columns // tile.across)
        return tile.instructions * tiles + REQUANTISED * len(block.fours) + STORED


def places_of(tile: Tile, pitch: int) -> list[int]:
    """The distance of each byte of a vector from the first one."""
    found = [row * pitch + column for column in range(tile.width) for row in range(tile.height)]
    return found + [0] * (BYTES - len(found))


def pack_planes(weights: NDArray[np.int8], tile: Tile) -> NDArray[np.int8]:
    """Weights [channels, kernel rows, kernel columns] as bytes of vectors.

    If a tile has one vector, a channel has those of the first output only. The zeros around them,
    some in front of all channels, make them those of another output if they are read from an
    earlier byte. Else all vectors lie there.
    """
    kept = tile.weights[:1] if tile.vectors == 1 else tile.weights
    packed = np.zeros((len(weights), len(kept), BYTES), np.int8)
    for number, (place, vector) in enumerate(kept):
        for byte, tap in enumerate(tile.taps(place, vector)):
            if tap is not None:
                packed[:, number, byte] = weights[:, tap[0], tap[1]]
    lead = moved(tile, tile.outputs[-1]) if tile.vectors == 1 else 0
    return np.concatenate([np.zeros(lead, np.int8), packed.ravel()])


def channel_bytes(tile: Tile) -> int:
    """The bytes of a channel's weights."""
    return BYTES if tile.vectors == 1 else BYTES * len(tile.weights)


def weights_at(tile: Tile, pair: tuple[Place, int]) -> int:
    """The first byte of a channel's weights for an output and a vector."""
    if tile.vectors == 1:
        return moved(tile, tile.outputs[-1]) - moved(tile, pair[0])
    return BYTES * tile.weights.index(pair)


def moved(tile: Tile, place: Place) -> int:
    """The bytes by which the taps of an output lie behind those of the first one."""
    return place[0] * tile.rows.stride + place[1] * tile.columns.stride * tile.height
