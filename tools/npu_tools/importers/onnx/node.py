"""A node as the rules see it: attributes with their types checked, operands by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from onnx import AttributeProto, NodeProto, TensorProto

from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.graph import node_label


@dataclass(frozen=True)
class Node:
    """One node of a model with the opset that it follows."""

    proto: NodeProto
    opset: int
    attributes: dict[str, AttributeProto] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", {a.name: a for a in self.proto.attribute})

    @property
    def op_type(self) -> str:
        """The operator."""
        return self.proto.op_type

    @property
    def is_standard(self) -> bool:
        """Whether the operator is one of ONNX's own."""
        return self.proto.domain == ""

    @property
    def label(self) -> str:
        """What the node is called."""
        return node_label(self.proto)

    @property
    def inputs(self) -> Sequence[str]:
        """Names of the operands; "" for an optional one that is left out."""
        return self.proto.input

    @property
    def outputs(self) -> Sequence[str]:
        """Names of the results; "" for one that is left out."""
        return self.proto.output

    def operand(self, index: int) -> str:
        """Name of an operand; "" if it is left out."""
        return self.inputs[index] if index < len(self.inputs) else ""

    def attribute(self, name: str, kind: int) -> AttributeProto | None:
        """An attribute of a type.

        Raises: NodeError if it has another type.
        """
        found = self.attributes.get(name)
        if found is not None and found.type != kind:
            raise NodeError(f"attribute {name} has the wrong type")
        return found

    def int(self, name: str, default: int) -> int:
        """An integer attribute."""
        found = self.attribute(name, AttributeProto.INT)
        return default if found is None else found.i

    def ints(self, name: str) -> list[int] | None:
        """A list of integers."""
        found = self.attribute(name, AttributeProto.INTS)
        return None if found is None else list(found.ints)

    def float(self, name: str, default: float) -> float:
        """A float attribute."""
        found = self.attribute(name, AttributeProto.FLOAT)
        return default if found is None else found.f

    def string(self, name: str, default: str) -> str:
        """A string attribute."""
        found = self.attribute(name, AttributeProto.STRING)
        return default if found is None else found.s.decode("utf-8", "replace")

    def tensor(self, name: str) -> TensorProto | None:
        """A tensor attribute."""
        found = self.attribute(name, AttributeProto.TENSOR)
        return None if found is None else found.t
