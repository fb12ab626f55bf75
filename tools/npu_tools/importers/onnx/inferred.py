"""Checks the shapes of the imported layers against those that ONNX's shape inference finds.

The inference runs last, on values that the importer's rules have checked. It gets the model without
the data of large constants, because it copies the model several times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper
from onnx.shape_inference import infer_shapes
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from npu_dialect.npu import AddOp, MulOp, PairwiseOp, ReduceOp
from npu_dialect.npu.enums import BinaryKind
from npu_dialect.npu.layers.reduce import PICKING
from npu_dialect.npu.maps import map_type, shape_of
from npu_tools.importers.onnx.builder import BlockFlags, Constant, Lazy, Value
from npu_tools.importers.onnx.errors import ModelError, first_line
from npu_tools.importers.onnx.load import PORTS, default_opset
from npu_tools.importers.onnx.rules import EARLY, FOREIGN
from npu_tools.importers.onnx.tensors import MOST_SHAPE_ELEMENTS

NOT_INFERRED = ("GroupNormalization", "If", "MeanVarianceNormalization")
"""Operators of ONNX that its inference does not know, or not in all forms."""


def check_inferred_shapes(model: ModelProto, values: Mapping[str, Value]) -> None:
    """Compare the shape of each value with the one that ONNX infers, if it infers one.

    `values` are those of the importer, by their names in the model.

    Raises: ModelError if they differ, or if ONNX finds the model inconsistent.
    """
    try:
        bare = skeleton(model, values)
        inferred = infer_shapes(bare, strict_mode=True, data_prop=True)
    except Exception as error:  # shape inference is C++ and raises exceptions of many types
        raise ModelError(f"ONNX finds the model inconsistent: {first_line(error)}") from error
    for info in (*inferred.graph.value_info, *inferred.graph.output):
        theirs, ours = static_shape(info), known_shape(values.get(info.name))
        if theirs is not None and ours is not None and theirs != ours:
            raise ModelError(
                f"value '{info.name}' has shape {list(ours)} here, but ONNX infers {list(theirs)}"
            )
        check_width(info, values.get(info.name))


def check_width(info: ValueInfoProto, value: Value | None) -> None:
    """Check that no arithmetic of int64 is done in i32, where it could overflow.

    Indices of ArgMax and casts of bytes are i32, as they always fit; layers that move or compare
    them may follow.

    Raises: ModelError if a sum, difference or product is int64 in the model.
    """
    if info.type.tensor_type.elem_type != TensorProto.INT64 or not isinstance(value, SSAValue):
        return
    layer = value.owner
    adds = isinstance(layer, AddOp | MulOp) or (
        isinstance(layer, ReduceOp) and layer.kind.data not in PICKING
    )
    if adds or (isinstance(layer, PairwiseOp) and layer.kind.data == BinaryKind.SUB):
        raise ModelError(
            f"value '{info.name}' is computed with int64 elements; expected int32 or float32 "
            "(a Cast before it)"
        )


def static_shape(info: ValueInfoProto) -> tuple[int, ...] | None:
    """The shape of a value; None if one of its dims has no size."""
    type_ = info.type.tensor_type
    if not type_.HasField("shape") or not all(dim.HasField("dim_value") for dim in type_.shape.dim):
        return None
    return tuple(dim.dim_value for dim in type_.shape.dim)


def known_shape(value: Value | None) -> tuple[int, ...] | None:
    """The shape that the importer gave to a value; None if it gave none."""
    if isinstance(value, SSAValue):
        return shape_of(value)
    if isinstance(value, Lazy | BlockFlags):
        return value.shape
    return value.array.shape if isinstance(value, Constant) else None


def element_number(value: Value | None) -> int:
    """ONNX's number for the element type of a map; that of float32 for any other value."""
    element = map_type(value).get_element_type() if isinstance(value, SSAValue) else f32
    return next((number for number, type_ in PORTS.items() if type_ == element), TensorProto.FLOAT)


def skeleton(model: ModelProto, values: Mapping[str, Value]) -> ModelProto:
    """The model with an input of the same type in place of each large constant.

    An input also replaces each node for which ONNX's inference is wrong.
    """
    graph = GraphProto(name=model.graph.name or "skeleton")
    graph.output.extend(
        ValueInfoProto(name=value.name, type=value.type) for value in model.graph.output
    )
    large = [tensor for tensor in model.graph.initializer if is_large(tensor)]
    graph.initializer.extend(t for t in model.graph.initializer if not is_large(t))
    names = {tensor.name for tensor in large}
    graph.input.extend(value for value in model.graph.input if value.name not in names)
    graph.input.extend(stand_in(tensor.name, tensor.data_type, tensor.dims) for tensor in large)
    for node in model.graph.node:
        if (tensor := constant_tensor(node)) is not None and is_large(tensor):
            graph.input.append(stand_in(node.output[0], tensor.data_type, tensor.dims))
        elif is_inferred_wrong(node) and known_shape(values.get(node.output[0])):
            for name in node.output:
                if shape := known_shape(values.get(name)):
                    element = element_number(values.get(name))
                    graph.input.append(stand_in(name, element, shape))
        else:
            graph.node.append(node)
    opset = helper.make_opsetid("", default_opset(model))
    return helper.make_model(graph, ir_version=model.ir_version, opset_imports=[opset])


def is_large(tensor: TensorProto) -> bool:
    """Whether a tensor has too many elements to be a shape or axes."""
    return prod(tensor.dims) > MOST_SHAPE_ELEMENTS


def constant_tensor(node: NodeProto) -> TensorProto | None:
    """The tensor of a Constant node; None for any other node or value."""
    if node.op_type != "Constant" or not node.output:
        return None
    return next((a.t for a in node.attribute if a.name == "value" and a.HasField("t")), None)


def is_inferred_wrong(node: NodeProto) -> bool:
    """Whether ONNX's inference gives no or a wrong shape for a node.

    It does not know operators that ONNX does not define, GroupNormalization, and all outputs but
    the first of LayerNormalization; it fails for MeanVarianceNormalization without `axes`. With
    ceil_mode it counts windows that start beyond the map; the specification, its reference
    implementation and onnxruntime do not. For an `output_shape` smaller than the map it gives some
    axes only.
    """
    foreign = {*EARLY, *FOREIGN.get(node.domain, ())}
    unknown = node.op_type in foreign or node.domain != ""
    return (
        unknown
        or node.op_type in NOT_INFERRED
        or (node.op_type == "LayerNormalization" and len(node.output) > 1)
        or any(
            (attribute.name == "ceil_mode" and attribute.i) or attribute.name == "output_shape"
            for attribute in node.attribute
        )
    )


def stand_in(name: str, element: int, shape: Sequence[int]) -> ValueInfoProto:
    """A graph input with this name, element type and shape."""
    return helper.make_tensor_value_info(name, element, list(shape))
