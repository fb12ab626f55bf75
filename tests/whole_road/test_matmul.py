"""Matrix products of maps from ONNX to C: floats, integers, and machines with DMA."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from onnx import ModelProto

from helpers.onnx_models import int64, model, node, numbers
from helpers.quantized.build import Graph, integers
from helpers.road import Road, travel
from npu_tools.commands.compile import main


def attention() -> tuple[ModelProto, dict[str, Any]]:
    """Two heads of attention without mask, and products with odd, broadcast and constant parts."""
    nodes = [
        node("MatMul", "x wq", "q", name="q"),
        node("Reshape", "q heads", "q4", name="q4"),
        node("Transpose", "q4", "qt", perm=[0, 2, 1, 3], name="qt"),
        node("Reshape", "x heads", "k4", name="k4"),
        node("Transpose", "k4", "kh", perm=[0, 2, 1, 3], name="kh"),
        node("Transpose", "kh", "kt", perm=[0, 1, 3, 2], name="kt"),
        node("MatMul", "qt kt", "scores", name="scores"),
        node("Relu", "scores", "positive", name="relu"),
        node("Softmax", "positive", "weights", axis=-1, name="softmax"),
        node("MatMul", "weights kh", "mixed", name="mixed"),
        node("MatMul", "mixed odd", "y", name="constant"),
        node("Gemm", "a b c", "z", transA=1, transB=1, alpha=0.5, beta=2.0, name="gemm"),
        node("MatMul", "left z", "v", name="vector"),
    ]
    weights = {
        "wq": numbers(6, 6),
        "heads": int64(1, 7, 2, 3),
        "odd": numbers(2, 1, 3, 5, seed=3),
        "left": numbers(5, seed=4),
    }
    shapes = {"x": (1, 7, 6), "a": (4, 5), "b": (3, 4), "c": (5, 1)}
    proto = model(nodes, shapes, ["y", "v"], weights, opset=17)
    feeds = {name: numbers(*shape, seed=9 + len(name)) for name, shape in shapes.items()}
    return proto, feeds


@pytest.mark.parametrize(("pipeline", "registers"), [("default", 32), ("naive", 0)])
def test_floats(pipeline: str, registers: int, tmp_path: Path) -> None:
    check = pipeline == "default"
    road = Road(registers, pipeline, None, None, "c", None, "c", in_arena=False, check_passes=check)
    proto, feeds = attention()
    travel(tmp_path, proto, feeds, road)


def compiled(
    folder: Path, capsys: pytest.CaptureFixture[str], proto: ModelProto, *more: str
) -> dict[str, Any]:
    """The report of a verified compilation."""
    (folder / "net.onnx").write_bytes(proto.SerializeToString())
    run = [str(folder / "net.onnx"), "-o", str(folder / "out"), "--json", "--verify", *more]
    code = main(run)
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


@pytest.mark.slow
def test_with_dma(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = compiled(tmp_path, capsys, attention()[0], "--target", "zynq7020")
    assert "npu.matmul" in {layer["op"] for layer in found["layers"]}


@pytest.mark.slow
def test_a_product_that_does_not_fit_runs_in_tiles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [node("Relu", "a", "c", name="relu"), node("MatMul", "c b", "y", name="product")]
    proto = model(nodes, {"a": (200, 150), "b": (150, 300)})
    compiled(tmp_path, capsys, proto, "--target", "zynq7020")
    run = [str(tmp_path / "net.onnx"), "--target", "fe310", "-o", str(tmp_path / "out")]
    assert main(run) == 1
    assert "of SRAM" in capsys.readouterr().err


def integer_product() -> ModelProto:
    """Queries times keys, of int8 and of uint8, and sums that are requantised."""
    graph = Graph()
    a = graph.dequantize("a", 0.25, -7, "int8")
    b = graph.dequantize("b", 0.5, 99, "uint8")
    keys = graph.add("Transpose", [b], "t", perm=[0, 2, 1])
    out = graph.quantize(graph.add("MatMul", [a, keys], "p"), 16.0, 3, "int8")
    feeds = {"a": integers(0, "int8", 2, 5, 9), "b": integers(1, "uint8", 1, 7, 9)}
    return graph.model(feeds, out, "int8", 13)


@pytest.mark.parametrize("target", ["host", "cortex-m4", "zynq7020"])
def test_integers(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = compiled(tmp_path, capsys, integer_product(), "--target", target)
    assert found["verify"]["outputs"][0]["steps"] == 0
    ops = {layer["op"] for layer in found["layers"]}
    assert "npu.requantize" not in ops


@pytest.mark.slow
@pytest.mark.parametrize("target", ["host", "zynq7020"])
def test_attention_in_causal_order(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layer = node("Attention", "q k v", q_num_heads=4, kv_num_heads=2, is_causal=1)
    shapes = {"q": (1, 5, 32), "k": (1, 6, 16), "v": (1, 6, 6)}
    compiled(tmp_path, capsys, model([layer], shapes, opset=23), "--target", target)
