"""A small quantised network with convolutions, a sum, pools and a matrix product."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto

from helpers.quantized.build import Graph, rng


def residual(*, inner: str = "int8", softmax: bool = False) -> ModelProto:
    """A network from float32 [1, 3, 8, 8] to [1, 5]; `inner` is the element type of its maps.

    Maps of int16 have steps that are 128 times as fine, and the zero point 0.
    """
    graph, generator = Graph(), rng(5)
    wide = inner == "int16"
    low = 0 if wide else int(np.iinfo(inner).min)
    step = 1 / 128 if wide else 1.0

    def conv(source: str, name: str, channels: int, filters: int, scale: float, into: float) -> str:
        weight = generator.integers(-127, 128, (filters, channels, 3, 3)).astype(np.int8)
        graph.constant(f"{name}_w", weight)
        scales = generator.uniform(0.002, 0.006, filters).astype(np.float32)
        real = graph.dequantize(f"{name}_w", scales, np.zeros(filters), "int8", axis=0)
        graph.constant(f"{name}_b", generator.integers(-900, 900, filters), np.int32)
        sums = np.float32(scale) * scales
        bias = graph.dequantize(f"{name}_b", sums, np.zeros(filters, np.int32), "int32", axis=0)
        y = graph.add("Conv", [source, real, bias], name, pads=[1, 1, 1, 1])
        integers = graph.quantize(graph.add("Relu", [y], f"{name}_relu"), into, low, inner)
        return graph.dequantize(integers, into, low, inner)

    zero = 0 if wide else low + 128
    x = graph.dequantize(graph.quantize("x", 0.02 * step, zero, inner), 0.02 * step, zero, inner)
    a = conv(x, "c1", 3, 8, 0.02 * step, 0.03 * step)
    b = conv(a, "c2", 8, 8, 0.03 * step, 0.05 * step)
    both = graph.quantize(graph.add("Add", [a, b], "sum"), 0.06 * step, low, inner)
    summed = graph.dequantize(both, 0.06 * step, low, inner)
    pooled = graph.add("MaxPool", [summed], "p", kernel_shape=[2, 2], strides=[2, 2])
    pooled = graph.dequantize(
        graph.quantize(pooled, 0.06 * step, low, inner), 0.06 * step, low, inner
    )
    c = conv(pooled, "c3", 8, 6, 0.06 * step, 0.1 * step)
    mean = graph.quantize(graph.add("GlobalAveragePool", [c], "mean"), 0.02 * step, low, inner)
    flat = graph.add("Flatten", [graph.dequantize(mean, 0.02 * step, low, inner)], "flat")
    flat = graph.dequantize(graph.quantize(flat, 0.02 * step, low, inner), 0.02 * step, low, inner)
    graph.constant("fc_w", generator.integers(-127, 128, (5, 6)).astype(np.int8))
    y = graph.add("Gemm", [flat, graph.dequantize("fc_w", 0.01, 0, "int8")], "fc", transB=1)
    out = graph.dequantize(graph.quantize(y, 0.05 * step, zero, inner), 0.05 * step, zero, inner)
    if softmax:
        out = graph.add("Softmax", [out], "scores", axis=1)
    feeds = {"x": np.zeros((1, 3, 8, 8), np.float32)}
    return graph.model(feeds, out, np.float32, 21 if wide else 13)
