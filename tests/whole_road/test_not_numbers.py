"""NaN goes through max pools as through activations, and infinities are numbers like any other.

onnxruntime keeps NaN in Relu, Clip and LeakyRelu. Its MaxPool keeps or drops it by the size of the
window and the processor, so what is expected here is numpy's maximum.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from onnx import ModelProto

from helpers.c_harness import run_c
from helpers.onnx_models import imported, model, node
from helpers.road import c_files
from npu_dialect.interpreters import run_function
from npu_tools.compiling.driver import Job, compile_model

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

Array = NDArray[np.float32]
NAN, INF = np.nan, np.inf
SHAPE = (1, 2, 7, 6)
OUTPUTS = ("small", "wide", "whole", "fused", "overlapping", "clipped", "leaky", "rectified")


def image() -> Array:
    """A map with NaN at the beginning, in the middle and at the end, and with infinities."""
    x = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    flat = x.reshape(2, -1)
    flat[0, [0, 9, 20, 41]] = NAN
    flat[0, [3, 14]] = INF, -INF
    flat[1, [5, 6, 12]] = INF, -INF, -INF
    return x


def network() -> ModelProto:
    """Pools of several kinds, alone and behind a convolution that copies, and activations."""
    ones = np.ones((2, 1, 1, 1), np.float32)
    window = {"kernel_shape": [2, 2], "strides": [2, 2]}
    overlap = {"kernel_shape": [3, 3], "strides": [2, 2]}
    nodes = [
        node("MaxPool", "x", "small", name="small", **window),
        node("MaxPool", "x", "wide", name="wide", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("GlobalMaxPool", "x", "whole"),
        node("Conv", "x w", "c1", name="c1", group=2),
        node("Relu", "c1", "r1", name="r1"),
        node("MaxPool", "r1", "fused", name="fused", **window),
        node("Conv", "x w", "c2", name="c2", group=2),
        node("MaxPool", "c2", "overlapping", name="overlapping", **overlap),
        node("Clip", "x low high", "clipped"),
        node("LeakyRelu", "x", "leaky", alpha=0.5),
        node("Relu", "x", "rectified", name="rectified"),
    ]
    limits = {"low": np.array(-1, np.float32), "high": np.array(1, np.float32)}
    outputs = dict.fromkeys(OUTPUTS)
    return model(nodes, {"x": SHAPE}, tuple(outputs), {"w": ones, **limits})


def pooled(x: Array, size: int, stride: int, pad: int = 0) -> Array:
    """Maxima of windows, NaN where a window has one."""
    wide = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=-INF)
    windows = sliding_window_view(wide, (size, size), (2, 3))
    return windows[:, :, ::stride, ::stride].max((4, 5))


def wanted(x: Array) -> list[Array]:
    """The outputs of `network` by numpy."""
    return [
        pooled(x, 2, 2),
        pooled(x, 3, 1, 1),
        x.max((2, 3), keepdims=True),
        pooled(np.maximum(x, 0), 2, 2),
        pooled(x, 3, 2),
        np.clip(x, -1, 1),
        np.where(x < 0, x * np.float32(0.5), x),
        np.maximum(x, 0),
    ]


def test_meaning() -> None:
    found = run_function(imported(network()), None, [image()])
    for name, one, other in zip(OUTPUTS, found, wanted(image()), strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.parametrize("pipeline", ["default", "naive", "fused", "rows"])
@pytest.mark.parametrize("registers", [0, 16])
def test_c(tmp_path: Path, pipeline: str, registers: int) -> None:
    path, machine = tmp_path / "net.onnx", tmp_path / "machine.toml"
    path.write_bytes(network().SerializeToString())
    sizes = "sram_bytes = 4000000\nflash_bytes = 4000000\n"
    machine.write_text(f'name = "test"\n{sizes}registers = {registers}\n')
    made = compile_model(Job(path, str(machine), pipeline=pipeline))
    want = wanted(image())
    found = run_c(c_files(made), "net", [image()], [each.shape for each in want], sanitize=False)
    for name, one, other in zip(OUTPUTS, found, want, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)
