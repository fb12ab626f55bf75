"""Builds the layers of one function under conversion, and knows where its tensors are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IntegerType,
    TensorType,
    f32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from npu_dialect.attributes import LAYER
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.layers import MulOp, PickOp, ReshapeOp, TransposeOp
from npu_dialect.npu.maps import ELEMENT, is_tensor_type, map_type, shape_of
from npu_dialect.runs import Run, nothing
from npu_passes.conversion.foreign import (
    Array,
    Foreign,
    NoEquivalent,
    constant_array,
    constant_attribute,
    dtype_of,
    is_constant,
)
from npu_passes.conversion.stored import Perm, Stored, identity, inverse

Constant: TypeAlias = DenseResourceAttr | DenseIntOrFPElementsAttr[AnyFloat | IntegerType]

Key = tuple[SSAValue, Perm, tuple[int, ...], tuple[tuple[int, int], ...], float]
"""A value, the order of its axes, its shape, its pads and what they hold."""


@dataclass
class LayerBuilder:
    """The layers of a function; new ones stand before `place`, the op under conversion."""

    values: dict[SSAValue, Stored] = field(default_factory=dict[SSAValue, Stored])
    """Where the tensors are that converted ops compute."""
    made: dict[Key, SSAValue] = field(default_factory=dict[Key, SSAValue])
    """Tensors and constants that were built in another order or with their pads."""
    emitted: list[Operation] = field(default_factory=list[Operation])
    """The layers and constants of the op under conversion."""
    place: Operation | None = None
    layers: list[Operation] = field(default_factory=list[Operation])
    """All layers and constants so far."""
    factors: dict[SSAValue, tuple[SSAValue, float]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, float]]
    )
    """Products of a map with a number, by the product."""
    names: dict[str, int] = field(default_factory=dict[str, int])

    # -- the op under conversion -------------------------------------------------------------------

    def begin(self, op: Operation) -> None:
        """Put new layers before an op."""
        self.place = op
        self.emitted.clear()

    def undo(self) -> None:
        """Take away the layers of the op under conversion, which has no equivalent."""
        gone = {result for op in self.emitted for result in op.results}
        self.made = {
            key: value
            for key, value in self.made.items()
            if value not in gone and key[0] not in gone
        }
        self.values = {key: each for key, each in self.values.items() if each.value not in gone}
        for op in reversed(self.emitted):
            op.detach()
            op.erase()
        self.emitted.clear()

    def name_layers(self, foreign: Foreign, found: Stored) -> None:
        """Name the layers of a converted op after its result, or after its kind."""
        name = self.unique(foreign.op.results[0].name_hint or foreign.kind)
        main = found.value
        while isinstance(main.owner, ReshapeOp) and main.owner.input.owner in self.emitted:
            main = main.owner.input
        for op in self.emitted:
            if isinstance(op, LayerOp):
                own = op.results[0] is main
                what = op.name.removeprefix("npu.")
                LAYER.set_default(op, name if own else self.unique(f"{name}_{what}"))
                op.results[0].name_hint = op.results[0].name_hint or LAYER.get(op)
        self.layers.extend(self.emitted)

    def name_rest(self) -> None:
        """Name the layers for an op that stays after their kind."""
        for op in self.emitted:
            if isinstance(op, LayerOp):
                LAYER.set_default(op, self.unique(op.name.removeprefix("npu.")))
        self.layers.extend(self.emitted)

    def drop_unread(self) -> None:
        """Erase the layers and constants that nothing reads."""
        for op in reversed(self.layers):
            if not op.results[0].uses:
                op.detach()
                op.erase()

    def unique(self, name: str) -> str:
        """The name, or with a number behind it if it is taken."""
        while name in self.names:
            self.names[name] += 1
            name = f"{name}_{self.names[name]}"
        self.names[name] = 0
        return name

    # -- tensors -----------------------------------------------------------------------------------

    def stored(self, value: SSAValue) -> Stored:
        """Where a tensor is stored.

        Raises: NoEquivalent if the value is no ranked tensor of numbers with a static shape.
        """
        check_tensor(value.type)
        if value in self.values:
            return self.values[value]
        if is_constant(value):
            shape = shape_of(value)
            return Stored.plain(self.constant(value, identity(len(shape)), shape))
        return Stored.plain(value)

    def unpadded(self, value: SSAValue) -> Stored:
        """Where a tensor is stored, its pads included. Raises as `stored`."""
        found = self.stored(value)
        return Stored.plain(self.as_is(found)) if found.pads else found

    def ordered(self, value: SSAValue, perm: Sequence[int]) -> SSAValue:
        """A tensor with axis i from its axis perm[i], its pads included.

        Axes of a constant are moved now, those of a map by a layer.
        """
        return self.as_is(self.stored(value).transposed(perm))

    def arranged(self, value: SSAValue, perm: Sequence[int], shape: Sequence[int]) -> SSAValue:
        """A tensor with its axes in another order, then in another shape."""
        return self.viewed(self.ordered(value, perm), shape)

    def is_constant(self, value: SSAValue) -> bool:
        """Whether a tensor is a constant, or views and transpositions of one."""
        stored = self.stored(value)
        return is_constant(stored.value) and not stored.pads

    def as_is(self, stored: Stored) -> SSAValue:
        """A tensor as a map whose axes have the order of the tensor."""
        if is_constant(stored.value) and not stored.pads:
            return self.constant(stored.value, stored.perm, stored.shape)
        key = (stored.value, stored.perm, stored.shape, stored.pads, stored.fill)
        if key not in self.made:
            self.made[key] = self.padded(stored, self.moved(stored.value, stored.perm))
        return self.made[key]

    def padded(self, stored: Stored, value: SSAValue) -> SSAValue:
        """A map with pads around it; `value` is the map without them."""
        picks = {
            axis: tuple(
                run for run in (nothing(before), Run(0, extent), nothing(after)) if run.length > 0
            )
            for axis, (extent, (before, after)) in enumerate(
                zip(shape_of(value), stored.pads, strict=False)
            )
            if before or after
        }
        if not picks:
            return value
        return self.emit(lambda out: PickOp(value, picks, out, stored.fill))

    def moved(self, value: SSAValue, perm: Perm) -> SSAValue:
        """A map with its axes in another order; a view if only axes of extent 1 move."""
        if perm == identity(len(perm)):
            return value
        shape = shape_of(value)
        if sorted(long := [axis for axis in perm if shape[axis] != 1]) == long:
            return self.reshaped(value, [shape[axis] for axis in perm])
        made = self.emit(lambda out: TransposeOp(value, perm, out))
        if isinstance(value.owner, Block) and value not in self.values:
            # The next layer that reads this argument finds it in the order of layers.
            self.values[value] = twin = Stored(made, inverse(perm))
            self.made[made, twin.perm, twin.shape, (), 0.0] = value
        return made

    def constant(self, value: SSAValue, perm: Perm, shape: Sequence[int]) -> SSAValue:
        """A constant with its axes in another order, then in another shape."""
        old = constant_attribute(value)
        as_it_is = perm == identity(len(perm)) and tuple(shape) == shape_of(value)
        if as_it_is and isinstance(value.owner, ConstantOp):
            return value
        type_ = TensorType(element_of(value), shape)
        key = (value, perm, tuple(shape), (), 0.0)
        if key in self.made:
            return self.made[key]
        if isinstance(old, DenseResourceAttr):
            attribute: Constant = DenseResourceAttr(old.resource_handle, type_)
        else:
            array = constant_array(value)
            if array is None:
                raise NoEquivalent(f"expected constants that layers take, got {value.type}")
            attribute = dense(array.transpose(perm), type_)
        self.made[key] = self.add(ConstantOp(attribute, type_), value.name_hint)
        return self.made[key]

    def numbers(self, array: Array, element: Attribute, hint: str | None = None) -> SSAValue:
        """A constant of these numbers."""
        type_ = TensorType(element, array.shape)
        return self.add(ConstantOp(dense(array, type_), type_), hint)

    # -- layers ------------------------------------------------------------------------------------

    def add(self, op: Operation, hint: str | None = None) -> SSAValue:
        """Insert an op with one result."""
        assert self.place is not None
        Rewriter.insert_op(op, InsertPoint.before(self.place))
        self.emitted.append(op)
        op.results[0].name_hint = hint
        return op.results[0]

    def emit(
        self, build: Callable[[Attribute], LayerOp], element: Attribute | None = None
    ) -> SSAValue:
        """Insert the layer that `build` makes for a result type, whose shape it infers.

        The elements of the result are `element`, or those of the layer's first input.

        Raises: VerifyException if the layer rejects its operands.
        """
        layer = build(TensorType(f32, []))
        try:
            shape = layer.infer_shape()
            type_ = TensorType(element or map_type(layer.inputs[0]).get_element_type(), shape)
            Rewriter.replace_value_with_new_type(layer.results[0], type_)
            layer.verify_()
        except VerifyException:
            layer.erase()
            raise
        return self.add(layer)

    def scaled(self, stored: Stored, factor: float) -> Stored:
        """A float map times a number; a product of it with numbers has one factor."""
        source, before = self.factors.get(stored.value, (stored.value, 1.0))
        whole = before * factor
        if whole == 1.0:
            return Stored(source, stored.perm, stored.pads, stored.fill)
        number = self.numbers(np.full((1,) * len(stored.perm), whole, "<f4"), f32)
        made = self.emit(lambda out: MulOp(source, number, out))
        self.factors[made] = (source, whole)
        return Stored(made, stored.perm)

    def viewed(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A map or a constant in another shape. Raises as `reshaped`."""
        if is_constant(value):
            check_same_size(value, shape)
            return self.constant(value, identity(len(shape_of(value))), shape)
        return self.reshaped(value, shape)

    def reshaped(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A map in another shape; it reads what a reshape before it reads.

        Raises: NoEquivalent if the shapes have different numbers of elements.
        """
        if isinstance(value.owner, ReshapeOp):
            value = value.owner.input
        if shape_of(value) == tuple(shape):
            return value
        check_same_size(value, shape)
        return self.add(ReshapeOp(value, TensorType(element_of(value), shape)))


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor."""
    return map_type(value).get_element_type()


def check_same_size(value: SSAValue, shape: Sequence[int]) -> None:
    """Check that a tensor has as many elements as a shape.

    Raises: NoEquivalent if not.
    """
    if prod(shape) != prod(shape_of(value)):
        raise NoEquivalent(f"shape {list(shape_of(value))} cannot become {list(shape)}")


def check_tensor(type_: Attribute) -> None:
    """Check that a type is a ranked tensor of numbers, of static shape.

    Raises: NoEquivalent if not.
    """
    if not is_tensor_type(type_) or not isa(type_.get_element_type(), ELEMENT):
        raise NoEquivalent(f"expected ranked tensors of floats or integers, got {type_}")
    if any(extent < 1 for extent in type_.get_shape()):
        raise NoEquivalent(f"expected static shapes with elements, got {type_}")


def dense(
    array: Array, type_: TensorType[Attribute]
) -> DenseIntOrFPElementsAttr[AnyFloat | IntegerType]:
    """The attribute of a constant; the numbers are cast to the elements of the type."""
    element = type_.get_element_type()
    dtype = dtype_of(element)
    if dtype is None or not isa(element, ELEMENT):
        raise NoEquivalent(f"expected constants that layers take, got {type_}")
    data = np.ascontiguousarray(array, dtype).tobytes()
    return DenseIntOrFPElementsAttr(TensorType(element, type_.get_shape()), BytesAttr(data))
