"""Layers on tensors that run row by row, with only a few rows of each map between them on chip.

    %y = npu.rows of %x : tensor<1x3x32x32xf32> -> tensor<1x8x14x14xf32> {
      %0 = npu.conv2d %x, %w0 strides [1, 1] pads [0, 0, 0, 0] {npu.ring = 3 : i64} : ...
      %1 = npu.conv2d %0, %w1 strides [2, 2] pads [0, 0, 0, 0] : ...
      npu.yield %1 : tensor<1x8x14x14xf32>
    }

The op computes the same as the chain of its layers. But no map between them exists as a whole: only
`npu.ring` rows of it are on chip at one time, as many as one output row of the next layer needs.
A layer may read further maps, which exist as a whole: the keys and values of attention, so that its
scores need one row.

    %y = npu.rows of %q : tensor<1x4x64x16xf32> -> tensor<1x4x64x16xf32> {
      %0 = npu.matmul %q, %k transposed_rhs {npu.ring = 1 : i64} : ... -> tensor<1x4x64x64xf32>
      %1 = npu.softmax %0 axis 3 {npu.ring = 1 : i64} : ...
      %2 = npu.matmul %1, %v : ... -> tensor<1x4x64x16xf32>
      npu.yield %2 : tensor<1x4x64x16xf32>
    }

Between two layers, reshapes may drop or add axes before the rows: [1, M, K] as [M, K].

If the layers have `npu.row_time`, they are a region: a graph in which a map may have several
readers. A ring then keeps the rows from the oldest one that a reader still needs to the newest one:

    %y = npu.rows of %x : tensor<1x8x32x32xi8> -> tensor<1x8x32x32xi8> {
      %0 = npu.conv2d %x, ...   {npu.ring = 4 : i64, npu.row_time = array<i64: 1, 0>} : ...
      %1 = npu.conv2d %0, ...   {npu.ring = 3 : i64, npu.row_time = array<i64: 1, 1>} : ...
      %2 = npu.conv2d %1, ...   {npu.ring = 0 : i64, npu.row_time = array<i64: 1, 2>} : ...
      %3 = npu.quantized_add %2, %0 ...             {npu.row_time = array<i64: 1, 2>} : ...
      npu.yield %3 : tensor<1x8x32x32xi8>
    }

A ring starts with rows of padding if a reader needs some above the map. With `npu.top_rows` on the
op it does not, and rows that need them are layers of their own.

The input of a region is whole, unless the op has `npu.row_time` too. Then its rows arrive one at a
time, and a ring keeps them as long as they are needed:

    %y = npu.rows of %x attributes {npu.ring = 3 : i64, npu.row_time = array<i64: 1, 0>} : ... {
      %0 = npu.conv2d %x, ... {npu.row_time = array<i64: 1, 2>} : ...
      npu.yield %0 : tensor<1x8x32x32xi8>
    }
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, region_def, result_def
from xdsl.irdl import traits_def as traits
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from npu_dialect.attributes import RING, ROW_TIME, TOP_ROWS
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ReshapeOp
from npu_dialect.npu.row_regions import region_maps
from npu_dialect.npu.row_windows import regrouped, row_window
from npu_dialect.npu.structure import YieldOp, is_within


@irdl_op_definition
class RowsOp(IRDLOperation):
    """A chain of layers, or a region with `npu.row_time`, that run row by row.

    The first layer reads the input, each further one the map of the layer before it. Parameters
    and further maps come from outside. If a layer has `npu.ring`, it is the reach of the next one.

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
        """The layers, in their order, without the reshapes between them."""
        layers = (op for op in self.body.block.ops if isinstance(op, LayerOp))
        return tuple(op for op in layers if not isinstance(op, ReshapeOp))

    @property
    def is_region(self) -> bool:
        """Whether the layers are a region: they say when they compute their rows."""
        return any(ROW_TIME.get(op) is not None for op in self.body.block.ops)

    @property
    def is_streamed(self) -> bool:
        """Whether the rows of the input arrive or are fetched one at a time."""
        return ROW_TIME.is_on(self)

    def verify_(self) -> None:
        """Check that the body is a chain or region of layers that can run row by row."""
        *inner, last = self.body.block.ops
        if not isinstance(last, YieldOp):
            raise VerifyException("expected rows that end with npu.yield")
        if not inner:
            raise VerifyException("expected at least one layer")
        if self.is_region:
            region_maps(self)
            self.verify_yield(last, inner[-1].results[0])
            return
        if self.is_streamed or TOP_ROWS.is_on(self):
            raise VerifyException("expected npu.row_time on the layers too")
        if isinstance(inner[0], ReshapeOp) or isinstance(inner[-1], ReshapeOp):
            raise VerifyException("expected reshapes between layers only")
        value = self.input
        for op in inner:
            self.verify_link(op, value)
            value = op.results[0]
        self.verify_yield(last, value)

    def verify_yield(self, last: YieldOp, value: SSAValue) -> None:
        """Check that the last layer's map is yielded, and that it has the type of the result."""
        if last.value != value or value.type != self.result.type:
            raise VerifyException(f"expected npu.yield of the last layer, a {self.result.type}")

    def verify_link(self, op: Operation, value: SSAValue) -> None:
        """Check one op of the chain, which must read `value` and otherwise maps from outside."""
        if not isinstance(op, LayerOp) or op.destination is not None:
            raise VerifyException(f"expected layers on tensors, got {op.name}")
        if value not in op.inputs or any(
            is_within(self, each) for each in op.inputs if each is not value
        ):
            raise VerifyException(f"expected a chain: {op.name} reads another map")
        if is_within(self, value) and not value.has_one_use():
            name = value.owner.name if isinstance(value.owner, Operation) else "a layer"
            raise VerifyException(f"expected a chain: the map of {name} is read twice")
        if isinstance(op, ReshapeOp):
            if regrouped(op.results[0]) is op.results[0]:
                raise VerifyException("expected a reshape that keeps rows")
            return
        window = row_window(op, value)
        if window is None:
            raise VerifyException(f"expected layers that can run row by row, got {op.name}")
        before = regrouped(value).owner
        if not isinstance(before, LayerOp) or before.parent_op() is not self:
            return
        ring = RING.get(before)
        if ring is not None and ring != window.reach:
            raise VerifyException(
                f"expected npu.ring = {window.reach}, the rows that {op.name} needs at once, "
                f"got {ring}"
            )

    def streamed(self, layer: LayerOp) -> SSAValue:
        """The map that a layer reads row by row: that of the layer before, or the input."""
        return next((each for each in layer.inputs if is_within(self, each)), self.input)
