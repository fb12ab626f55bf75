"""Layers with weights: convolution and fully connected."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar, Unpack

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import (
    int_array,
)
from npu_dialect.npu.epilogue import Epilogue, EpilogueAttr
from npu_dialect.npu.layers.convolving import ConvolutionOp, Sliding
from npu_dialect.npu.layers.epilogue import epilogue_of
from npu_dialect.npu.layers.forms import (
    expect_outputs,
    expect_pooled,
    expect_rank,
    expect_vector,
    form,
)
from npu_dialect.npu.layers.weighted import (
    AddingOp,
    ScratchOp,
    WeightedOp,
    check_accumulate,
    check_addition,
    check_elements,
    check_scratch,
)
from npu_dialect.npu.maps import ANY_MAP, shape_of
from npu_dialect.npu.syntax import flag_clause, ints_clause
from npu_dialect.windows import Axis


@irdl_op_definition
class Conv2dOp(ConvolutionOp, AddingOp, ScratchOp):
    """Two-dimensional convolution (ONNX Conv) with an optional activation and pooling window.

    Input [N, C, H, W], weight [O, C / groups, KH, KW], bias [O]; pads are (top, left, bottom,
    right).

    With `zero_points [input, weight]` the maps are quantised integers and the sums are i32 (see
    `check_elements`). Padding is the input's zero point, which stands for the real number 0. `then
    requantize` makes the sums quantised integers again.

    With a pooling window, each pooled output is computed by a loop over its window, so the
    convolution's own output map never exists (paper 002, section 3.1, Algorithm 1). `overlap` is
    for overlapping pooling windows: `accumulate` computes each convolution value once and folds it
    into every pooled output whose window holds it; `recompute` computes it again for each window.
    If windows do not overlap, both do the same.

    With `accumulate`, in destination style, sums start from the values in the destination instead
    of the bias. So a convolution can be computed a few input channels at a time (paper 004, listing
    1.1).

    `then add residual first` (or `second`) adds the last input, a map of the output's shape, after
    requantisation and activation. The addition is that of `npu.add`, or with scales that of
    `npu.quantized_add`; the residual is its first (or second) operand, and it has an activation of
    its own. Each element of the residual is read right before the same element of the output is
    written, so both may be one buffer.

    With `scratch(%s : memref<Nxi16>)`, or `memref<Nxi8>`, a depthwise convolution of bytes gathers
    rows of one channel there before it computes. Then the output may also overwrite an input of its
    type, if the kernel moves by one.

    ```mlir
    %y = npu.conv2d %x, %w, %b strides [1, 1] pads [0, 0, 0, 0]
        then relu then max_pool [2, 2] by [2, 2]
        : (tensor<1x1x32x32xf32>, tensor<6x1x5x5xf32>, tensor<6xf32>) -> tensor<1x6x14x14xf32>
    ```
    """

    name = "npu.conv2d"

    CLAUSES: ClassVar = (
        *ConvolutionOp.CLAUSES,
        flag_clause("accumulate"),
        ints_clause("zero_points", optional=True),
    )

    def __init__(
        self,
        input: SSAValue,
        weight: SSAValue,
        bias: SSAValue | None,
        out: SSAValue | Attribute,
        *,
        accumulate: bool = False,
        residual: SSAValue | None = None,
        epilogue: Epilogue | None = None,
        **sliding: Unpack[Sliding],
    ) -> None:
        properties = {
            "accumulate": UnitAttr() if accumulate else None,
            "epilogue": epilogue_of(epilogue),
        }
        super().__init__([input, weight, bias, residual, None], out, properties, **sliding)

    def axes(self) -> tuple[Axis, Axis]:
        """The kernel's sliding windows over the rows and over the columns of the input."""
        return self.slid_axes(Axis)

    def conv_shape(self) -> tuple[int, ...]:
        """The shape of the convolution's own output map, before pooling."""
        batch, filters = self.images_and_filters()
        return (batch, filters, *expect_outputs(self.axes()))

    def infer_shape(self) -> tuple[int, ...]:
        """[N, O, OH, OW], pooled if there is a pooling window."""
        batch, filters, height, width = self.conv_shape()
        check_accumulate(self)
        if self.pool is not None and self.accumulate is not None:
            raise VerifyException("expected no pooling window behind sums that accumulate")
        if self.pool is None:
            return batch, filters, height, width
        return (batch, filters, *expect_pooled(self.pool.axes(height, width)))

    def macs(self) -> int:
        """Multiply-accumulates; each convolution output counts once, even if it is recomputed."""
        return prod(self.conv_shape()) * prod(shape_of(self.weight)[1:])

    def in_place_inputs(self) -> tuple[int, ...]:
        """The position of the residual, if there is one; with a working memory that of the IFM."""
        added = () if self.residual is None else (len(self.inputs) - 1,)
        in_place = self.scratch is not None and self.could_gather_in_place
        return (0, *added) if in_place else added

    @property
    def could_gather_in_place(self) -> bool:
        """Whether a working memory holds all of the input that an output element overwrites.

        Each channel of the output depends on the same channel of the input only. With a step of one
        and maps of one shape, padding is narrower than the kernel; so the rows above the one that
        is written are gathered already.
        """
        rows, channels = self.axes()[0], shape_of(self.input)[1]
        same = shape_of(self.input) == shape_of(self.output)
        depthwise = self.group_count == channels == shape_of(self.weight)[0]
        return same and depthwise and rows.stride == 1 and self.pool is None

    def with_scratch(self, scratch: SSAValue) -> Conv2dOp:
        """A copy of a layer on buffers with a working memory."""
        made = self.clone()
        made.operands = (*self.inputs, scratch, self.output)
        sizes = [int(each is not None) for each in (self.bias, self.residual)]
        made.properties["operandSegmentSizes"] = DenseArrayBase.from_list(
            IntegerType(32), [1, 1, *sizes, 1, 1]
        )
        return made

    @classmethod
    def input_segments(
        cls, parser: Parser, count: int, properties: dict[str, Attribute]
    ) -> list[int]:
        """The inputs are an input, a weight, an optional bias, and an addition's residual."""
        epilogue = properties.get("epilogue")
        added = int(isinstance(epilogue, EpilogueAttr) and epilogue.data.addition is not None)
        if not 2 + added <= count <= 3 + added:
            parser.raise_error(f"expected {2 + added}-{3 + added} input operands, got {count}")
        return [1, 1, count - 2 - added, added]

    def verify_elements(self, element: Attribute) -> None:
        """Check the element types, and the addition if there is one."""
        check_elements(self, element)
        check_scratch(self)
        if self.requantize is not None and self.pool is not None and not self.pool.is_max:
            raise VerifyException("expected no average of quantised integers")
        check_addition(self)


@irdl_op_definition
class FullyConnectedOp(WeightedOp):
    """y = x W^T + b (ONNX Gemm with transB, or MatMul), with an optional activation.

    Input [N, I], weight [O, I], bias [O]. `accumulate`, `zero_points` and `requantize` are as in
    `npu.conv2d`.

    ```mlir
    %y = npu.fully_connected %x, %w, %b then relu
        : (tensor<1x400xf32>, tensor<120x400xf32>, tensor<120xf32>) -> tensor<1x120xf32>
    ```
    """

    name = "npu.fully_connected"

    input = operand_def(ANY_MAP)
    weight = operand_def(ANY_MAP)
    bias = opt_operand_def(ANY_MAP)

    CLAUSES: ClassVar = (flag_clause("accumulate"), ints_clause("zero_points", optional=True))

    def __init__(
        self,
        input: SSAValue,
        weight: SSAValue,
        bias: SSAValue | None,
        out: SSAValue | Attribute,
        *,
        accumulate: bool = False,
        zero_points: Sequence[int] | None = None,
        epilogue: Epilogue | None = None,
    ) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[input, weight, bias, operands],
            result_types=[results],
            properties={
                "accumulate": UnitAttr() if accumulate else None,
                "zero_points": None if zero_points is None else int_array(zero_points),
                "epilogue": epilogue_of(epilogue),
            },
        )

    def infer_shape(self) -> tuple[int, ...]:
        """[N, O]."""
        batch, features = expect_rank("an input", self.input, 2)
        outputs, depth = expect_rank("a weight", self.weight, 2)
        if features != depth:
            raise VerifyException(
                f"expected a weight of shape [O, {features}], got {[outputs, depth]}"
            )
        if self.bias is not None:
            expect_vector("a bias", self.bias, outputs)
        check_accumulate(self)
        return batch, outputs

    def macs(self) -> int:
        """N * O * I."""
        return shape_of(self.input)[0] * prod(shape_of(self.weight))

    def verify_elements(self, element: Attribute) -> None:
        """Check the element types, and that nothing but them and an activation is behind."""
        for part, what in ((self.pool, "pooling window"), (self.addition, "addition")):
            if part is not None:
                raise VerifyException(f"expected no {what} behind a fully connected layer")
        check_elements(self, element)
