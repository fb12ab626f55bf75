"""Takes a convolution and its fused pooling window apart where they do not fit on chip together.

Level of IR: staging of one `npu.conv2d` with a pooling window. Such a layer needs all input
channels of a tile at once, because its destination holds pooled values and no sums. Taken apart,
the sums of a tile have a buffer on chip. They are accumulated over a few input channels at a time,
and pooled once they are complete.

    for out, rows, columns:
      for in:
        npu.conv2d ins(%x_tile, %w_tile) outs(%sums) accumulate
      npu.max_pool2d ins(%sums) outs(%y_tile)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from xdsl.ir import SSAValue

from npu_dialect.npu.attributes import int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import AvgPool2dOp, Conv2dOp, MaxPool2dOp
from npu_passes.tiling.layer_spaces import (
    COLUMNS,
    IN,
    OUT,
    ROWS,
    TileForm,
    conv_space,
    conv_windows,
    new_pads,
    tile_layer,
    with_pads,
)
from npu_plans.tiles.operand_regions import Along, Cut, Space, even_sizes


def apart_space(op: Conv2dOp) -> Space:
    """The loops of a convolution whose sums have a buffer of their own: input channels innermost.

    Without requantisation the loop over input channels can be cut.
    """
    space = conv_space(op)
    loops = [loop for loop in space.loops if loop.name != IN]
    inner = replace(space.loop(IN), fixed=op.requantize is not None)
    return Space((*loops, inner), space.operands)


def sums_axes(op: Conv2dOp, space: Space) -> tuple[Along, ...]:
    """How the axes of the buffer of sums follow the loops: its rows and columns are pooled."""
    images, channels, *_ = space.operands[-1]
    spatial = [
        Along(windows[0].outputs)
        if space.loop(name).fixed
        else Along(windows[0].outputs, name, windows[1:])
        for name, windows in zip((ROWS, COLUMNS), conv_windows(op), strict=True)
    ]
    return images, channels, *spatial


def candidates(space: Space) -> Iterator[Cut]:
    """Tiles to choose from: all even sizes of output channels, every fourth along other loops."""
    sizes: list[list[int]] = []
    for loop in space.loops:
        even = list(even_sizes(loop.extent))
        some = even if loop.name == OUT else dict.fromkeys([*even[::4], 1])
        sizes.append([loop.extent] if loop.fixed else list(some))
    names = [loop.name for loop in space.loops]
    for each in product(*sizes):
        tile = dict(zip(names, each, strict=True))
        if space.has_tiles(tile):
            yield Cut.of(space, tile)


def pool_of(op: Conv2dOp, form: TileForm, sums: SSAValue, out: SSAValue) -> LayerOp:
    """The pooling layer from a tile's finished sums to `out`."""
    assert op.pool is not None
    window = with_pads(op.pool, new_pads(int_values(op.pool.pads), form, 1))
    new = MaxPool2dOp(sums, window, out) if window.is_max else AvgPool2dOp(sums, window, out)
    new.attributes.update(op.attributes)
    return new


def sums_of(op: Conv2dOp, form: TileForm, inputs: Sequence[SSAValue], sums: SSAValue) -> LayerOp:
    """The convolution of a tile, without its pool, into the buffer of its sums."""
    new = tile_layer(op, form, inputs, sums)
    assert isinstance(new, Conv2dOp)
    new.change_epilogue(pool=None, overlap=None)
    return new
