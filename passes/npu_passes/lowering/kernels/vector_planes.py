"""Depthwise convolutions of bytes on a vector unit, over a padded copy of one channel.

    %vector = mve.gather_bytes %plane[%at] at %places reach 25 : memref<80xi8, #npu.sram>
    %sum = mve.mul_across %vector, %weights : vector<16xi8>

The working memory is the plane (`plane_plan.py`). Its padding is the zero point, which is folded
into the bias of all windows. As a channel is copied before its outputs are stored, these may
overwrite it if it has one filter; with `over` they lie elsewhere on the same channel of the map.

    fill the plane with the zero point
    for c = 0 to C
      copy the channel
      for each of its filters
        for each row of outputs, or for each two
          for each eight outputs: their tiles
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from xdsl.ir import SSAValue

from npu_dialect import dsp, mve
from npu_passes.lowering.kernels.byte_stores import Memory
from npu_passes.lowering.kernels.grid import Grid
from npu_passes.lowering.kernels.layer import Layer
from npu_passes.lowering.kernels.signed_bytes import SignedBytes
from npu_passes.lowering.kernels.vector_channel import ChannelOutputs, part_of
from npu_passes.lowering.kernels.vector_outputs import VectorOutputs
from npu_passes.support.loop_builder import Index
from npu_plans.kernels.gathers import BYTES, Block, Place
from npu_plans.kernels.plane_plan import (
    COPIED,
    MOST_KEPT,
    PlanePlan,
    channel_bytes,
    pack_planes,
    places_of,
    weights_at,
)


class PlaneKernel:
    """Builds the loops of a depthwise convolution with a working memory of bytes, `scratch`."""

    def __init__(
        self,
        layer: Layer,
        map: SSAValue,
        grid: Grid,
        scratch: SSAValue,
        outputs: VectorOutputs,
        *,
        over: bool,
    ) -> None:
        self.step = grid.pixel if over else 1
        self.layer, self.grid, self.b = layer, grid, layer.b
        self.signed = SignedBytes(layer, map)
        self.plan = PlanePlan(grid.rows, grid.columns)
        self.tile, self.scratch, self.map = self.plan.tile, scratch, layer.vector(map)
        self.splat, self.outputs = outputs.splat, ChannelOutputs(layer, outputs)
        self.multiplier = layer.filters_of_each(grid.channels)
        kernel = grid.rows.kernel, grid.columns.kernel
        packed = pack_planes(layer.weights.reshape(-1, *kernel), self.tile)
        self.taps = layer.table("taps", packed)
        places = places_of(self.tile, self.plan.pitch)
        self.places = self.outputs.vector("places", places, mve.I8X16)

    def build(self) -> None:
        """Build the loops."""
        b, plan = self.b, self.plan
        point = self.splat(self.layer.zero_point, mve.I8X16)

        def fill(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
            b.insert(mve.StoreOp(point, self.scratch, b.value(index)))
            return ()

        b.loop(0, plan.bytes, fill, step=BYTES, hint="i")

        def one(number: Index, _: Sequence[SSAValue]) -> tuple[()]:
            at = b.mul(number, self.grid.apart)
            part = self.map, at, self.grid.channels, self.grid.apart
            many = plan.rows.stride == 1 and not plan.is_flat  # places that gcc keeps pointers to
            self.copy(part_of(b, *part, opaque=many))

            def outputs(filter: Index, _: Sequence[SSAValue]) -> tuple[()]:
                channel = Channel(self, b.add(b.mul(number, self.multiplier), filter))
                self.each(plan.rows.outputs, plan.height, partial(self.rows, channel), "oy")
                return ()

            b.loop(0, self.multiplier, outputs, hint="filter")
            return ()

        b.loop(0, self.grid.channels, one, hint="c")

    def each(self, count: int, step: int, body: Callable[[Index, int], None], hint: str) -> None:
        """Visit some places, `step` at a time; `body` gets the first one, and how many they are."""
        whole = count // step * step

        def some(position: Index, _: Sequence[SSAValue]) -> tuple[()]:
            body(position, step)
            return ()

        self.b.loop(0, whole, some, step=step, hint=hint)
        if whole < count:
            body(whole, count - whole)

    # -- copies ----------------------------------------------------------------------------------

    def copy(self, channel: Memory) -> None:
        """Copy a channel of the map to the plane."""
        if self.plan.is_flat:
            for part in self.plan.parts():
                self.copy_part(channel, 0, 0, part)
            return
        part = [(row, column) for row in range(COPIED[0]) for column in range(COPIED[1])]
        rows, columns = self.grid.rows.size, self.grid.columns.size

        def some_rows(row: Index, _: int) -> None:
            first = min(row, rows - COPIED[0]) if isinstance(row, int) else row

            def some(column: Index, _: int) -> None:
                last = columns - COPIED[1]
                start = min(column, last) if isinstance(column, int) else column
                self.copy_part(channel, first, start, part)

            self.each(columns, COPIED[1], some, "ix")

        self.each(rows, COPIED[0], some_rows, "iy")

    def copy_part(self, channel: Memory, row: Index, column: Index, part: Sequence[Place]) -> None:
        """Copy eight elements; `part` has their rows and columns, counted from the first one."""
        b, plan, (pixel, line) = self.b, self.plan, (self.grid.pixel, self.grid.line)
        sources = [y * line + x * pixel for y, x in part]
        targets = [y * plan.pitch + x for y, x in part]
        at = b.add(b.mul(row, line), b.mul(column, pixel))
        at, reach = b.value(b.add(at, channel.start)), max(sources) + 1
        places = self.outputs.vector("sources", sources)
        gather = mve.GatherOp(channel.buffer, at, places, reach, step=self.step)
        new = self.signed.halves(b.insert(gather, "new").result)
        to = b.add(b.add(b.mul(row, plan.pitch), column), plan.at(0, 0))
        places = self.outputs.vector("copies", targets)
        b.insert(mve.ScatterOp(new, self.scratch, b.value(to), places, max(targets) + 1))

    # -- outputs ---------------------------------------------------------------------------------

    def rows(self, channel: Channel, row: Index, count: int) -> None:
        """Compute one or two rows of outputs."""
        block = partial(self.block, channel, row, count)
        self.each(self.plan.columns.outputs, self.plan.width(count), block, "ox")

    def block(self, channel: Channel, row: Index, rows: int, column: Index, columns: int) -> None:
        """Compute and store the outputs of a block."""
        b, block, (pixel, line) = self.b, Block(rows, columns), self.outputs.steps
        sums: dict[Place, SSAValue] = {}
        fours: list[SSAValue] = []
        for four in block.fours:
            for y, x in four:
                if (y, x) not in sums:
                    found = self.tile_sums(channel, b.add(row, y), b.add(column, x))
                    sums |= {(y + down, x + across): s for (down, across), s in found.items()}
            words = [sums[place] for place in four]
            fours.append(self.outputs.products(words, channel.bias, channel.scale))
        place = b.add(b.mul(row, line), b.mul(column, pixel))
        place = b.add(place, self.outputs.channel(channel.number))
        self.outputs.store(fours, place, block.targets(pixel, line), step=self.step)

    def tile_sums(self, channel: Channel, row: Index, column: Index) -> Mapping[Place, SSAValue]:
        """The sums of the outputs of a tile, of those that exist, by their places in it."""
        b, plan, tile = self.b, self.plan, self.tile
        outputs = [
            (y, x)
            for y, x in tile.outputs
            if exists(row, y, plan.rows.outputs) and exists(column, x, plan.columns.outputs)
        ]
        first = b.add(
            b.mul(b.mul(row, plan.rows.stride), plan.pitch), b.mul(column, plan.columns.stride)
        )
        sums: dict[Place, SSAValue] = {}
        for vector in range(tile.vectors):
            users = [place for place in outputs if vector in tile.read(place[1])]
            if not users:
                continue
            at = b.value(b.add(first, vector * tile.width))
            gather = mve.GatherBytesOp(self.scratch, at, self.places, plan.reach(tile))
            data = b.insert(gather, "vector").result
            for place in users:
                weights = channel.weights(place, vector)
                op = mve.MulAcrossOp(data, weights)
                if place in sums:
                    op = mve.MlaAcrossOp(data, weights, sums[place])
                sums[place] = b.insert(op, "sum").result
        return sums


def exists(first: Index, step: int, count: int) -> bool:
    """Whether an output exists; those of a loop have their whole tiles."""
    return not isinstance(first, int) or first + step < count


class Channel:
    """A channel of the output: its number, and what all of its elements need.

    Few weights stay in registers.
    """

    def __init__(self, kernel: PlaneKernel, number: Index) -> None:
        self.kernel, self.number, self.b = kernel, number, kernel.b
        self.bias, self.scale = kernel.outputs.constants(number)
        order = kernel.tile.weights
        self.first = self.b.mul(number, channel_bytes(kernel.tile))
        kept = order if len(order) <= MOST_KEPT else []
        self.kept = {pair: self.load(pair) for pair in kept}

    def load(self, pair: tuple[Place, int]) -> SSAValue:
        """Load the weights of an output and a vector."""
        at = self.b.value(self.b.add(self.first, weights_at(self.kernel.tile, pair)))
        return self.b.insert(mve.LoadOp(self.kernel.taps, at, mve.I8X16), "w").result

    def weights(self, place: Place, vector: int) -> SSAValue:
        """The weights of an output and a vector."""
        found = self.kept.get((place, vector))
        if found is None:
            self.b.insert(dsp.KeepOrderOp.create())
            found = self.load((place, vector))
        return found
