"""The dialect of somebody else's compiler, and its one lowering to `npu`.

    %y = toy.dense_relu %x, %w, %b : (...) -> tensor<1x8xf32>
becomes
    %0 = npu.fully_connected %x, %w, %b : (...) -> tensor<1x8xf32>
    %y = npu.relu %0 : tensor<1x8xf32> -> tensor<1x8xf32>

`toy.square` is a layer of its own: as a `LayerOp` it gets syntax, verifier and both forms (on
tensors and on buffers) from npu-dialect, and our passes treat it like one of ours.

`toy.mix` is no `LayerOp`: it has the trait `Computes`, which says which elements it uses. That is
enough for buffers, tiles and transfers.

No pass changes the other three ops, which work on buffers. npu-dialect only needs to know which
buffers they read and write. They declare that with xDSL's own memory effects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.ir import Dialect, Operation
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_result_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from npu_dialect.computing import Computation, Computes, Domain
from npu_dialect.npu import FullyConnectedOp, ReluOp
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import ANY_MAP, shape_of


@irdl_op_definition
class DenseReluOp(IRDLOperation):
    """max(x W^T + b, 0): input [N, I], weight [O, I], bias [O].

    ```mlir
    %y = toy.dense_relu %x, %w, %b
        : (tensor<1x16xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "toy.dense_relu"

    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = operand_def(TensorType)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    assembly_format: ClassVar = (
        "$input `,` $weight `,` $bias attr-dict `:` "
        "`(` type($input) `,` type($weight) `,` type($bias) `)` `->` type($output)"
    )


@irdl_op_definition
class SquareOp(LayerOp):
    """x * x, element by element.

    ```mlir
    %y = toy.square %x : tensor<1x8xf32> -> tensor<1x8xf32>
    toy.square ins(%x : memref<1x8xf32>) outs(%y : memref<1x8xf32>)
    ```
    """

    name = "toy.square"

    input = operand_def(ANY_MAP)

    ELEMENTWISE: ClassVar = True

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        return shape_of(self.input)


class Mixes(Computes):
    """`toy.mix` uses its operands element by element."""

    @classmethod
    def computation(cls, op: Operation) -> Computation:
        """All operands have one shape; the last one, or the result, is what it writes."""
        count = len(op.operands) + len(op.results)
        return Computation(op, domain=Domain.elementwise(shape_of(op.operands[0]), count))


@irdl_op_definition
class MixOp(IRDLOperation):
    """A mixture of two signals, on tensors or on buffers.

    ```mlir
    %c = "toy.mix"(%a, %b) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    "toy.mix"(%a, %b, %c) : (memref<64xf32>, memref<64xf32>, memref<64xf32>) -> ()
    ```
    """

    name = "toy.mix"

    signals = var_operand_def(ANY_MAP)
    result = opt_result_def(TensorType)

    traits = traits_def(Mixes())


@irdl_op_definition
class SenseOp(IRDLOperation):
    """Fill a buffer with the samples of a sensor.

    ```mlir
    toy.sense %a : memref<256xi16, #npu.sram>
    ```
    """

    name = "toy.sense"

    to = operand_def(MemRefType)

    traits = traits_def(MemoryWriteEffect())

    assembly_format: ClassVar = "$to attr-dict `:` type($to)"


@irdl_op_definition
class SmoothOp(IRDLOperation):
    """Write the running mean of one buffer into another.

    ```mlir
    toy.smooth %a into %b : memref<256xi16, #npu.sram>, memref<256xi16, #npu.sram>
    ```
    """

    name = "toy.smooth"

    source = operand_def(MemRefType)
    to = operand_def(MemRefType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format: ClassVar = "$source `into` $to attr-dict `:` type($source) `,` type($to)"


@irdl_op_definition
class SendOp(IRDLOperation):
    """Send a buffer over the radio.

    ```mlir
    toy.send %b : memref<256xi16, #npu.sram>
    ```
    """

    name = "toy.send"

    source = operand_def(MemRefType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format: ClassVar = "$source attr-dict `:` type($source)"


TOY = Dialect("toy", [DenseReluOp, SquareOp, MixOp, SenseOp, SmoothOp, SendOp], [])


class DenseReluPattern(RewritePattern):
    """Replace one `toy.dense_relu` by two layers."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DenseReluOp, rewriter: PatternRewriter, /) -> None:
        """Build both layers; npu-fuse-conv-relu-pool fuses them later."""
        dense = FullyConnectedOp(op.input, op.weight, op.bias, op.output.type)
        relu = ReluOp(dense.output, op.output.type)
        rewriter.replace(op, (dense, relu), [relu.output])


@dataclass(frozen=True)
class ToyToNpuPass(ModulePass):
    """Lower the tensor ops of `toy` to layers of `npu`."""

    name = "toy-to-npu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lower every `toy.dense_relu` of the module."""
        PatternRewriteWalker(DenseReluPattern()).rewrite_module(op)
