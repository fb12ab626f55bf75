"""What zero blocks of a network's maps save, as a table for people and as numbers.

    zero blocks   op          map        blocks  zero %  before  index  after  after %
    c1            npu.conv2d  8x20x22    240     43.75   14080   30     7950   56.46

`before` is one pass over the map as it is, in bytes, `after` one in blocks with its index. These
are the formulas of `passes/npu_plans/zero_blocks/model.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npu_tools.reports.module_table import percent
from npu_tools.reports.table import columns

if TYPE_CHECKING:
    from npu_tools.reports.zero_block_maps import BlockMap

HEADINGS = (
    *("layer", "op", "map", "ReLU", "blocks", "zero %"),
    *("before", "index", "after", "after %"),
)
LEFT = 4
"""Columns of text."""
PLANNED = ("bytes_before", "index_bytes", "bytes_at_most")
"""Keys of a plan's rows that are bytes."""


def counts(maps: Sequence[BlockMap]) -> dict[str, Any]:
    """Blocks and bytes of some maps together."""
    blocks = sum(each.blocks for each in maps)
    zero = sum(each.zero_blocks for each in maps)
    return {
        "blocks": blocks,
        "zero_blocks": zero,
        "sparsity": zero / blocks if blocks else 0.0,
        "bytes_before": sum(each.bytes_before for each in maps),
        "index_bytes": sum(each.index_bytes for each in maps),
        "bytes_after": sum(each.bytes_after for each in maps),
    }


def as_dict(maps: Sequence[BlockMap]) -> dict[str, Any]:
    """The numbers of `--json`: each map, then those behind a ReLU, then all."""
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
    """The lines of the table; bytes of all samples together."""
    rows = [row(each) for each in maps]
    behind = [each for each in maps if each.relu]
    ends = [("behind a ReLU", "", "", "", *cells(behind)), ("all", "", "", "", *cells(maps))]
    yield from columns([HEADINGS, *rows, *ends], LEFT)


def row(each: BlockMap) -> tuple[str, ...]:
    """One map."""
    shape = "x".join(str(extent) for extent in each.shape[1:])
    relu = "pruned" if each.pruned else "yes" if each.relu else ""
    return (each.layer, each.op, shape, relu, *cells([each]))


def cells(maps: Sequence[BlockMap]) -> tuple[str, ...]:
    """The numbers of some maps together."""
    numbers = counts(maps)
    return (
        str(numbers["blocks"]),
        percent(numbers["zero_blocks"], numbers["blocks"]),
        *(str(numbers[key]) for key in ("bytes_before", "index_bytes", "bytes_after")),
        percent(numbers["bytes_after"], numbers["bytes_before"]),
    )


def plan_table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What maps off the chip move at most (`zero_block_plan.py`), and all of them together.

    Nothing if there are no rows.
    """
    if not rows:
        return
    sums = {key: sum(row[key] for row in rows) for key in PLANNED}
    yield ""
    yield from columns(
        [
            ("maps off the chip", "map", "zero %", "before", "index", "at most", ""),
            *map(plan_row, rows),
            ("all", "", "", *(str(size) for size in sums.values()), ""),
        ],
        2,
    )


def plan_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    """One map; why it moves as it is comes last."""
    share = row["predicted_sparsity"]
    return (
        row["map"],
        "x".join(map(str, row["shape"][1:])),
        "-" if share is None else f"{100 * share:.2f}",
        *(str(row[key]) for key in PLANNED),
        row["reason"] or "",
    )
