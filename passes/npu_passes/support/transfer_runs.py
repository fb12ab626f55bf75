"""The contiguous runs of bytes that a `dma.start` moves, read from its memref types."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from npu_dialect.dma import StartOp
from npu_dialect.npu.maps import is_buffer_type
from npu_plans.transfers.runs import Runs, merged_runs


def transfer_runs(op: StartOp, element_bytes: int) -> Runs:
    """The runs of a transfer; its types must have static strides and at least one element."""
    shape = buffer_type(op.target).get_shape()
    return merged_runs(shape, strides_of(op.target), strides_of(op.source), element_bytes)


def buffer_type(value: SSAValue) -> MemRefType[Attribute]:
    """The type of a buffer."""
    assert is_buffer_type(value.type)
    return value.type


def strides_of(value: SSAValue) -> list[int]:
    """The strides of a buffer, in elements; they must be static."""
    return [stride for stride in buffer_type(value).get_strides() or () if stride is not None]
