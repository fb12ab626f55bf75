"""Counts the bytes that layers move to and from a buffer if it lies off the chip (on buffers).

`traffic` counts what each layer by itself moves. `lasting_traffic` leaves out what later passes
save, and decides which maps leave:

    npu.conv2d ins(%x, ...) outs(%part)        // stores %part once, behind the last layer that
    npu.add ins(%part, %y) outs(%part)         // uses it: npu-keep-maps, npu-keep-parts
    npu.relu ins(%all) outs(%all)              // runs on the tiles of the convolution behind it:
    npu.conv2d ins(%all, ...) outs(%z)         // npu-tile-loops
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue, Use

from npu_dialect.attributes import RUNS
from npu_dialect.computing import accumulates, is_computed_on_buffers
from npu_dialect.npu.maps import bytes_of, map_type
from npu_passes.analysis.accesses import Access, accesses
from npu_passes.analysis.views import uses_of, views_of
from npu_passes.tiling.fused_producers import keeps_elements


def traffic(value: SSAValue) -> int:
    """Bytes that layers move to and from a buffer that is off chip, in one inference."""
    return sum(moved(use, value) for use in distinct(uses_of(value)))


def lasting_traffic(value: SSAValue) -> int:
    """The same, without what is saved by passes behind `npu-spill-maps`."""
    kept = {view: found for view in views_of(value) if (found := accesses_of_part(view))}
    found = sum(kept_bytes(part) for part in kept.values())
    for use in distinct(uses_of(value)):
        if operand(use) not in kept and not changes_all(use.operation, value):
            found += moved(use, value)
    return found


def accesses_of_part(view: SSAValue) -> list[Access]:
    """How layers of one block use a part of a buffer; none if others use it, too."""
    users = {use.operation for use in view.uses}
    block = view.owner.parent if isinstance(view.owner, memref.SubviewOp) else None
    if block is None or not all(
        user.parent is block and is_computed_on_buffers(user) for user in users
    ):
        return []
    ordered = (op for op in block.ops if op in users)
    return [each for op in ordered for each in accesses(op) if each.value is view]


def kept_bytes(part: list[Access]) -> int:
    """Bytes that move for a part that stays on chip from its first use to its last one."""
    loaded = part[0].reads or not part[0].all_of_it
    stored = any(each.writes for each in part)
    return bytes_of(map_type(part[0].value)) * (loaded + stored)


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
