"""If whose condition is a constant, as torch's exporter writes it for `squeeze`.

The condition is often computed from shapes, which are constants here. The nodes of one branch take
the place of the If then; those of the other are never looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from onnx import AttributeProto, GraphProto

from npu_tools.importers.onnx.builder import Builder, Constant, Value
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node

IF = "If"


def is_branch(node: Node) -> bool:
    """Whether a node is ONNX's If."""
    return node.is_standard and node.op_type == IF


def branch_of(node: Node, graph: Builder) -> GraphProto:
    """The branch that an If takes.

    Raises: NodeError if the condition is no constant, if it is not one bool, or if the branch has
    another number of outputs than the node.
    """
    condition = graph.value(node, 0)
    if not isinstance(condition, Constant):
        raise NodeError(f"condition '{node.operand(0)}' is computed; expected a constant")
    flags = condition.array
    if flags.dtype != np.bool_ or flags.size != 1:
        raise NodeError(f"a condition of {flags.size} {flags.dtype}; expected one bool")
    name = "then_branch" if flags.reshape(-1)[0] else "else_branch"
    found = node.attribute(name, AttributeProto.GRAPH)
    if found is None or len(found.g.output) != len(node.outputs):
        raise NodeError(f"no {name} with {len(node.outputs)} outputs, as the node has")
    return found.g


def check_defined(names: Iterable[str], values: Mapping[str, Value]) -> None:
    """Check that values of a branch are defined.

    Raises: NodeError if one is not.
    """
    missing = next((name for name in names if name and name not in values), None)
    if missing is not None:
        raise NodeError(f"its branch reads '{missing}', which is not defined")
