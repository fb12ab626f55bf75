"""Layers that move elements and compute nothing: concatenation, views, transposition."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import INT_ARRAY, int_array, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.forms import form
from npu_dialect.npu.layers.joining import Box, JoinOp
from npu_dialect.npu.layers.unary import UnaryOp
from npu_dialect.npu.maps import ANY_MAP, shape_of
from npu_dialect.npu.simplifying import Simplifying
from npu_dialect.npu.syntax import int_clause, ints_clause


@irdl_op_definition
class ConcatOp(JoinOp, Simplifying):
    """Concatenation along an axis.

    ```mlir
    %y = npu.concat %a, %b axis 1
        : (tensor<1x2x4x4xf32>, tensor<1x3x4x4xf32>) -> tensor<1x5x4x4xf32>
    ```
    """

    name = "npu.concat"

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

    def boxes(self) -> tuple[Box, ...]:
        """One behind the other along the axis."""
        axis, start = self.axis.value.data, 0
        found: list[Box] = []
        for part in self.parts:
            rank = len(shape_of(part))
            offsets = tuple(start if index == axis else 0 for index in range(rank))
            found.append(Box(offsets, (1,) * rank))
            start += shape_of(part)[axis]
        return tuple(found)

    def simplified(self) -> SSAValue | Operation | None:
        """The one map that there is."""
        return self.parts[0] if len(self.parts) == 1 else None


class ViewOp(UnaryOp):
    """A layer whose output is a part of its input, or all of it in another shape.

    `npu-bufferize` turns it into a view of the buffer, so there is no form in destination style.
    """

    def expect_tensor(self) -> None:
        """Check that the layer is on tensors.

        Raises: VerifyException if it has a destination.
        """
        if self.destination is not None:
            what = self.name.removeprefix("npu.")
            raise VerifyException(f"expected a tensor: a {what} of a buffer is a view, not a copy")


@irdl_op_definition
class ReshapeOp(ViewOp, Simplifying):
    """The same elements in another shape (ONNX Reshape, Flatten, Squeeze, Unsqueeze).

    ```mlir
    %y = npu.reshape %x : tensor<1x16x5x5xf32> -> tensor<1x400xf32>
    ```
    """

    name = "npu.reshape"

    def infer_shape(self) -> tuple[int, ...]:
        """The declared shape, if it has as many elements as the input."""
        self.expect_tensor()
        shape = tuple(self.output_type.get_shape())
        if prod(shape) != prod(shape_of(self.input)):
            raise VerifyException(
                f"expected as many elements as in {self.input.type}, got {self.output_type}"
            )
        return shape

    def simplified(self) -> SSAValue | Operation | None:
        """The start of a chain of reshapes, in its own shape or in this one."""
        source = self.input
        while isinstance(source.owner, ReshapeOp):
            source = source.owner.input
        if source.type == self.results[0].type:
            return source
        return None if source is self.input else self.rebuilt([source], self.results[0].type)


@irdl_op_definition
class SliceOp(ViewOp, Simplifying):
    """A box of elements at equal distances (ONNX Slice with positive steps, Split).

    Along axis i it has `sizes[i]` elements from index `offsets[i]` on, each `strides[i]` behind the
    one before. Without `strides`, they are neighbours.

    ```mlir
    %y = npu.slice %x offsets [0, 2, 0] sizes [1, 4, 8]
        : tensor<1x6x8xf32> -> tensor<1x4x8xf32>
    %z = npu.slice %x offsets [0, 0, 1] sizes [1, 6, 4] strides [1, 1, 2]
        : tensor<1x6x8xf32> -> tensor<1x6x4xf32>
    ```
    """

    name = "npu.slice"

    offsets = prop_def(INT_ARRAY)
    sizes = prop_def(INT_ARRAY)
    strides = opt_prop_def(INT_ARRAY)

    CLAUSES: ClassVar = (
        ints_clause("offsets"),
        ints_clause("sizes"),
        ints_clause("strides", optional=True),
    )

    def __init__(
        self,
        input: SSAValue,
        offsets: Sequence[int],
        sizes: Sequence[int],
        strides: Sequence[int],
        out: Attribute,
    ) -> None:
        super().__init__(input, out)
        self.offsets, self.sizes = int_array(offsets), int_array(sizes)
        if set(strides) - {1}:
            self.strides = int_array(strides)

    @property
    def steps(self) -> tuple[int, ...]:
        """The distance of two neighbours along each axis, in elements of that axis."""
        count = len(int_values(self.offsets))
        return (1,) * count if self.strides is None else int_values(self.strides)

    def infer_shape(self) -> tuple[int, ...]:
        """The sizes, if the box lies in the input."""
        self.expect_tensor()
        shape, offsets, sizes = (
            shape_of(self.input),
            int_values(self.offsets),
            int_values(self.sizes),
        )
        steps = self.steps
        if not len(shape) == len(offsets) == len(sizes) == len(steps):
            raise VerifyException(f"expected {len(shape)} offsets, sizes and strides")
        for axis, box in enumerate(zip(shape, offsets, sizes, steps, strict=True)):
            extent, offset, size, step = box
            if min(size, step) < 1 or not 0 <= offset <= offset + (size - 1) * step < extent:
                raise VerifyException(
                    f"expected elements of axis {axis} in [0, {extent}), got {size} from {offset} "
                    f"by {step}"
                )
        return sizes

    def simplified(self) -> SSAValue | Operation | None:
        """The input if the slice has all of it; a slice of a slice is one slice."""
        source, offsets, steps = self.input, int_values(self.offsets), self.steps
        if source.type == self.results[0].type:
            return source
        if not isinstance(source.owner, SliceOp):
            return None
        before = source.owner
        offsets = [
            first + offset * step
            for first, offset, step in zip(
                int_values(before.offsets), offsets, before.steps, strict=True
            )
        ]
        steps = [one * two for one, two in zip(before.steps, steps, strict=True)]
        layer = SliceOp(before.input, offsets, int_values(self.sizes), steps, self.results[0].type)
        layer.attributes |= self.attributes
        return layer


@irdl_op_definition
class TransposeOp(LayerOp, Simplifying):
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

    def simplified(self) -> SSAValue | Operation | None:
        """One permutation for two, and none for one that moves no axis."""
        perm, before = int_values(self.perm), self.input.owner
        source = self.input
        if isinstance(before, TransposeOp):
            inner = int_values(before.perm)
            perm, source = tuple(inner[axis] for axis in perm), before.input
        if perm == tuple(range(len(perm))):
            return source
        if source is self.input:
            return None
        layer = TransposeOp(source, perm, self.results[0].type)
        layer.attributes |= self.attributes
        return layer
