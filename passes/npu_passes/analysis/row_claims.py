"""The claims of a loop over rows, from running it: an analysis on buffers.

    scf.for %r = ... { ... rows of %x are read, and rows of %y are written ... }
        {npu.overlays = array<i64: 0, 1, 640, -1>}

`row_bytes.py` runs the loop; `overlaid.py` says what a claim is.
"""

from __future__ import annotations

from itertools import permutations

from xdsl.dialects import scf

from npu_passes.analysis.index_values import NotKnown
from npu_passes.analysis.nests import storage_bytes
from npu_passes.analysis.overlaid import Claim
from npu_passes.analysis.peaks import may_alias
from npu_passes.analysis.row_bytes import RowBytes, outer_buffers


def claims_of_rows(loop: scf.ForOp) -> list[Claim]:
    """The claims of a loop over rows: how close what it writes may follow what it uses no more."""
    try:
        state = RowBytes.of(loop)
    except NotKnown:
        return []
    buffers = outer_buffers(loop)
    return [
        Claim(source, target, least, None)
        for source, target in permutations(range(len(buffers)), 2)
        if (least := state.nearest(source, target)) is not None
        and least < storage_bytes(buffers[target])
        and may_alias(buffers[source], buffers[target])
    ]
