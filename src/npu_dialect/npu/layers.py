"""The layers of the npu dialect. Maps are NCHW, weights OIHW, as in ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import (
    Float64Type,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import (
    INT_ARRAY,
    ActivationAttr,
    PoolAttr,
    check_window,
    int_array,
    int_values,
)
from npu_dialect.npu.layer import (
    ANY_MAP,
    LayerOp,
    flag_clause,
    float_clause,
    int_clause,
    ints_clause,
    map_type,
    shape_of,
)
from npu_dialect.npu.shapes import Axis, broadcast


def expect_rank(what: str, value: SSAValue, rank: int) -> tuple[int, ...]:
    """The shape of an operand that must have a rank.

    Raises: VerifyException if it has another one.
    """
    shape = shape_of(value)
    if len(shape) != rank:
        raise VerifyException(f"expected {what} of rank {rank}, got {value.type}")
    return shape


def expect_vector(what: str, value: SSAValue, length: int) -> None:
    """Check that an operand is a vector of a length.

    Raises: VerifyException if it is not.
    """
    if shape_of(value) != (length,):
        raise VerifyException(f"expected {what} of shape [{length}], got {value.type}")


def expect_outputs(axes: Sequence[Axis]) -> tuple[int, ...]:
    """The output extents of sliding windows.

    Raises: VerifyException if a window does not fit into its padded input.
    """
    for axis in axes:
        if axis.outputs < 1:
            raise VerifyException(
                f"expected a window of {axis.reach} to fit into {axis.size} elements "
                f"padded by {axis.before} and {axis.after}"
            )
    return tuple(axis.outputs for axis in axes)


def expect_pooled(axes: Sequence[Axis]) -> tuple[int, ...]:
    """The output extents of pooling windows, each of which must hold an element of its map.

    Raises: VerifyException if one lies on padding only, or does not fit.
    """
    outputs = expect_outputs(axes)
    for axis in axes:
        if not axis.meets_input:
            raise VerifyException(
                f"expected pooling windows that hold an element of the map, got windows of "
                f"{axis.kernel} over {axis.size} elements padded by {axis.before} and {axis.after}"
            )
    return outputs


def parse_then(parser: Parser) -> dict[str, Attribute]:
    """Parse what a layer does to its sums before it stores them: `then relu then max_pool ...`."""
    found: dict[str, Attribute] = {}
    while parser.parse_optional_keyword("then"):
        if "pool" not in found and (pool := PoolAttr.parse_clause(parser)):
            found["pool"] = pool
            if parser.parse_optional_keyword("overlap"):
                found["overlap"] = StringAttr(parser.parse_identifier())
        elif not found and (activation := ActivationAttr.parse_clause(parser)):
            found["activation"] = activation
        else:
            parser.raise_error("expected an activation, or one pooling window after it")
    return found


@irdl_op_definition
class Conv2dOp(LayerOp):
    """Two-dimensional convolution (ONNX Conv), an optional activation and pooling window behind it.

    Input [N, C, H, W], weight [O, C / groups, KH, KW], bias [O]; pads are (top, left, bottom,
    right). With a pooling window each pooled output is computed by running over its window, so that
    the convolution's own output map never exists (paper 002, section 3.1, Algorithm 1).
    `overlap` says what happens where pooling windows overlap: `accumulate` computes each
    convolution value once and folds it into every window of the output that holds it; `recompute`
    computes it anew for each window. Without overlap the two are the same.

    ```mlir
    %y = npu.conv2d %x, %w, %b strides [1, 1] pads [0, 0, 0, 0]
        then relu then max_pool [2, 2] by [2, 2]
        : (tensor<1x1x32x32xf32>, tensor<6x1x5x5xf32>, tensor<6xf32>) -> tensor<1x6x14x14xf32>
    ```
    """

    name = "npu.conv2d"

    input = operand_def(ANY_MAP)
    weight = operand_def(ANY_MAP)
    bias = opt_operand_def(ANY_MAP)

    strides = prop_def(INT_ARRAY)
    pads = prop_def(INT_ARRAY)
    dilations = prop_def(INT_ARRAY)
    groups = prop_def(IntegerAttr)
    activation = opt_prop_def(ActivationAttr)
    pool = opt_prop_def(PoolAttr)
    overlap = opt_prop_def(StringAttr)

    PARAMETERS: ClassVar = ("weight", "bias")
    CLAUSES: ClassVar = (
        ints_clause("strides", (1, 1), always=True),
        ints_clause("pads", (0, 0, 0, 0), always=True),
        ints_clause("dilations", (1, 1)),
        int_clause("groups", 1),
    )

    def __init__(
        self,
        input: SSAValue,
        weight: SSAValue,
        bias: SSAValue | None,
        out: SSAValue | Attribute,
        *,
        strides: Sequence[int] = (1, 1),
        pads: Sequence[int] = (0, 0, 0, 0),
        dilations: Sequence[int] = (1, 1),
        groups: int = 1,
        activation: ActivationAttr | None = None,
        pool: PoolAttr | None = None,
        overlap: str | None = None,
    ) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[input, weight, bias, operands],
            result_types=[results],
            properties={
                "strides": int_array(strides),
                "pads": int_array(pads),
                "dilations": int_array(dilations),
                "groups": IntegerAttr(groups, i64),
                "activation": activation,
                "pool": pool,
                "overlap": None if overlap is None else StringAttr(overlap),
            },
        )

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return self.groups.value.data

    def axes(self) -> tuple[Axis, Axis]:
        """The kernel's sliding windows over rows and columns of the input."""
        (_, _, height, width), kernel = shape_of(self.input), shape_of(self.weight)[2:]
        strides, pads = int_values(self.strides), int_values(self.pads)
        dilations = int_values(self.dilations)
        return (
            Axis(height, kernel[0], strides[0], pads[0], pads[2], dilations[0]),
            Axis(width, kernel[1], strides[1], pads[1], pads[3], dilations[1]),
        )

    def conv_shape(self) -> tuple[int, ...]:
        """Shape of the convolution's own output map, before pooling."""
        batch, channels, _, _ = expect_rank("an input", self.input, 4)
        filters, depth, *kernel = expect_rank("a weight", self.weight, 4)
        groups = self.group_count
        if groups < 1 or channels % groups or filters % groups:
            raise VerifyException(
                f"expected groups that divide {channels} channels and {filters} filters, "
                f"got {groups}"
            )
        if depth != channels // groups:
            raise VerifyException(
                f"expected a weight with {channels // groups} channels per group, got {depth}"
            )
        if self.bias is not None:
            expect_vector("a bias", self.bias, filters)
        check_window(int_array(kernel), self.strides, self.pads, self.dilations)
        return (batch, filters, *expect_outputs(self.axes()))

    def infer_shape(self) -> tuple[int, ...]:
        """[N, O, OH, OW], pooled if there is a pooling window."""
        batch, filters, height, width = self.conv_shape()
        if self.overlap is not None and self.overlap.data not in ("accumulate", "recompute"):
            raise VerifyException(
                f"expected overlap accumulate or recompute, got {self.overlap.data}"
            )
        if self.pool is None:
            if self.overlap is not None:
                raise VerifyException("expected overlap only behind a pooling window")
            return batch, filters, height, width
        return (batch, filters, *expect_pooled(self.pool.axes(height, width)))

    def macs(self) -> int:
        """Multiply-accumulates, each convolution output counted once."""
        return prod(self.conv_shape()) * prod(shape_of(self.weight)[1:])

    @classmethod
    def parse_epilogue(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse `then relu then max_pool [2, 2] by [2, 2] overlap accumulate`."""
        return parse_then(parser)

    def print_epilogue(self, printer: Printer) -> None:
        """Print what `parse_epilogue` reads."""
        print_then(printer, self.activation, self.pool, self.overlap)


@irdl_op_definition
class FullyConnectedOp(LayerOp):
    """y = x W^T + b (ONNX Gemm with transB, or MatMul), with an optional activation behind it.

    Input [N, I], weight [O, I], bias [O].

    ```mlir
    %y = npu.fully_connected %x, %w, %b then relu
        : (tensor<1x400xf32>, tensor<120x400xf32>, tensor<120xf32>) -> tensor<1x120xf32>
    ```
    """

    name = "npu.fully_connected"

    input = operand_def(ANY_MAP)
    weight = operand_def(ANY_MAP)
    bias = opt_operand_def(ANY_MAP)
    activation = opt_prop_def(ActivationAttr)

    PARAMETERS: ClassVar = ("weight", "bias")

    def __init__(
        self,
        input: SSAValue,
        weight: SSAValue,
        bias: SSAValue | None,
        out: SSAValue | Attribute,
        *,
        activation: ActivationAttr | None = None,
    ) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[input, weight, bias, operands],
            result_types=[results],
            properties={"activation": activation},
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
        return batch, outputs

    def macs(self) -> int:
        """N * O * I."""
        return shape_of(self.input)[0] * prod(shape_of(self.weight))

    @classmethod
    def parse_epilogue(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse `then relu`."""
        found = parse_then(parser)
        if "pool" in found:
            parser.raise_error("expected no pooling window behind a fully connected layer")
        return found

    def print_epilogue(self, printer: Printer) -> None:
        """Print what `parse_epilogue` reads."""
        print_then(printer, self.activation, None, None)


class PoolOp(LayerOp):
    """What the two pooling layers share."""

    input = operand_def(ANY_MAP)

    kernel = prop_def(INT_ARRAY)
    strides = prop_def(INT_ARRAY)
    pads = prop_def(INT_ARRAY)
    dilations = prop_def(INT_ARRAY)
    ceil_mode = opt_prop_def(UnitAttr)

    CLAUSES: ClassVar = (
        ints_clause("kernel"),
        ints_clause("strides", (1, 1), always=True),
        ints_clause("pads", (0, 0, 0, 0)),
        ints_clause("dilations", (1, 1)),
        flag_clause("ceil_mode"),
    )

    def window(self) -> PoolAttr:
        """The pooling window as an attribute."""
        raise NotImplementedError

    def infer_shape(self) -> tuple[int, ...]:
        """[N, C, PH, PW]."""
        batch, channels, height, width = expect_rank("an input", self.input, 4)
        check_window(self.kernel, self.strides, self.pads, self.dilations)
        return (batch, channels, *expect_pooled(self.window().axes(height, width)))


@irdl_op_definition
class MaxPool2dOp(PoolOp):
    """Maximum over a sliding window (ONNX MaxPool); padding never wins.

    ```mlir
    %y = npu.max_pool2d %x kernel [2, 2] strides [2, 2]
        : tensor<1x6x28x28xf32> -> tensor<1x6x14x14xf32>
    ```
    """

    name = "npu.max_pool2d"

    def __init__(self, input: SSAValue, pool: PoolAttr, out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[input, operands],
            result_types=[results],
            properties=pool_properties(pool),
        )

    def window(self) -> PoolAttr:
        """The pooling window as an attribute."""
        return PoolAttr.of(
            "max",
            int_values(self.kernel),
            int_values(self.strides),
            int_values(self.pads),
            int_values(self.dilations),
            ceil_mode=self.ceil_mode is not None,
        )


@irdl_op_definition
class AvgPool2dOp(PoolOp):
    """Average over a sliding window (ONNX AveragePool).

    `count_include_pad` divides by the taps on explicit padding too; taps that only `ceil_mode` adds
    never count.

    ```mlir
    %y = npu.avg_pool2d %x kernel [2, 2] strides [2, 2]
        : tensor<1x6x28x28xf32> -> tensor<1x6x14x14xf32>
    ```
    """

    name = "npu.avg_pool2d"

    count_include_pad = opt_prop_def(UnitAttr)

    CLAUSES: ClassVar = (*PoolOp.CLAUSES, flag_clause("count_include_pad"))

    def __init__(self, input: SSAValue, pool: PoolAttr, out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        properties = pool_properties(pool)
        properties["count_include_pad"] = UnitAttr() if pool.includes_pad else None
        super().__init__(operands=[input, operands], result_types=[results], properties=properties)

    def window(self) -> PoolAttr:
        """The pooling window as an attribute."""
        return PoolAttr.of(
            "avg",
            int_values(self.kernel),
            int_values(self.strides),
            int_values(self.pads),
            int_values(self.dilations),
            ceil_mode=self.ceil_mode is not None,
            count_include_pad=self.count_include_pad is not None,
        )


class UnaryOp(LayerOp):
    """A layer with one map and nothing else."""

    input = operand_def(ANY_MAP)

    def __init__(self, input: SSAValue, out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        super().__init__(operands=[input, operands], result_types=[results])


class GlobalPoolOp(UnaryOp):
    """What the two global pooling layers share."""

    def infer_shape(self) -> tuple[int, ...]:
        """[N, C, 1, 1]."""
        batch, channels, height, width = expect_rank("an input", self.input, 4)
        if height * width == 0:
            raise VerifyException(f"expected a map with elements, got {self.input.type}")
        return batch, channels, 1, 1


@irdl_op_definition
class GlobalMaxPool2dOp(GlobalPoolOp):
    """Maximum of each channel (ONNX GlobalMaxPool).

    ```mlir
    %y = npu.global_max_pool2d %x : tensor<1x6x28x28xf32> -> tensor<1x6x1x1xf32>
    ```
    """

    name = "npu.global_max_pool2d"


@irdl_op_definition
class GlobalAvgPool2dOp(GlobalPoolOp):
    """Average of each channel (ONNX GlobalAveragePool).

    ```mlir
    %y = npu.global_avg_pool2d %x : tensor<1x6x28x28xf32> -> tensor<1x6x1x1xf32>
    ```
    """

    name = "npu.global_avg_pool2d"


class ElementwiseOp(UnaryOp):
    """An element-wise layer of one map: the output has the shape of the input."""

    ELEMENTWISE: ClassVar = True

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        return shape_of(self.input)


@irdl_op_definition
class ReluOp(ElementwiseOp):
    """max(x, 0), element by element.

    ```mlir
    %y = npu.relu %x : tensor<4xf32> -> tensor<4xf32>
    ```
    """

    name = "npu.relu"


@irdl_op_definition
class ClampOp(ElementwiseOp):
    """min(max(x, low), high), element by element (ONNX Clip).

    ```mlir
    %y = npu.clamp %x low 0.0 high 6.0 : tensor<4xf32> -> tensor<4xf32>
    ```
    """

    name = "npu.clamp"

    low = prop_def(FloatAttr)
    high = prop_def(FloatAttr)

    CLAUSES: ClassVar = (float_clause("low"), float_clause("high"))

    def __init__(self, input: SSAValue, low: float, high: float, out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        super(UnaryOp, self).__init__(
            operands=[input, operands],
            result_types=[results],
            properties={
                "low": FloatAttr(low, Float64Type()),
                "high": FloatAttr(high, Float64Type()),
            },
        )

    def as_activation(self) -> ActivationAttr:
        """The bounds as an activation attribute."""
        return ActivationAttr(self.low, self.high)

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        low, high = self.low.value.data, self.high.value.data
        if not low <= high:
            raise VerifyException(f"expected clamp bounds low <= high, got [{low}, {high}]")
        return shape_of(self.input)


@irdl_op_definition
class AddOp(LayerOp):
    """Sum of two maps with numpy's broadcasting.

    ```mlir
    %y = npu.add %a, %b : (tensor<1x6x4x4xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4x4xf32>
    ```
    """

    name = "npu.add"

    lhs = operand_def(ANY_MAP)
    rhs = operand_def(ANY_MAP)

    ELEMENTWISE: ClassVar = True

    def __init__(self, lhs: SSAValue, rhs: SSAValue, out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        super().__init__(operands=[lhs, rhs, operands], result_types=[results])

    def infer_shape(self) -> tuple[int, ...]:
        """The broadcast shape of the operands."""
        shape = broadcast(shape_of(self.lhs), shape_of(self.rhs))
        if shape is None:
            raise VerifyException(
                f"expected operands that broadcast, got {self.lhs.type} and {self.rhs.type}"
            )
        return shape


@irdl_op_definition
class ConcatOp(LayerOp):
    """Concatenation along an axis.

    ```mlir
    %y = npu.concat %a, %b axis 1
        : (tensor<1x2x4x4xf32>, tensor<1x3x4x4xf32>) -> tensor<1x5x4x4xf32>
    ```
    """

    name = "npu.concat"

    parts = var_operand_def(ANY_MAP)
    axis = prop_def(IntegerAttr)

    CLAUSES: ClassVar = (int_clause("axis"),)

    def __init__(self, parts: Sequence[SSAValue], axis: int, out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[parts, operands],
            result_types=[results],
            properties={"axis": IntegerAttr(axis, i64)},
        )

    def infer_shape(self) -> tuple[int, ...]:
        """The shapes of the parts, added up along the axis."""
        if not self.parts:
            raise VerifyException("expected at least one map to concatenate")
        shapes = [shape_of(part) for part in self.parts]
        axis, first = self.axis.value.data, shapes[0]
        if not 0 <= axis < len(first):
            raise VerifyException(f"expected an axis in [0, {len(first)}), got {axis}")
        for part, shape in zip(self.parts, shapes, strict=True):
            if len(shape) != len(first) or any(
                extent != other
                for index, (extent, other) in enumerate(zip(shape, first, strict=True))
                if index != axis
            ):
                raise VerifyException(
                    f"expected maps that differ along axis {axis} only, "
                    f"got {self.parts[0].type} and {part.type}"
                )
        return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])


@irdl_op_definition
class ReshapeOp(UnaryOp):
    """The same elements in another shape (ONNX Reshape, Flatten, Squeeze, Unsqueeze).

    `npu-bufferize` makes it a view; there is no destination form.

    ```mlir
    %y = npu.reshape %x : tensor<1x16x5x5xf32> -> tensor<1x400xf32>
    ```
    """

    name = "npu.reshape"

    def infer_shape(self) -> tuple[int, ...]:
        """The declared shape, if it has as many elements as the input."""
        if self.destination is not None:
            raise VerifyException("expected a tensor: a reshaped buffer is a view, not a copy")
        shape = tuple(self.output_type.get_shape())
        if prod(shape) != prod(shape_of(self.input)):
            raise VerifyException(
                f"expected as many elements as in {self.input.type}, got {self.output_type}"
            )
        return shape


@irdl_op_definition
class TransposeOp(LayerOp):
    """Output axis i is input axis perm[i] (ONNX Transpose).

    ```mlir
    %y = npu.transpose %x perm [0, 2, 3, 1] : tensor<1x3x8x4xf32> -> tensor<1x8x4x3xf32>
    ```
    """

    name = "npu.transpose"

    input = operand_def(ANY_MAP)
    perm = prop_def(INT_ARRAY)

    CLAUSES: ClassVar = (ints_clause("perm"),)

    def __init__(self, input: SSAValue, perm: Sequence[int], out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[input, operands],
            result_types=[results],
            properties={"perm": int_array(perm)},
        )

    def infer_shape(self) -> tuple[int, ...]:
        """The permuted shape."""
        shape, perm = shape_of(self.input), int_values(self.perm)
        if sorted(perm) != list(range(len(shape))):
            raise VerifyException(
                f"expected a permutation of {list(range(len(shape)))}, got {list(perm)}"
            )
        return tuple(shape[axis] for axis in perm)


@irdl_op_definition
class SoftmaxOp(LayerOp):
    """exp(x - max) / sum(exp(x - max)) along one axis (ONNX Softmax, opset 13).

    ```mlir
    %y = npu.softmax %x axis 1 : tensor<1x10xf32> -> tensor<1x10xf32>
    ```
    """

    name = "npu.softmax"

    input = operand_def(ANY_MAP)
    axis = prop_def(IntegerAttr)

    CLAUSES: ClassVar = (int_clause("axis"),)

    def __init__(self, input: SSAValue, axis: int, out: SSAValue | Attribute) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[input, operands],
            result_types=[results],
            properties={"axis": IntegerAttr(axis, i64)},
        )

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        shape, axis = shape_of(self.input), self.axis.value.data
        if not 0 <= axis < len(shape):
            raise VerifyException(f"expected an axis in [0, {len(shape)}), got {axis}")
        return shape


@irdl_op_definition
class BatchNormOp(LayerOp):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias (ONNX BatchNormalization).

    Input [N, C, ...], the rest [C], one number a channel. `npu-fold-batch-norm` folds it into the
    layer before it.

    ```mlir
    %y = npu.batch_norm %x, %scale, %bias, %mean, %variance epsilon 1.0e-05
        : (tensor<1x6x4x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
        -> tensor<1x6x4x4xf32>
    ```
    """

    name = "npu.batch_norm"

    input = operand_def(ANY_MAP)
    scale = operand_def(ANY_MAP)
    bias = operand_def(ANY_MAP)
    mean = operand_def(ANY_MAP)
    variance = operand_def(ANY_MAP)
    epsilon = prop_def(FloatAttr)

    PARAMETERS: ClassVar = ("scale", "bias", "mean", "variance")
    ELEMENTWISE: ClassVar = True
    CLAUSES: ClassVar = (float_clause("epsilon"),)

    def __init__(
        self,
        input: SSAValue,
        scale: SSAValue,
        bias: SSAValue,
        mean: SSAValue,
        variance: SSAValue,
        epsilon: float,
        out: SSAValue | Attribute,
    ) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[input, scale, bias, mean, variance, operands],
            result_types=[results],
            properties={"epsilon": FloatAttr(epsilon, Float64Type())},
        )

    def infer_shape(self) -> tuple[int, ...]:
        """The shape of the input."""
        shape = shape_of(self.input)
        if len(shape) < 2:
            raise VerifyException(f"expected an input [N, C, ...], got {self.input.type}")
        for name in self.PARAMETERS:
            expect_vector(f"a {name}", getattr(self, name), shape[1])
        return shape


def form(out: SSAValue | Attribute) -> tuple[SSAValue | None, Attribute | None]:
    """Destination operand and result type of a layer built with `out`: one of the two is None."""
    return (out, None) if isinstance(out, SSAValue) else (None, out)


def pool_properties(pool: PoolAttr) -> dict[str, Attribute | None]:
    """The properties of a pooling layer with this window."""
    return {
        "kernel": pool.kernel,
        "strides": pool.strides,
        "pads": pool.pads,
        "dilations": pool.dilations,
        "ceil_mode": UnitAttr() if pool.ceil_mode else None,
    }


def print_then(
    printer: Printer,
    activation: ActivationAttr | None,
    pool: PoolAttr | None,
    overlap: StringAttr | None,
) -> None:
    """Print what `parse_then` reads."""
    for part in (activation, pool):
        if part is not None:
            printer.print_string(" then ")
            part.print_clause(printer)
    if overlap is not None:
        printer.print_string(f" overlap {overlap.data}")


def element_type(value: SSAValue) -> Attribute:
    """The element type of a map."""
    return map_type(value).get_element_type()
