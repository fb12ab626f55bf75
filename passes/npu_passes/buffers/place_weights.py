"""`npu-place-weights`: copy the parameters that are read most often to on-chip memory.

Level of IR: layers on memrefs, before offsets are assigned. It decides which parameters are copied
from flash right before their layer (paper 002, section 7, future work). Later,
`npu-assign-sram-offsets` assigns their offsets and checks that they fit.

    npu.conv2d ins(%x, %w, %b : ..., memref<6x1x5x5xf32, #npu.flash>, ...) outs(%y : ...) ...

becomes

    %w_1 = sram.alloc : memref<6x1x5x5xf32, #npu.sram>
    "memref.copy"(%w, %w_1) : (memref<6x1x5x5xf32, #npu.flash>, ...) -> ()
    npu.conv2d ins(%x, %w_1, %b : ..., memref<6x1x5x5xf32, #npu.sram>, ...) outs(%y : ...) ...
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.npu.attributes import FlashSpace, SramSpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import bytes_of, is_buffer_type, map_type, shape_of
from npu_dialect.sram import AllocOp
from npu_passes.support.refuse import Refusal, RefusingPass


@dataclass(frozen=True)
class Candidate:
    """A parameter of a layer that lies in flash.

    `reads`: how often one run of the layer reads each element. `size`: bytes of the parameter.
    """

    op: LayerOp
    value: SSAValue
    reads: int
    size: int


@dataclass(frozen=True)
class PlaceWeightsPass(RefusingPass):
    """Copy parameters to on-chip memory, most reads first, up to `bytes` bytes in all.

    A convolution reads each weight once per output of its filter (before pooling), a fully
    connected layer once per row of its input. A parameter that is read only once stays in flash, as
    the copy would have to read it once too. Parameters that are on chip already count towards
    `bytes`.
    """

    name = "npu-place-weights"

    bytes: int = 0
    """The most bytes of on-chip memory for parameters."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose the parameters, then copy them.

        Raises: PassFailedException if `bytes` is negative.
        """
        if self.bytes < 0:
            raise Refusal(f"expected bytes of at least 0, got {self.bytes}")
        for candidate in weights_to_move(op, self.bytes):
            move(candidate)


def weights_to_move(module: ModuleOp, budget: int) -> tuple[Candidate, ...]:
    """The parameters to copy, at most `budget` bytes; of equal ones, the first in the text."""
    layers = [op for op in module.walk() if isinstance(op, LayerOp) and op.destination is not None]
    left = budget - sum(
        bytes_of(map_type(value))
        for op in layers
        for value in op.parameter_inputs
        if has_space(value, SramSpace())
    )
    chosen: list[Candidate] = []
    every = [each for op in layers for each in candidates(op)]
    for candidate in sorted(every, key=lambda each: -each.reads):
        if candidate.reads > 1 and candidate.size <= left:
            chosen.append(candidate)
            left -= candidate.size
    return tuple(chosen)


def candidates(op: LayerOp) -> list[Candidate]:
    """The parameters of a layer that are globals in flash, each once."""
    values = [value for value in op.parameter_inputs if has_space(value, FlashSpace())]
    reads = reads_of(op)
    return [
        Candidate(op, value, reads, bytes_of(map_type(value)))
        for value in dict.fromkeys(values)
        if isinstance(value.owner, memref.GetGlobalOp)
    ]


def has_space(value: SSAValue, space: Attribute) -> bool:
    """Whether a value is a memref in a memory space."""
    type_ = value.type
    return is_buffer_type(type_) and type_.memory_space == space


def reads_of(op: LayerOp) -> int:
    """How often one run of a layer reads each element of its parameters: outputs per filter."""
    largest = max((prod(shape_of(value)) for value in op.parameter_inputs), default=0)
    return (op.macs() or prod(op.output_type.get_shape())) // max(1, largest)


def move(candidate: Candidate) -> None:
    """Copy a parameter right before its layer, which then reads the copy."""
    op, value = candidate.op, candidate.value
    type_ = map_type(value)
    assert is_buffer_type(type_)
    alloc = AllocOp(MemRefType(type_.element_type, type_.get_shape(), type_.layout, SramSpace()))
    alloc.buffer.name_hint = value.name_hint
    copy = memref.CopyOp(value, alloc.buffer)
    Rewriter.insert_op([alloc, copy], InsertPoint.before(op))
    for index, operand in enumerate(op.operands):
        if operand is value:
            op.operands[index] = alloc.buffer
