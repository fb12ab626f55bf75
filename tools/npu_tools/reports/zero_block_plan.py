"""The most bytes that each off-chip map moves in a pipeline that moves maps in blocks.

The level of IR is transfers in loops, before layers are outlined. With `npu-compress-spills`,

    %a = dram.alloc at 0 : memref<1x8x20x22xf32, #npu.dram>
    %t = dma.start %tile to %part channel 3 blocks 4 zero 0 of %a, %a_index : ...
gives the row
    {"map": "a", "layers": ["c1"], "compressed": true, "predicted_sparsity": 0.44,
     "bytes_before": 28160, "index_bytes": 30, "bytes_at_most": 28224, ...}

`bytes_before` is what all transfers of the map move in one inference without blocks.
`bytes_at_most` is what they move in blocks if no block is zero: the same and the bytes of the index
that they read and write. `index_bytes` is the size of the map's index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from xdsl.ir import Operation

from npu_dialect import dma, dram
from npu_dialect.attributes import NOT_COMPRESSED
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import bytes_of, map_type, shape_of
from npu_passes.analysis.views import root_of
from npu_passes.zero_blocks.spilled_maps import SpilledMap, layers
from npu_plans.zero_blocks.model import index_bytes
from npu_tools.reports.off_chip import worst_index


def block_rows(function: Operation, times: Mapping[dma.StartOp, int]) -> Iterator[dict[str, Any]]:
    """A row for each map that moves in blocks, or that `npu-compress-spills` has left as it is.

    `times`: how often each transfer runs in one inference.
    """
    writers = list(layers(function))
    for alloc in [op for op in function.walk() if isinstance(op, dram.AllocOp)]:
        stores = [op for op in times if root_of(op.target) is alloc.buffer]
        loads = [op for op in times if root_of(op.source) is alloc.buffer]
        blocks = [op.block.value.data for op in (*stores, *loads) if op.block is not None]
        if blocks or NOT_COMPRESSED.is_on(alloc):
            tiles = [root_of(op.source) for op in stores]
            found = tuple(op for op in writers if root_of(op.output) in tiles)
            spilled = SpilledMap(alloc, tuple(stores), tuple(loads), found)
            yield block_row(spilled, times, blocks[0] if blocks else None)


def block_row(
    spilled: SpilledMap, times: Mapping[dma.StartOp, int], block: int | None
) -> dict[str, Any]:
    """The row of one map; `block` is the side of a block, or None without blocks."""
    moved = [(op, times[op]) for op in (*spilled.stores, *spilled.loads)]
    before = sum(bytes_of(map_type(op.target)) * count for op, count in moved)
    index = sum(worst_index(op) * count for op, count in moved if op.block is not None)
    buffer = spilled.alloc.buffer
    reason = NOT_COMPRESSED.get(spilled.alloc)
    return {
        "map": buffer.name_hint or "a map",
        "layers": list(dict.fromkeys(map(layer_name, spilled.writers))),
        "shape": list(shape_of(buffer)),
        "compressed": block is not None,
        "reason": reason,
        "predicted_sparsity": spilled.predicted,
        "bytes_before": before,
        "index_bytes": 0 if block is None else index_bytes(shape_of(buffer), block),
        "bytes_at_most": before + index,
    }


def layer_name(op: LayerOp) -> str:
    """The layer's name in the model; the op's name if it has none."""
    return op.layer_name or op.name
