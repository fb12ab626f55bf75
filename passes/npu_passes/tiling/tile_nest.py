"""Builds the loop nest of a staged layer: transfers, and the layer on tiles that are on chip.

Level of IR: in: one layer on buffers; out: `scf.for` over tiles. A loop over tiles is split into
segments whose tiles have the same sizes and pads: the first tile at a padded border, the inner
tiles (one `scf.for`), and a smaller or padded last tile. Shapes inside are static. An operand's
tile is loaded in the innermost loop that changes it, and stays on chip in the loops inside that
one. Sums are read back only if an outer loop left them unfinished.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import Block, Operation, SSAValue

from npu_dialect.attributes import DOUBLE_BUFFER, LATE_SUMS, RUNS, TWO_AHEAD
from npu_dialect.computing import accumulates, computation_of, is_computed_on_buffers
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp, FullyConnectedOp
from npu_dialect.npu.maps import is_buffer_type, shape_of
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_passes.tiling.layer_spaces import COLUMNS, GROUPS, IN, ROWS, TileForm, tile_layer
from npu_passes.tiling.pool_apart import pool_of, sums_axes, sums_of
from npu_passes.tiling.stage import Staging, is_weight, started_from
from npu_passes.tiling.tile_moves import (
    FIRST_MAP,
    OTHER_MAPS,
    OUTPUT,
    WEIGHTS,
    allocate,
    announce,
    corner,
    transfer,
    view,
)
from npu_passes.tiling.tile_producers import Chain
from npu_plans.tiles.operand_regions import Along, Pads, Piece, Segment


@dataclass(frozen=True)
class TilePosition:
    """The position of a tile along one loop: a segment, and the index of its piece in there."""

    segment: Segment
    index: Index = 0

    @property
    def piece(self) -> Piece:
        """The first piece of the segment; all of its pieces have the same sizes."""
        return self.segment.piece


Tile = Mapping[str, TilePosition]


@dataclass(frozen=True)
class Nest:
    """Builds the nest of one op in front of it.

    `buffers`: the tile buffers, by the index of their operand. `sums`: the buffer of sums of a
    convolution whose pool is taken apart. `channels`: the machine's number of DMA channels.
    `counted`: whether to insert `dma.reads` and `dma.writes`. `chains`: the ops that compute the
    tiles of an operand, by its index. `reads`: how the op follows the axes of its first operand, if
    it shares the tiles of that. `sharing`: the nests of the ops that do, which have the same loops.
    `made`: the ops that compute tiles.
    """

    b: LoopBuilder
    op: Operation
    staging: Staging
    buffers: Mapping[int, SSAValue]
    sums: SSAValue | None
    channels: int
    counted: bool
    chains: Mapping[int, Chain]
    reads: tuple[Along, ...] = ()
    sharing: tuple[Nest, ...] = ()
    made: list[Operation] = field(default_factory=list[Operation])

    @property
    def last(self) -> int:
        """Index of the destination."""
        return len(self.op.operands) - 1

    @property
    def all(self) -> tuple[Nest, ...]:
        """This nest and those that share its loops, in the order in which they compute."""
        return (*self.sharing, self)

    def build(self) -> None:
        """Build accesses, loads of whole operands, and loops."""
        for each in self.all:
            each.begin()
        for chain in self.chains.values():
            chain.begin()
        self.inside(self.whole(), -1)

    def begin(self) -> None:
        """Build accesses, and loads of whole operands."""
        if self.counted:
            staged = [i for buffer in self.staging.buffers for i in buffer.operands]
            announce(self.op, [self.op.operands[index] for index in staged])
        for buffer in self.staging.buffers:
            if buffer.whole:
                index = buffer.operands[0]
                self.move(self.op.operands[index], self.buffers[index], index)
                if index in self.chains:
                    self.chains[index].compute(self.buffers[index], 0, None)

    def whole(self) -> dict[str, TilePosition]:
        """The positions along the loops that are not cut."""
        cut = self.staging.cut
        return {
            loop.name: TilePosition(Segment(cut.pieces(loop.name)[0], 1))
            for loop in cut.space.loops
            if loop.name not in cut.order
        }

    def along(self, tile: Tile) -> Tile:
        """The tile that is at the place of one of a nest with the same loops."""
        order = self.staging.cut.order
        return {**self.whole(), **{name: tile[name] for name in order if name in tile}}

    def inside(self, tile: Tile, level: int) -> None:
        """Build the body of the loop at position `level` of the order; -1 is outside of all loops.

        That are loads, the next loop or the layers themselves, and the stores of destinations.
        """
        order = self.staging.cut.order
        tiles = [(each, each.along(tile)) for each in self.sharing]
        self.loads(tile, level)
        for each, own in tiles:
            each.loads(own, level)
        if level + 1 < len(order):
            for segment in self.staging.cut.segments(order[level + 1]):
                self.one_segment(tile, level + 1, segment)
        else:
            for each, own in (*tiles, (self, tile)):
                each.compute(own)
        for each, own in (*tiles, (self, tile)):
            if each.last in each.moving(level):
                each.store(own)

    def loads(self, tile: Tile, level: int) -> None:
        """Build the loads of the tiles that change in the loop at position `level` of the order."""
        for index in self.moving(level):
            if index != self.last and not (index == started_from(self.op) and self.begun(tile)):
                self.load(tile, index)
        if self.last in self.moving(level) and self.begun(tile):
            self.load(tile, self.last)

    def one_segment(self, tile: Tile, level: int, segment: Segment) -> None:
        """Build a loop over the pieces of a segment.

        An innermost loop allocates its double buffers itself, as large as its segment needs.
        """
        name = self.staging.cut.order[level]
        innermost = level == len(self.staging.cut.order) - 1
        inner = self
        if innermost:
            inner = self.with_buffers({**tile, name: TilePosition(segment)})

        def one(index: Index, _: Sequence[SSAValue]) -> tuple[()]:
            if not isinstance(index, int) and innermost and self.staging.double_buffer:
                assert isinstance(index.owner, Block)
                loop = index.owner.parent_op()
                assert loop is not None
                DOUBLE_BUFFER.set(loop, True)
                if self.staging.late:
                    LATE_SUMS.set(loop, True)
                if self.staging.ahead:
                    TWO_AHEAD.set(loop, True)
            inner.inside({**tile, name: TilePosition(segment, index)}, level)
            return ()

        self.b.loop(0, segment.runs, one, hint=name)

    def with_buffers(self, tile: Tile) -> Nest:
        """The same nest, and those that share its loops, with new double buffers for a tile."""
        own = {**self.buffers, **self.allocate(tile)}
        sharing = tuple(
            replace(
                each,
                buffers={**each.buffers, **each.allocate(each.along(tile)), 0: own[0]},
            )
            for each in self.sharing
        )
        return replace(self, buffers=own, sharing=sharing)

    def allocate(self, tile: Tile) -> dict[int, SSAValue]:
        """Allocate the buffers that become double buffers, as large as this tile needs them."""
        found: dict[int, SSAValue] = {}
        pieces = {name: place.piece for name, place in tile.items()}
        for buffer in self.staging.buffers:
            if buffer.copies > 1:
                axes = self.staging.cut.space.operands[buffer.operands[0]]
                shape = [axis.span(pieces).size for axis in axes]
                made = allocate(self.b, self.op, buffer, shape)
                found.update((index, made) for index in buffer.operands)
        return found

    def moving(self, level: int) -> Iterator[int]:
        """The operands whose tiles change in the loop at `level`: one of each buffer.

        The destination is among them too if it shares its buffer with an input.
        """
        for buffer in self.staging.buffers:
            if not buffer.whole and self.staging.cut.level(buffer.operands[0]) == level:
                yield buffer.operands[0]
                if buffer.operands[0] != self.last and buffer.operands[-1] == self.last:
                    yield self.last

    def begun(self, tile: Tile) -> bool:
        """Whether a tile of the destination holds sums of an earlier step or from before the op."""
        if accumulates(self.op):
            return True
        linear = isinstance(self.op, Conv2dOp | FullyConnectedOp)
        return linear and IN in tile and not tile[IN].piece.opens

    def load(self, tile: Tile, index: int) -> None:
        """Build the transfer that brings the tile of an operand on chip."""
        source = self.part(tile, index, self.op.operands[index])
        target = corner(self.b, self.buffers[index], shape_of(source))
        self.move(source, target, index)
        if index in self.chains:
            self.compute_operand(tile, index, target)

    def compute_operand(self, tile: Tile, index: int, buffer: SSAValue) -> None:
        """Build the ops that compute the tile of an operand from the one that has been loaded."""
        axes = self.staging.cut.space.operands[index]
        pieces = {name: place.piece for name, place in tile.items()}
        channel = self.low(axes[1], tile, pieces) if len(axes) > 1 else 0
        runs = self.runs(tile) if self.staging.cut.order else None
        self.chains[index].compute(buffer, channel, runs)

    def store(self, tile: Tile) -> None:
        """Build the transfer that takes the tile of the destination off the chip."""
        target = self.part(tile, self.last, self.op.operands[self.last])
        source = corner(self.b, self.buffers[self.last], shape_of(target))
        transfer(self.b, self.op, source, target, OUTPUT % self.channels)

    def move(self, source: SSAValue, target: SSAValue, index: int) -> None:
        """Build a transfer onto the chip for the operand at `index`."""
        weights = is_weight(self.op, self.op.operands[index])
        channel = WEIGHTS if weights else FIRST_MAP if index == 0 else OTHER_MAPS
        transfer(self.b, self.op, source, target, channel % self.channels, weights=weights)

    def part(self, tile: Tile, index: int, buffer: SSAValue) -> SSAValue:
        """The part of an operand's buffer that a tile needs."""
        axes = self.staging.cut.space.operands[index]
        pieces = {name: place.piece for name, place in tile.items()}
        sizes = [axis.span(pieces).size for axis in axes]
        at = [self.low(axis, tile, pieces) for axis in axes]
        return view(self.b, buffer, at, sizes)

    def low(self, axis: Along, tile: Tile, pieces: Mapping[str, Piece]) -> Index:
        """The first element that a tile needs along an axis."""
        b = self.b
        start = axis.span(pieces).low
        low: Index = start
        for name in axis.loops:
            place = tile[name]
            if place.segment.runs > 1:
                second = {**pieces, name: place.segment.at(1)}
                step = axis.span(second).low - start
                low = b.add(b.mul(place.index, step), low, f"{name}_at")
        return low

    def operand(self, tile: Tile, index: int) -> SSAValue:
        """An operand of the op on a tile: a part of its tile buffer, or of its on-chip buffer.

        A number is an operand of each tile.
        """
        if not is_buffer_type(self.op.operands[index].type):
            return self.op.operands[index]
        if not index and self.reads:
            return self.shared(tile)
        buffer = next((b for b in self.staging.buffers if index in b.operands), None)
        if buffer is None:
            return self.part(tile, index, self.op.operands[index])
        if buffer.whole:
            return self.part(tile, index, self.buffers[index])
        pieces = {name: place.piece for name, place in tile.items()}
        axes = self.staging.cut.space.operands[index]
        tiles = self.buffers[index]
        if index in self.chains:
            tiles = self.chains[index].output(tiles)
        return corner(self.b, tiles, [axis.span(pieces).size for axis in axes])

    def shared(self, tile: Tile) -> SSAValue:
        """The part that the op needs of a tile of its first operand, which others read, too."""
        order = set(self.staging.cut.order)
        pieces = {name: place.piece for name, place in tile.items()}
        spans = [(axis.span(pieces), bool(order & set(axis.loops))) for axis in self.reads]
        at = [0 if is_cut else span.low for span, is_cut in spans]
        return view(self.b, self.buffers[0], at, [span.size for span, _ in spans])

    def compute(self, tile: Tile) -> None:
        """Build the ops that compute one tile."""
        if not is_computed_on_buffers(self.op):
            return
        *inputs, out = (self.operand(tile, index) for index in range(self.last + 1))
        for new in self.layers(tile, inputs, out):
            if self.staging.cut.order:
                RUNS.set(new, self.runs(tile))
            self.made.append(self.b.insert(new))

    def runs(self, tile: Tile) -> int:
        """How often the layer on this tile runs in one inference."""
        runs = RUNS.get(self.op) or 1
        for place in tile.values():
            runs *= place.segment.runs
        return runs

    def layers(self, tile: Tile, inputs: Sequence[SSAValue], out: SSAValue) -> Iterator[Operation]:
        """The op that computes one tile; for a pool taken apart, those of its sums and its pool.

        The pool comes only with the last part of the sums.
        """
        if not isinstance(self.op, LayerOp):
            computation = computation_of(self.op)
            assert computation is not None
            yield computation.on((*inputs, out))
            return
        form = self.form(tile)
        if self.sums is None:
            yield tile_layer(self.op, form, inputs, out)
            return
        assert isinstance(self.op, Conv2dOp)
        pieces = {name: place.piece for name, place in tile.items()}
        axes = sums_axes(self.op, self.staging.cut.space)
        sums = corner(self.b, self.sums, [axis.span(pieces).size for axis in axes])
        yield sums_of(self.op, form, inputs, sums)
        if form.closes:
            yield pool_of(self.op, form, sums, out)

    def form(self, tile: Tile) -> TileForm:
        """The pads, groups, sums and first channel of a tile."""
        pieces = {name: place.piece for name, place in tile.items()}

        def pads(name: str) -> Pads | None:
            axes = self.staging.cut.space.windowed(name)
            return next((axis.span(pieces).pads for axis in axes), None)

        groups = pieces[GROUPS].count if GROUPS in pieces else 1
        opens, closes = True, True
        if IN in pieces:
            opens, closes = pieces[IN].opens, pieces[IN].closes
        channels = self.staging.cut.space.operands[self.last][1:2]
        channel = next((axis.span(pieces).low for axis in channels), 0)
        return TileForm(pads(ROWS), pads(COLUMNS), groups, opens, closes, channel)
