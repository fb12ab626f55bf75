"""`npu-lower-to-loops`: lower layers to loops of scf, memref, arith and math (on buffers).

Afterwards no layer is left. For a core with the `dsp` extension, the loops also use the dialect
`dsp`.

    npu.relu ins(%x : memref<8xf32, #npu.sram>) outs(%x : memref<8xf32, #npu.sram>)
->
    scf.for %i = %c0 to %c8 step %c1 {
      %0 = memref.load %x[%i]
      %1 = arith.cmpf olt, %0, %cst : f32
      %2 = arith.select %1, %cst, %0 : f32
      memref.store %2, %x[%i]
    }

Convolutions and fully connected layers use register blocks. The number of sums in a block depends
on `registers`, from the machine or the option. `unroll` limits the multiply-accumulates in
straight-line code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, f32, i8, i16, i32
from xdsl.ir import Operation, SSAValue

from npu_dialect.attributes import BACKWARDS, FLASH
from npu_dialect.npu import (
    AddOp,
    AvgPool2dOp,
    BatchNormOp,
    CastOp,
    ClampOp,
    ConcatOp,
    Conv2dOp,
    DequantizeOp,
    FullyConnectedOp,
    GlobalAvgPool2dOp,
    GlobalMaxPool2dOp,
    InterleaveOp,
    LookupOp,
    LrnOp,
    MapOp,
    MatmulOp,
    MaxPool2dOp,
    MulOp,
    NormalizeOp,
    PairwiseOp,
    PickOp,
    PruneZeroBlocksOp,
    QuantizedAddOp,
    QuantizedAvgPool2dOp,
    QuantizedBinaryOp,
    QuantizeOp,
    RecurrentOp,
    ReduceOp,
    ReluOp,
    RequantizeOp,
    ResampleOp,
    SoftmaxOp,
    TransposeOp,
    WhereOp,
)
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import SumsOp
from npu_dialect.npu.maps import Map, map_type
from npu_dialect.npu.quantization import ui8
from npu_dialect.target import machine_of
from npu_dialect.walking import walk, walk_kind
from npu_passes.analysis.overlaps import reject_overlaps
from npu_passes.graph.use_flash import Flash, flash_of
from npu_passes.lowering.kernels.constants import symbol_users
from npu_passes.lowering.kernels.convolution import lower_connected, lower_convolution
from npu_passes.lowering.lower_copy import lower_copy, moves_rows
from npu_passes.lowering.lower_matmul import lower_matmul
from npu_passes.lowering.lower_normalize import lower_normalize
from npu_passes.lowering.lower_pairwise import lower_cast, lower_pairwise, lower_where
from npu_passes.lowering.lower_pick import lower_pick
from npu_passes.lowering.lower_pool import lower_global_pool, lower_pool
from npu_passes.lowering.lower_quantized import (
    lower_dequantize,
    lower_quantize,
    lower_quantized_add,
    lower_requantize,
)
from npu_passes.lowering.lower_recurrent import lower_recurrent
from npu_passes.lowering.lower_reduce import lower_reduce
from npu_passes.lowering.lower_resample import lower_resample
from npu_passes.lowering.lower_simple import (
    is_empty,
    lower_activation,
    lower_add,
    lower_batch_norm,
    lower_join,
    lower_lrn,
    lower_mul,
    lower_softmax,
)
from npu_passes.lowering.lower_transpose import lower_transpose
from npu_passes.lowering.lower_zero_blocks import lower_prune_zero_blocks
from npu_passes.lowering.quantized_average import lower_quantized_avg_pool
from npu_passes.lowering.quantized_pairs import lower_quantized_binary
from npu_passes.lowering.turned import can_turn, turn
from npu_passes.lowering.unused import drop_unused
from npu_passes.support.common import LoopOptions
from npu_passes.support.loop_builder import LoopBuilder
from npu_passes.support.refuse import Refusal, RefusingPass

DEFAULT_REGISTERS = 16

LOWERINGS: dict[type[LayerOp], Callable[[LoopBuilder, Any, SSAValue, LoopOptions], None]] = {
    AddOp: lower_add,
    AvgPool2dOp: lower_pool,
    BatchNormOp: lower_batch_norm,
    ClampOp: lower_activation,
    CastOp: lower_cast,
    ConcatOp: lower_join,
    Conv2dOp: lower_convolution,
    DequantizeOp: lower_dequantize,
    FullyConnectedOp: lower_connected,
    GlobalAvgPool2dOp: lower_global_pool,
    GlobalMaxPool2dOp: lower_global_pool,
    LookupOp: lower_activation,
    LrnOp: lower_lrn,
    MapOp: lower_activation,
    MaxPool2dOp: lower_pool,
    MulOp: lower_mul,
    PairwiseOp: lower_pairwise,
    PickOp: lower_pick,
    InterleaveOp: lower_join,
    MatmulOp: lower_matmul,
    NormalizeOp: lower_normalize,
    PruneZeroBlocksOp: lower_prune_zero_blocks,
    QuantizeOp: lower_quantize,
    QuantizedAddOp: lower_quantized_add,
    QuantizedAvgPool2dOp: lower_quantized_avg_pool,
    QuantizedBinaryOp: lower_quantized_binary,
    RecurrentOp: lower_recurrent,
    ReduceOp: lower_reduce,
    ReluOp: lower_activation,
    RequantizeOp: lower_requantize,
    ResampleOp: lower_resample,
    SoftmaxOp: lower_softmax,
    TransposeOp: lower_transpose,
    WhereOp: lower_where,
}

CHECKED = (
    DequantizeOp,
    QuantizeOp,
    QuantizedAddOp,
    QuantizedAvgPool2dOp,
    QuantizedBinaryOp,
    RequantizeOp,
)
"""Layers whose verifiers check their element types."""
ON_INTEGERS = (
    AddOp,
    CastOp,
    ClampOp,
    ConcatOp,
    GlobalMaxPool2dOp,
    LookupOp,
    InterleaveOp,
    MaxPool2dOp,
    PickOp,
    MulOp,
    PruneZeroBlocksOp,
    ReluOp,
    TransposeOp,
    WhereOp,
)
"""Layers that move, select, add or multiply elements, and so accept any of `INTEGERS`."""
INTEGERS = (i8, ui8, i16, i32)
"""Integer element types of the layers in `ON_INTEGERS`."""


@dataclass(frozen=True)
class LowerToLoopsPass(RefusingPass):
    """Lower layers in destination style to loops."""

    name = "npu-lower-to-loops"

    registers: int | None = None
    """How many floats the core holds at once (0: no FPU). Default: the machine's, else 16."""
    unroll: int = 512
    """The most multiply-accumulates in straight-line code."""
    flash: Flash | None = None
    """`fast`: 8-bit weights may be stored as 16 bits to save instructions. `small`: they may not.
    Default: `npu.flash` of the module, else `fast`. `npu.flash` of a layer comes first."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """See the module's docstring."""
        options = self.options(op)
        layers = [*walk_kind(op, LayerOp)]
        for layer in layers:
            reject(layer)
        for layer in layers:
            lower_layer(layer, options_of(layer, options))
        for copy in [each for each in walk_kind(op, memref.CopyOp) if moves_rows(each)]:
            lower_copy(LoopBuilder(copy), copy, options)
            copy.detach()
            copy.erase()
        drop_unused(op)

    def options(self, op: ModuleOp) -> LoopOptions:
        """The options, with defaults from the machine and the module.

        Raises: PassFailedException if `registers` is negative or `unroll` is not positive.
        """
        machine = machine_of(op)
        registers = self.registers
        if registers is None:
            registers = machine.registers if machine else DEFAULT_REGISTERS
        if registers < 0 or self.unroll < 1:
            raise Refusal(
                f"expected registers of at least 0 and unroll of at least 1, "
                f"got {registers} and {self.unroll}"
            )
        features = machine.features if machine else ()
        flash = self.flash or flash_of(op)
        integers = machine.integer_registers if machine else 0
        users = symbol_users(walk(op))
        return LoopOptions(
            registers, self.unroll, features, flash, users, integer_registers=integers
        )


def options_of(layer: LayerOp, options: LoopOptions) -> LoopOptions:
    """The options for one layer, which may say itself if it is fast or small."""
    if not FLASH.is_on(layer):
        return options
    return replace(options, flash=flash_of(layer))


def reject(layer: LayerOp) -> None:
    """Check that a layer can be lowered, before anything is changed.

    Raises: PassFailedException, attached to the layer, if it has no lowering, is on tensors, has
    elements or layouts that are not supported, or overwrites an input that it still needs.
    """
    if type(layer) not in LOWERINGS:
        layer.emit_error("has no lowering", Refusal(f"cannot lower {layer.name} to loops"))
    if layer.destination is None:
        layer.emit_error(
            "is not on buffers",
            Refusal(f"expected {layer.name} on buffers; run npu-bufferize first"),
        )
    for operand in layer.operands:
        type_ = map_type(operand)
        if not (type_.get_element_type() == f32 or has_integers(layer, type_)):
            layer.emit_error(
                "is not float32",
                Refusal(f"expected f32 elements, got {type_}"),
            )
        if isinstance(type_, MemRefType) and type_.get_strides() is None:
            layer.emit_error(
                "has an operand without strides",
                Refusal(f"expected a strided layout, got {type_}"),
            )
    reject_overlaps(layer)


def has_integers(layer: LayerOp, type_: Map) -> bool:
    """Whether a layer may have an operand of this type with integer elements."""
    if isinstance(layer, PairwiseOp | ReduceOp):
        read = map_type(layer.inputs[0]).get_element_type()
        return type_.get_element_type() in INTEGERS and read in layer.computable
    quantized = isinstance(layer, CHECKED) or (
        isinstance(layer, SumsOp) and layer.zero_points is not None
    )
    return quantized or (isinstance(layer, ON_INTEGERS) and type_.get_element_type() in INTEGERS)


def lower_layer(layer: LayerOp, options: LoopOptions) -> None:
    """Build the loops of one layer in front of it, then erase it."""
    out = layer.destination
    assert out is not None
    if not is_empty(layer):
        before = layer.prev_op
        builder = LoopBuilder(layer, rounds=options.rounds, has_floats=options.has_floats)
        builder.taken = options.taken
        LOWERINGS[type(layer)](builder, layer, out, options)
        if BACKWARDS.is_on(layer):
            turn_round(layer, before)
    layer.detach()
    layer.erase()


def turn_round(layer: LayerOp, before: Operation | None) -> None:
    """Let the loops of a layer, which stand between an op and the layer, run backwards.

    Raises: PassFailedException, attached to the layer, if they depend on each other.
    """
    block = layer.parent_block()
    assert block is not None
    ops, op = list[Operation](), block.first_op if before is None else before.next_op
    while op is not None and op is not layer:
        ops.append(op)
        op = op.next_op
    if not can_turn(ops):
        layer.emit_error("cannot run backwards", Refusal("expected loops that may run backwards"))
    turn(ops)
