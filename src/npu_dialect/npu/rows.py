"""Layers on tensors that run row by row, with only a few rows of each map between them on chip.

    %y = npu.rows of %x : tensor<1x3x32x32xf32> -> tensor<1x8x14x14xf32> {
      %0 = npu.conv2d %x, %w0 strides [1, 1] pads [0, 0, 0, 0] {npu.ring = 3 : i64} : ...
      %1 = npu.conv2d %0, %w1 strides [2, 2] pads [0, 0, 0, 0] : ...
      npu.yield %1 : tensor<1x8x14x14xf32>
    }

The op computes the same as the chain of its layers. But no map between them exists as a whole: only
`npu.ring` rows of it are on chip at one time, as many as one output row of the next layer needs.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, region_def, result_def
from xdsl.irdl import traits_def as traits
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from npu_dialect.attributes import RING
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import AvgPool2dOp, BatchNormOp, Conv2dOp, ElementwiseOp, PoolOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.structure import YieldOp
from npu_dialect.windows import Axis


@dataclass(frozen=True)
class RowWindow:
    """The rows of its IFM (of `height` rows) that a layer needs for a row of its OFM (of `rows`).

    Output row r needs the `reach` input rows from `r * stride - before` on; those outside
    `[0, height)` are padding.
    """

    height: int
    rows: int
    reach: int
    stride: int
    before: int

    @property
    def padded(self) -> bool:
        """Whether some output row needs padding."""
        last = (self.rows - 1) * self.stride - self.before + self.reach
        return self.before > 0 or last > self.height

    def needed(self, outputs: int) -> int:
        """How many rows of the IFM the first `outputs` rows of the OFM need."""
        return min(self.height, (outputs - 1) * self.stride - self.before + self.reach)

    @staticmethod
    def of(axis: Axis) -> RowWindow:
        """The rows that a sliding window needs."""
        return RowWindow(axis.size, axis.outputs, axis.reach, axis.stride, axis.before)


def row_window(layer: LayerOp) -> RowWindow | None:
    """The rows that a layer needs for one output row; None if it cannot run row by row.

    It can if it reads one map [N, C, H, W] and if padding row by row gives the same result as its
    own padding: zeros for a convolution, no elements for a maximum, and zeros for an average that
    counts its padding.
    """
    if len(layer.maps) != 1 or len(shape_of(layer.maps[0])) != 4:
        return None
    match layer:
        case Conv2dOp():
            window = conv_window(layer)
        case PoolOp():
            window = pool_window(layer)
        case ElementwiseOp() | BatchNormOp():
            height = shape_of(layer.input)[2]
            window = RowWindow(height, height, 1, 1, 0)
        case _:
            return None
    return window if window is not None and window.stride <= window.reach else None


def conv_window(layer: Conv2dOp) -> RowWindow | None:
    """The rows that a convolution with its fused pooling window needs.

    None if pooling windows overlap or reach into padding.
    """
    rows, columns = layer.axes()
    if layer.pool is None:
        return RowWindow.of(rows)
    pool, _ = layer.pool.axes(rows.outputs, columns.outputs)
    inside = pool.start(pool.outputs - 1) + pool.reach <= pool.size
    if layer.pool.overlaps or pool.before or not inside:
        return None
    reach = (pool.reach - 1) * rows.stride + rows.reach
    return RowWindow(rows.size, pool.outputs, reach, pool.stride * rows.stride, rows.before)


def pool_window(layer: PoolOp) -> RowWindow | None:
    """The rows that a pooling layer needs.

    None for a padded average, unless it counts its padding and has no `ceil_mode`.
    """
    _, _, height, width = shape_of(layer.input)
    pool = layer.window()
    window = RowWindow.of(pool.axes(height, width)[0])
    if isinstance(layer, AvgPool2dOp) and window.padded:
        counts = pool.includes_pad and not pool.ceil_mode
        return window if counts else None
    return window


@irdl_op_definition
class RowsOp(IRDLOperation):
    """A chain of layers that run row by row.

    The first layer reads the input, each further one the map of the layer before it. Parameters
    come from outside. If a layer has `npu.ring`, it is the reach of the next layer.

    ```mlir
    %y = npu.rows of %x : tensor<1x3x32x32xf32> -> tensor<1x8x14x14xf32> {
      ...
      npu.yield %1 : tensor<1x8x14x14xf32>
    }
    ```
    """

    name = "npu.rows"

    input = operand_def(TensorType)
    result = result_def(TensorType)
    body = region_def("single_block")

    traits = traits(RecursiveMemoryEffect())

    assembly_format = "`of` $input attr-dict-with-keyword `:` type($input) `->` type($result) $body"

    def __init__(self, input: SSAValue, body: Region, result_type: Attribute) -> None:
        super().__init__(operands=[input], regions=[body], result_types=[result_type])

    @property
    def layers(self) -> tuple[LayerOp, ...]:
        """The layers, in their order."""
        return tuple(op for op in self.body.block.ops if isinstance(op, LayerOp))

    def verify_(self) -> None:
        """Check that the body is a chain of layers that can run row by row."""
        *inner, last = self.body.block.ops
        if not isinstance(last, YieldOp):
            raise VerifyException("expected rows that end with npu.yield")
        if not inner:
            raise VerifyException("expected at least one layer")
        value = self.input
        for op in inner:
            self.verify_link(op, value)
            value = op.results[0]
        if last.value != value or value.type != self.result.type:
            raise VerifyException(f"expected npu.yield of the last layer, a {self.result.type}")

    def verify_link(self, op: Operation, value: SSAValue) -> None:
        """Check one layer of the chain, which must read `value` and nothing else."""
        if not isinstance(op, LayerOp) or op.destination is not None:
            raise VerifyException(f"expected layers on tensors, got {op.name}")
        window = row_window(op)
        if window is None:
            raise VerifyException(f"expected layers that can run row by row, got {op.name}")
        if op.maps != (value,):
            raise VerifyException(f"expected a chain: {op.name} reads another map")
        before = value.owner
        if not isinstance(before, LayerOp) or before.parent_op() is not self:
            return
        if not value.has_one_use():
            raise VerifyException(f"expected a chain: the map of {before.name} is read twice")
        ring = RING.get(before)
        if ring is not None and ring != window.reach:
            raise VerifyException(
                f"expected npu.ring = {window.reach}, the rows that {op.name} needs at once, "
                f"got {ring}"
            )
