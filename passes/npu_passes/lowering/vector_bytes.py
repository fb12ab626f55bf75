"""Lower element-wise layers on quantised maps to loops over vectors of eight bytes.

    scf.for %i = %c0 to %c4096 step %c8 {
      %a = mve.load %lhs[%i] : memref<4096xi8, #npu.sram> -> vector<4xi32>
      %b = mve.load %rhs[%i] : memref<4096xi8, #npu.sram> -> vector<4xi32>
      ...                                             // their sum, and that of the next four
      mve.scatter %q, %out[%i] at %targets reach 8 saturated : memref<4096xi8, #npu.sram>
    }

Level of IR: one layer on buffers that lie alike, or whose pixels are runs of channels. The bits are
those of the layer's mode (`npu_plans/kernels/byte_sums.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from npu_dialect import mve
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.quantization import BYTE_TYPES
from npu_passes.buffers.choose_layouts import pixel_steps
from npu_passes.lowering.kernels.byte_stores import ByteStores, Ends
from npu_passes.lowering.kernels.vector_sums import sums_of
from npu_passes.support.common import LoopOptions, vectors
from npu_passes.support.integers import element_of
from npu_passes.support.loop_builder import Index, LoopBuilder, memref_type
from npu_plans.kernels.byte_sums import ByteSum

FOUR, EIGHT = 4, 8
"""Elements of a vector of words, and elements that are stored together."""
BY_TURNS = [lane // 2 + FOUR * (lane % 2) for lane in range(EIGHT)]
"""The elements in the lanes of two vectors that were narrowed by turns."""


def on_vectors(options: LoopOptions, *maps: SSAValue) -> bool:
    """Whether the machine computes with vectors, and all maps of a layer are bytes."""
    return "mve" in options.features and all(element_of(map) in BYTE_TYPES for map in maps)


@dataclass(frozen=True)
class Runs:
    """Buffers of one axis, with `count` runs of `length` neighbouring bytes.

    `pitches`: the distances of the runs in each buffer.
    """

    buffers: Sequence[SSAValue]
    count: int
    length: int
    pitches: Sequence[int]

    @staticmethod
    def of(b: LoopBuilder, maps: Sequence[SSAValue]) -> Runs | None:
        """The runs of maps of one shape; None if they have none in common."""
        if len({shape_of(map) for map in maps}) > 1:
            return None
        if (flat := vectors(b, maps)) is not None:
            return Runs(flat, 1, prod(shape_of(maps[0])), [0] * len(maps))
        images, channels, height, width = (*shape_of(maps[0]), 0, 0, 0)[:4]
        steps = [pixel_steps(memref_type(map)) for map in maps if len(shape_of(map)) == 4]
        pitches = [each[0] for each in steps if each is not None and each[1] == each[0] * width]
        if images != 1 or len(pitches) < len(maps):
            return None
        spans = {map: b.span(map, map.name_hint) for map in dict.fromkeys(maps)}
        return Runs([spans[map] for map in maps], height * width, channels, pitches)

    def visit(
        self, b: LoopBuilder, step: int, body: Callable[[Sequence[Index], Index, int], None]
    ) -> None:
        """Build the loops over all runs, `step` elements at a time.

        The body gets the start of the run in each buffer, the place there, and how many elements.
        """
        whole, rest = divmod(self.length, step)

        def run(number: Index, _: Sequence[SSAValue]) -> tuple[()]:
            starts = [b.mul(number, pitch) for pitch in self.pitches]

            def some(at: Index, _: Sequence[SSAValue]) -> tuple[()]:
                body(starts, at, step)
                return ()

            b.loop(0, step * whole, some, step=step, hint="i")
            if rest:
                body(starts, step * whole, rest)
            return ()

        b.loop(0, self.count, run, hint="pixel")


def sum_of_bytes(
    b: LoopBuilder,
    op: LayerOp,
    inputs: Sequence[SSAValue],
    out: SSAValue,
    how: ByteSum,
    bounds: tuple[int, int],
) -> bool:
    """Build the loops of a sum of one or two maps of bytes; False if these do not lie alike."""
    runs = Runs.of(b, (*inputs, out))
    if runs is None:
        return False
    SumLoops(b, op, runs, how, bounds).build()
    return True


class SumLoops:
    """Builds the loops."""

    def __init__(
        self, b: LoopBuilder, op: LayerOp, runs: Runs, how: ByteSum, bounds: tuple[int, int]
    ) -> None:
        self.b, self.runs, self.sums = b, runs, sums_of(b, how)
        ends = Ends(how.point, bounds, how.largest)
        self.stores = ByteStores(b, op, runs.buffers[-1], ends, self.splat)

    def splat(self, number: int, type_: mve.Vector) -> SSAValue:
        """A vector of a known integer, computed in front of all loops."""
        return self.b.hoist(mve.SplatOp(self.b.integer(number), type_), "vector")

    def build(self) -> None:
        """Visit all runs."""
        self.runs.visit(self.b, EIGHT, self.some)

    def some(self, starts: Sequence[Index], at: Index, count: int) -> None:
        """Load, add and store up to eight elements."""
        b, fours = self.b, list[SSAValue]()
        *sources, target = (b.add(start, at) for start in starts)
        for first in range(0, count, FOUR):
            lanes = None if count - first >= FOUR else count - first
            words = [
                b.insert(mve.LoadOp(buffer, b.value(b.add(place, first)), mve.I32X4, lanes), "x")
                for buffer, place in zip(self.runs.buffers, sources, strict=False)
            ]
            fours.append(self.sums.of([word.result for word in words]))
        mask = sum(1 << lane for lane, element in enumerate(BY_TURNS) if element < count)
        self.stores.store(fours, target, BY_TURNS, mask)
