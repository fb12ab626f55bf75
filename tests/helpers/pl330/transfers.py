"""Random strided transfers: a box of one array goes to a box of another."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from hypothesis import strategies as st

KINDS = {"i8": np.uint8, "i16": np.uint16, "f32": np.uint32, "f64": np.uint64}
MOST = 1 << 21
"""The most bytes of an array."""


@dataclass(frozen=True)
class Side:
    """The place of the box in its array: the elements before and behind it on each axis."""

    before: tuple[int, ...]
    behind: tuple[int, ...]

    def shape(self, box: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the array."""
        return tuple(sum(each) for each in zip(self.before, box, self.behind, strict=True))

    def index(self, box: tuple[int, ...]) -> tuple[slice, ...]:
        """The slices of the array that are the box."""
        pairs = zip(self.before, box, strict=True)
        return tuple(slice(first, first + size) for first, size in pairs)


@dataclass(frozen=True)
class Transfer:
    """A box, its elements, both sides; `place` is the target's offset on chip in elements."""

    box: tuple[int, ...]
    kind: str
    source: Side
    target: Side
    place: int
    channel: int
    store: bool

    @property
    def element(self) -> int:
        """Bytes of an element."""
        return np.dtype(KINDS[self.kind]).itemsize

    def view(self, side: Side) -> tuple[str, str, int]:
        """The offsets, sizes and strides of a view, its type up to the memory space, its offset."""
        shape = side.shape(self.box)
        strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        start = sum(a * b for a, b in zip(side.before, strides, strict=True))
        layout = f"strided<{strides}, offset: {start}>" if start else f"strided<{strides}>"
        ones = [1] * len(shape)
        text = f"{list(side.before)} {list(self.box)} {ones}"
        return text, f"memref<{'x'.join(map(str, self.box))}x{self.kind}, {layout}", start

    def array(self, side: Side, space: str) -> str:
        """The type of the whole array of a side."""
        return f"memref<{'x'.join(map(str, side.shape(self.box)))}x{self.kind}, #npu.{space}>"

    def text(self) -> str:
        """The text of a module with this transfer."""
        chip, far = (self.source, self.target) if self.store else (self.target, self.source)
        near, near_kind, _ = self.view(chip)
        away, away_kind, _ = self.view(far)
        names = {"%near": f"{near_kind}, #npu.sram>", "%away": f"{away_kind}, #npu.dram>"}
        ends = ("%near", "%away") if self.store else ("%away", "%near")
        return f"""
func.func @f(%map : {self.array(far, "dram")}) {{
  %tile = sram.alloc at {self.place * self.element} : {self.array(chip, "sram")}
  %near = memref.subview %tile{near} : {self.array(chip, "sram")} to {names["%near"]}
  %away = memref.subview %map{away} : {self.array(far, "dram")} to {names["%away"]}
  %t = dma.start {ends[0]} to {ends[1]} channel {self.channel}
    : {names[ends[0]]} to {names[ends[1]]}
  dma.wait %t
  func.return
}}"""

    def arrays(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The source, the target before and after."""
        random = np.random.default_rng(seed)
        sides = (self.source, self.target)
        source, before = (
            random.integers(0, 256, self.element * prod(side.shape(self.box)), np.uint8)
            .view(KINDS[self.kind])
            .reshape(side.shape(self.box))
            for side in sides
        )
        after = before.copy()
        after[self.target.index(self.box)] = source[self.source.index(self.box)]
        return source, before, after

    def addresses(self, ddr: int, ocm: int) -> tuple[int, int]:
        """The addresses of source and target array, given the bases of DDR and on-chip memory."""
        ocm += self.place * self.element
        return (ocm, ddr) if self.store else (ddr, ocm)

    def firsts(self, ddr: int, ocm: int) -> tuple[int, int]:
        """The addresses of the first elements that move."""
        places = zip(self.addresses(ddr, ocm), (self.source, self.target), strict=True)
        source, target = (base + self.element * self.view(side)[2] for base, side in places)
        return source, target


@st.composite
def sides(draw: st.DrawFn, rank: int) -> Side:
    """A random place of a box in its array."""
    margin = st.sampled_from((0, 0, 0, 1, 2, 3, 8))
    far = st.sampled_from((0, 0, 0, 0, 1, 5, 16, 300, 3000))
    before = tuple(draw(margin) for _ in range(rank))
    return Side(before, tuple(draw(far) for _ in range(rank)))


@st.composite
def transfers(draw: st.DrawFn, most: int = MOST) -> Transfer:
    """A transfer between arrays that are not too large."""
    rank = draw(st.integers(1, 4))
    extent = st.one_of(st.integers(1, 9), st.sampled_from((1, 16, 33, 64, 100, 255, 257, 600)))
    box = tuple(draw(extent) for _ in range(rank))
    made = Transfer(
        box,
        draw(st.sampled_from(tuple(KINDS))),
        draw(sides(rank)),
        draw(sides(rank)),
        draw(st.integers(0, 8)),
        draw(st.integers(0, 7)),
        draw(st.booleans()),
    )
    while (
        made.element * max(prod(side.shape(made.box)) for side in (made.source, made.target)) > most
    ):
        made = smaller(made)
    return made


def smaller(made: Transfer) -> Transfer:
    """The transfer with its largest extent halved."""
    parts = [list(each) for each in (made.box, *both(made.source), *both(made.target))]
    largest = max((each for part in parts for each in enumerate(part)), key=lambda pair: pair[1])
    part = next(part for part in parts if part[largest[0]] == largest[1])
    part[largest[0]] //= 2
    box, before, behind, first, last = (tuple(each) for each in parts)
    return Transfer(
        box,
        made.kind,
        Side(before, behind),
        Side(first, last),
        made.place,
        made.channel,
        made.store,
    )


def both(side: Side) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The elements before and behind the box, of all axes."""
    return side.before, side.behind
