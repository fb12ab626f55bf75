"""The importer's view of a node: attributes with checked types, operands by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from onnx import AttributeProto, NodeProto, TensorProto

from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.graph import node_label


@dataclass(frozen=True)
class Node:
    """One node of a model, with the opset that defines its operator."""

    proto: NodeProto
    opset: int
    attributes: dict[str, AttributeProto] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", {a.name: a for a in self.proto.attribute})

    @property
    def op_type(self) -> str:
        """The name of the operator."""
        return self.proto.op_type

    @property
    def is_standard(self) -> bool:
        """Whether the operator is one of ONNX's own."""
        return self.proto.domain == ""

    @property
    def label(self) -> str:
        """The node's name in messages and in `npu.layer`."""
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
        """The name of an operand in the model; "" if it is left out."""
        return self.inputs[index] if index < len(self.inputs) else ""

    def attribute(self, name: str, kind: int) -> AttributeProto | None:
        """An attribute, which must have type `kind`; None if it is not there.

        Raises: NodeError if it has another type.
        """
        found = self.attributes.get(name)
        if found is not None and found.type != kind:
            raise NodeError(f"attribute {name} has the wrong type")
        return found

    def int(self, name: str, default: int) -> int:
        """An integer attribute, or its default. Raises as `attribute`."""
        found = self.attribute(name, AttributeProto.INT)
        return default if found is None else found.i

    def ints(self, name: str) -> list[int] | None:
        """An attribute that is a list of integers; None if it is not there."""
        found = self.attribute(name, AttributeProto.INTS)
        return None if found is None else list(found.ints)

    def float(self, name: str, default: float) -> float:
        """A float attribute, or its default. Raises as `attribute`."""
        found = self.attribute(name, AttributeProto.FLOAT)
        return default if found is None else found.f

    def floats(self, name: str) -> list[float] | None:
        """An attribute that is a list of floats; None if it is not there. Raises as `attribute`."""
        found = self.attribute(name, AttributeProto.FLOATS)
        return None if found is None else list(found.floats)

    def string(self, name: str, default: str) -> str:
        """A string attribute, or its default. Raises as `attribute`."""
        found = self.attribute(name, AttributeProto.STRING)
        return default if found is None else found.s.decode("utf-8", "replace")

    def strings(self, name: str) -> list[str] | None:
        """An attribute that is a list of strings; None if it is not there."""
        found = self.attribute(name, AttributeProto.STRINGS)
        return None if found is None else [str(text, "utf-8", "replace") for text in found.strings]

    def tensor(self, name: str) -> TensorProto | None:
        """A tensor attribute; None if it is not there. Raises as `attribute`."""
        found = self.attribute(name, AttributeProto.TENSOR)
        return None if found is None else found.t
