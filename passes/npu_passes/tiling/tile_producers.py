"""Builds ops that run on the tiles of the layer that reads their output (`fused_producers.py`).

Level of IR: inside of the loop nest of that layer, right behind the load of a tile.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from npu_dialect.attributes import RUNS
from npu_dialect.computing import computation_of
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import Conv2dOp
from npu_dialect.npu.maps import shape_of
from npu_passes.support.loop_builder import Index, LoopBuilder
from npu_passes.tiling.layer_spaces import TileForm, tile_layer
from npu_passes.tiling.tile_moves import WEIGHTS, allocate_part, corner, transfer, view


@dataclass(frozen=True)
class Chain:
    """The ops that compute the tiles of an operand, in their order.

    `shape`: that of the largest tile. `channels`: the machine's number of DMA channels. `made`: the
    ops that have been built.
    """

    b: LoopBuilder
    ops: tuple[Operation, ...]
    shape: tuple[int, ...]
    channels: int
    outputs: dict[Operation, SSAValue] = field(default_factory=dict[Operation, SSAValue])
    parameters: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    made: list[Operation] = field(default_factory=list[Operation])

    def begin(self) -> None:
        """Allocate what convolutions need, and load their parameters."""
        for op in self.ops:
            if isinstance(op, Conv2dOp):
                self.outputs[op] = allocate_part(self.b, op.output, self.shape)
                for value in op.inputs[1:]:
                    self.parameters[value] = allocate_part(self.b, value, shape_of(value))
        for op in self.ops:
            for value in op.inputs[1:] if isinstance(op, Conv2dOp) else ():
                channel, target = WEIGHTS % self.channels, self.parameters[value]
                transfer(self.b, op, value, target, channel, weights=True)

    def compute(self, tile: SSAValue, channel: Index, runs: int | None) -> None:
        """Build the ops on a tile that has been loaded. `channel`: its first channel.

        `runs`: how often they run; None if there is no loop.
        """
        for op in self.ops:
            new, tile = self.on_tile(op, tile, channel)
            if runs is not None:
                RUNS.set(new, runs)
            self.made.append(self.b.insert(new))

    def on_tile(self, op: Operation, tile: SSAValue, channel: Index) -> tuple[Operation, SSAValue]:
        """An op on a tile of its input, and the tile that it computes."""
        if isinstance(op, Conv2dOp):
            count = shape_of(tile)[1]
            inputs = [tile]
            for value in op.inputs[1:]:
                _, *others = shape_of(value)
                at = [channel, *[0] * len(others)]
                inputs.append(view(self.b, self.parameters[value], at, [count, *others]))
            out = corner(self.b, self.outputs[op], shape_of(tile))
            return tile_layer(op, TileForm(None, None, count, True, True, 0), inputs, out), out
        if isinstance(op, LayerOp):
            return op.rebuilt([tile], tile), tile
        computation = computation_of(op)
        assert computation is not None
        return computation.on((tile, tile)), tile

    def output(self, tile: SSAValue) -> SSAValue:
        """The buffer of the tiles that the ops compute from those in another buffer."""
        return self.outputs.get(self.ops[-1], tile)
