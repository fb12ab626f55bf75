"""Programs that move maps off the chip in blocks and back, and the formula for their traffic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from helpers.zero_blocks.planar import RUN, planar_array, planar_bytes
from npu_dialect.interpreters import Counters
from npu_plans.zero_blocks.model import index_bytes, moved_bytes
from npu_tools.shared.installed import context

Array = npt.NDArray[Any]
DTYPES = {"f32": np.float32, "i8": np.int8, "ui8": np.uint8}
Box = tuple[int, int, int, int]
"""A part of a map: first row, first column, number of rows, number of columns."""


@dataclass(frozen=True)
class Trip:
    """A map that goes off the chip and back; then its part `box` is read alone.

    `share`: about this share of its blocks is zero.
    """

    shape: tuple[int, ...]
    element: str
    block: int
    zero: int
    share: float
    box: Box
    planes: bool = False
    """Whether the map moves as bit planes."""

    @property
    def index_bytes(self) -> int:
        """Bytes of the index."""
        if self.planes:
            return -(-prod(self.shape[:3]) * -(-self.shape[3] // RUN) // 2)
        return index_bytes(self.shape, self.block)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type in numpy."""
        return np.dtype(DTYPES[self.element])

    @property
    def part_shape(self) -> tuple[int, ...]:
        """The shape of the part that is read alone."""
        return *self.shape[:2], *self.box[2:]

    @property
    def bytes(self) -> int:
        """Bytes of the map, rounded up to 64, the distance of buffers."""
        return -(-self.dtype.itemsize * int(np.prod(self.shape)) // 64) * 64

    def part(self, array: Array) -> Array:
        """The part of a map."""
        top, left, rows, columns = self.box
        return array[:, :, top : top + rows, left : left + columns]

    def array(self) -> Array:
        """The map: random, with blocks that are zero."""
        if self.planes:
            return planar_array(self.shape, self.dtype, self.zero, self.share)
        rng = np.random.default_rng(7)
        array = rng.integers(-100, 100, self.shape).astype(self.dtype)
        for n, c in np.ndindex(*self.shape[:2]):
            for y in range(0, self.shape[2], self.block):
                for x in range(0, self.shape[3], self.block):
                    if rng.random() < self.share:
                        array[n, c, y : y + self.block, x : x + self.block] = self.zero
        return array

    def kept(self, array: Array, box: Box) -> int:
        """Elements of a box that lie in blocks with an element other than zero."""
        top, left, rows, columns = box
        count = 0
        for n, c, y, x in np.ndindex(*array.shape):
            if top <= y < top + rows and left <= x < left + columns:
                by, bx = y // self.block * self.block, x // self.block * self.block
                block = array[n, c, by : by + self.block, bx : bx + self.block]
                count += bool((block != self.zero).any())
        return count

    def index_met(self) -> int:
        """The number of bytes of the index that hold a bit of a block in the box."""
        top, left, rows, columns = self.box
        high, wide = (-(-extent // self.block) for extent in self.shape[2:])
        found = {
            (((n * self.shape[1] + c) * high + y // self.block) * wide + x // self.block) // 8
            for n, c in np.ndindex(*self.shape[:2])
            for y in range(top, top + rows)
            for x in range(left, left + columns)
        }
        return len(found)

    def expected(self) -> Counters:
        """The traffic by formula: the map comes in dense, goes out and in in blocks, and out dense.

        The part comes in in blocks and goes out dense.
        """
        array, size = self.array(), self.dtype.itemsize
        whole = self.kept(array, (0, 0, self.shape[2], self.shape[3]))
        once = moved_bytes(self.shape, self.block, size, whole)
        part = self.index_met() + size * self.kept(array, self.box)
        if self.planes:
            once = planar_bytes(array, self.zero, (0, 0, self.shape[2], self.shape[3]))
            part = planar_bytes(array, self.zero, self.box)
        small = size * int(np.prod(self.part_shape))
        return Counters(0, array.nbytes + once + part, once + array.nbytes + small, 0, 0, 6)


def total(trips: Sequence[Trip]) -> Counters:
    """The counters of several trips."""
    columns = zip(*(astuple(trip.expected()) for trip in trips), strict=True)
    return Counters(*(sum(column) for column in columns))


def moves(i: int, trip: Trip, chip: int, dram: int) -> str:
    """The text: %x goes to a map in blocks, which comes back as a whole to %y and in part to %z."""
    images, channels, height, width = trip.shape
    top, left, rows, columns = trip.box
    far, near, small = types(trip)
    index = f"memref<{trip.index_bytes}xi8, #npu.dram>"
    strides = f"[{channels * height * width}, {height * width}, {width}, 1]"
    part = f"memref<{small}, strided<{strides}, offset: {top * width + left}>, #npu.dram>"
    tile = f"memref<{small}, #npu.sram>"
    planes, block = ("planes ", RUN) if trip.planes else ("", trip.block)
    blocks = f"{planes}blocks {block} zero {trip.zero} of %map{i}, %index{i}"
    return f"""
      %map{i} = dram.alloc at {dram} : {far}
      %index{i} = dram.alloc at {dram + trip.bytes} : {index}
      %a{i} = sram.alloc at {chip} : {near}
      %b{i} = sram.alloc at {chip + trip.bytes} : {near}
      %d{i} = sram.alloc at {chip + 2 * trip.bytes} : {tile}
      %s{i} = dma.start %x{i} to %a{i} channel 1 : {far} to {near}
      dma.wait %s{i}
      %t{i} = dma.start %a{i} to %map{i} channel 3 {blocks} : {near} to {far} of {far}, {index}
      dma.wait %t{i}
      %u{i} = dma.start %map{i} to %b{i} channel 1 {blocks} : {far} to {near} of {far}, {index}
      dma.wait %u{i}
      %v{i} = dma.start %b{i} to %y{i} channel 3 : {near} to {far}
      dma.wait %v{i}
      %p{i} = memref.subview %map{i}[0, 0, {top}, {left}]
        [{images}, {channels}, {rows}, {columns}] [1, 1, 1, 1] : {far} to {part}
      %w{i} = dma.start %p{i} to %d{i} channel 1 {blocks} : {part} to {tile} of {far}, {index}
      dma.wait %w{i}
      %q{i} = dma.start %d{i} to %z{i} channel 3 : {tile} to memref<{small}, #npu.dram>
      dma.wait %q{i}"""


def types(trip: Trip) -> tuple[str, str, str]:
    """The types of the map off and on the chip, and shape and elements of the part as text."""
    whole = "x".join(map(str, (*trip.shape, trip.element)))
    small = "x".join(map(str, (*trip.part_shape, trip.element)))
    return f"memref<{whole}, #npu.dram>", f"memref<{whole}, #npu.sram>", small


def program(trips: Sequence[Trip]) -> ModuleOp:
    """A module of all trips in sequence: maps are the inputs, whole maps and parts the outputs."""
    inputs: list[str] = []
    outputs: list[str] = []
    body = ""
    chip = dram = 0
    for number, trip in enumerate(trips):
        far, _, small = types(trip)
        inputs.append(f"%x{number}: {far} {{dram.input}}")
        outputs.append(f"%y{number}: {far} {{dram.output}}")
        outputs.append(f"%z{number}: memref<{small}, #npu.dram> {{dram.output}}")
        body += moves(number, trip, chip, dram)
        chip += 3 * trip.bytes
        dram += trip.bytes + -(-trip.index_bytes // 64) * 64
    module = Parser(
        context(),
        f"func.func @k({', '.join(inputs + outputs)})\n"
        f"  attributes {{sram.arena = {chip} : i64, dram.bytes = {dram} : i64}} {{{body}\n"
        "  func.return\n}",
    ).parse_module()
    module.verify()
    return module


@st.composite
def trips(draw: st.DrawFn) -> Trip:
    """Trips of random shape (1x1 to 33x47), element type, block size, zero, sparsity and box."""
    height, width = draw(st.integers(1, 33)), draw(st.integers(1, 47))
    shape = (draw(st.integers(1, 2)), draw(st.integers(1, 3)), height, width)
    element = draw(st.sampled_from(sorted(DTYPES)))
    zeros = {"f32": [0], "i8": [0, -128, 5], "ui8": [0, 128]}[element]
    top, left = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
    box = (top, left, draw(st.integers(1, height - top)), draw(st.integers(1, width - left)))
    share = draw(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1)))
    block = draw(st.sampled_from([1, 2, 4, 8]))
    return Trip(shape, element, block, draw(st.sampled_from(zeros)), share, box)


@st.composite
def planar_trips(draw: st.DrawFn) -> Trip:
    """Trips as bit planes, of random shape, element type, zero, share of empty runs, and box."""
    trip = draw(trips())
    element = draw(st.sampled_from(["i8", "ui8"]))
    zero = draw(st.sampled_from({"i8": [0, -128], "ui8": [0, 128]}[element]))
    return replace(trip, element=element, block=RUN, zero=zero, planes=True)
