"""How many bytes the core reads and writes in each on-chip buffer in one inference: an analysis.

    npu.conv2d ins(%x, %w, %b : ...) outs(%y : ...)   %x: an element for each multiplication, shared
                                                      by SHARE filters; %y: each byte written once
    memref.copy %y, %z                                %y: each byte read; %z: each written

Level of IR: layers on buffers. What stands in a loop counts as often as the loop runs, or, for a
layer, as often as `npu.runs` says. Ports are written or read once more, by the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import affine, arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import MemoryAllocEffect

from npu_dialect.arguments import argument_attributes, is_input, is_output
from npu_dialect.dma import StartOp
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import bytes_of, element_bytes, is_buffer_type, map_type, shape_of
from npu_passes.analysis.views import aliases_of, is_view
from npu_passes.support.traits import has

SHARE = 4
"""The most filters that use an element of a map that is loaded once, as our kernels do."""


@dataclass(frozen=True)
class Accesses:
    """The bytes that the core reads and writes in a buffer."""

    read: int = 0
    written: int = 0

    def __add__(self, other: Accesses) -> Accesses:
        """The sum of both."""
        return Accesses(self.read + other.read, self.written + other.written)


def accesses_of(function: Operation, buffers: Sequence[SSAValue]) -> list[Accesses]:
    """The accesses of each of some buffers of a function."""
    found = [port_accesses(each) for each in buffers]
    owner = {alias: index for index, each in enumerate(buffers) for alias in aliases_of(each)}
    for op in function.walk():
        if is_view(op) or has(op, MemoryAllocEffect) or not any(v in owner for v in op.operands):
            continue
        for value, accesses in accesses_by(op):
            if value in owner:
                found[owner[value]] += accesses
    return found


def port_accesses(buffer: SSAValue) -> Accesses:
    """What the caller's data cost: inputs are copied in, outputs are copied out."""
    if not isinstance(buffer, BlockArgument):
        return Accesses()
    marks, size = argument_attributes(buffer), bytes_of(map_type(buffer))
    return Accesses(size * is_output(marks), size * is_input(marks))


def accesses_by(op: Operation) -> Iterator[tuple[SSAValue, Accesses]]:
    """The accesses of one op to its operands, in all of its runs."""
    runs = op.repetitions if isinstance(op, LayerOp) else runs_of(op)
    for value, once in accesses_once(op):
        yield value, Accesses(runs * once.read, runs * once.written)


def accesses_once(op: Operation) -> Iterator[tuple[SSAValue, Accesses]]:
    """The accesses of one op to its operands, in one run."""
    match op:
        case LayerOp():
            yield from layer_accesses(op)
        case memref.CopyOp():
            size = bytes_of(map_type(op.source))
            yield op.source, Accesses(read=size)
            yield op.destination, Accesses(written=size)
        case memref.LoadOp() | affine.LoadOp():
            yield op.memref, Accesses(read=element_bytes(map_type(op.memref)))
        case memref.StoreOp() | affine.StoreOp():
            yield op.memref, Accesses(written=element_bytes(map_type(op.memref)))
        case StartOp() | memref.DmaStartOp():
            return  # an engine moves the data, not the core
        case _ if not op.regions:
            for value in (each for each in op.operands if is_buffer_type(each.type)):
                size = bytes_of(map_type(value))
                yield value, Accesses(size, size)
        case _:
            pass


def layer_accesses(op: LayerOp) -> Iterator[tuple[SSAValue, Accesses]]:
    """The accesses of a layer to its operands, in one run."""
    scratch = op.working_memory
    products = op.macs() // filters_that_share(op)
    for value in op.inputs:
        type_ = map_type(value)
        size = bytes_of(type_)
        if scratch is None or value in op.parameter_inputs:
            size = max(size, products * element_bytes(type_))
        yield value, Accesses(read=size)
    if scratch is not None:
        type_ = map_type(scratch)
        size = max(bytes_of(type_), products * element_bytes(type_))
        yield scratch, Accesses(size, bytes_of(type_))
    again = bytes_of(op.output_type) if op.properties.get("accumulate") is not None else 0
    yield op.output, Accesses(again, bytes_of(op.output_type))


def filters_that_share(op: LayerOp) -> int:
    """How many outputs use an element that is loaded once."""
    weights = next((v for v in op.parameter_inputs if len(shape_of(v)) > 1), None)
    if weights is None:
        return SHARE
    groups = getattr(getattr(op, "groups", None), "value", None)
    count = shape_of(weights)[0] // (1 if groups is None else groups.data)
    return max(1, min(SHARE, count))


def runs_of(op: Operation) -> int:
    """How often the loops around an op run it; loops with unknown bounds count once."""
    runs, parent = 1, op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ForOp):
            low, high, step = map(constant, (parent.lb, parent.ub, parent.step))
            if low is not None and high is not None and step:
                runs *= max(0, -(-(high - low) // step))
        parent = parent.parent_op()
    return runs


def constant(value: SSAValue) -> int | None:
    """The integer that a value is, if it is a constant."""
    op = value.owner
    found = op.value if isinstance(op, arith.ConstantOp) else None
    return found.value.data if isinstance(found, IntegerAttr) else None
