"""Real numbers that quantised integers stand for, while importing.

DequantizeLinear gives no layer yet, but a `Quantized` value: what it means, and the integers that
are there. A rule that can work on integers does, and gives a `Quantized` value again; at a
QuantizeLinear it becomes integers of the scale asked for. So

    DequantizeLinear -> Conv -> Relu -> QuantizeLinear

becomes a convolution of integers, a requantisation, and a clamp if the zero point is no limit of
the type. Only where a rule wants floats, `npu.dequantize` appears.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32, i8
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from npu_dialect.attributes import LAYER, SCALE, ZERO_POINT
from npu_dialect.npu import (
    AddOp,
    AvgPool2dOp,
    ClampOp,
    ConcatOp,
    DequantizeOp,
    PoolAttr,
    QuantizedAddOp,
    QuantizedAvgPool2dOp,
    QuantizeOp,
    RequantizeOp,
)
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import map_type, shape_of
from npu_dialect.npu.quantization import limits_of, ui8
from npu_tools.importers.onnx.builder import Builder, Constant, Lazy
from npu_tools.importers.onnx.errors import NodeError
from npu_tools.importers.onnx.node import Node
from npu_tools.importers.onnx.tensors import Array

ELEMENTS: dict[np.dtype[np.int8] | np.dtype[np.uint8], IntegerType] = {
    np.dtype(np.int8): i8,
    np.dtype(np.uint8): ui8,
}
"""Quantised element types by numpy type."""


@dataclass(frozen=True)
class Params:
    """The scale, zero point and element type of a quantised map."""

    scale: np.float32
    zero_point: int
    element: IntegerType

    def integer(self, real: float) -> int:
        """The integer that a real number becomes; infinities are the limits of the type."""
        low, high = limits_of(self.element)
        with np.errstate(all="ignore"):
            steps = np.float32(real) / self.scale
        return int(np.rint(np.clip(steps, low - self.zero_point, high - self.zero_point))) + (
            self.zero_point
        )


@dataclass(frozen=True, eq=False)
class QuantizedConstant(Constant):
    """A constant in float32 (`array`) and as the integers that it comes from."""

    integers: Array = field(default_factory=lambda: np.zeros(0, np.int8))
    scale: Array = field(default_factory=lambda: np.ones((), np.float32))
    """One scale, or one for each place along `axis`."""
    zero_point: Array = field(default_factory=lambda: np.zeros((), np.int64))
    axis: int = 0


@dataclass(frozen=True, eq=False)
class Quantized(Lazy):
    """A real map, clamped to [low, high], that is not computed yet."""

    low: float = field(default=-inf, kw_only=True)
    high: float = field(default=inf, kw_only=True)
    label: str = field(default="", kw_only=True)
    """The node that computes it; the layer is called so."""

    def clamped(self, low: float, high: float) -> Quantized:
        """The map, clamped once more."""
        return replace(
            self,
            low=min(max(self.low, low), high),
            high=min(max(self.high, low), high),
        )

    @property
    def is_clamped(self) -> bool:
        """Whether a clamp is pending."""
        return (self.low, self.high) != (-inf, inf)

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the map."""

    def as_float(self, graph: Builder) -> SSAValue:
        """The map in float32."""
        before = len(graph.emitted)
        value = self.floats(graph)
        if self.is_clamped:
            source = value
            value = graph.emit(lambda out: ClampOp(source, self.low, self.high, out))
        self.name_layers(graph, before)
        return value

    def quantize(self, graph: Builder, params: Params) -> SSAValue:
        """The map as quantised integers: a clamp is monotone, so it may come last."""
        before = len(graph.emitted)
        value = self.integers(graph, params)
        self.name_layers(graph, before)
        low, high = limits_of(params.element)
        least, most = params.integer(self.low), params.integer(self.high)
        if (least, most) != (low, high):
            source = value
            value = graph.emit(lambda out: ClampOp(source, least, most, out))
        return meaning(value, params)

    def name_layers(self, graph: Builder, first: int) -> None:
        """Call the new layers after the node that they compute, if it is another one."""
        for layer in graph.emitted[first:] if self.label else ():
            LAYER.set_default(layer, self.label)

    @abc.abstractmethod
    def floats(self, graph: Builder) -> SSAValue:
        """The map in float32, not clamped."""

    @abc.abstractmethod
    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """The map as quantised integers, not clamped."""


@dataclass(frozen=True, eq=False)
class Scaled(Quantized):
    """(value - zero_point) * scale; the integers are i8, ui8, or i32 sums of products.

    Sums may have one scale for each channel (the second axis of `value`).
    """

    value: SSAValue
    scales: Array
    zero_point: int = 0
    view: tuple[int, ...] | None = None
    """The shape of the map, if it is not that of `value`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the map."""
        return shape_of(self.value) if self.view is None else self.view

    @property
    def element(self) -> IntegerType:
        """The element type of the integers."""
        element = map_type(self.value).get_element_type()
        assert isa(element, IntegerType)
        return element

    @property
    def is_sum(self) -> bool:
        """Whether the integers are i32 sums."""
        return self.element not in ELEMENTS.values()

    @property
    def scale(self) -> np.float32:
        """The one scale."""
        return np.float32(self.scales.reshape(-1)[0])

    @property
    def params(self) -> Params:
        """Scale, zero point and element type of a map that is no sum."""
        return Params(self.scale, self.zero_point, self.element)

    def reshaped(self, value: SSAValue, graph: Builder) -> SSAValue:
        """A result of the integers' shape in the shape of the map."""
        return graph.reshape(value, self.shape)

    def floats(self, graph: Builder) -> SSAValue:
        """The integers times their scale."""
        scales = [float(scale) for scale in self.scales.reshape(-1)]
        value = graph.emit(lambda out: DequantizeOp(self.value, scales, self.zero_point, out), f32)
        return self.reshaped(value, graph)

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """The integers themselves, or in another scale."""
        if not self.is_sum and self.params == params:
            return self.reshaped(self.value, graph)
        points = (self.zero_point, params.zero_point)
        scales, divisor = self.scales.reshape(-1).astype(np.float32), float(params.scale)
        if self.is_sum:
            with np.errstate(all="ignore"):  # check_ratios finds what overflows
                scales, divisor = scales / params.scale, None
        check_ratios(scales)
        numbers = [float(scale) for scale in scales]
        value = graph.emit(
            lambda out: RequantizeOp(self.value, numbers, points, out, divisor=divisor),
            params.element,
        )
        return self.reshaped(value, graph)


@dataclass(frozen=True, eq=False)
class Sum(Quantized):
    """The sum of two quantised maps."""

    lhs: Scaled
    rhs: Scaled

    @property
    def shape(self) -> tuple[int, ...]:
        """The shapes of both, broadcast."""
        return tuple(np.broadcast_shapes(self.lhs.shape, self.rhs.shape))

    def floats(self, graph: Builder) -> SSAValue:
        """Both in float32, added."""
        lhs, rhs = self.lhs.as_float(graph), self.rhs.as_float(graph)
        return graph.emit(lambda out: AddOp(lhs, rhs, out))

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """One layer."""
        return added(graph, self.lhs, self.rhs, params, "float")


@dataclass(frozen=True, eq=False)
class Average(Quantized):
    """The averages of a quantised map [N, C, H, W] over a window."""

    source: Scaled
    window: PoolAttr
    result: tuple[int, ...]
    """The shape of the averages."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the averages."""
        return self.result

    def floats(self, graph: Builder) -> SSAValue:
        """Averages of floats."""
        source = self.source.as_float(graph)
        value = graph.emit(lambda out: AvgPool2dOp(source, self.window, out))
        return graph.reshape(value, self.result)

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """One layer."""
        value = averaged(graph, self.source, self.window, params, "float")
        return graph.reshape(value, self.result)


@dataclass(frozen=True, eq=False)
class Joined(Quantized):
    """Quantised maps of different scales, one behind the other along an axis."""

    parts: Sequence[Quantized]
    axis: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shapes, added up along the axis."""
        first = list(self.parts[0].shape)
        first[self.axis] = sum(part.shape[self.axis] for part in self.parts)
        return tuple(first)

    def floats(self, graph: Builder) -> SSAValue:
        """All in float32."""
        values = [part.as_float(graph) for part in self.parts]
        return graph.emit(lambda out: ConcatOp(values, self.axis, out))

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """All in the one new scale."""
        values = [part.quantize(graph, params) for part in self.parts]
        return graph.emit(lambda out: ConcatOp(values, self.axis, out))


def added(graph: Builder, lhs: Scaled, rhs: Scaled, params: Params, mode: str) -> SSAValue:
    """The layer that adds two quantised maps."""
    scales = [float(scale) for scale in (lhs.scale, rhs.scale, params.scale)]
    points = (lhs.zero_point, rhs.zero_point, params.zero_point)
    value = graph.emit(
        lambda out: QuantizedAddOp(lhs.value, rhs.value, scales, points, out, mode=mode),
        params.element,
    )
    return meaning(value, params)


def averaged(
    graph: Builder, source: Scaled, window: PoolAttr, params: Params, mode: str
) -> SSAValue:
    """The layer that averages a quantised map."""
    scales = [float(source.scale), float(params.scale)]
    points = (source.zero_point, params.zero_point)
    value = graph.emit(
        lambda out: QuantizedAvgPool2dOp(source.value, window, scales, points, out, mode=mode),
        params.element,
    )
    return meaning(value, params)


def quantized_floats(graph: Builder, source: SSAValue, params: Params) -> SSAValue:
    """The layer that quantises a float32 map."""
    scale = float(params.scale)
    return graph.emit(lambda out: QuantizeOp(source, scale, params.zero_point, out), params.element)


def meaning(value: SSAValue, params: Params) -> SSAValue:
    """Integers whose layer says what they mean, for passes that work on real numbers."""
    if isinstance(layer := value.owner, LayerOp):
        SCALE.set(layer, float(params.scale))
        ZERO_POINT.set(layer, params.zero_point)
    return value


def check_ratios(scales: Array) -> None:
    """Check that products and quotients of scales are still positive float32 numbers.

    Raises: NodeError.
    """
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        raise NodeError(f"scales whose ratio is {scales.tolist()}; expected positive numbers")


def scales_of(node: Node, graph: Builder, index: int) -> Array:
    """A scale operand: one positive float32 number, or a vector of them.

    Raises: NodeError.
    """
    constant = graph.constant(node, index)
    array = constant.array
    if array.dtype != np.float32 or array.ndim > 1 or array.size == 0:
        raise NodeError(
            f"scale '{constant.name}' holds {array.dtype} of shape {list(array.shape)}; "
            "expected float32 numbers, one or a vector"
        )
    if not (np.isfinite(array).all() and (array > 0).all()):
        wrong = array.reshape(-1)[~(np.isfinite(array) & (array > 0)).reshape(-1)][0]
        raise NodeError(f"scale '{constant.name}' is {wrong}; expected positive, finite numbers")
    return array


def one_scale(node: Node, graph: Builder, index: int) -> np.float32:
    """The scale of a whole map.

    Raises: NodeError for a vector.
    """
    array = scales_of(node, graph, index)
    if array.size != 1:
        raise NodeError(
            f"scale '{node.operand(index)}' has {array.size} numbers; expected one for a map"
        )
    return np.float32(array.reshape(-1)[0])


def zero_point_of(node: Node, graph: Builder, index: int) -> Array | None:
    """A zero point operand, of 8-bit integers (of int32, all zero); None if it is left out.

    Raises: NodeError.
    """
    constant = graph.optional(node, index)
    if constant is None:
        return None
    array = constant.array
    if array.dtype == np.int32 and not array.any():
        return array
    if array.dtype not in ELEMENTS or array.ndim > 1 or array.size == 0:
        raise NodeError(
            f"zero point '{constant.name}' holds {array.dtype} of shape {list(array.shape)}; "
            "expected int8 or uint8, one or a vector"
        )
    return array


def params_of(
    node: Node, graph: Builder, scale: int, zero_point: int, default: IntegerType = ui8
) -> Params:
    """The parameters of a quantised map; without a zero point it is 0 of the `default` type.

    Raises: NodeError.
    """
    found = one_scale(node, graph, scale)
    array = zero_point_of(node, graph, zero_point)
    if array is None:
        return Params(found, 0, default)
    if array.size != 1 or array.dtype not in ELEMENTS:
        raise NodeError(
            f"zero point '{node.operand(zero_point)}' holds {array.size} {array.dtype}; "
            "expected one int8 or uint8 for a map"
        )
    return Params(found, int(array.reshape(-1)[0]), ELEMENTS[array.dtype])
