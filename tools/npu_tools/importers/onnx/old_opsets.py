"""Brings a model of opset 1 to 6 to opset 7, the oldest that the importer's rules read.

Before opset 7, the attributes `broadcast` and `axis` said how the second operand of Add and its
like is broadcast. Unsqueeze now gives it the axes that it lacks:

    Add(x, b) {broadcast = 1, axis = 1}           # x [N, C, H, W], b [C]

becomes

    Unsqueeze(b) {axes = [1, 2]} -> u ; Add(x, u)

ONNX's own version converter is not used: it ignores `axis`, and an error in it can end the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper
from onnx.checker import C, ValidationError, check_node
from onnx.shape_inference import infer_shapes

from npu_tools.importers.onnx.errors import ModelError, NodeError, first_line
from npu_tools.importers.onnx.graph import node_label
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.tensors import MOST_SHAPE_ELEMENTS

OLDEST_READ = 7
"""The opset that older ones are brought to."""
LEGACY = frozenset("Add And Div Equal Greater Less Mul Or Pow Sub Xor".split())
"""Operators whose second operand was broadcast by attributes."""
ALONG_CHANNELS = frozenset(("PRelu",))
"""Operators whose second operand [C] lay along axis 1 of the first one."""
DROPPED = ("consumed_inputs", "is_test", "broadcast")
"""Attributes that opset 7 has no more; what they say is read before they are dropped."""


@dataclass
class Old:
    """A model that is being changed; its nodes are sorted."""

    model: ModelProto
    opset: int
    names: set[str]
    """The names of all values."""

    def fresh_name(self, wanted: str) -> str:
        """A name that no value has yet; from now on one has it."""
        name, count = wanted, 1
        while name in self.names:
            name, count = f"{wanted}/{count}", count + 1
        self.names.add(name)
        return name


def modernise(model: ModelProto, opset: int) -> None:
    """Change a model of `opset` with sorted nodes in place, so that its opset is at least 7.

    Raises: ModelError if a node does not fit its operator's old definition, or says something that
    opset 7 cannot say.
    """
    if opset >= OLDEST_READ:
        return
    check_nodes(model, opset)
    old = Old(model, opset, set(value_names(model.graph)))
    for proto in model.graph.node:
        try:
            modernise_node(old, Node(proto, opset))
        except NodeError as error:
            raise old_error(proto, opset, error) from error
    for entry in model.opset_import:
        if entry.domain == "":
            entry.version = OLDEST_READ
    write_broadcasts_out(old)


def value_names(graph: GraphProto) -> Iterator[str]:
    """The names of all values of a graph."""
    yield from (value.name for value in graph.input)
    yield from (tensor.name for tensor in graph.initializer)
    for node in graph.node:
        yield from node.output


def old_error(proto: NodeProto, opset: int, error: Exception) -> ModelError:
    """The message for a node that cannot be brought to opset 7."""
    label = f"node '{node_label(proto)}' ({proto.op_type})"
    return ModelError(f"{label} of opset {opset}: {first_line(error)}")


def check_nodes(model: ModelProto, opset: int) -> None:
    """Check the nodes against the definitions of their opset.

    Raises: ModelError if one does not fit.
    """
    context = C.CheckerContext()
    context.ir_version = model.ir_version
    context.opset_imports = {entry.domain: entry.version for entry in model.opset_import}
    for proto in model.graph.node:
        if proto.domain:
            continue
        try:
            check_node(proto, context)
        except ValidationError as error:
            raise old_error(proto, opset, error) from error


def modernise_node(old: Old, node: Node) -> None:
    """Change a node in place to what opset 7 defines, but for `axis` of operators in `LEGACY`.

    Raises: NodeError if opset 7 cannot say what it says.
    """
    if not node.is_standard:
        return
    if node.op_type in ("BatchNormalization", "Dropout") and not node.int("is_test", 0):
        raise NodeError("is_test = 0 is training mode; expected a model exported for inference")
    kept = [each for each in node.proto.attribute if each.name not in DROPPED]
    if node.op_type in LEGACY and not node.int("broadcast", 0):
        kept = [each for each in kept if each.name != "axis"]
    found: dict[str, Any] = {each.name: each for each in kept}
    change = CHANGES.get(node.op_type)
    found |= {} if change is None else change(old, node)
    set_attributes(node.proto, found)


def set_attributes(proto: NodeProto, found: Mapping[str, Any]) -> None:
    """Give a node other attributes: values by name, or attributes as they are; None is left out."""
    copies = [
        AttributeProto.FromString(value.SerializeToString())
        if isinstance(value, AttributeProto)
        else helper.make_attribute(name, value)
        for name, value in found.items()
        if value is not None
    ]
    del proto.attribute[:]
    proto.attribute.extend(copies)


Change = Callable[[Old, Node], Mapping[str, Any]]
"""A function that changes a node; returns the new values of attributes, None for those to remove.

Raises: NodeError if opset 7 cannot say what the node says.
"""


def cast(_: Old, node: Node) -> Mapping[str, Any]:
    """Cast: the name of an element type becomes its number."""
    if node.opset > 5:
        return {}
    name = node.string("to", "")
    if name.upper() not in TensorProto.DataType.keys():
        raise NodeError(f"a cast to '{name}'; expected the name of an element type")
    return {"to": TensorProto.DataType.Value(name.upper())}


def concat(_: Old, node: Node) -> Mapping[str, Any]:
    """Concat: the default of `axis` is written out."""
    return {"axis": node.int("axis", 1)}


def pad(_: Old, node: Node) -> Mapping[str, Any]:
    """Pad: `paddings` of opset 1 is called `pads`."""
    return {"pads": node.ints("paddings"), "paddings": None} if node.opset == 1 else {}


def reshape(old: Old, node: Node) -> Mapping[str, Any]:
    """Reshape: the shape becomes an operand."""
    if node.opset > 4:
        return {}
    shape = node.ints("shape")
    if shape is None:
        raise NodeError("it has no shape; expected the attribute shape")
    name = old.fresh_name(f"{node.label}/shape")
    tensor = helper.make_tensor(name, TensorProto.INT64, [len(shape)], shape)
    old.model.graph.initializer.append(tensor)
    node.proto.input.append(name)
    return {"shape": None}


def upsample(_: Old, node: Node) -> Mapping[str, Any]:
    """Upsample: the scales of rows and columns become those of all axes of [N, C, H, W]."""
    names = ("height_scale", "width_scale")
    scales = [1.0, 1.0, *(node.float(name, 1.0) for name in names)]
    return {"scales": scales, **dict.fromkeys(names)}


def power_of_norm(_: Old, node: Node) -> Mapping[str, Any]:
    """LpPool and GlobalLpPool: the power becomes an integer."""
    power = node.float("p", 2.0) if node.opset == 1 else 0.5
    if node.opset == 1 and not power.is_integer():
        raise NodeError(f"p = {power}; expected an integer")
    return {"p": int(power)} if node.opset == 1 else {}


def operands_changed(_: Old, node: Node) -> Mapping[str, Any]:
    """An operator whose operands of the oldest opsets mean something else in opset 7."""
    first = FIRST_LIKE_7[node.op_type]
    if node.opset >= first or (node.op_type == "Split" and len(node.inputs) == 1):
        return {}
    raise NodeError(f"opset {first} changed its operands; expected a model of that or a newer one")


FIRST_LIKE_7 = {"Split": 2, "Tile": 6}
"""The first opsets in which these operators had the operands of opset 7."""

CHANGES: Mapping[str, Change] = {
    "Cast": cast,
    "Concat": concat,
    "GlobalLpPool": power_of_norm,
    "LpPool": power_of_norm,
    "Pad": pad,
    "Reshape": reshape,
    "Split": operands_changed,
    "Tile": operands_changed,
    "Upsample": upsample,
}
"""What changed in an operator beside broadcasting and dropped attributes."""


def write_broadcasts_out(old: Old) -> None:
    """Give the second operands of operators in `LEGACY` and `ALONG_CHANNELS` their missing axes.

    Raises: ModelError if that needs a rank that ONNX's shape inference does not find.
    """
    graph = old.model.graph
    if all(axis_of(proto) is None for proto in graph.node):
        return
    ranks = ranks_of(old.model)
    nodes: list[NodeProto] = []
    for proto in graph.node:
        copy = NodeProto.FromString(proto.SerializeToString())
        axis = axis_of(proto)
        if axis is not None and (missing := missing_axes(proto, axis, ranks)):
            name = old.fresh_name(f"{node_label(proto)}/{proto.input[1]}")
            label = f"{node_label(proto)}/Unsqueeze"
            inputs = [proto.input[1]]
            nodes.append(helper.make_node("Unsqueeze", inputs, [name], label, axes=missing))
            copy.input[1] = name
        if axis is not None:
            set_attributes(copy, {a.name: a for a in proto.attribute if a.name != "axis"})
        nodes.append(copy)
    del graph.node[:]
    graph.node.extend(nodes)


def axis_of(proto: NodeProto) -> int | None:
    """The axis of the first operand where the second one starts; None if it ends at the last."""
    if proto.domain:
        return None
    if proto.op_type in ALONG_CHANNELS:
        return 1
    found = {each.name: each.i for each in proto.attribute}
    return found.get("axis") if proto.op_type in LEGACY else None


def missing_axes(proto: NodeProto, axis: int, ranks: Mapping[str, int]) -> Sequence[int]:
    """The axes that the second operand of a node needs at its end.

    Raises: ModelError if a rank is not known, or does not fit the axis.
    """
    label = f"node '{node_label(proto)}' ({proto.op_type})"
    first, second = (ranks.get(name) for name in proto.input[:2])
    if first is None or second is None:
        raise ModelError(f"{label}: the ranks of its operands are not known; expected opset 7")
    start = axis + first if axis < 0 else axis
    count = first - start - second
    if proto.op_type in ALONG_CHANNELS and (second != 1 or first < 2):
        return ()
    if not 0 <= start <= first or count < 0:
        raise ModelError(
            f"{label}: an operand of rank {second} at axis {axis} of one of rank {first}; "
            "expected it to end at the last axis or before"
        )
    return range(second, second + count)


def ranks_of(model: ModelProto) -> dict[str, int]:
    """The ranks of all values that ONNX's shape inference finds, by name.

    A broadcast gives the shape of its first operand, so Identity stands for it here.

    Raises: ModelError if ONNX finds the model inconsistent.
    """
    bare = without_data(model)
    for proto in bare.graph.node:
        if axis_of(proto) is not None:
            del proto.input[1:], proto.attribute[:]
            proto.op_type = "Identity"
    try:
        inferred = infer_shapes(bare)
    except Exception as error:  # shape inference is C++ and raises exceptions of many types
        raise ModelError(f"ONNX finds the model inconsistent: {first_line(error)}") from error
    found = {tensor.name: len(tensor.dims) for tensor in model.graph.initializer}
    for value in (*inferred.graph.input, *inferred.graph.value_info):
        if value.type.tensor_type.HasField("shape"):
            found[value.name] = len(value.type.tensor_type.shape.dim)
    return found


def without_data(model: ModelProto) -> ModelProto:
    """A copy of a model without outputs, where large initialisers are inputs without data."""
    graph = model.graph
    small = [each for each in graph.initializer if prod(each.dims) <= MOST_SHAPE_ELEMENTS]
    kept = {tensor.name for tensor in small}
    inputs = {value.name: value for value in graph.input}
    for each in graph.initializer:
        if each.name not in kept:
            info = helper.make_tensor_value_info(each.name, each.data_type, list(each.dims))
            inputs[each.name] = info
    bare = helper.make_graph(list(graph.node), "bare", list(inputs.values()), [], small)
    return helper.make_model(
        bare, opset_imports=list(model.opset_import), ir_version=model.ir_version
    )
