"""Parses, checks and normalises a model.

The resulting ModelProto has one opset, no dynamic dims, no external data, and sorted nodes. The
importer reads it, and onnxruntime can run it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path

from onnx import IR_VERSION, FunctionProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, defs
from xdsl.dialects.builtin import f32, i8, i16, i32
from xdsl.ir import Attribute

from npu_dialect.npu.quantization import ui8
from npu_tools.importers.onnx.errors import ModelError
from npu_tools.importers.onnx.external import ExternalData
from npu_tools.importers.onnx.functions import add_functions, built_in
from npu_tools.importers.onnx.graph import (
    check_names,
    drop_dead_nodes,
    inline_functions,
    sort_nodes,
    weight_names,
)
from npu_tools.importers.onnx.old_opsets import modernise
from npu_tools.importers.onnx.tensors import LARGEST_MAP, MOST_AXES, type_name

OLDEST_OPSET = 1
"""The oldest opset that is imported; those before `OLDEST_READ` are brought to that."""
DOMAINS = frozenset(("com.microsoft",))
"""Domains with supported operators, beside ONNX's own."""
PORTS: Mapping[int, Attribute] = {
    TensorProto.FLOAT: f32,
    TensorProto.INT8: i8,
    TensorProto.UINT8: ui8,
    TensorProto.INT16: i16,
    TensorProto.INT32: i32,
    TensorProto.BOOL: ui8,
}
"""Element types that inputs and outputs of a model may have; bool is a uint8 that is 0 or 1."""
PORT_NAMES = "float32, int8, uint8, int16, int32 or bool"
"""The element types in `PORTS`, for messages."""
OLDEST_IR = 3
"""The oldest IR version of ONNX that is imported: the first in which a model names its opset."""


def checked_model(
    data: bytes,
    base_dir: Path | None,
    input_dims: Mapping[str, int],
    functions: Sequence[FunctionProto] = (),
) -> ModelProto:
    """Parse, check and normalise a model; `functions` are operators of a table.

    Local functions are inlined, external data is read, dynamic dims get their sizes, and nodes are
    sorted. Nodes that no output needs are dropped. Old opsets become opset 7.

    Raises: ModelError if the model is wrong or unsupported; DecodeError if `data` is no ONNX model.
    """
    model = ModelProto.FromString(data)
    check_versions(model)
    name_domains(model)
    add_functions(model, (*functions, *built_in()))
    model = inline_functions(model)
    if model.graph.sparse_initializer:
        name = model.graph.sparse_initializer[0].values.name
        raise ModelError(f"initialiser '{name}' is sparse; expected dense initialisers")
    external = ExternalData(base_dir)
    for tensor in all_tensors(model):
        external.resolve(tensor)
    check_names(model.graph)
    sort_nodes(model.graph)
    drop_dead_nodes(model.graph)
    pin_dims(model, input_dims)
    # Stored shapes may be wrong once dims have sizes; the importer and onnxruntime infer their own.
    del model.graph.value_info[:]
    modernise(model, default_opset(model))
    return model


def default_opset(model: ModelProto) -> int:
    """The version of the standard operators that a model uses.

    Raises: ModelError if it imports none or several.
    """
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    if len(set(versions)) != 1:
        raise ModelError(
            f"the model imports {len(versions)} versions of the ai.onnx operators; expected one"
        )
    return versions[0]


def check_versions(model: ModelProto) -> None:
    """Check that a parsed message is a model of supported versions.

    Raises: ModelError if it has no graph, or another IR version or opset.
    """
    if not model.HasField("ir_version") or not model.HasField("graph"):
        raise ModelError("not an ONNX model, or a truncated one: it has no graph")
    if not OLDEST_IR <= model.ir_version <= IR_VERSION:
        raise ModelError(
            f"IR version {model.ir_version}; expected {OLDEST_IR} to {IR_VERSION} "
            "(newer ones need a newer onnx package)"
        )
    opset, newest = default_opset(model), defs.onnx_opset_version()
    if not OLDEST_OPSET <= opset <= newest:
        raise ModelError(
            f"opset {opset}; expected {OLDEST_OPSET} to {newest} "
            "(newer ones need a newer onnx package)"
        )


def name_domains(model: ModelProto) -> None:
    """Rename the standard domain from "ai.onnx" to "" everywhere.

    The imports of other domains are dropped unless they are in `DOMAINS`.
    """
    opset = default_opset(model)
    if not model.functions:
        kept = {entry.domain: entry.version for entry in model.opset_import}
        del model.opset_import[:]
        model.opset_import.add(domain="", version=opset)
        for domain in DOMAINS & kept.keys():
            model.opset_import.add(domain=domain, version=kept[domain])
    for node in model.graph.node:
        if node.domain == "ai.onnx":
            node.domain = ""


def all_tensors(model: ModelProto) -> Iterator[TensorProto]:
    """The tensors of the main graph: initialisers, and attributes of nodes."""
    yield from model.graph.initializer
    for node in model.graph.node:
        yield from attribute_tensors(node)


def attribute_tensors(node: NodeProto) -> Iterator[TensorProto]:
    """The tensors among the attributes of a node."""
    for attribute in node.attribute:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors


def model_inputs(model: ModelProto) -> list[ValueInfoProto]:
    """The inputs that a caller must give: those that are not also initialisers."""
    weights = weight_names(model.graph)
    return [value for value in model.graph.input if value.name not in weights]


def pin_dims(model: ModelProto, input_dims: Mapping[str, int]) -> None:
    """Give sizes to the dynamic dims of inputs, and to dims of outputs with the same names.

    A dim without a name is called `input[axis]`.

    Raises: ModelError if a dim of an input stays dynamic, if `input_dims` names no dynamic dim or
    holds a wrong size, or if an input is no tensor of a supported type, rank and size.
    """
    inputs = model_inputs(model)
    for value in inputs:
        check_tensor_type(value)
    known = {name for value in inputs for name in dynamic_dims(value) if name}
    if unknown := sorted(set(input_dims) - known):
        names = ", ".join(sorted(known)) or "none"
        raise ModelError(
            f"--input-dim names '{unknown[0]}', which is no dynamic dim of an input; "
            f"dynamic dims: {names}"
        )
    for name, size in input_dims.items():
        if not 1 <= size <= LARGEST_MAP:
            raise ModelError(f"--input-dim {name}={size}: expected a size of at least 1")
    for value in (*inputs, *model.graph.output):
        pin(value, input_dims)
    check_static(inputs)


def check_tensor_type(value: ValueInfoProto) -> None:
    """Check that an input is a tensor of known rank.

    Raises: ModelError if it is not, or if its elements are of no type in `PORTS`.
    """
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise ModelError(
            f"input '{value.name}' is a {kind or 'value without a type'}; expected a float32 tensor"
        )
    if value.type.tensor_type.elem_type not in PORTS:
        raise ModelError(
            f"input '{value.name}' holds {type_name(value.type.tensor_type.elem_type)} elements; "
            f"expected {PORT_NAMES}"
        )
    if not value.type.tensor_type.HasField("shape"):
        raise ModelError(f"input '{value.name}' has no shape; expected one of known rank")


def dynamic_dims(value: ValueInfoProto) -> list[str]:
    """A text for each dim: its name if it has no size yet, "" if it has one."""
    return [
        "" if dim.HasField("dim_value") else dim.dim_param or f"{value.name}[{axis}]"
        for axis, dim in enumerate(value.type.tensor_type.shape.dim)
    ]


def pin(value: ValueInfoProto, input_dims: Mapping[str, int]) -> None:
    """Give the dynamic dims of a value the sizes in `input_dims`; others stay dynamic."""
    if value.type.WhichOneof("value") != "tensor_type":
        return
    for dim, name in zip(value.type.tensor_type.shape.dim, dynamic_dims(value), strict=True):
        if name in input_dims:
            dim.dim_value = input_dims[name]


def check_static(inputs: Iterable[ValueInfoProto]) -> None:
    """Check the dims of all inputs.

    Raises: ModelError if a dim has no size or one below 1, or if an input has more than `MOST_AXES`
    dims or more than `LARGEST_MAP` elements.
    """
    for value in inputs:
        dims = value.type.tensor_type.shape.dim
        for axis, name in enumerate(dynamic_dims(value)):
            if name:
                flag = f"--input-dim {shlex.quote(name + '=1')}"
                raise ModelError(
                    f"input '{value.name}' has the dynamic dim '{name}' (dim {axis}); "
                    f"give it a size, such as {flag}"
                )
            if dims[axis].dim_value < 1:
                raise ModelError(
                    f"input '{value.name}' has {dims[axis].dim_value} elements along dim {axis}; "
                    "expected at least 1"
                )
        if len(dims) > MOST_AXES:
            raise ModelError(
                f"input '{value.name}' has {len(dims)} dims; expected at most {MOST_AXES}"
            )
        if prod(dim.dim_value for dim in dims) > LARGEST_MAP:
            raise ModelError(
                f"input '{value.name}' has more than {LARGEST_MAP} elements; expected fewer"
            )
