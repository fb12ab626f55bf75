"""A second opinion: the shapes that ONNX infers must be those of our layers.

ONNX's inference runs last, on values that our own rules have already checked, and without the data
of the weights: it copies the model several times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper
from onnx.shape_inference import infer_shapes
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from npu_dialect.npu.maps import map_type, shape_of
from npu_tools.importers.onnx.builder import BlockFlags, Constant, Lazy, Value
from npu_tools.importers.onnx.errors import ModelError, first_line
from npu_tools.importers.onnx.load import PORTS, default_opset

MOST_SHAPE_ELEMENTS = 1024
"""Constants above this size are no shapes or axes: inference does without their data."""


def check_inferred_shapes(model: ModelProto, values: Mapping[str, Value]) -> None:
    """Compare the shape of each value with the one that ONNX infers, if it infers one.

    Raises: ModelError if they differ, or if ONNX finds the model inconsistent.
    """
    try:
        bare = skeleton(model, values)
        inferred = infer_shapes(bare, strict_mode=True, data_prop=True)
    except Exception as error:  # shape inference is C++: it raises what it likes
        raise ModelError(f"ONNX finds the model inconsistent: {first_line(error)}") from error
    for info in (*inferred.graph.value_info, *inferred.graph.output):
        theirs, ours = static_shape(info), known_shape(values.get(info.name))
        if theirs is not None and ours is not None and theirs != ours:
            raise ModelError(
                f"value '{info.name}' has shape {list(ours)} here, but ONNX infers {list(theirs)}"
            )


def static_shape(info: ValueInfoProto) -> tuple[int, ...] | None:
    """The shape of a value, if all of it is known."""
    type_ = info.type.tensor_type
    if not type_.HasField("shape") or not all(dim.HasField("dim_value") for dim in type_.shape.dim):
        return None
    return tuple(dim.dim_value for dim in type_.shape.dim)


def known_shape(value: Value | None) -> tuple[int, ...] | None:
    """The shape that the importer gave to a value."""
    if isinstance(value, SSAValue):
        return shape_of(value)
    if isinstance(value, Lazy | BlockFlags):
        return value.shape
    return value.array.shape if isinstance(value, Constant) else None


def element_number(value: Value | None) -> int:
    """ONNX's number of the element type of a value."""
    element = map_type(value).get_element_type() if isinstance(value, SSAValue) else f32
    return next((number for number, kind in PORTS.items() if kind == element), TensorProto.FLOAT)


def skeleton(model: ModelProto, values: Mapping[str, Value]) -> ModelProto:
    """The model with every large constant turned into an input of the same type.

    So is the output of every node whose inference is wrong.
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
        elif is_inferred_wrong(node) and (shape := known_shape(values.get(node.output[0]))):
            element = element_number(values.get(node.output[0]))
            graph.input.append(stand_in(node.output[0], element, shape))
        else:
            graph.node.append(node)
    opset = helper.make_opsetid("", default_opset(model))
    return helper.make_model(graph, ir_version=model.ir_version, opset_imports=[opset])


def is_large(tensor: TensorProto) -> bool:
    """Whether a tensor is too large to be a shape."""
    return prod(tensor.dims) > MOST_SHAPE_ELEMENTS


def constant_tensor(node: NodeProto) -> TensorProto | None:
    """The tensor of a Constant node."""
    if node.op_type != "Constant" or not node.output:
        return None
    return next((a.t for a in node.attribute if a.name == "value" and a.HasField("t")), None)


def is_inferred_wrong(node: NodeProto) -> bool:
    """Whether ONNX's inference is not to be trusted with a node.

    It knows no operators of other domains, and with ceil_mode it counts windows that start behind
    the map, which neither the specification, its reference implementation nor onnxruntime do.
    """
    return node.domain != "" or any(
        attribute.name == "ceil_mode" and attribute.i for attribute in node.attribute
    )


def stand_in(name: str, element: int, shape: Sequence[int]) -> ValueInfoProto:
    """An input of a type."""
    return helper.make_tensor_value_info(name, element, list(shape))
