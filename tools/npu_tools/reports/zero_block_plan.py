"""The most bytes that each off-chip map moves in a pipeline that moves maps in blocks.

The level of IR is transfers in loops, before layers are outlined. With `npu-compress-spills`,

    %a = dram.alloc at 0 : memref<1x8x20x22xf32, #npu.dram>
    %t = dma.start %tile to %part channel 3 blocks 4 zero 0 of %a, %a_index : ...
gives the row
    {"map": "a", "layers": ["c1"], "compressed": true, "code": "zero blocks",
     "predicted_sparsity": 0.44, "bytes_before": 28160, "index_bytes": 30, "bytes_at_most": 28224,
     "predicted_planes": null, ...}

`bytes_before` is what all transfers of the map move in one inference without blocks.
`bytes_at_most` is what they move in blocks if no block is zero, or no run has fewer planes: the
same and the bytes of the index that they read and write, and the rest of runs that tiles cut.
`index_bytes` is the size of the map's index. `code` is null for a map that moves as it is. What is
predicted follows from `npu-measure-zero-blocks`: `predicted_planes` is the bytes that move as bit
planes, with the index, for each byte of the map.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from xdsl.ir import Operation, SSAValue

from npu_dialect import dma, dram
from npu_dialect.attributes import NOT_COMPRESSED
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import bytes_of, map_type, shape_of
from npu_passes.analysis.views import root_of
from npu_passes.zero_blocks.code_costs import planes_cost
from npu_passes.zero_blocks.spilled_maps import SpilledMap, layers
from npu_plans.zero_blocks.codes import BLOCKS, PLANES
from npu_tools.reports.off_chip import most_besides


def block_rows(function: Operation, times: Mapping[dma.StartOp, int]) -> Iterator[dict[str, Any]]:
    """A row for each map that moves in blocks, or that `npu-compress-spills` has left as it is.

    `times`: how often each transfer runs in one inference.
    """
    writers = list(layers(function))
    stored, loaded = by_map(times, "target"), by_map(times, "source")
    for alloc in [op for op in function.walk() if isinstance(op, dram.AllocOp)]:
        stores, loads = stored.get(alloc.buffer, []), loaded.get(alloc.buffer, [])
        blocks = [op for op in (*stores, *loads) if op.block is not None]
        if blocks or NOT_COMPRESSED.is_on(alloc):
            tiles = [root_of(op.source) for op in stores]
            found = tuple(op for op in writers if root_of(op.output) in tiles)
            spilled = SpilledMap(alloc, tuple(stores), tuple(loads), found)
            yield block_row(spilled, times, blocks[0] if blocks else None)


def by_map(
    transfers: Iterable[dma.StartOp], end: Literal["target", "source"]
) -> dict[SSAValue, list[dma.StartOp]]:
    """The transfers of each buffer that they move to, or from."""
    found: dict[SSAValue, list[dma.StartOp]] = {}
    for op in transfers:
        found.setdefault(root_of(op.target if end == "target" else op.source), []).append(op)
    return found


def block_row(
    spilled: SpilledMap, times: Mapping[dma.StartOp, int], blocked: dma.StartOp | None
) -> dict[str, Any]:
    """The row of one map; `blocked` is a transfer of it in blocks, None if there is none."""
    moved = [(op, times[op]) for op in (*spilled.stores, *spilled.loads)]
    before = sum(bytes_of(map_type(op.target)) * count for op, count in moved)
    index = sum(most_besides(op) * count for op, count in moved if op.block is not None)
    buffer = spilled.alloc.buffer
    planes = planes_cost(spilled, None)
    return {
        "map": buffer.name_hint or "a map",
        "layers": list(dict.fromkeys(map(layer_name, spilled.writers))),
        "shape": list(shape_of(buffer)),
        "compressed": blocked is not None,
        "code": code_of(blocked),
        "reason": NOT_COMPRESSED.get(spilled.alloc),
        "predicted_sparsity": spilled.predicted,
        "predicted_planes": None if planes is None else planes.moved,
        "bytes_before": before,
        "index_bytes": 0 if blocked is None else bytes_of(map_type(blocked.blocked[1])),
        "bytes_at_most": before + index,
    }


def code_of(blocked: dma.StartOp | None) -> str | None:
    """The code that a map moves in, by one of its transfers in blocks."""
    if blocked is None:
        return None
    return BLOCKS if blocked.planes is None else PLANES


def layer_name(op: LayerOp) -> str:
    """The layer's name in the model; the op's name if it has none."""
    return op.layer_name or op.name
