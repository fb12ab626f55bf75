"""Layers over depth, rows and columns against onnxruntime: they become layers over two axes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.onnx_models import check, layers, model, node, numbers, rejected


def some(draw: st.DrawFn, low: int, high: int, count: int = 3) -> list[int]:
    """A few numbers in a range."""
    return draw(st.lists(st.integers(low, high), min_size=count, max_size=count))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_conv(data: st.DataObject) -> None:
    draw: st.DrawFn = data.draw
    size, kernel, strides = some(draw, 1, 6), some(draw, 1, 3), some(draw, 1, 3)
    dilations = some(draw, 1, 2)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    before = some(draw, 0, 2)
    missing = [max(0, r - n - b) for r, n, b in zip(reach, size, before, strict=True)]
    after = [draw(st.integers(least, least + 2)) for least in missing]
    groups = draw(st.sampled_from((1, 2, 4)))
    depth, batch = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    weights = {"w": numbers(4, depth, *kernel), "b": numbers(4, seed=2)}
    attributes: dict[str, Any] = {"group": groups, "strides": strides, "dilations": dilations}
    covers = all(r >= s for r, s in zip(reach, strides, strict=True))
    if covers and dilations == [1, 1, 1] and draw(st.booleans()):
        attributes["auto_pad"] = "SAME_LOWER"
    else:
        attributes["pads"] = before + after
    conv = node("Conv", "x w b" if draw(st.booleans()) else "x w", **attributes)
    check(model([conv], {"x": (batch, groups * depth, *size)}, weights=weights))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_conv_transpose(data: st.DataObject) -> None:
    draw: st.DrawFn = data.draw
    size, kernel, strides = some(draw, 1, 3), some(draw, 1, 3), some(draw, 1, 3)
    dilations, groups = some(draw, 1, 2), draw(st.sampled_from((1, 2)))
    whole = [
        (n - 1) * s + (k - 1) * d + 1
        for n, s, k, d in zip(size, strides, kernel, dilations, strict=True)
    ]
    pads = [draw(st.integers(0, (n - 1) // 2)) for n in (*whole, *whole)]
    added = [draw(st.integers(0, s - 1)) for s in strides]
    layer = node(
        "ConvTranspose",
        "x w b",
        group=groups,
        strides=strides,
        dilations=dilations,
        pads=pads,
        output_padding=added,
    )
    weights = {"w": numbers(4, 3, *kernel), "b": numbers(3 * groups, seed=2)}
    check(model([layer], {"x": (draw(st.integers(1, 2)), 4, *size)}, weights=weights))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_pools(data: st.DataObject) -> None:
    draw: st.DrawFn = data.draw
    op = draw(st.sampled_from(("MaxPool", "AveragePool")))
    size, kernel, strides = some(draw, 3, 6), some(draw, 1, 3), some(draw, 1, 3)
    pads = [draw(st.integers(0, taps - 1)) for taps in (*kernel, *kernel)]
    attributes: dict[str, Any] = {
        "kernel_shape": kernel,
        "strides": strides,
        "pads": pads,
        "ceil_mode": draw(st.integers(0, 1)),
    }
    if op == "AveragePool":
        attributes["count_include_pad"] = draw(st.integers(0, 1))
    check(model([node(op, "x", **attributes)], {"x": (2, 2, *size)}, opset=19))
