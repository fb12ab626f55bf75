"""`npu-check-overlays`: prove that layers overwrite only what they have read (on loops).

    func.call @dw1(%x, %y) {npu.overlays = array<i64: 0, 1, 640, 640>} : ...
    func.func private @dw1(%ifm: ..., %ofm: ...) { scf.for ... }

Level of IR: loops in functions of their own, with offsets in the caller. Where the two buffers of a
claim share memory, the pass follows the bytes that the loops of the function touch. It changes
nothing, and rejects a call whose loops may read a byte after they have overwritten it.

A loop over rows that has claims is run row by row. It is rejected if any two of its buffers share
memory, unless it only reads the first one, and each byte of it before it writes the second there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from npu_dialect.attributes import LAYER, OVERLAYS
from npu_passes.analysis.index_values import NotKnown
from npu_passes.analysis.nests import NestReader
from npu_passes.analysis.overlaid import Claim, bytes_apart, claims_of, distance_of
from npu_passes.analysis.row_bytes import RowBytes, outer_buffers
from npu_passes.analysis.views import is_buffer
from npu_passes.support.refuse import RefusingPass, refuse
from npu_plans.overlays.nest import Node, TooManyForms, distance, mirrored


@dataclass(frozen=True)
class CheckOverlaysPass(RefusingPass):
    """Prove that layers overwrite only what they have read; see the module."""

    name = "npu-check-overlays"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check call by call; a function is followed once."""
        nests: dict[Operation, tuple[Node, ...]] = {}
        functions = {each.sym_name.data: each for each in op.ops if isinstance(each, FuncOp)}
        for call in op.walk():
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
                if not is_safe(nests[callee], claim, apart):
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
        (source, target): apart
        for source, target in permutations(range(len(buffers)), 2)
        if (apart := bytes_apart(buffers[source], buffers[target])) is not None
    }
    if not shared:
        return
    try:
        state = RowBytes.of(loop)
    except NotKnown:
        refuse(loop, "expected indices of rows that are known: its buffers share memory")
    for (source, target), apart in shared.items():
        both = {source, target} <= state.written
        if both or apart < state.least.get((source, target), apart):
            refuse(
                loop,
                f"expected buffer {source} farther than {apart} bytes behind buffer {target}: "
                "its bytes are read after they are overwritten",
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
    return False
