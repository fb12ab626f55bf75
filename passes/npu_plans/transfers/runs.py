"""A transfer as runs of bytes: what its two memref types say, with as few axes as they allow.

Plain data out of `dma.start`, for whoever programs an engine.

    memref<1x3x2x8xf32, strided<[192, 64, 8, 1]>> to memref<1x3x2x8xf32>
        ->  3 runs of 64 bytes, one every 256 bytes in the source, every 64 bytes in the target
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from npu_dialect.dma import StartOp


@dataclass(frozen=True)
class RunAxis:
    """`count` steps: bytes from one to the next, in the target and in the source."""

    count: int
    target: int
    source: int


@dataclass(frozen=True)
class Runs:
    """Runs of `bytes` contiguous bytes along axes, the outermost first."""

    bytes: int
    axes: tuple[RunAxis, ...]

    @property
    def total(self) -> int:
        """Bytes of all runs."""
        return self.bytes * prod(axis.count for axis in self.axes)


def runs_of(op: StartOp, element_bytes: int) -> Runs:
    """The runs of a transfer whose types have static strides, and at least one element."""
    shape = type_of(op.target).get_shape()
    steps = zip(shape, strides_of(op.target), strides_of(op.source), strict=True)
    run = RunAxis(element_bytes, 1, 1)
    axes = [run]
    for extent, target, source in reversed(list(steps)):
        outer = RunAxis(extent, target * element_bytes, source * element_bytes)
        inner = axes[0]
        if extent == 1:
            continue
        if (outer.target, outer.source) == (inner.count * inner.target, inner.count * inner.source):
            axes[0] = RunAxis(extent * inner.count, inner.target, inner.source)
        else:
            axes.insert(0, outer)
    return Runs(axes[-1].count, tuple(axes[:-1]))


def type_of(value: SSAValue) -> MemRefType[Attribute]:
    """The type of a buffer."""
    assert isa(value.type, MemRefType[Attribute])
    return value.type


def strides_of(value: SSAValue) -> list[int]:
    """Elements between neighbours along each axis of a buffer with static strides."""
    return [stride for stride in type_of(value).get_strides() or () if stride is not None]
