"""Values of the importer for real maps that are represented by quantised integers.

DequantizeLinear adds no layer at first. It gives a `Quantized` value: the integers, and the real
numbers that they mean. A rule that can work on the integers gives a `Quantized` value again.
QuantizeLinear turns that into integers of its own scale. So

    DequantizeLinear -> Conv -> Relu -> QuantizeLinear

becomes a convolution of integers, a requantisation, and a clamp if the zero point is no limit of
the type. `npu.dequantize` is added only if a rule needs floats.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32, i8, i16
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
from npu_tools.importers.onnx.tensors import Array

ELEMENTS: Mapping[np.dtype[Any], IntegerType] = {
    np.dtype(np.int8): i8,
    np.dtype(np.uint8): ui8,
    np.dtype(np.int16): i16,
}
"""Element types of quantised maps by numpy type."""


@dataclass(frozen=True)
class Params:
    """The scale, zero point and element type of a quantised map."""

    scale: np.float32
    zero_point: int
    element: IntegerType

    def integer(self, real: float) -> int:
        """The integer that stands for a real number; it saturates at the limits of the type."""
        low, high = limits_of(self.element)
        with np.errstate(all="ignore"):
            steps = np.float32(real) / self.scale
        return int(np.rint(np.clip(steps, low - self.zero_point, high - self.zero_point))) + (
            self.zero_point
        )


@dataclass(frozen=True, eq=False)
class QuantizedConstant(Constant):
    """A constant as float32 numbers (`array`) and as the integers from which they were computed."""

    integers: Array = field(default_factory=lambda: np.zeros(0, np.int8))
    scale: Array = field(default_factory=lambda: np.ones((), np.float32))
    """One scale, or one for each index along `axis`."""
    zero_point: Array = field(default_factory=lambda: np.zeros((), np.int64))
    axis: int = 0


@dataclass(frozen=True, eq=False)
class Quantized(Lazy):
    """A real map without layers yet; its values are clamped to [low, high]."""

    low: float = field(default=-inf, kw_only=True)
    high: float = field(default=inf, kw_only=True)
    label: str = field(default="", kw_only=True)
    """The node that computes the map; its layers get this name."""

    def clamped(self, low: float, high: float) -> Quantized:
        """The same map with its values clamped once more."""
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
        """Build the map in float32."""
        before = len(graph.emitted)
        value = self.floats(graph)
        if self.is_clamped:
            source = value
            value = graph.emit(lambda out: ClampOp(source, self.low, self.high, out))
        self.name_layers(graph, before)
        return value

    def quantize(self, graph: Builder, params: Params) -> SSAValue:
        """Build the map as quantised integers; the clamp may come last, because it is monotone."""
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
        """Name the layers from index `first` on after `label`, if it is set."""
        for layer in graph.emitted[first:] if self.label else ():
            LAYER.set_default(layer, self.label)

    @abc.abstractmethod
    def floats(self, graph: Builder) -> SSAValue:
        """Build the map in float32, not clamped."""

    @abc.abstractmethod
    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """Build the map as quantised integers with the given parameters, not clamped."""


@dataclass(frozen=True, eq=False)
class Scaled(Quantized):
    """The real map (value - zero_point) * scale; `value` holds a map or sums of products.

    Sums may have one scale for each channel (the second axis of `value`).
    """

    value: SSAValue
    scales: Array
    zero_point: int = 0
    view: tuple[int, ...] | None = None
    """The shape of the map if it differs from that of `value`; else None."""

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
        """Whether the integers are sums of products (i32 or i64)."""
        return self.element not in ELEMENTS.values()

    @property
    def scale(self) -> np.float32:
        """The scale of a map with one scale."""
        return np.float32(self.scales.reshape(-1)[0])

    @property
    def params(self) -> Params:
        """Scale, zero point and element type of a map of quantised integers."""
        return Params(self.scale, self.zero_point, self.element)

    def reshaped(self, value: SSAValue, graph: Builder) -> SSAValue:
        """Reshape a result from the shape of the integers to that of the map."""
        return graph.reshape(value, self.shape)

    def floats(self, graph: Builder) -> SSAValue:
        """Build the dequantised integers."""
        scales = [float(scale) for scale in self.scales.reshape(-1)]
        value = graph.emit(lambda out: DequantizeOp(self.value, scales, self.zero_point, out), f32)
        return self.reshaped(value, graph)

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """The integers themselves if they have these parameters; else requantise them."""
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
    """The sum of two quantised maps, without layers yet."""

    lhs: Scaled
    rhs: Scaled

    @property
    def shape(self) -> tuple[int, ...]:
        """The broadcast shape of both maps."""
        return tuple(np.broadcast_shapes(self.lhs.shape, self.rhs.shape))

    def floats(self, graph: Builder) -> SSAValue:
        """Build both maps in float32, and add them."""
        lhs, rhs = self.lhs.as_float(graph), self.rhs.as_float(graph)
        return graph.emit(lambda out: AddOp(lhs, rhs, out))

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """Build one layer that adds the integers."""
        return added(graph, self.lhs, self.rhs, params, "float")


@dataclass(frozen=True, eq=False)
class Average(Quantized):
    """The averages of a quantised map [N, C, H, W] over a sliding window, without layers yet."""

    source: Scaled
    window: PoolAttr
    result: tuple[int, ...]
    """The shape of the averages."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the averages."""
        return self.result

    def floats(self, graph: Builder) -> SSAValue:
        """Build the map in float32, and average it."""
        source = self.source.as_float(graph)
        value = graph.emit(lambda out: AvgPool2dOp(source, self.window, out))
        return graph.reshape(value, self.result)

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """Build one layer that averages the integers."""
        value = averaged(graph, self.source, self.window, params, "float")
        return graph.reshape(value, self.result)


@dataclass(frozen=True, eq=False)
class Joined(Quantized):
    """Quantised maps of different scales, concatenated along an axis, without layers yet."""

    parts: Sequence[Quantized]
    axis: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result: the sum of the parts along the axis."""
        first = list(self.parts[0].shape)
        first[self.axis] = sum(part.shape[self.axis] for part in self.parts)
        return tuple(first)

    def floats(self, graph: Builder) -> SSAValue:
        """Build all parts in float32, and concatenate them."""
        values = [part.as_float(graph) for part in self.parts]
        return graph.emit(lambda out: ConcatOp(values, self.axis, out))

    def integers(self, graph: Builder, params: Params) -> SSAValue:
        """Build all parts with the given parameters, and concatenate them."""
        values = [part.quantize(graph, params) for part in self.parts]
        return graph.emit(lambda out: ConcatOp(values, self.axis, out))


def added(graph: Builder, lhs: Scaled, rhs: Scaled, params: Params, mode: str) -> SSAValue:
    """Add a layer that sums two quantised maps; `mode` is that of `npu.quantized_add`."""
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
    """Add a layer that averages a quantised map; `mode` is that of `npu.quantized_avg_pool2d`."""
    scales = [float(source.scale), float(params.scale)]
    points = (source.zero_point, params.zero_point)
    value = graph.emit(
        lambda out: QuantizedAvgPool2dOp(source.value, window, scales, points, out, mode=mode),
        params.element,
    )
    return meaning(value, params)


def quantized_floats(graph: Builder, source: SSAValue, params: Params) -> SSAValue:
    """Add a layer that quantises a float32 map."""
    scale = float(params.scale)
    return graph.emit(lambda out: QuantizeOp(source, scale, params.zero_point, out), params.element)


def meaning(value: SSAValue, params: Params) -> SSAValue:
    """Write scale and zero point on the layer of `value`, for passes that work on real numbers."""
    if isinstance(layer := value.owner, LayerOp):
        SCALE.set(layer, float(params.scale))
        ZERO_POINT.set(layer, params.zero_point)
    return value


def check_ratios(scales: Array) -> None:
    """Check ratios of scales, which may overflow or vanish in float32.

    Raises: NodeError if one is not positive and finite.
    """
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        raise NodeError(f"scales whose ratio is {scales.tolist()}; expected positive numbers")
