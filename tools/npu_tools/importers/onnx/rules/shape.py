"""Rules for operators that change the shape or order of elements, or do nothing in inference."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from npu_dialect.npu import CastOp, ConcatOp, PairwiseOp, TransposeOp
from npu_dialect.npu.enums import BinaryKind
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import ui8
from npu_tools.importers.onnx.builder import (
    BlockFlags,
    Builder,
    Constant,
    Lazy,
    Padded,
    Unknown,
    Value,
    element_name,
)
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.load import PORT_NAMES, PORTS
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.tensors import type_name


def axis_of(axis: int, rank: int, *, end: bool = False) -> int:
    """An axis counted from the front; with `end` it may also be the one after the last.

    Raises: NodeError if a map of this rank does not have the axis.
    """
    if not -rank <= axis < rank + end:
        raise NodeError(f"axis {axis} of a map of rank {rank}")
    return axis + rank if axis < 0 else axis


def identity(node: Node, graph: Builder) -> Value:
    """Identity: the operand itself."""
    return graph.value(node, 0)


def dropout(node: Node, graph: Builder) -> Value:
    """Dropout in inference: the operand itself."""
    if len(node.outputs) > 1 and graph.uses[node.outputs[1]]:
        raise NodeError("the second output (mask) is used; expected the map only")
    training = graph.optional(node, 2)
    if training is not None and training.array.any():
        raise NodeError("training mode; expected a model exported for inference")
    return graph.value(node, 0)


def cast(node: Node, graph: Builder) -> Value:
    """Cast of a map; to bool it is a comparison with zero.

    Bytes, which bools are too, become i32 where the model has int64, as they always fit.

    Raises: NodeError for types that no layer has.
    """
    source, target = graph.operand(node, 0), node.int("to", TensorProto.FLOAT)
    element = map_type(source).get_element_type()
    if target == TensorProto.INT64 and element in (i8, ui8):
        target = TensorProto.INT32
    if target not in PORTS:
        raise NodeError(f"cast of a map to {type_name(target)}; expected {PORT_NAMES}")
    if target == TensorProto.BOOL:
        false = np.zeros((), element_name(element))
        zero = graph.numbers(Constant("zero", false), "zero")
        kind = BinaryKind.NOT_EQUAL
        return graph.emit(lambda out: PairwiseOp(source, zero, kind, out), ui8)
    if element == PORTS[target]:
        return source
    return graph.emit(lambda out: CastOp(source, out), PORTS[target])


def shape(node: Node, graph: Builder) -> Value:
    """Shape: a constant, as the shapes of all maps are known."""
    extents = extents_of(graph.value(node, 0))
    start, end = node.int("start", 0), node.int("end", len(extents))
    return Constant(node.outputs[0], np.array(extents[start:end], np.int64))


def size(node: Node, graph: Builder) -> Value:
    """Size: the number of elements, as a constant."""
    return Constant(node.outputs[0], np.array(prod(extents_of(graph.value(node, 0))), np.int64))


def extents_of(value: Value) -> tuple[int, ...]:
    """The shape of a value, with its pads.

    Raises: NodeError if the value is not known.
    """
    match value:
        case Constant():
            return value.array.shape
        case Lazy() | BlockFlags():
            return value.shape
        case Padded():
            batch, channels, *spatial = shape_of(value.source)
            around = zip(spatial, value.before, value.after, strict=True)
            return batch, channels, *(sum(extents) for extents in around)
        case Unknown():
            raise NodeError("the shape of its input is not known")
        case _:
            return shape_of(value)


def reshape(node: Node, graph: Builder) -> Value:
    """Reshape: 0 copies the extent of the same axis (unless allowzero), -1 stands for the rest."""
    source = graph.map(node, 0)
    wanted = graph.ints(node, "shape", 1)
    if wanted is None:
        raise NodeError("no shape")
    old = shape_of(source)
    new = list(wanted)
    if not node.int("allowzero", 0):
        for axis, extent in enumerate(new):
            if extent == 0:
                if axis >= len(old):
                    raise NodeError(f"shape {wanted} copies axis {axis} of {list(old)}")
                new[axis] = old[axis]
    known = prod(extent for extent in new if extent != -1)
    if new.count(-1) == 1 and known > 0 and prod(old) % known == 0:
        new[new.index(-1)] = prod(old) // known
    if any(extent < 1 for extent in new) or prod(new) != prod(old):
        raise NodeError(f"a map of shape {list(old)} cannot become {wanted}")
    return graph.reshape(source, new)


def flatten(node: Node, graph: Builder) -> Value:
    """Flatten to two axes."""
    source = graph.map(node, 0)
    old = shape_of(source)
    axis = axis_of(node.int("axis", 1), len(old), end=True)
    return graph.reshape(source, (prod(old[:axis]), prod(old[axis:])))


def squeeze(node: Node, graph: Builder) -> Value:
    """Squeeze: removes the given axes, or all axes of extent 1."""
    source = graph.map(node, 0)
    old = shape_of(source)
    axes = graph.ints(node, "axes", 1)
    if axes is None:
        gone = {axis for axis, extent in enumerate(old) if extent == 1}
    else:
        gone = {axis_of(axis, len(old)) for axis in axes}
    if any(old[axis] != 1 for axis in gone):
        raise NodeError(f"axes {axes} of shape {list(old)}; expected axes of extent 1")
    return graph.reshape(source, [old[axis] for axis in range(len(old)) if axis not in gone])


def unsqueeze(node: Node, graph: Builder) -> Value:
    """Unsqueeze: adds axes of extent 1; they are numbered as in the result."""
    source = graph.map(node, 0)
    axes = graph.ints(node, "axes", 1)
    if axes is None:
        raise NodeError("no axes")
    old = list(shape_of(source))
    rank = len(old) + len(axes)
    new = {axis_of(axis, rank) for axis in axes}
    if len(new) != len(axes):
        raise NodeError(f"axes {axes}; expected each once")
    rest = iter(old)
    return graph.reshape(source, [1 if axis in new else next(rest) for axis in range(rank)])


def transpose(node: Node, graph: Builder) -> Value:
    """Transpose; without `perm` it reverses the axes."""
    source = graph.map(node, 0)
    rank = len(shape_of(source))
    return turned(graph, source, node.ints("perm") or list(reversed(range(rank))))


def turned(graph: Builder, source: SSAValue, perm: Sequence[int]) -> SSAValue:
    """Build a map whose axis i is axis perm[i] of another one.

    It is a reshape if only axes of one element change their place.
    """
    shape = shape_of(source)
    if sorted(perm) == list(range(len(shape))):
        moved = [axis for axis in perm if shape[axis] != 1]
        if moved == sorted(moved):
            return graph.reshape(source, [shape[axis] for axis in perm])
    return graph.emit(lambda out: TransposeOp(source, perm, out))


def concat(node: Node, graph: Builder) -> Value:
    """Concat along an axis."""
    parts = [graph.map(node, index) for index in range(len(node.inputs))]
    if not parts:
        raise NodeError("no inputs")
    axis = axis_of(node.int("axis", 1), len(shape_of(parts[0])))
    if len(parts) == 1:
        return parts[0]
    return graph.emit(lambda out: ConcatOp(parts, axis, out))
