"""Convolutions of floats whose lanes are windows of outputs, four of them side by side. No IR.

A window is a pooling window, or without a pool some columns of outputs. All outputs of a window
are computed together. So an element of the map is loaded once for the window, and a weight is a
number for four windows. The products of an output are added in the order of its taps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, product
from operator import itemgetter

from npu_dialect.windows import Axis
from npu_plans.kernels.conv_plan import interior
from npu_plans.kernels.vector_plan import LANES, Strip, vector_block

MOST_SUMS = 6
"""The most outputs of a window."""
REGISTERS = 7
"""Vector registers for sums, for elements and for addresses. One is left to the C compiler."""
SPILL = 16
"""Instructions of a channel for each register that is missing."""
MOST_PRODUCTS = 160
"""The most products of a window in straight-line code."""
WEIGHTS = 8
"""The most weights in core registers."""
REACH = 255
"""Elements that loads reach from the addresses in a register."""
ADDRESS = 2
"""Instructions that make addresses."""
CHANNEL = 3
"""Instructions of a channel besides, if there are several: their loop, and two pointers."""
ROW = 3
"""Instructions of a kernel row of a block of filters in lanes besides."""
START = 8
"""Instructions of such a block besides: loops and addresses."""
MAXIMUM = 4
"""Instructions of a maximum that keeps NaN."""
OUTPUT = 4
"""Instructions of a vector that is stored: its bound, its address, and the store."""
FILTER = 8
"""Instructions of a filter of four windows besides: its bias, its loop and pointers."""
BLOCK = 10
"""Instructions of four windows besides: loops and addresses."""


@dataclass(frozen=True)
class Product:
    """An element of the map times a weight; `fresh`: this weight is loaded for it."""

    output: int
    tap: int
    fresh: bool


@dataclass(frozen=True)
class Element:
    """An element of the map, by its row and column in what a window reads, and its products."""

    row: int
    column: int
    products: tuple[Product, ...]


@dataclass(frozen=True)
class Layer:
    """What the plan must know of a convolution.

    `steps`: elements between neighbouring rows, and between columns, of a channel of its input;
    `step`: elements between neighbouring columns of its output.
    """

    rows: Axis
    columns: Axis
    pool: tuple[Axis, Axis] | None
    depth: int
    filters: int
    steps: tuple[int, int]
    step: int = 1

    @property
    def outputs(self) -> tuple[int, int]:
        """Rows and columns of the output map."""
        rows, columns = self.pool or (self.rows, self.columns)
        return rows.outputs, columns.outputs

    @property
    def is_inside(self) -> bool:
        """Whether no window has a tap on padding."""
        rows, columns = self.pool or (None, None)
        return interior(self.rows, rows).whole and interior(self.columns, columns).whole

    def filters_in_lanes(self) -> float:
        """The instructions of the layer if four filters are in lanes."""
        height, width = self.outputs
        if self.pool is None:
            vectors = -(-self.filters // LANES)
            return height * (self.in_lanes(width) + width * vectors * OUTPUT)
        rows, columns = self.pool
        ends = -(-self.filters // LANES) * (OUTPUT + MAXIMUM * rows.kernel * columns.kernel)
        return height * width * (rows.kernel * self.in_lanes(columns.kernel) + ends)

    def in_lanes(self, width: int) -> int:
        """The instructions of the products of some neighbouring outputs with filters in lanes."""
        block, taps = vector_block(self.filters, width), self.columns.kernel
        whole, rest = divmod(width, block.pixels)
        total = 0
        for pixels in [block.pixels] * whole + [rest] * (rest > 0):
            reads = Strip.of(self.columns, None, range(pixels)).reads()
            loads = len({place for place, _, _ in reads})
            for vectors in block.blocks(self.filters):
                row = loads + taps * vectors * (1 + pixels) + ROW
                total += self.depth * self.rows.kernel * row + vectors * pixels + START
        return total


@dataclass(frozen=True)
class FloatWindowPlan:
    """How a convolution is computed, in windows of `height` by `width` outputs.

    Without a pool they have one row, so that an output follows its dying input closely.
    """

    layer: Layer
    height: int
    width: int

    @staticmethod
    def of(layer: Layer, *, alone: bool) -> FloatWindowPlan | None:
        """The plan with the fewest instructions, if that is fewer than with filters in lanes.

        `alone`: there is no form with filters in lanes.
        """
        if not layer.is_inside:
            return None
        sizes = [(1, width) for width in range(1, MOST_SUMS + 1)]
        if layer.pool is not None:
            sizes = [(layer.pool[0].kernel, layer.pool[1].kernel)]
        plans = [FloatWindowPlan(layer, *size) for size in sizes]
        fitting = [plan for plan in plans if plan.fits]
        best = min(fitting, key=lambda plan: plan.instructions, default=None)
        if best is None or alone:
            return best
        return best if best.instructions < layer.filters_in_lanes() else None

    @property
    def sums(self) -> int:
        """The outputs of a window."""
        return self.height * self.width

    @property
    def fits(self) -> bool:
        """Whether a row has a block, and a window few outputs and short straight-line code."""
        taps = self.layer.rows.kernel * self.layer.columns.kernel
        few = self.sums <= MOST_SUMS and self.sums * taps <= MOST_PRODUCTS
        return few and self.last >= 0

    @property
    def block(self) -> int:
        """The outputs of a row in a block of four windows."""
        return LANES * (1 if self.layer.pool else self.width)

    @property
    def last(self) -> int:
        """Where the last block of a row begins; negative if a row has less than a block.

        It computes some outputs of the block before it again if less than a block is left.
        """
        return self.layer.outputs[1] - self.block

    @property
    def blocks(self) -> int:
        """The blocks of a row."""
        return -(-self.layer.outputs[1] // self.block)

    @property
    def lane_step(self) -> int:
        """The distance of the elements of neighbouring lanes, in columns of the map."""
        pool = self.layer.pool
        return (self.width if pool is None else pool[1].stride) * self.layer.columns.stride

    @property
    def reach(self) -> tuple[int, int]:
        """Rows and columns of the map that four windows read."""
        rows, columns = self.strips
        return rows.reach, columns.reach + (LANES - 1) * self.lane_step

    @property
    def strips(self) -> tuple[Strip, Strip]:
        """What a window reads along both axes."""
        layer = self.layer
        dilations = [each.dilation for each in layer.pool] if layer.pool else [1, 1]
        sizes = zip((layer.rows, layer.columns), (self.height, self.width), dilations, strict=True)
        ys, xs = (Strip.of(axis, None, range(0, n * step, step)) for axis, n, step in sizes)
        return ys, xs

    @cached_property
    def elements(self) -> tuple[Element, ...]:
        """The elements of a channel that a window reads, in the order in which they are loaded."""
        found: list[Element] = []
        places = list(self.reads())
        held: list[int] = []
        for number, (row, column, reads) in enumerate(places):
            coming = [tap for *_, some in places[number:] for _, tap in some]
            products: list[Product] = []
            for output, tap in sorted(reads, key=lambda read: read[1] not in held):
                fresh = tap not in held
                if fresh and len(held) == WEIGHTS:
                    held.remove(max(held, key=lambda each: next_use(each, coming)))
                if fresh:
                    held.append(tap)
                products.append(Product(output, tap, fresh))
            found.append(Element(row, column, tuple(products)))
        return tuple(found)

    def reads(self) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
        """Row and column of each element, and the outputs and taps that it is multiplied for."""
        ys, xs = (
            [(place, list(some)) for place, some in groupby(strip.reads(), key=itemgetter(0))]
            for strip in self.strips
        )
        for (row, above), (column, across) in product(ys, xs):
            kernel = self.layer.columns.kernel
            yield (
                row,
                column,
                [
                    (y * self.width + x, ky * kernel + kx)
                    for (_, y, ky), (_, x, kx) in product(above, across)
                ],
            )

    @property
    def addresses(self) -> int:
        """How many registers of addresses the loads of a channel need."""
        row, column = self.layer.steps
        return len({(each.row * row + each.column * column) // REACH for each in self.elements})

    @property
    def registers(self) -> int:
        """The vector registers that a channel needs.

        Besides sums these are an element and its address, the distances of the lanes if addresses
        are made again, and those of outputs with gaps.
        """
        apart = self.layer.step * (1 if self.layer.pool else self.width) > 1
        return self.sums + 2 + (self.layer.depth > 1 or self.addresses > 1) + apart

    @property
    def instructions(self) -> int:
        """The instructions of the layer."""
        layer, sums = self.layer, self.sums
        products = [each for element in self.elements for each in element.products]
        fresh = sum(each.fresh for each in products)
        one = len(self.elements) + fresh + len(products) + ADDRESS * self.addresses
        one += CHANNEL * (layer.depth > 1) + SPILL * max(0, self.registers - REGISTERS)
        ends = sums * OUTPUT if layer.pool is None else (sums - 1) * MAXIMUM + OUTPUT
        block = layer.filters * (layer.depth * one + sums + ends + FILTER) + BLOCK
        return layer.outputs[0] * self.blocks * block


def next_use(tap: int, coming: list[int]) -> int:
    """How many products come before the next one with a weight."""
    return coming.index(tap) if tap in coming else len(coming)
