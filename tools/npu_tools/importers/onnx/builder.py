"""What the rules build with: values of the model on one side, npu layers on the other."""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float32Type,
    IntegerType,
    Signedness,
    TensorType,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from npu_dialect.attributes import LAYER
from npu_dialect.npu import Conv2dOp, RequantizeOp, ReshapeOp
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.names import UniqueNames
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.padding import Padded, unpadded
from npu_tools.importers.onnx.tensors import LARGEST_MAP, MOST_AXES, Array


@dataclass(frozen=True, eq=False)
class Constant:
    """A value that is known while importing; a layer sees it as `arith.constant`."""

    name: str
    array: Array


@dataclass(frozen=True, eq=False)
class BlockFlags:
    """Which blocks of a map are not small, on the way to the Mul that prunes the others.

    `shape` is that of the flags now; `spread`: there is one for each element, no more one a block.
    `pool` took the maxima; None if somebody else reads them too.
    """

    source: SSAValue
    block: int
    threshold: float
    shape: tuple[int, ...]
    pool: Operation | None
    spread: bool = False


@dataclass(frozen=True)
class Unknown:
    """The value of a node that could not be imported."""


class Lazy(abc.ABC):
    """A float32 map that is computed when somebody asks for it."""

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the map."""

    @abc.abstractmethod
    def as_float(self, graph: Builder) -> SSAValue:
        """The map; the layers are built here."""

    def as_padded_float(self, graph: Builder) -> Padded:
        """The map, with zeros around it kept apart."""
        return unpadded(self.as_float(graph))


Value: TypeAlias = SSAValue | Constant | Padded | Lazy | BlockFlags | Unknown


class Builder:
    """The function under construction, and what each value of the model has become."""

    def __init__(self, block: Block, uses: Mapping[str, int], names: UniqueNames) -> None:
        self.block = block
        self.names = names
        self.values: dict[str, Value] = {}
        self.uses = Counter(uses)
        """How often each value of the model is read, the graph's outputs included."""
        self.emitted: list[LayerOp] = []
        """The layers of the node that is being imported."""
        self._materialised: dict[Constant, SSAValue] = {}

    # -- operands ------------------------------------------------------------------------------

    def value(self, node: Node, index: int) -> Value:
        """An operand that must be there."""
        name = node.operand(index)
        if not name:
            raise NodeError(f"input {index} is missing")
        return self.values[name]

    def optional(self, node: Node, index: int) -> Constant | None:
        """A constant operand that may be left out."""
        name = node.operand(index)
        return self.constant(node, index) if name else None

    def constant(self, node: Node, index: int) -> Constant:
        """An operand that must be known while importing."""
        value = self.value(node, index)
        if not isinstance(value, Constant):
            raise NodeError(f"input '{node.operand(index)}' is computed; expected a constant")
        return value

    def weight(self, node: Node, index: int) -> Array:
        """A constant operand of float32 elements."""
        constant = self.constant(node, index)
        return float_array(constant)

    def ints(self, node: Node, attribute: str, index: int) -> list[int] | None:
        """Integers that older opsets give as an attribute and newer ones as a constant operand."""
        constant = self.optional(node, index)
        if constant is None:
            return node.ints(attribute)
        if constant.array.dtype.kind != "i" or constant.array.ndim > 1:
            raise NodeError(f"input '{constant.name}' is no list of integers")
        return [int(item) for item in constant.array.reshape(-1)]

    def map(self, node: Node, index: int) -> SSAValue:
        """A feature map; a constant becomes one."""
        return self.as_map(self.value(node, index), node.operand(index))

    def as_map(self, value: Value, name: str) -> SSAValue:
        """A value as a feature map."""
        if isinstance(value, Padded):
            return self.padded_map(value)
        if isinstance(value, Constant):
            return self.materialise(value)
        if isinstance(value, Lazy):
            return value.as_float(self)
        if isinstance(value, BlockFlags):
            raise NodeError(
                f"input '{name}' says which blocks are zero; expected a Mul that uses it"
            )
        if not isinstance(value, SSAValue):
            raise NodeError(f"input '{name}' is not known")
        return value

    def element_of(self, name: str) -> Attribute | None:
        """The element type of a feature map; None for a value that is none."""
        value = self.values.get(name)
        if isinstance(value, Padded):
            value = value.source
        return map_type(value).get_element_type() if isinstance(value, SSAValue) else None

    def padded_map(self, padded: Padded) -> SSAValue:
        """A map with what is around it, as a layer of its own.

        Raises: NodeError for real numbers.
        """
        if not padded.is_integer:
            raise NodeError(
                f"the zeros that Pad '{padded.label}' adds are supported in front of Conv, and of "
                "AveragePool that counts them, only"
            )
        before = len(self.emitted)
        result = self.reshape(self._copied(padded), padded.shape)
        for layer in self.emitted[before:]:
            LAYER.set_default(layer, padded.label)
        return result

    def _copied(self, padded: Padded) -> SSAValue:
        """The map [N, C, H, W] with what is around it."""
        batch, channels, *spatial = shape_of(padded.source)
        rows = [1] * (2 - len(spatial))  # one-dimensional maps have one row, and nothing around it
        image = self.reshape(padded.source, (batch, channels, *rows, *spatial))
        none = [0] * len(rows)
        pads = (*none, *padded.before, *none, *padded.after)
        ones = self.ones(channels)
        sums = self.emit(
            lambda out: Conv2dOp(
                image, ones, None, out, pads=pads, groups=channels, zero_points=(padded.fill, 0)
            ),
            i32,
        )
        element = map_type(padded.source).get_element_type()
        return self.emit(lambda out: RequantizeOp(sums, [1.0], (0, padded.fill), out), element)

    def padded(self, node: Node, index: int) -> Padded:
        """A feature map with the zeros around it, if any, kept apart."""
        value = self.value(node, index)
        if isinstance(value, Padded):
            return value
        if isinstance(value, Lazy):
            return value.as_padded_float(self)
        return unpadded(self.map(node, index))

    # -- what is built -------------------------------------------------------------------------

    def emit(
        self, build: Callable[[Attribute], LayerOp], element: Attribute | None = None
    ) -> SSAValue:
        """Add the layer that `build` makes from a result type; its shape rule gives the type.

        Its elements are those of its first input, unless `element` says otherwise.

        Raises: NodeError for a result of absurd size; VerifyException from the shape rule.
        """
        layer = build(TensorType(f32, []))
        shape = layer.infer_shape()
        check_size(shape)
        element = element or map_type(layer.inputs[0]).get_element_type()
        result = Rewriter.replace_value_with_new_type(layer.results[0], TensorType(element, shape))
        return self._added(layer, result)

    def reshape(self, source: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The same elements in another shape; no layer if it is the same."""
        if tuple(shape) == shape_of(source):
            return source
        if prod(shape) != prod(shape_of(source)) or min(shape, default=1) < 1:
            raise NodeError(f"shape {list(shape_of(source))} cannot become {list(shape)}")
        check_size(shape)
        layer = ReshapeOp(source, TensorType(map_type(source).get_element_type(), shape))
        return self._added(layer, layer.results[0])

    def _added(self, layer: LayerOp, result: SSAValue) -> SSAValue:
        self.block.add_op(layer)
        self.emitted.append(layer)
        return result

    def parameter(self, array: Array, hint: str) -> SSAValue:
        """A parameter that a rule computed from the model's."""
        return self.materialise(Constant(hint, array))

    def ones(self, channels: int) -> SSAValue:
        """Weights [C, 1, 1, 1] of a convolution that copies each channel."""
        return self.integers(Constant("ones", np.ones((channels, 1, 1, 1), np.int8)))

    def materialise(self, constant: Constant) -> SSAValue:
        """The `arith.constant` of a constant of float32; the same one gives the same value."""
        float_array(constant)
        return self.integers(constant)

    def integers(self, constant: Constant) -> SSAValue:
        """The `arith.constant` of a constant, which may be one of 8-bit or 32-bit integers."""
        if constant not in self._materialised:
            array = constant.array
            type_ = TensorType(CONSTANTS[array.dtype.str[1:]], array.shape)
            little = array.dtype.newbyteorder("<")
            data = BytesAttr(np.ascontiguousarray(array, little).tobytes())
            op = ConstantOp(DenseIntOrFPElementsAttr(type_, data), type_)
            op.result.name_hint = self.names.hint(constant.name, "weight")
            self.block.add_op(op)
            self._materialised[constant] = op.result
        return self._materialised[constant]

    def replace_last_use(self, old: Operation, new: SSAValue) -> SSAValue:
        """Drop a layer whose only use is gone into a new one, which keeps its attributes."""
        assert isinstance(new.owner, Operation)
        new.owner.attributes.update(old.attributes)
        old.detach()
        old.erase()
        return new


CONSTANTS: Mapping[str, Float32Type | IntegerType] = {
    "f4": f32,
    "i1": i8,
    "u1": IntegerType(8, Signedness.UNSIGNED),
    "i4": i32,
}
"""Element types of constants in the IR, by numpy's name for them."""


def element_name(element: Attribute) -> str:
    """ONNX's name of an element type: `float32`, `int8`, ..."""
    names = (str(np.dtype(name)) for name, type_ in CONSTANTS.items() if type_ == element)
    return next(names, str(element))


def float_array(constant: Constant) -> Array:
    """The elements of a constant that a layer reads.

    Raises: NodeError if they are not float32, or if there are none.
    """
    array = constant.array
    if array.dtype != np.float32:
        raise NodeError(f"tensor '{constant.name}' holds {array.dtype} elements; expected float32")
    if array.size == 0:
        raise NodeError(
            f"tensor '{constant.name}' has shape {list(array.shape)}; expected at least one element"
        )
    return array


def check_size(shape: Sequence[int]) -> None:
    """Check the shape of a map.

    Raises: NodeError if it has too many axes, or cannot be indexed by 32-bit integers.
    """
    if len(shape) > MOST_AXES:
        raise NodeError(f"a map of rank {len(shape)}; expected at most {MOST_AXES} axes")
    if prod(shape) > LARGEST_MAP:
        raise NodeError(f"a map of shape {list(shape)} has more than {LARGEST_MAP} elements")
