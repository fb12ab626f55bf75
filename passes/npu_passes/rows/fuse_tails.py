"""`npu-fuse-tails`: run the last reader of a map row by row, to overwrite the map (on tensors).

    %p = npu.avg_pool2d %x kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] : ...
    %y = npu.conv2d %p, %w ... : (tensor<1x288x35x35xf32>, ...) -> tensor<1x64x35x35xf32>
becomes, if no later op reads %x
    %y = npu.rows of %x attributes {npu.consumes} : ... -> tensor<1x64x35x35xf32> {
      %0 = npu.avg_pool2d %x kernel [3, 3] ... {npu.ring = 1 : i64} : ...
      %1 = npu.conv2d %0, %w ... : ...
      npu.yield %1
    }

It makes two decisions. An average pool runs row by row with the 1x1 convolution that reads it, so
the pooled map never exists as a whole. And the last reader of a map that several layers read runs
row by row, with `npu.consumes`, if it keeps rows and columns and its output is the first or last
part of a concatenation. It copies each row of its input before it writes that row of its output.
So its part of the concatenation may overwrite the map; `npu-assign-sram-offsets` decides where.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from npu_dialect.attributes import CONSUMES
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import ConcatOp
from npu_dialect.npu.maps import bytes_of, map_type, shape_of
from npu_dialect.npu.rows import RowsOp
from npu_dialect.target import machine_of
from npu_passes.rows.chain_sizes import Streamed
from npu_passes.rows.fuse_rows import blocks_of, wrap
from npu_passes.support.refuse import RefusingPass
from npu_passes.support.tails import tail_of


@dataclass(frozen=True)
class FuseTailsPass(RefusingPass):
    """Run average pools with their 1x1 convolution, and last readers, row by row."""

    name = "npu-fuse-tails"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Put average pools with their convolution, then last readers, into `npu.rows`."""
        machine = machine_of(op)
        most = machine.planned_bytes // 4 if machine is not None and machine.dma_channels else None
        for block in blocks_of(op):
            for run in pooled_pairs(block):
                if pays(run, run[0].output, most):
                    wrap([streamed(each) for each in run])
            for reader in last_readers(block):
                if not pays(layers_of(reader), reader.results[0], most):
                    continue
                if isinstance(reader, LayerOp):
                    source = reader.maps[0]
                    wrap([streamed(reader)])
                    reader = next(use.operation for use in source.uses if is_rows(use.operation))
                CONSUMES.set(reader, True)


def streamed(layer: LayerOp) -> Streamed:
    """A layer of one map, which it streams."""
    return Streamed(layer, layer.inputs.index(layer.maps[0]))


def layers_of(op: Operation) -> list[LayerOp]:
    """A layer, or the layers of `npu.rows`."""
    return [each for each in op.walk() if isinstance(each, LayerOp)]


def pays(run: list[LayerOp], won: SSAValue, most: int | None) -> bool:
    """Whether the parameters of some layers take fewer bytes on chip than the map that is saved.

    `won`: that map. `most`: the most bytes that they may take; None if they need not be on chip.
    """
    return most is None or parameters(run) < min(size_of(won), most + 1)


def parameters(run: list[LayerOp]) -> int:
    """Bytes of the parameters of some layers."""
    return sum(size_of(value) for layer in run for value in layer.parameter_inputs)


def size_of(value: SSAValue) -> int:
    """Bytes of a map or a parameter."""
    return bytes_of(map_type(value))


def is_pointwise(op: Operation) -> bool:
    """Whether an op is a 1x1 convolution that can be a tail."""
    return isinstance(op, LayerOp) and tail_of(op) == "pointwise"


def is_rows(op: Operation) -> bool:
    """Whether an op is `npu.rows` that reads no map but its input."""
    return isinstance(op, RowsOp) and all(len(layer.maps) == 1 for layer in op.layers)


def pooled_pairs(block: Block) -> list[list[LayerOp]]:
    """Each average pool that can run row by row, with the 1x1 convolution that alone reads it."""
    found: list[list[LayerOp]] = []
    for op in block.ops:
        if not isinstance(op, LayerOp) or tail_of(op) != "average":
            continue
        users = [use.operation for use in op.output.uses]
        if len(users) == 1 and is_pointwise(users[0]):
            assert isinstance(users[0], LayerOp)
            found.append([op, users[0]])
    return found


def last_readers(block: Block) -> list[Operation]:
    """The last reader of each map that several ops read, if its output can overwrite the map.

    Only `npu.rows` and 1x1 convolutions can.
    """
    values = [*block.args, *(result for op in block.ops for result in op.results)]
    found: list[Operation] = []
    for value in values:
        users = [block.find_ancestor_op_in_block(use.operation) for use in value.uses]
        readers = list(dict.fromkeys(user for user in users if user is not None))
        if len(readers) < 2:
            continue
        last = max(readers, key=block.get_operation_index)
        if (is_rows(last) or is_pointwise(last)) and keeps_place(last, value):
            found.append(last)
    return found


def keeps_place(op: Operation, source: SSAValue) -> bool:
    """Whether an op's output is the first or last part of a concatenation of channels.

    It must have the rows and columns of `source`, and there must be only one image.
    """
    result = op.results[0]
    shape, other = shape_of(source), shape_of(result)
    if len(shape) != 4 or len(other) != 4 or shape[2:] != other[2:] or shape[0] != 1:
        return False
    users = [use.operation for use in result.uses]
    if len(users) != 1 or not isinstance(users[0], ConcatOp):
        return False
    return users[0].axis.value.data == 1 and result in (users[0].parts[0], users[0].parts[-1])
