"""Products of runs of bytes on a vector unit: those of one or two pixels with one or two filters.

    %x = mve.load %ifm[%at] : memref<3456xi8, #npu.sram> -> vector<16xi8>
    %w = mve.load %taps[%first] : memref<1039xi8, #npu.flash> -> vector<16xi8>
    %sum = mve.mla_across %x, %w, %acc : vector<16xi8>

A run is part of a kernel row. If 16 does not divide it, its last load reads the rest only, or it
reads on where zeros stand behind the weights. Longer runs have chunks (`chunks.py`):

    %row = dsp.opaque %view : memref<128xi8, strided<[1], offset: ?>, #npu.sram>

gcc knows nothing of the place of a chunk. It would keep a pointer to each of its loads, on the
stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_passes.lowering.kernels.signed_bytes import SignedBytes
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_plans.kernels.chunks import REACH, Chunks

BYTES = mve.VECTOR_BYTES
"""Bytes of a load."""
STRAIGHT = 4
"""The most loads of a run that has no chunks."""

Pixels: TypeAlias = tuple[Index, Sequence[int]]
"""The place of the first byte of a run, and how far behind it the runs of all pixels begin."""
Filters: TypeAlias = tuple[Index, Sequence[int]]
"""The place of the first weight, and how far behind it those of all filters begin."""
Sums: TypeAlias = Sequence[SSAValue]
"""The sums of all filters of the first pixel, then those of the next one."""


@dataclass
class Runs:
    """Builds products of bytes of a map and weights, which are buffers of one axis.

    `zero`: a sum of nothing. `short`: flash is short, so runs have no chunks.
    """

    b: LoopBuilder
    map: SSAValue
    taps: SSAValue
    signed: SignedBytes
    zero: SSAValue
    short: bool

    def add(
        self, pixels: Pixels, filters: Filters, length: Index, sums: Sums, *, reads_on: bool
    ) -> Sums:
        """Add the products of one run of `length` bytes; 16 divides it if it is not known.

        `reads_on`: the last load may read whole vectors.
        """
        b, (base, places), (first, steps) = self.b, pixels, filters

        def some(k: Index, sums: Sums, bytes_: int | None = None) -> list[SSAValue]:
            at, taps = b.add(base, k), b.add(first, k)
            b.insert(dsp.KeepOrderOp.create())
            loads = [self.load(self.map, b.add(at, place), "x", bytes_) for place in places]
            x = [self.signed.bytes(each, bytes_) for each in loads]
            return self.products(x, [(self.taps, b.add(taps, step)) for step in steps], sums)

        if not isinstance(length, int):
            return b.loop(0, length, some, sums, step=BYTES, hint="k", carry="acc")
        whole = length // BYTES * BYTES
        chunks = Chunks(whole, places[1] - places[0] if len(places) > 1 else 0)
        long = whole > STRAIGHT * BYTES
        if not self.short and (long or chunks.shared):
            sums = self.chunks(chunks, pixels, filters, sums)
        elif long:
            sums = b.loop(0, whole, some, sums, step=BYTES, hint="k", carry="acc")
        else:
            for k in range(0, whole, BYTES):
                sums = some(k, sums)
        return sums if whole == length else some(whole, sums, None if reads_on else length - whole)

    def chunks(self, chunks: Chunks, pixels: Pixels, filters: Filters, sums: Sums) -> Sums:
        """Add the products of a run of whole vectors, a chunk at a time."""
        b, (base, places), (first, steps) = self.b, pixels, filters

        def some(k: Index, sums: Sums, length: int = chunks.size) -> list[SSAValue]:
            at = (b.add(base, k), places), (b.add(first, k), steps)
            return self.chunk(*at, length, chunks.shared, sums)

        sums = b.loop(0, chunks.whole, some, sums, step=chunks.size, hint="k", carry="acc")
        rest = chunks.length - chunks.whole
        return some(chunks.whole, sums, rest) if rest else sums

    def chunk(
        self, pixels: Pixels, filters: Filters, length: int, shared: int, sums: Sums
    ) -> list[SSAValue]:
        """Add the products of a chunk; with `shared`, pixels so far apart share vectors."""
        b, (base, places), (first, steps), found = self.b, pixels, filters, list(sums)
        alone = places[:1] if shared else places
        x = [part(b, self.map, b.add(base, place), length + shared) for place in alone]
        w = [part(b, self.taps, b.add(first, step), length) for step in steps]
        known: dict[int, SSAValue] = {}
        for k in range(0, length, BYTES):
            b.insert(dsp.KeepOrderOp.create())
            if shared:
                for at in (k, k + shared):
                    if at not in known:
                        known[at] = self.bytes(x[0], at)
                data = [known[k], known[k + shared]]
            else:
                data = [self.bytes(each, k) for each in x]
            found = self.products(data, [(each, k) for each in w], found)
        return found

    def products(
        self, x: Sequence[SSAValue], weights: Sequence[tuple[SSAValue, Index]], sums: Sums
    ) -> list[SSAValue]:
        """Add the products of a vector of each pixel with one of each filter."""
        found = list(sums)
        for f, (buffer, at) in enumerate(weights):
            w = self.load(buffer, at, "w")
            for p, value in enumerate(x):
                place = p * len(weights) + f
                found[place] = self.product(value, w, found[place])
        return found

    def product(self, x: SSAValue, w: SSAValue, total: SSAValue) -> SSAValue:
        """A sum plus the products of all lanes."""
        if total is self.zero:
            return self.b.insert(mve.MulAcrossOp(x, w), "acc").result
        return self.b.insert(mve.MlaAcrossOp(x, w, total), "acc").result

    def bytes(self, buffer: SSAValue, at: Index) -> SSAValue:
        """16 bytes of the map as signed ones."""
        return self.signed.bytes(self.load(buffer, at, "x"))

    def load(self, buffer: SSAValue, at: Index, hint: str, first: int | None = None) -> SSAValue:
        """Load 16 bytes, or the first ones of them."""
        return load(self.b, buffer, at, hint, first)


class NearTaps:
    """The weights of some filters, which begin `size` bytes apart, and `lead` bytes of the table.

    A load has a short distance from its pointer. gcc knows nothing of the place of that.
    """

    def __init__(
        self, b: LoopBuilder, table: SSAValue, size: int, filter: Index, count: int, lead: int = 0
    ) -> None:
        self.b, self.table, self.size, self.lead = b, table, size, lead
        self.filter, self.count = filter, count
        self.near = max(1, REACH // size)
        self.parts: dict[int, SSAValue] = {}

    def load(self, filter: int, first: int) -> SSAValue:
        """Load 16 bytes from byte `first` of one of the filters on."""
        b, group = self.b, filter // self.near * self.near
        if group not in self.parts:
            start = b.mul(b.add(self.filter, group), self.size)
            length = min(self.near, self.count - group) * self.size + self.lead
            self.parts[group] = part(b, self.table, start, length)
        return load(b, self.parts[group], self.lead + (filter - group) * self.size + first, "w")


def part(b: LoopBuilder, buffer: SSAValue, at: Index, length: int) -> SSAValue:
    """Some bytes of a buffer, of whose place gcc knows nothing."""
    view = b.window(buffer, [at], [length], [0], "run")
    return b.insert(dsp.OpaqueOp(view), "run").result


def load(
    b: LoopBuilder, buffer: SSAValue, at: Index, hint: str, first: int | None = None
) -> SSAValue:
    """Load 16 bytes, or the first ones of them."""
    return b.insert(mve.LoadOp(buffer, b.value(at), mve.I8X16, first), hint).result
