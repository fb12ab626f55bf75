"""Normalisations from ONNX to C, in place, and on machines with DMA."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

from helpers.onnx_models import int64, model, node, numbers
from helpers.road import Road, travel
from npu_tools.commands.compile import main

SHAPES = {"x": (1, 6, 5, 3), "rows": (2, 7, 9)}


def network() -> ModelProto:
    """One layer of each kind, over one axis and over several."""
    weights = {
        "s6": numbers(6),
        "b6": numbers(6, seed=2),
        "s9": numbers(9, seed=3),
        "b9": numbers(9, seed=4),
        "s79": numbers(7, 9, seed=5),
        "to_rows": int64(2, 9, 5),
    }
    nodes = [
        node("InstanceNormalization", "x s6 b6", "a", name="instance"),
        node("Relu", "a", "b", name="relu"),
        node("GroupNormalization", "b s6 b6", "c", num_groups=3, name="group"),
        node("MeanVarianceNormalization", "c", "d", axes=[0, 1], name="strided"),
        node("Reshape", "d to_rows", "e", name="flat"),
        node("LpNormalization", "e", "y", axis=1, name="euclidean"),
        node("LayerNormalization", "rows s9 b9", "f", name="layer"),
        node("Relu", "f", "g", name="relu2"),
        node("LayerNormalization", "g s79", "z", axis=1, name="matrix"),
    ]
    return model(nodes, SHAPES, ["y", "z"], weights, opset=21)


@pytest.mark.parametrize("pipeline", ["default", "naive"])
def test_floats(pipeline: str, tmp_path: Path) -> None:
    check = pipeline == "default"
    road = Road(16, pipeline, None, None, "c", None, "c", in_arena=False, check_passes=check)
    feeds = {name: numbers(*shape, seed=9) + 3 for name, shape in SHAPES.items()}
    travel(tmp_path, network(), feeds, road)


@pytest.mark.slow
def test_with_dma(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(network().SerializeToString())
    assert main([str(path), "--target", "zynq7020", "-o", str(tmp_path), "--verify"]) == 0


@pytest.mark.slow
def test_a_map_that_does_not_fit_moves_in_tiles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layer = node("LayerNormalization", "x s b")
    weights = {"s": numbers(200), "b": numbers(200, seed=2)}
    proto = model([layer], {"x": (3, 150, 200)}, weights=weights, opset=17)
    path = tmp_path / "net.onnx"
    path.write_bytes(proto.SerializeToString())
    assert main([str(path), "--target", "zynq7020", "-o", str(tmp_path), "--verify"]) == 0
    assert main([str(path), "--target", "fe310", "-o", str(tmp_path)]) == 1
    assert "of SRAM" in capsys.readouterr().err


def test_a_layer_that_is_spelt_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts: list[tuple[str, str, str, dict[str, list[int]]]] = [
        ("ReduceMean", "x", "m", {"axes": [-1]}),
        ("Sub", "x m", "d", {}),
        ("Pow", "d two", "q", {}),
        ("ReduceMean", "q", "v", {"axes": [-1]}),
        ("Add", "v epsilon", "e", {}),
        ("Sqrt", "e", "s", {}),
        ("Div", "d s", "n", {}),
        ("Mul", "n scale", "k", {}),
        ("Add", "k bias", "y", {}),
    ]
    nodes = [node(op, inputs, out, name=out, **more) for op, inputs, out, more in parts]
    weights = {
        "two": np.array(2, np.float32),
        "epsilon": np.array(1e-5, np.float32),
        "scale": numbers(9),
        "bias": numbers(9, seed=2),
    }
    path = tmp_path / "net.onnx"
    path.write_bytes(model(nodes, {"x": (2, 7, 9)}, weights=weights).SerializeToString())
    run = [str(path), "--target", "cortex-m4", "-o", str(tmp_path), "--verify", "--json"]
    assert main(run) == 0
    report = json.loads(capsys.readouterr().out)
    assert [layer["op"] for layer in report["layers"]] == ["npu.normalize"]
