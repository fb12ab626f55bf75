"""Quantised maps as plain integers with one scale."""

from __future__ import annotations

from typing import TypeGuard

from npu_tools.importers.onnx.builder import Builder, Constant, Value
from npu_tools.importers.onnx.quantized import ELEMENTS, QuantizedConstant, Scaled
from npu_tools.importers.onnx.surrounded import settled


def is_plain(value: Value) -> TypeGuard[Scaled]:
    """Whether a value is a map of quantised integers without a pending clamp."""
    return isinstance(value, Scaled) and not value.is_sum and not value.is_clamped


def as_plain(graph: Builder, value: Value) -> Scaled | None:
    """A value as a map of quantised integers without a pending clamp; None if it is none.

    A constant with one scale becomes such a map.
    """
    value = settled(graph, value)
    if is_plain(value):
        return value
    if not isinstance(value, QuantizedConstant) or value.scale.size > 1:
        return None
    if value.integers.dtype not in ELEMENTS:
        return None
    integers = graph.integers(Constant(value.name, value.integers))
    return Scaled(integers, value.scale, int(value.zero_point.reshape(-1)[0]))
