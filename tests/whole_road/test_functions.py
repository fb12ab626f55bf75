"""Functions of one number from ONNX to C: each of them, and fused, in rows, in tiles, as tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

from helpers.networks.machines import machine_file
from helpers.onnx_models import model, node, numbers
from helpers.quantized.build import Graph
from helpers.road import Road, travel
from npu_tools.commands.compile import main
from npu_tools.importers.onnx.rules.activation import FUNCTIONS

ABOVE_ONE = ("Acosh", "Log", "Sqrt")
"""Functions that read a number of at least 1 here, as they are NaN for small ones."""
OTHERS = ("Gelu", "Swish")
"""Functions of opsets that the road's reference does not run."""


def every_function() -> ModelProto:
    """All functions of one input."""
    names = [name for name in FUNCTIONS if name not in OTHERS]
    nodes = [node("Cosh", "x", "above", name="above")]
    nodes += [
        node(name, "above" if name in ABOVE_ONE else "x", f"y{name}", name=f"n{name}")
        for name in names
    ]
    return model(nodes, {"x": [1, 2, 3, 5]}, [f"y{name}" for name in names], opset=18)


def test_every_function(tmp_path: Path) -> None:
    feeds = {"x": np.random.default_rng(1).uniform(-0.99, 0.99, (1, 2, 3, 5)).astype(np.float32)}
    travel(tmp_path, every_function(), feeds, Road.of(1))


def fused() -> ModelProto:
    """Functions behind convolutions, pools, an addition and a matrix product."""
    weights = {
        "w": numbers(6, 3, 3, 3, seed=1),
        "v": numbers(6, 6, 3, 3, seed=2) * np.float32(0.2),
        "u": numbers(6, 6, 1, 1, seed=3),
        "s": numbers(6, 1, 1, seed=4),
        "m": numbers(6 * 6 * 6, 5, seed=5) * np.float32(0.1),
    }
    nodes = [
        node("Conv", "x w", "a", name="a", pads=[1, 1, 1, 1]),
        node("HardSwish", "a", "b"),
        node("Conv", "b v", "c", name="c", pads=[1, 1, 1, 1]),
        node("Tanh", "c", "d"),
        node("MaxPool", "d", "e", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "e u", "f", name="f"),
        node("PRelu", "f s", "g"),
        node("Add", "g e", "h"),
        node("Sigmoid", "h", "i", name="i"),
        node("Mul", "i h", "j"),
        node("Flatten", "j", "k"),
        node("MatMul", "k m", "l"),
        node("Elu", "l"),
    ]
    return model(nodes, {"x": [1, 3, 12, 12]}, weights=weights, opset=17)


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_functions_behind_other_layers(seed: int, tmp_path: Path) -> None:
    feeds = {"x": numbers(1, 3, 12, 12, seed=6)}
    travel(tmp_path, fused(), feeds, Road.of(seed))


@pytest.mark.slow
def test_functions_in_tiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.onnx").write_bytes(fused().SerializeToString())
    machine = machine_file(tmp_path, 3000)
    arguments = [str(tmp_path / "net.onnx"), "--target", machine, "-o", str(tmp_path / "out")]
    assert main([*arguments, "--json", "--verify"]) == 0, capsys.readouterr().err


def tables(activation: str) -> ModelProto:
    """Two convolutions of 8 channels with SiLU or another function between them, quantised."""
    graph, low = Graph(), -128
    x = graph.dequantize("x", 0.02, 3, "int8")

    def conv(source: str, name: str, scale: float) -> str:
        kernel = np.random.default_rng(len(name)).integers(-127, 128, (8, 8, 3, 3))
        graph.constant(name, kernel, np.int8)
        weight = graph.dequantize(name, 0.004, 0, "int8")
        y = graph.add("Conv", [source, weight], f"{name}_y", pads=[1, 1, 1, 1])
        return graph.dequantize(graph.quantize(y, scale, 5, "int8"), scale, 5, "int8")

    def silu(real: str) -> str:
        gate = graph.quantize(graph.add("Sigmoid", [real], "gate"), 1 / 256, low, "int8")
        return graph.add("Mul", [real, graph.dequantize(gate, 1 / 256, low, "int8")], "silu")

    real = conv(x, "w", 0.06)
    found = silu(real) if activation == "SiLU" else graph.add(activation, [real], "found")
    inner = graph.dequantize(graph.quantize(found, 0.03, -20, "int8"), 0.03, -20, "int8")
    out = conv(inner, "other", 0.05)
    return graph.model({"x": np.zeros((1, 8, 32, 32), np.int8)}, out, np.float32, 14)


@pytest.mark.parametrize(
    "activation",
    [
        "HardSwish",
        "SiLU",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("Relu", "HardSigmoid", "LeakyRelu", "Sigmoid")
        ),
    ],
)
def test_a_table_needs_no_memory_and_no_floats(
    activation: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.onnx").write_bytes(tables(activation).SerializeToString())
    folder = tmp_path / "out"
    arguments = [str(tmp_path / "net.onnx"), "--target", "cortex-m4", "-o", str(folder)]
    code = main([*arguments, "--io", "int8", "--requantize", "fixed", "--json", "--verify"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    report = json.loads(captured.out)
    assert report["arena_bytes"] <= 2 * 8 * 32 * 32
    assert len(report["layers"]) <= 4
    assert "float" not in (folder / "net.c").read_text()
