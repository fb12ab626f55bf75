"""Turns a checked model into a module with one function, node by node.

A node is folded if all its operands are constants; else the rule of its operator imports it. A node
that cannot be imported does not stop the walk: all such nodes are reported together.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, defs
from onnx.checker import C, ValidationError, check_node
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from npu_dialect.attributes import LAYER, PORT, VALUE
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_tools.importers.onnx.branches import branch_of, check_defined, is_branch
from npu_tools.importers.onnx.builder import Builder, Constant, Lazy, Unknown, Value, element_name
from npu_tools.importers.onnx.errors import ModelError, NodeError, first_line
from npu_tools.importers.onnx.finish import finish
from npu_tools.importers.onnx.folding import SIZES, constant_value, fold
from npu_tools.importers.onnx.graph import node_label, readers, reads
from npu_tools.importers.onnx.inferred import check_inferred_shapes
from npu_tools.importers.onnx.listing import UNSUPPORTED, listing
from npu_tools.importers.onnx.load import PORT_NAMES, PORTS, default_opset, model_inputs
from npu_tools.importers.onnx.names import UniqueNames, identifier
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.recognised import recognised
from npu_tools.importers.onnx.rules import (
    ANY_NUMBERS,
    EARLY,
    FOREIGN,
    ON_BYTES,
    RULES,
    Rule,
)
from npu_tools.importers.onnx.rules.frame_maps import FrameMap
from npu_tools.importers.onnx.rules.on_frames import ON_FRAMES
from npu_tools.importers.onnx.rules.qlinear import QLINEAR
from npu_tools.importers.onnx.rules.quantized import MOVING, ON_INTEGERS, ON_SCALED
from npu_tools.importers.onnx.rules.tables import FOREIGN_TABLES
from npu_tools.importers.onnx.tensors import Array, decode, type_name
from npu_tools.shared.text import printable

LOGGER = logging.getLogger("npu-dialect")
CONSTANTS_ONLY = "the operator is supported between constants only"
LARGEST_FOLDED_TOTAL = 2**30
"""Most bytes of all tensors together that constant folding computes."""


def build(model: ModelProto, name: str) -> ModuleOp:
    """Import a model that `checked_model` has returned; the function is called after `name`.

    Raises: ModelError that lists all nodes that cannot be imported.
    """
    return Importer(model).module(identifier(name, "model"))


class Importer:
    """Imports one model; `problems` are the messages of the nodes that it cannot import."""

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        self.graph = model.graph
        self.nodes = recognised(model.graph)
        self.opset = default_opset(model)
        self.is_quantised = any(is_quantised(node) for node in self.graph.node)
        self.problems: list[str] = []
        self.folded_bytes = 0
        self.inputs = model_inputs(model)
        self.block = Block(arg_types=[port_type(value) for value in self.inputs])
        self.names = UniqueNames()
        uses = reads(self.nodes, self.graph)
        self.builder = Builder(self.block, uses, self.names, readers(self.nodes))

    def module(self, symbol: str) -> ModuleOp:
        """Import the whole model into a function of this name.

        Raises: ModelError if a node, initialiser or output cannot be imported.
        """
        for value, argument in zip(self.inputs, self.block.args, strict=True):
            argument.name_hint = self.names.hint(value.name, "input")
            self.builder.values[value.name] = argument
        for tensor in self.graph.initializer:
            if self.builder.uses[tensor.name]:
                self.builder.values[tensor.name] = Constant(tensor.name, self.decoded(tensor))
        for proto in self.nodes:
            self.import_node(Node(proto, self.opset))
        if self.problems:
            raise ModelError(listing(self.problems))
        results = [self.result(value) for value in self.graph.output]
        check_inferred_shapes(self.model, self.builder.values)
        self.block.add_op(ReturnOp(*results))
        finish(self.block)
        return ModuleOp([self.function(symbol, results)])

    def decoded(self, tensor: TensorProto) -> Array:
        """The elements of an initialiser.

        Raises: ModelError if they do not fit type and shape; it names a node that reads them.
        """
        try:
            return decode(tensor)
        except ModelError as error:
            reader = next((node for node in self.graph.node if tensor.name in node.input), None)
            if reader is None:
                raise
            type_ = f"node '{node_label(reader)}' ({reader.op_type})"
            raise ModelError(f"{type_}: {error}") from error

    def function(self, symbol: str, results: Sequence[SSAValue]) -> FuncOp:
        """The function around the block; attributes hold the model's names of its ports."""
        return FuncOp(
            symbol,
            (self.block.arg_types, [result.type for result in results]),
            Region(self.block),
            arg_attrs=port_names(self.inputs),
            res_attrs=port_names(self.graph.output),
        )

    def import_node(self, node: Node) -> None:
        """Import a node and store the values of its outputs.

        If that fails, the reason is added to `problems`, and its outputs are unknown.
        """
        self.builder.emitted.clear()
        try:
            values = self.values_of(node)
        except (NodeError, VerifyException) as error:
            type_ = node.op_type if node.is_standard else f"{node.proto.domain}.{node.op_type}"
            self.problems.append(f"node '{node.label}' ({type_}): {first_line(error)}")
            values = []
        unknown = Unknown(any(self.is_map(name) for name in node.inputs))
        values = [*values, *[unknown] * (len(node.outputs) - len(values))][: len(node.outputs)]
        for name, value in zip(node.outputs, values, strict=True):
            if name:
                self.builder.values[name] = value
        if node.outputs:
            self.name_layers(node, values)

    def name_layers(self, node: Node, values: Sequence[Value]) -> None:
        """Name the new layers after the node; those that give `values` also after its outputs."""
        outputs = {
            value: name
            for value, name in zip(values, node.outputs, strict=True)
            if isinstance(value, SSAValue)
        }
        for layer in self.builder.emitted:
            LAYER.set_default(layer, node.label)
            output = outputs.get(layer.results[0])
            layer.results[0].name_hint = self.names.hint(output or node.outputs[0], "value")
            if output is not None:
                VALUE.set(layer, output)

    def values_of(self, node: Node) -> list[Value]:
        """Import a node; returns the values of its first outputs, none if an operand is unknown.

        Raises: NodeError or VerifyException if it cannot be imported.
        """
        if is_branch(node):
            return [] if any(map(self.is_unknown, node.inputs)) else self.branch_taken(node)
        foreign = FOREIGN.get(node.proto.domain, {}).get(node.op_type)
        known = node.op_type in RULES or node.op_type in SIZES or node.op_type == "Constant"
        if foreign is None and not (node.is_standard and known):
            raise NodeError(UNSUPPORTED)
        if any(self.is_unknown(name) for name in node.inputs):
            between_constants = node.op_type in RULES or not any(map(self.is_map, node.inputs))
            if foreign is None and not between_constants:
                raise NodeError(CONSTANTS_ONLY)
            return []
        if foreign is not None:
            return self.foreign(node, foreign)
        self.check_schema(node)
        if node.op_type == "Constant":
            return [constant_value(node)]
        operands = [self.builder.values[name] if name else None for name in node.inputs]
        constants = [value for value in operands if value is None or isinstance(value, Constant)]
        if node.op_type in SIZES and len(constants) == len(operands):
            return self.folded(node, constants)
        if node.op_type not in RULES:
            raise NodeError(CONSTANTS_ONLY)
        found = self.computed(node)
        return found if isinstance(found, list) else [found]

    def branch_taken(self, node: Node) -> list[Value]:
        """Import the nodes of an If whose condition is a constant; returns the branch's outputs.

        Names in the branch hide those of the same name outside of it.

        Raises: NodeError if the condition is computed, or if a value is not defined.
        """
        taken = branch_of(node, self.builder)
        outside, emitted = dict(self.builder.values), list(self.builder.emitted)
        for tensor in taken.initializer:
            self.builder.values[tensor.name] = Constant(tensor.name, self.decoded(tensor))
        for proto in taken.node:
            check_defined(proto.input, self.builder.values)
            self.import_node(Node(proto, self.opset))
        check_defined([value.name for value in taken.output], self.builder.values)
        results = [self.builder.values[value.name] for value in taken.output]
        self.builder.values.clear()
        self.builder.values.update(outside)
        self.builder.emitted[:] = emitted
        return results

    def foreign(self, node: Node, rule: Rule) -> list[Value]:
        """Import a node of another domain; a function of a quantised map becomes a table.

        Raises: NodeError or VerifyException from the rule.
        """
        table = FOREIGN_TABLES.get(node.proto.domain, {}).get(node.op_type)
        value = None if table is None else table(node, self.builder)
        if value is not None:
            return [value]
        if node.op_type not in ON_BYTES:
            self.reject_integers(node)
        found = rule(node, self.builder)
        return found if isinstance(found, list) else [found]

    def computed(self, node: Node) -> Value | list[Value]:
        """What the rule of a node gives, computed on quantised integers if possible.

        Else it is computed in float32, with a warning in a quantised network.

        Raises: NodeError or VerifyException from the rule.
        """
        rule = RULES[node.op_type]
        if isinstance(self.builder.values.get(node.operand(0)), FrameMap):
            rule = ON_FRAMES.get(node.op_type, rule)
        if node.op_type in ON_SCALED:
            return rule(node, self.builder)
        if any(isinstance(self.builder.values.get(name), Lazy) for name in node.inputs):
            on_integers = ON_INTEGERS.get(node.op_type)
            value = None if on_integers is None else on_integers(node, self.builder)
            if value is not None:
                return value
            self.reject_integers(node)
            if self.is_quantised:
                self.warn_of_floats(node)
            return rule(node, self.builder)
        if node.op_type in (*MOVING, *QLINEAR):
            return rule(node, self.builder)
        self.reject_integers(node)
        value = rule(node, self.builder)
        if self.is_quantised and any(computes_floats(layer) for layer in self.builder.emitted):
            self.warn_of_floats(node)
        return value

    def warn_of_floats(self, node: Node) -> None:
        """Log a warning that a node of a quantised network is computed in float32."""
        LOGGER.warning(
            "node '%s' (%s) of a quantised network is computed in float32",
            printable(node.label),
            printable(node.op_type),
        )

    def reject_integers(self, node: Node) -> None:
        """Check that no operand is a map of integers, unless the operator takes them.

        Raises: NodeError if one is.
        """
        if node.op_type in ANY_NUMBERS:
            return
        for name in node.inputs:
            element = self.builder.element_of(name)
            if element is not None and element != f32:
                raise NodeError(
                    f"input '{name}' holds {element_name(element)} elements; expected float32"
                )

    def is_unknown(self, name: str) -> bool:
        """Whether the value of this name comes from a node that could not be imported."""
        return name != "" and isinstance(self.builder.values[name], Unknown)

    def is_map(self, name: str) -> bool:
        """Whether a value depends on an input of the model, so that it is no constant."""
        value = self.builder.values[name] if name else None
        if isinstance(value, Unknown):
            return value.is_map
        return value is not None and not isinstance(value, Constant)

    def check_schema(self, node: Node) -> None:
        """Check operands and attributes against ONNX's own definition of the operator.

        ONNX checks no deprecated operators; their rules do.

        Raises: NodeError if they do not fit it.
        """
        schema = C.CheckerContext()
        schema.ir_version = self.model.ir_version
        schema.opset_imports = {"": max(self.opset, EARLY.get(node.op_type, 0))}
        try:
            check_node(node.proto, schema)
        except ValidationError as error:
            if not is_deprecated(node):
                raise NodeError(first_line(error)) from error

    def folded(self, node: Node, constants: Sequence[Constant | None]) -> list[Value]:
        """Fold a node whose operands are constants.

        Raises: NodeError if it cannot be computed, or if all folded constants together take more
        than `LARGEST_FOLDED_TOTAL` bytes.
        """
        results = fold(node, constants)
        self.folded_bytes += sum(result.array.nbytes for result in results)
        if self.folded_bytes > LARGEST_FOLDED_TOTAL:
            raise NodeError(
                f"the constants computed so far take {self.folded_bytes} bytes; "
                f"expected at most {LARGEST_FOLDED_TOTAL}"
            )
        return [*results]

    def result(self, output: ValueInfoProto) -> SSAValue:
        """The value of an output of the graph.

        Raises: ModelError if it is no map, or differs from the type that the model declares.
        """
        declared = output.type.tensor_type
        if declared.elem_type not in (TensorProto.UNDEFINED, *PORTS):
            raise ModelError(
                f"output '{output.name}' holds {type_name(declared.elem_type)} elements; "
                f"expected {PORT_NAMES}"
            )
        value = self.output_map(output.name)
        element = map_type(value).get_element_type()
        if declared.elem_type and PORTS[declared.elem_type] != element:
            raise ModelError(
                f"output '{output.name}' is declared with {type_name(declared.elem_type)} "
                f"elements; its node gives {element_name(element)}"
            )
        if declared.HasField("shape"):
            check_declared_shape(output, shape_of(value))
        return value

    def output_map(self, name: str) -> SSAValue:
        """The map of an output of the graph; its pending layers are built here.

        Raises: ModelError if it is no map.
        """
        self.builder.emitted.clear()
        try:
            value = self.builder.numbers(self.builder.values[name], name)
        except (NodeError, VerifyException) as error:
            raise ModelError(f"output '{name}': {first_line(error)}") from error
        for layer in self.builder.emitted:
            LAYER.set_default(layer, name)
            layer.results[0].name_hint = self.names.hint(name, "value")
            if layer.results[0] is value:
                VALUE.set(layer, name)
        return value


def computes_floats(layer: LayerOp) -> bool:
    """Whether a layer computes a float32 map."""
    return layer.output_type.get_element_type() == f32


def is_quantised(node: NodeProto) -> bool:
    """Whether a node's operator reads or gives quantised integers."""
    known = ("QuantizeLinear", "DequantizeLinear", *QLINEAR)
    return node.op_type in (known if node.domain == "" else ON_BYTES)


def is_deprecated(node: Node) -> bool:
    """Whether the opset of a node has its operator as deprecated, such as GroupNormalization 18."""
    known = defs.has(node.op_type, node.opset)
    return known and defs.get_schema(node.op_type, node.opset).deprecated


def check_declared_shape(output: ValueInfoProto, shape: tuple[int, ...]) -> None:
    """Check an output's shape against the declared one; dims without a size fit any.

    Raises: ModelError if they differ.
    """
    dims = output.type.tensor_type.shape.dim
    sizes = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in dims]
    if len(sizes) != len(shape) or any(
        size not in (-1, extent) for size, extent in zip(sizes, shape, strict=True)
    ):
        wanted = [dim.dim_param or "?" if size < 0 else size for dim, size in zip(dims, sizes)]
        raise ModelError(
            f"output '{output.name}' is declared with shape {wanted}; its node gives {list(shape)}"
        )


def port_type(value: ValueInfoProto) -> TensorType[Attribute]:
    """The tensor type of an input."""
    type_ = value.type.tensor_type
    return TensorType(PORTS[type_.elem_type], [dim.dim_value for dim in type_.shape.dim])


def port_names(values: Sequence[ValueInfoProto]) -> ArrayAttr[DictionaryAttr]:
    """The attributes of inputs or outputs that hold their names in the model."""
    return ArrayAttr([DictionaryAttr(PORT.entry(value.name)) for value in values])
