"""`npu-check-overlays`: prove that layers overwrite only what they have read (on loops).

    func.call @dw1(%x, %y) {npu.overlays = array<i64: 0, 1, 640, 640>} : ...
    func.func private @dw1(%ifm: ..., %ofm: ...) { scf.for ... }

Level of IR: loops in functions of their own, with offsets in the caller. Where the two buffers of a
claim share memory, the pass follows the bytes that the loops of the function touch. It changes
nothing, and rejects a call whose loops may read a byte after they have overwritten it.

A loop over rows that has claims is run row by row. It is rejected if any two of its buffers share
memory, unless it uses each byte of the first one before it writes the second there. The first one
must not be used behind the loop then, and the second one not before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue

from npu_dialect.arguments import argument_attributes, is_input, is_output
from npu_dialect.attributes import LAYER, OVERLAYS
from npu_dialect.walking import walk_kind
from npu_passes.analysis.index_values import NotKnown
from npu_passes.analysis.nests import NestReader
from npu_passes.analysis.overlaid import Claim, bytes_apart, claims_of, distance_of
from npu_passes.analysis.row_bytes import RowBytes, outer_buffers
from npu_passes.analysis.views import is_buffer, uses_of
from npu_passes.support.refuse import RefusingPass, refuse
from npu_plans.overlays.nest import (
    Node,
    TooManyForms,
    distance,
    distance_in_classes,
    mirrored,
)


@dataclass(frozen=True)
class CheckOverlaysPass(RefusingPass):
    """Prove that layers overwrite only what they have read; see the module."""

    name = "npu-check-overlays"

    ONLY_READS = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check call by call; a function is followed once."""
        nests: dict[Operation, tuple[Node, ...]] = {}
        safe: dict[tuple[Operation, Claim, int], bool] = {}
        functions = {each.sym_name.data: each for each in op.ops if isinstance(each, FuncOp)}
        for call in walk_kind(op, scf.ForOp, CallOp):
            if isinstance(call, scf.ForOp) and OVERLAYS.get(call):
                check_rows(call)
            if not isinstance(call, CallOp):
                continue
            for claim in claims_of(call):
                apart = distance_of(call, claim)
                callee = functions.get(call.callee.string_value())
                if apart is None or callee is None or callee.is_declaration:
                    continue
                if callee not in nests:
                    nests[callee] = nest_of(callee)
                key = callee, claim, apart
                if key not in safe:
                    safe[key] = is_safe(nests[callee], claim, apart)
                if not safe[key]:
                    refuse(
                        call,
                        f"expected operand {claim.source} farther than {apart} bytes behind "
                        f"operand {claim.target}: its bytes are read after they are overwritten",
                        f'"{LAYER.get(call) or call.callee.string_value()}"',
                    )


def check_rows(loop: scf.ForOp) -> None:
    """Check a loop over rows. Raises: PassFailedException, attached to the loop."""
    buffers = outer_buffers(loop)
    shared = {
        (one, other): apart
        for one, other in combinations(range(len(buffers)), 2)
        if (apart := bytes_apart(buffers[one], buffers[other])) is not None
    }
    if not shared:
        return
    try:
        state = RowBytes.of(loop)
    except NotKnown:
        refuse(loop, "expected indices of rows that are known: its buffers share memory")
    for (one, other), apart in shared.items():
        if one not in state.tops and other not in state.tops:
            continue
        if not state.meet(one, other, apart):
            continue
        ways = [
            (source, target, given, least)
            for source, target, given in ((one, other, apart), (other, one, -apart))
            if (least := state.nearest(source, target)) is not None
        ]
        dying = [way for way in ways if not lives_on(loop, *way[:2])]
        if not any(given >= least for _, _, given, least in dying):
            source, target, given, _ = (dying or ways)[0]
            refuse(
                loop,
                f"expected buffer {source} farther than {given} bytes behind buffer {target}: "
                "its bytes are used after they are overwritten",
            )


def lives_on(loop: scf.ForOp, source: int, target: int) -> bool:
    """Whether a buffer is used behind a loop, or another one before it: neither overwrites it."""
    buffers, block = outer_buffers(loop), loop.parent_block()
    assert block is not None
    behind = any(after for _, after in uses_around(buffers[source], loop, block))
    return behind or any(before for before, _ in uses_around(buffers[target], loop, block))


def uses_around(buffer: SSAValue, loop: scf.ForOp, block: Block) -> Iterator[tuple[bool, bool]]:
    """For each use of a buffer whether it is before a loop, and whether it is behind it."""
    marks = argument_attributes(buffer)
    yield is_input(marks), is_output(marks)
    for use in uses_of(buffer):
        op = block.find_ancestor_op_in_block(use.operation)
        if op is not loop:
            yield (
                op is None or op.is_before_in_block(loop),
                op is None or loop.is_before_in_block(op),
            )


def nest_of(function: FuncOp) -> tuple[Node, ...]:
    """The nest of a function; buffers have the numbers of arguments."""
    block = function.body.block
    reader = NestReader()
    for argument in block.args:
        if is_buffer(argument):
            reader.add(argument, argument.index)
    return reader.nodes(block.ops)


def is_safe(nest: tuple[Node, ...], claim: Claim, apart: int) -> bool:
    """Whether no byte is read after it was overwritten, if the input is `apart` bytes behind."""
    for nodes, given in ((nest, apart), (mirrored(nest), -apart)):
        try:
            least = distance(nodes, claim.source, claim.target)
        except TooManyForms:
            continue
        if least is None or given >= least:
            return True
    try:
        found = distance_in_classes(nest, claim.source, claim.target)
    except TooManyForms:
        return False
    return found is not None and apart >= found[0] and (apart - found[0]) % found[1] == 0
