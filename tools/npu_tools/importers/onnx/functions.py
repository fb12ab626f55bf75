"""Operators that a table defines as functions of ONNX's operators.

A table is text in ONNX's own syntax, with a function for each operator:

    <domain: "table", opset_import: ["" : 17]>
    Half <by> (x) => (y)
    {
      factor = Constant <value: tensor = @by> ()
      y = Div (x, factor)
    }

A node without a definition of its own gets the first function with its name whose attributes it
has. Its domain does not count. Attributes that are numbers or lists of them become tensors. The
functions are inlined like those of a model, so nothing else knows of them, and onnxruntime can run
the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from onnx import (
    AttributeProto,
    FunctionProto,
    ModelProto,
    NodeProto,
    defs,
    helper,
    numpy_helper,
    parser,
)

from npu_tools.importers.onnx.errors import ModelError, first_line
from npu_tools.importers.onnx.graph import nested_nodes

DOMAIN = "npu.table"
"""The domain of functions from tables, in a model, until they are inlined."""
TABLES = "npu_tools.importers.onnx.tables"
NUMBERS: Mapping[int, type[np.generic]] = {
    AttributeProto.FLOAT: np.float32,
    AttributeProto.FLOATS: np.float32,
    AttributeProto.INT: np.int64,
    AttributeProto.INTS: np.int64,
}
"""The elements of the tensor that an attribute of numbers becomes."""


@cache
def built_in() -> tuple[FunctionProto, ...]:
    """The functions of the tables that come with this package."""
    texts = (each for each in files(TABLES).iterdir() if each.name.endswith(".txt"))
    return tuple(
        function
        for file in sorted(texts, key=lambda each: each.name)
        for function in parsed(file.read_text(encoding="utf-8"))
    )


def parsed(text: str) -> Iterator[FunctionProto]:
    """The functions of a table; each starts with a line that starts with `<`.

    Raises: ModelError if one is no function.
    """
    plain = re.sub(r"(?m)^#.*$", "", text)
    parts = re.split(r"(?m)^(?=<)", plain)
    if parts[0].strip():
        raise ModelError("a table of functions that does not start with `<domain: ...>`")
    for part in parts[1:]:
        try:
            function: FunctionProto = parser.parse_function(part)
        except Exception as error:  # the parser is C++ and raises exceptions of many types
            raise ModelError(f"a table of functions: {first_line(error)}") from error
        yield function


def add_functions(model: ModelProto, table: Sequence[FunctionProto]) -> None:
    """Give a model those functions of a table that its nodes call; they are to be inlined."""
    own = {(function.domain, function.name) for function in model.functions}
    added: dict[int, FunctionProto] = {}
    opsets = [each for each in model.opset_import if each.domain in ("", "ai.onnx")]
    version = opsets[0].version if opsets else 0
    names = {function.name for function in table}
    for node in nested_nodes([*model.graph.node, *(n for f in model.functions for n in f.node)]):
        defined = (node.domain, node.op_type) in own
        if node.op_type not in names or defined or is_known(node, version):
            continue
        index = next((i for i, function in enumerate(table) if fits(function, node)), None)
        if index is None:
            continue
        name = f"{table[index].name}_{index}"
        node.domain, node.op_type = DOMAIN, name
        as_tensors(node, table[index].attribute)
        if index not in added:
            added[index] = FunctionProto()
            added[index].CopyFrom(table[index])
            added[index].domain, added[index].name = DOMAIN, name
            del added[index].opset_import[:]
            added[index].opset_import.add(domain="", version=version)
    if added:
        model.functions.extend(added.values())
        model.opset_import.add(domain=DOMAIN, version=1)


def is_known(node: NodeProto, version: int) -> bool:
    """Whether ONNX or onnxruntime defines the operator of a node."""
    if node.domain in ("", "ai.onnx"):
        return defs.has(node.op_type, version)
    return node.domain == "com.microsoft"


def fits(function: FunctionProto, node: NodeProto) -> bool:
    """Whether a node can call a function: its name, its operands, its attributes."""
    given = {attribute.name for attribute in node.attribute}
    same = function.name == node.op_type and len(function.input) == len(node.input)
    return same and given.issuperset(function.attribute)


def as_tensors(node: NodeProto, names: Sequence[str]) -> None:
    """Make tensors of those attributes with these names that are numbers or lists of them."""
    for attribute in node.attribute:
        kind = NUMBERS.get(attribute.type)
        if kind is not None and attribute.name in names:
            value = np.asarray(helper.get_attribute_value(attribute), kind)
            attribute.CopyFrom(
                helper.make_attribute(attribute.name, numpy_helper.from_array(value))
            )
