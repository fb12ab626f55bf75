"""`npu-stream-input`: the rows of the input arrive one at a time (on tensors).

    func.func @f(%x: tensor<1x3x32x32xi8> {npu.name = "image"}) -> tensor<1x10xi8> {
becomes
    func.func @f(%x: tensor<1x3x32x32xi8> {npu.name = "image", npu.stream}) -> tensor<1x10xi8> {

The decision: nothing of the input lies on chip but the rows that a region still needs.
`npu-fuse-regions` makes that region, and `npu-split-stream` a C function that takes some rows.

This pass checks what can be said of a single layer: the input is one image of at least two rows,
and each layer that reads it can run row by row. Whether all of these fit into one region,
`npu-fuse-regions` says.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation

from npu_dialect.arguments import is_state
from npu_dialect.attributes import LAYER
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import is_tensor_type, shape_of
from npu_dialect.npu.row_regions import row_read
from npu_dialect.npu.row_windows import row_axis
from npu_dialect.stream_attributes import STREAM
from npu_dialect.target import machine_of
from npu_passes.support.port_attributes import array_of, attributes_of
from npu_passes.support.refuse import Refusal, RefusingPass, refuse
from npu_passes.support.symbols import public_function

MAP_AXES = 4
LEAST_ROWS = 2
"""Of fewer rows there would be no loop over them."""


@dataclass(frozen=True)
class StreamInputPass(RefusingPass):
    """Mark the input of the public function as one whose rows arrive one at a time."""

    name = "npu-stream-input"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check the input and its readers, then mark it.

        Raises: PassFailedException if there are several inputs or states, if the input has no rows,
        or if a layer needs more of it than some rows; it names the layer.
        """
        machine = machine_of(op)
        if machine is not None and machine.dma_channels:
            raise Refusal(
                f"expected a machine without DMA for a streamed input, got {machine.name}"
            )
        function = public_function(op)
        marks = attributes_of(function.arg_attrs, len(function.args))
        if any(map(is_state, marks)):
            refuse(function, "expected a function without states for a streamed input")
        if len(function.args) != 1:
            refuse(function, f"expected one input to stream, got {len(function.args)}")
        (argument,) = function.args
        check_rows(function, argument)
        for use in argument.uses:
            check_reader(use.operation, argument)
        function.arg_attrs = array_of([{**marks[0], **STREAM.entry(True)}])


def check_rows(function: FuncOp, argument: BlockArgument) -> None:
    """Check that an input is one image with rows.

    Raises: PassFailedException, attached to the function, if it is not.
    """
    type_ = argument.type
    shape = shape_of(argument) if is_tensor_type(type_) and type_.has_static_shape() else ()
    if len(shape) != MAP_AXES or shape[0] != 1 or shape[row_axis(argument)] < LEAST_ROWS:
        refuse(
            function,
            f"expected an input of one image [1, C, H, W] with {LEAST_ROWS} rows or more to "
            f"stream, got {type_}",
        )
    if 0 in shape or not argument.uses:
        refuse(function, f"expected an input that a layer reads, got {type_}")


def check_reader(reader: Operation, argument: BlockArgument) -> None:
    """Check that a reader of the input can run row by row.

    Raises: PassFailedException, attached to the reader, if it cannot.
    """
    name = LAYER.get(reader)
    what = reader.name if name is None else f"{name} ({reader.name})"
    if not isinstance(reader, LayerOp) or row_axis(reader.output) < 0:
        refuse(reader, f"expected layers that read the streamed input row by row, got {what}")
    if row_read(reader, argument) is None:
        refuse(reader, f"{what} reads more of the input than some rows: it cannot be streamed")
