"""Counts the bytes that layers move to and from a buffer if it lies off the chip (on buffers).

`traffic` counts what each layer by itself moves. `lasting_traffic` leaves out what `npu-tile-loops`
saves, and what a move costs in any case (`moves.py`). It decides which maps leave:

    npu.conv2d ins(%x, ...) outs(%all)
    npu.relu ins(%all) outs(%all)              // runs on the tiles of the convolution behind it
    npu.conv2d ins(%all, ...) outs(%y)
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue, Use

from npu_dialect.attributes import MOVES, RUNS
from npu_dialect.computing import accumulates
from npu_dialect.npu.maps import bytes_of, map_type
from npu_passes.analysis.views import uses_of
from npu_passes.tiling.fused_producers import keeps_elements


def traffic(value: SSAValue) -> int:
    """Bytes that layers move to and from a buffer that is off chip, in one inference."""
    return sum(moved(use, value) for use in distinct(uses_of(value)))


def lasting_traffic(value: SSAValue) -> int:
    """The same, without layers that run on the tiles of others.

    A move that takes the map elsewhere pays for one store, which is left out, too.
    """
    uses = distinct(uses_of(value))
    lasting = [use for use in uses if not changes_all(use.operation, value)]
    leaving = [use for use in lasting if MOVES.is_on(use.operation) and not writes(use)]
    total = sum(moved(use, value) for use in lasting)
    return total - 2 * sum(moved(use, value) for use in leaving)


def changes_all(op: Operation, buffer: SSAValue) -> bool:
    """Whether an op changes each element of a whole buffer, in the buffer's own block."""
    return (
        op.parent is buffer.owner.parent
        and op.operands[0] is buffer
        and op.operands[-1] is buffer
        and keeps_elements(op)
    )


def distinct(uses: Iterator[Use]) -> list[Use]:
    """The uses, but for those of a value that an op uses twice in the same way."""
    found = {(use.operation, operand(use), writes(use)): use for use in uses}
    return list(found.values())


def moved(use: Use, buffer: SSAValue) -> int:
    """Bytes that a use of a buffer moves, in one inference."""
    op, used = use.operation, operand(use)
    ways = 1 + (writes(use) and accumulates(op))
    count = RUNS.get(op)
    if count is not None:
        return ways * count * bytes_of(map_type(used))
    in_loop = op.parent is not buffer.owner.parent
    return ways * bytes_of(map_type(buffer if in_loop else used))


def operand(use: Use) -> SSAValue:
    """The value that is used."""
    return use.operation.operands[use.index]


def writes(use: Use) -> bool:
    """Whether a use is the destination, the last operand, of a layer or copy."""
    return use.index == len(use.operation.operands) - 1
