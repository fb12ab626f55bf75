"""Layers that put several maps into one: the base of concatenation, and interleaving."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from npu_dialect.npu.attributes import INT_ARRAY, int_array, int_values
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.forms import form
from npu_dialect.npu.maps import ANY_MAP, shape_of
from npu_dialect.npu.simplifying import Simplifying
from npu_dialect.npu.syntax import ints_clause


@dataclass(frozen=True)
class Box:
    """Where a part lies in a map: its element i is element `offsets + i * steps` of the map."""

    offsets: tuple[int, ...]
    steps: tuple[int, ...]


class JoinOp(LayerOp, ABC):
    """A layer that copies each of its parts into a box of its output."""

    parts = var_operand_def(ANY_MAP)

    @abstractmethod
    def boxes(self) -> tuple[Box, ...]:
        """The box of the output for each part."""


@irdl_op_definition
class InterleaveOp(JoinOp, Simplifying):
    """Maps whose elements take turns along axes, such as the phases of a transposed convolution.

    `steps` has a number for each axis, and there are as many parts as their product. Part [i, j,
    ...], counted with the last axis fastest, holds the elements i, i + steps[0], ... of the first
    axis, j, j + steps[1], ... of the second one, and so on.

    ```mlir
    %y = npu.interleave %even, %odd steps [1, 1, 1, 2]
        : (tensor<1x8x4x3xf32>, tensor<1x8x4x2xf32>) -> tensor<1x8x4x5xf32>
    ```
    """

    name = "npu.interleave"

    steps = prop_def(INT_ARRAY)

    CLAUSES: ClassVar = (ints_clause("steps"),)

    def __init__(
        self, parts: Sequence[SSAValue], steps: Sequence[int], out: SSAValue | Attribute
    ) -> None:
        operands, results = form(out)
        super().__init__(
            operands=[parts, operands],
            result_types=[results],
            properties={"steps": int_array(steps)},
        )

    def infer_shape(self) -> tuple[int, ...]:
        """Along each axis, the extents of the parts that start at its first `steps` elements."""
        steps, shapes = int_values(self.steps), [shape_of(part) for part in self.parts]
        if min(steps, default=1) < 1 or prod(steps) != len(shapes):
            raise VerifyException(
                f"expected steps of at least 1 whose product is {len(shapes)}, the number of "
                f"parts, got {list(steps)}"
            )
        if any(len(shape) != len(steps) for shape in shapes):
            raise VerifyException(
                f"expected parts of rank {len(steps)}, as many as steps, got shapes "
                f"{[list(shape) for shape in shapes]}"
            )
        strides = [prod(steps[axis + 1 :]) for axis in range(len(steps))]
        shape = tuple(
            sum(shapes[turn * stride][axis] for turn in range(step))
            for axis, (step, stride) in enumerate(zip(steps, strides, strict=True))
        )
        for part, place in zip(shapes, self.boxes(), strict=True):
            wanted = tuple(
                -(-(extent - start) // step)
                for extent, start, step in zip(shape, place.offsets, steps, strict=True)
            )
            if part != wanted:
                raise VerifyException(
                    f"expected part {list(place.offsets)} of shape {list(wanted)}, for a map of "
                    f"shape {list(shape)}, got {list(part)}"
                )
        return shape

    def boxes(self) -> tuple[Box, ...]:
        """Each part starts at its own number along each axis."""
        steps = int_values(self.steps)
        return tuple(Box(start, steps) for start in product(*map(range, steps)))

    def simplified(self) -> SSAValue | Operation | None:
        """The one map that there is."""
        return self.parts[0] if len(self.parts) == 1 else None
