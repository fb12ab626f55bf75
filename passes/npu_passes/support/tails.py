"""Which layers `npu-fuse-tails` can run row by row: an analysis on tensors."""

from __future__ import annotations

from typing import Literal

from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import AvgPool2dOp, Conv2dOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.row_windows import row_window


def tail_of(op: LayerOp) -> Literal["average", "pointwise"] | None:
    """The kind of a layer on tensors that can run row by row; None if it is no such layer.

    `average`: an average pool. `pointwise`: a 1x1 convolution without a fused pool. Both must have
    as many output rows and columns as input rows and columns.
    """
    if op.destination is not None or len(op.maps) != 1 or row_window(op) is None:
        return None
    if shape_of(op.maps[0])[2:] != shape_of(op.output)[2:]:
        return None
    if isinstance(op, AvgPool2dOp):
        return "average"
    if isinstance(op, Conv2dOp) and op.pool is None and shape_of(op.weight)[2:] == (1, 1):
        return "pointwise"
    return None
