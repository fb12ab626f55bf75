"""The builder that importer rules use: it maps the model's values to IR and adds npu layers."""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from onnx import NodeProto
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
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from npu_dialect.attributes import LAYER
from npu_dialect.npu import PickOp, ReshapeOp, SliceOp
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers.picking import Picks
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.runs import Run
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.names import UniqueNames
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.padding import Padded, padded_runs, unpadded
from npu_tools.importers.onnx.tensors import LARGEST_MAP, MOST_AXES, Array


@dataclass(frozen=True, eq=False)
class Constant:
    """A value that is known while importing. It becomes `arith.constant` when a layer reads it."""

    name: str
    array: Array


@dataclass(frozen=True, eq=False)
class BlockFlags:
    """Flags of the blocks of map `source` that have a value of at least `threshold`.

    They are read by the Mul that sets all other blocks to zero. `shape` is the shape of the flags.
    With `spread` there is a flag for each element, without it one for each block. `pool` is the op
    that computes the maxima of the blocks; None if it has other readers.
    """

    source: SSAValue
    block: int
    threshold: float
    shape: tuple[int, ...]
    pool: Operation | None
    spread: bool = False


@dataclass(frozen=True)
class Unknown:
    """Stands for the value of a node that could not be imported.

    `is_map`: it depends on an input of the model, so it is no constant.
    """

    is_map: bool


class Lazy(abc.ABC):
    """A float32 map without layers yet; they are built when its value is needed."""

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the map."""

    @abc.abstractmethod
    def as_float(self, graph: Builder) -> SSAValue:
        """Build the layers that compute the map; returns it."""

    def as_padded_float(self, graph: Builder) -> Padded:
        """Build the map, but keep zeros around it apart, for a layer with pads."""
        return unpadded(self.as_float(graph))


Value: TypeAlias = SSAValue | Constant | Padded | Lazy | BlockFlags | Unknown


class Builder:
    """The function under construction, and the IR value of each value of the model."""

    def __init__(
        self,
        block: Block,
        uses: Mapping[str, int],
        names: UniqueNames,
        readers: Mapping[str, Sequence[NodeProto]],
    ) -> None:
        self.block = block
        self.readers = readers
        self.names = names
        self.values: dict[str, Value] = {}
        self.uses = Counter(uses)
        """How often each value of the model is read; being an output of the graph counts as one."""
        self.emitted: list[LayerOp] = []
        """The layers that the node being imported has added so far."""
        self._materialised: dict[Constant, SSAValue] = {}

    # -- operands ------------------------------------------------------------------------------

    def value(self, node: Node, index: int) -> Value:
        """The value of an operand.

        Raises: NodeError if it is left out.
        """
        name = node.operand(index)
        if not name:
            raise NodeError(f"input {index} is missing")
        return self.values[name]

    def optional(self, node: Node, index: int) -> Constant | None:
        """A constant operand; None if it is left out.

        Raises: NodeError if it is no constant.
        """
        name = node.operand(index)
        return self.constant(node, index) if name else None

    def constant(self, node: Node, index: int) -> Constant:
        """A constant operand.

        Raises: NodeError if it is left out, or computed at run time.
        """
        value = self.value(node, index)
        if not isinstance(value, Constant):
            raise NodeError(f"input '{node.operand(index)}' is computed; expected a constant")
        return value

    def weight(self, node: Node, index: int) -> Array:
        """The elements of a constant float32 operand.

        Raises: NodeError if it is left out, computed, of other elements, or empty.
        """
        constant = self.constant(node, index)
        return float_array(constant)

    def ints(self, node: Node, attribute: str, index: int) -> list[int] | None:
        """Integers that older opsets give as an attribute and newer ones as a constant operand.

        None if neither is there.

        Raises: NodeError if the operand is computed, or no list of integers.
        """
        constant = self.optional(node, index)
        if constant is None:
            return node.ints(attribute)
        if constant.array.dtype.kind != "i" or constant.array.ndim > 1:
            raise NodeError(f"input '{constant.name}' is no list of integers")
        return [int(item) for item in constant.array.reshape(-1)]

    def map(self, node: Node, index: int) -> SSAValue:
        """An operand as a feature map; see `as_map`."""
        return self.as_map(self.value(node, index), node.operand(index))

    def as_map(self, value: Value, name: str) -> SSAValue:
        """A value as a feature map; layers that are pending are built, a constant is added.

        `name` is the value's name in the model, for messages.

        Raises: NodeError if the value is no map, or not known.
        """
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

    def operand(self, node: Node, index: int) -> SSAValue:
        """An operand as a map of any elements; see `numbers`."""
        return self.numbers(self.value(node, index), node.operand(index))

    def numbers(self, value: Value, name: str) -> SSAValue:
        """A value as a map of floats or integers; a constant of bool becomes uint8.

        `name` is the value's name in the model, for messages.

        Raises: NodeError if the value is no map, not known, or of elements that no layer takes.
        """
        if not isinstance(value, Constant) or value.array.dtype == np.float32:
            return self.as_map(value, name)
        array = value.array
        if array.dtype == np.int64 and (array.astype(np.int32) == array).all():
            value = Constant(name, array.astype(np.int32))
        if value.array.dtype.str[1:] not in CONSTANTS or value.array.size == 0:
            raise NodeError(
                f"tensor '{name}' holds {array.dtype} of shape {list(array.shape)}; expected "
                "float32, int32, int8, uint8 or bool, and at least one element"
            )
        return self.integers(value)

    def element_of(self, name: str) -> Attribute | None:
        """The element type of a feature map by its name; None if the value is no map."""
        value = self.values.get(name)
        if isinstance(value, Padded):
            value = value.source
        return map_type(value).get_element_type() if isinstance(value, SSAValue) else None

    def padded_map(self, padded: Padded) -> SSAValue:
        """Build a layer that adds the pads to a map; returns the larger map."""
        before = len(self.emitted)
        pads = zip(padded.before, padded.after, strict=True)
        extents = shape_of(padded.source)[2:]
        picks = {
            axis: padded_runs(extent, *around)
            for axis, (extent, around) in enumerate(zip(extents, pads, strict=True), 2)
        }
        result = self.picked(padded.source, picks, padded.fill)
        for layer in self.emitted[before:]:
            LAYER.set_default(layer, padded.label)
        return result

    def padded(self, node: Node, index: int) -> Padded:
        """A feature map operand, with the pads around it, if any, kept apart."""
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
        """Add the layer that `build` makes for a result type; returns the layer's result.

        The layer's shape rule gives the result's shape. Its element type is `element`, or else that
        of the layer's first input.

        Raises: NodeError if the result has too many elements or axes; VerifyException if the layer
        rejects the shapes or the elements of its operands.
        """
        layer = build(TensorType(f32, []))
        shape = layer.infer_shape()
        check_size(shape)
        element = element or map_type(layer.inputs[0]).get_element_type()
        result = Rewriter.replace_value_with_new_type(layer.results[0], TensorType(element, shape))
        layer.verify_elements(element)
        return self._added(layer, result)

    def reshape(self, source: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Add a layer that gives a map another shape; no layer if the shape is the same.

        It reads the map that another such layer reads.

        Raises: NodeError if the shapes have different numbers of elements.
        """
        if tuple(shape) == shape_of(source):
            return source
        if prod(shape) != prod(shape_of(source)) or min(shape, default=1) < 1:
            raise NodeError(f"shape {list(shape_of(source))} cannot become {list(shape)}")
        check_size(shape)
        if isinstance(source.owner, ReshapeOp):
            return self.reshape(source.owner.input, shape)
        layer = ReshapeOp(source, TensorType(map_type(source).get_element_type(), shape))
        return self._added(layer, layer.results[0])

    def picked(self, source: SSAValue, picks: Picks, fill: float | None = None) -> SSAValue:
        """Add a layer that picks elements along some axes; see `npu.pick`.

        It is a slice where that is possible. No layer is added if all elements are picked in order.
        `fill` is what stands where there is no element; it is left out if there is one everywhere.

        Raises: NodeError if the result has too many elements; VerifyException for wrong indices.
        """
        shape = shape_of(source)
        picks = {axis: runs for axis, runs in picks.items() if runs != (Run(0, shape[axis]),)}
        if not picks:
            return source
        if any(len(runs) != 1 or not runs[0].is_plain for runs in picks.values()):
            has_none = any(run.is_none for runs in picks.values() for run in runs)
            value = fill if has_none else None
            return self.emit(lambda out: PickOp(source, picks, out, value))
        boxes = [picks[axis][0] if axis in picks else Run(0, n) for axis, n in enumerate(shape)]
        return self.emit(
            lambda out: SliceOp(
                source,
                [run.start for run in boxes],
                [run.count for run in boxes],
                [run.step for run in boxes],
                out,
            )
        )

    def _added(self, layer: LayerOp, result: SSAValue) -> SSAValue:
        self.block.add_op(layer)
        self.emitted.append(layer)
        return result

    def parameter(self, array: Array, hint: str) -> SSAValue:
        """Add a parameter that a rule has computed; `hint` is a hint for its name."""
        return self.materialise(Constant(hint, array))

    def materialise(self, constant: Constant) -> SSAValue:
        """The `arith.constant` of a float32 constant; each `Constant` object gets one op only.

        Raises: NodeError if it is empty or holds other elements.
        """
        float_array(constant)
        return self.integers(constant)

    def integers(self, constant: Constant) -> SSAValue:
        """The `arith.constant` of a constant with one of the elements in `STORED`."""
        if constant not in self._materialised:
            array = constant.array
            type_ = TensorType(STORED[array.dtype.str[1:]], array.shape)
            little = array.dtype.newbyteorder("<")
            data = BytesAttr(np.ascontiguousarray(array, little).tobytes())
            op = ConstantOp(DenseIntOrFPElementsAttr(type_, data), type_)
            op.result.name_hint = self.names.hint(constant.name, "weight")
            self.block.add_op(op)
            self._materialised[constant] = op.result
        return self._materialised[constant]

    def replace_last_use(self, old: Operation, new: SSAValue) -> SSAValue:
        """Remove layer `old`, which `new` replaces and whose result has no use left.

        The layer of `new` gets the attributes of `old`. Returns `new`.
        """
        assert isinstance(new.owner, Operation)
        new.owner.attributes.update(old.attributes)
        old.detach()
        old.erase()
        return new


CONSTANTS: Mapping[str, Float32Type | IntegerType] = {
    "f4": f32,
    "i1": i8,
    "u1": IntegerType(8, Signedness.UNSIGNED),
    "b1": IntegerType(8, Signedness.UNSIGNED),
    "i4": i32,
}
"""Element types of constant maps in the IR, by numpy's type code without byte order."""
STORED: Mapping[str, Float32Type | IntegerType] = {**CONSTANTS, "i2": i16, "i8": i64}
"""Element types of all constants in the IR, also those of 16-bit maps and of their biases."""


def element_name(element: Attribute) -> str:
    """ONNX's name of an element type: `float32`, `int8`, ..."""
    names = (str(np.dtype(name)) for name, type_ in STORED.items() if type_ == element)
    return next(names, str(element))


def float_array(constant: Constant) -> Array:
    """The elements of a float32 constant.

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

    Raises: NodeError if it has more than `MOST_AXES` axes or more than `LARGEST_MAP` elements.
    """
    if len(shape) > MOST_AXES:
        raise NodeError(f"a map of rank {len(shape)}; expected at most {MOST_AXES} axes")
    if prod(shape) > LARGEST_MAP:
        raise NodeError(f"a map of shape {list(shape)} has more than {LARGEST_MAP} elements")
