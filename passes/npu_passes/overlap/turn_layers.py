"""`npu-turn-layers`: mark the layers that must run backwards, as the offsets want (on buffers).

    %x = sram.alloc at 0 : memref<1x64x25x5xi8, ...>
    %y = sram.alloc at 640 : memref<1x64x25x5xi8, ...>
    npu.conv2d ins(%x, ...) outs(%y : ...) {npu.overlays = array<i64: 0, 3, 640, 640>}
becomes
    npu.conv2d ins(%x, ...) outs(%y : ...) {npu.backwards, npu.overlays = array<i64: ...>}

Level of IR: layers on buffers with offsets. A layer whose output lies before its dying input runs
forwards. One whose output lies behind it runs from the last row to the first.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npu_dialect.attributes import BACKWARDS
from npu_dialect.npu.layer import LayerOp
from npu_passes.analysis.overlaid import Claim, claims_of, distance_of
from npu_passes.support.refuse import RefusingPass


@dataclass(frozen=True)
class TurnLayersPass(RefusingPass):
    """Mark the layers that must run backwards; see the module."""

    name = "npu-turn-layers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Mark layer by layer."""
        for layer in op.walk():
            if isinstance(layer, LayerOp) and any(
                must_turn(layer, claim) for claim in claims_of(layer)
            ):
                BACKWARDS.set(layer, True)


def must_turn(op: Operation, claim: Claim) -> bool:
    """Whether the buffers of a claim overlap so that the op must run backwards."""
    distance = distance_of(op, claim)
    return distance is not None and distance < claim.forwards and not claim.exact
