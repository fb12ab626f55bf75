"""The bytes that zero blocks of a network's maps save: the table and the JSON of npu-report.

    zero blocks   op          map        blocks  zero %  before  index  after  after %
    c1            npu.conv2d  8x20x22    240     43.75   14080   30     7950   56.46

`before` is the bytes that one access to the whole map moves, `after` those of one access in blocks,
with the index. The formulas are in `passes/npu_plans/zero_blocks/model.py`. A network of bytes has
two more columns, for one access to the whole map as bit planes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npu_plans.zero_blocks.codes import PLANES
from npu_tools.reports.module_table import percent
from npu_tools.shared.text import columns

if TYPE_CHECKING:
    from npu_tools.reports.zero_block_maps import BlockMap

HEADINGS = (
    *("layer", "op", "map", "ReLU", "blocks", "zero %"),
    *("before", "index", "after", "after %"),
)
LEFT = 4
"""How many columns are text."""
PLANNED = ("bytes_before", "index_bytes", "bytes_at_most")
"""The keys of a plan's rows (`zero_block_plan.py`) that hold bytes."""
PRUNES = "npu.prune_zero_blocks"
"""The op of layers that a network has so that blocks of its maps need not move."""


def counts(maps: Sequence[BlockMap]) -> dict[str, Any]:
    """The sums of blocks and bytes over some maps, and their share of zero blocks."""
    blocks = sum(each.blocks for each in maps)
    zero = sum(each.zero_blocks for each in maps)
    planes = [each.bytes_as_planes for each in maps]
    return {
        "blocks": blocks,
        "zero_blocks": zero,
        "sparsity": zero / blocks if blocks else 0.0,
        "bytes_before": sum(each.bytes_before for each in maps),
        "index_bytes": sum(each.index_bytes for each in maps),
        "bytes_after": sum(each.bytes_after for each in maps),
        "bytes_as_planes": None if None in planes else sum(each or 0 for each in planes),
    }


def as_dict(maps: Sequence[BlockMap]) -> dict[str, Any]:
    """The contents of `--json`: each map, then the sums of maps behind a ReLU, then of all."""
    return {
        "samples": maps[0].samples,
        "maps": [
            {
                "layer": each.layer,
                "op": each.op,
                "value": each.value,
                "shape": list(each.shape),
                "element_bytes": each.element_bytes,
                "relu": each.relu,
                "pruned": each.pruned,
                **counts([each]),
            }
            for each in maps
        ],
        "behind_relu": counts([each for each in maps if each.relu]),
        "total": counts(maps),
    }


def table(maps: Sequence[BlockMap]) -> Iterator[str]:
    """The lines of the table. Bytes are sums over all samples."""
    has_planes = all(each.planes is not None for each in maps)
    rows = [row(each, has_planes=has_planes) for each in maps]
    behind = [each for each in maps if each.relu]
    ends = [
        ("behind a ReLU", "", "", "", *cells(behind, has_planes=has_planes)),
        ("all", "", "", "", *cells(maps, has_planes=has_planes)),
    ]
    headings = (*HEADINGS, *("planes", "planes %") * has_planes)
    yield from columns([headings, *rows, *ends], LEFT)


def row(each: BlockMap, *, has_planes: bool) -> tuple[str, ...]:
    """The cells of one map."""
    shape = "x".join(str(extent) for extent in each.shape[1:])
    relu = "pruned" if each.pruned else "yes" if each.relu else ""
    return (each.layer, each.op, shape, relu, *cells([each], has_planes=has_planes))


def cells(maps: Sequence[BlockMap], *, has_planes: bool) -> tuple[str, ...]:
    """The cells with the sums over some maps; bytes as bit planes only with `has_planes`."""
    numbers = counts(maps)
    planes = numbers["bytes_as_planes"] if has_planes else 0
    return (
        str(numbers["blocks"]),
        percent(numbers["zero_blocks"], numbers["blocks"]),
        *(str(numbers[key]) for key in ("bytes_before", "index_bytes", "bytes_after")),
        percent(numbers["bytes_after"], numbers["bytes_before"]),
        *(str(planes), percent(planes, numbers["bytes_before"]))[: 2 * has_planes],
    )


def plan_table(rows: Sequence[Mapping[str, Any]], ops: Sequence[str] = ()) -> Iterator[str]:
    """The lines of the table of a plan: the most bytes that each map off chip moves, and the sums.

    `rows` are those of `zero_block_plan.py`, `ops` the names of all layers' ops. Without rows there
    are no lines, or one if a layer prunes blocks.
    """
    if not rows:
        if PRUNES in ops:
            yield ""
            yield "maps off the chip: none, so zero blocks have nothing to save"
        return
    sums = [str(sum(row[key] for row in rows)) for key in PLANNED]
    has_planes = any(row["predicted_planes"] is not None or row["code"] == PLANES for row in rows)
    measured = ("zero %", "planes %") if has_planes else ("zero %",)
    yield ""
    yield from columns(
        [
            ("maps off the chip", "map", *measured, "before", "index", "at most", ""),
            *(plan_row(row, has_planes=has_planes) for row in rows),
            ("all", "", *("" for _ in measured), *sums, ""),
        ],
        2,
    )


def plan_row(row: Mapping[str, Any], *, has_planes: bool) -> tuple[str, ...]:
    """The cells of one map; the last one says why it does not move in blocks, if so."""
    shares = [row["predicted_sparsity"], *([row["predicted_planes"]] if has_planes else [])]
    return (
        row["map"],
        "x".join(map(str, row["shape"][1:])),
        *("-" if share is None else f"{100 * share:.2f}" for share in shares),
        *(str(row[key]) for key in PLANNED),
        row["reason"] or (PLANES if row["code"] == PLANES else ""),
    )
