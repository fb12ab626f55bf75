"""States kept between runs, from ONNX to C: runs in a row, against onnxruntime with its own."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from helpers.onnx_models import Array, expected, int64, model, node, numbers
from helpers.quantized.build import Graph
from npu_tools.commands.compile import main
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.reports.report import Report
from npu_tools.verifying.harness import built

SANITIZED = "gcc -Wall -Wextra -fsanitize=address,undefined -fno-sanitize-recover=all"


def compiled(
    folder: Path, capsys: pytest.CaptureFixture[str], proto: ModelProto, *more: str
) -> dict[str, Any]:
    """The report of a verified compilation."""
    (folder / "net.onnx").write_bytes(proto.SerializeToString())
    run = [str(folder / "net.onnx"), "-o", str(folder), "--json", "--verify", *more]
    code = main(run)
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


def kept(*states: str) -> list[str]:
    """The options that keep states."""
    return [word for state in states for word in ("--keep-state", state)]


def stream() -> ModelProto:
    """All ways in which a state may change.

    A convolution over the last 5 columns keeps 4 of them. A sum is added to, and its old value is
    an output. Two states change places, a third one is the input, a fourth one the third before.
    """
    nodes = [
        node("Concat", "cache x", "wide", axis=2, name="join"),
        node("Conv", "wide w", "y", name="conv"),
        node("Slice", "wide one five two", "cache2", name="rest"),
        node("Add", "sum x", "sum2", name="add"),
        node("Identity", "sum", "before", name="before"),
        node("Identity", "x", "first2", name="first2"),
        node("Identity", "first", "second2", name="second2"),
        node("Mul", "second left", "product", name="product"),
        node("Identity", "left", "right2", name="right2"),
        node("Add", "right x", "left2", name="left"),
        node("Identity", "still", "still2", name="still2"),
        node("Add", "still right", "end", name="end"),
    ]
    weights = {"w": numbers(2, 3, 5), "one": int64(1), "five": int64(5), "two": int64(2)}
    frame = (1, 3, 1)
    names = ("sum", "first", "second", "left", "right", "still")
    shapes = {"cache": (1, 3, 4), "x": frame, **dict.fromkeys(names, frame)}
    results = [f"{name}2" for name in ("cache", *names)]
    return model(nodes, shapes, [*results, "y", "before", "product", "end"], weights)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["host", "cortex-m4", "zynq7020"])
def test_all_ways_to_change(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if target != "zynq7020":  # its engine takes long with sanitizers
        monkeypatch.setenv("CC", SANITIZED)
    names = ("cache", "sum", "first", "second", "left", "right", "still")
    states = kept(*(f"{name}={name}2" for name in names))
    more = ("--check-passes",) if target == "cortex-m4" else ()
    report = compiled(tmp_path, capsys, stream(), "--target", target, *states, *more)
    assert list(report["inputs"]) == ["x"]
    assert list(report["outputs"]) == ["y", "before", "product", "end"]
    assert [state["name"] for state in report["states"]] == [*names]
    assert report["verify"]["samples"] == 4
    spans = sorted((each["offset"], each["offset"] + each["bytes"]) for each in report["states"])
    assert all(one[1] <= two[0] for one, two in pairwise(spans))


def keyword(steps: int) -> ModelProto:
    """An LSTM and a GRU in a row, for some steps."""
    size = 5
    weights = {
        "w": numbers(1, 4 * size, 4),
        "r": numbers(1, 4 * size, size, seed=1),
        "b": numbers(1, 8 * size, seed=2),
        "one": int64(1),
        "gw": numbers(1, 3 * size, size, seed=3),
        "gr": numbers(1, 3 * size, size, seed=4),
    }
    nodes = [
        node("LSTM", "x w r b", "s", hidden_size=size, name="lstm"),
        node("Squeeze", "s one", "flat", name="flat"),
        node("GRU", "flat gw gr", "y", hidden_size=size, name="gru"),
    ]
    return model(nodes, {"x": (steps, 1, 4)}, weights=weights, opset=14)


@pytest.mark.parametrize(("target", "steps"), [("host", 1), ("cortex-m0", 3)])
def test_frames_are_a_sequence(target: str, steps: int, tmp_path: Path) -> None:
    frames: Array = numbers(6, 1, 4, seed=9)
    (whole,) = expected(keyword(6), {"x": frames})
    (tmp_path / "net.onnx").write_bytes(keyword(steps).SerializeToString())
    job = Job(tmp_path / "net.onnx", target, keep_state=("lstm", "gru"))
    done = compile_model(job)
    with built(done.name, done.files, done.report) as harness:
        (got,) = harness.run([frames.reshape(-1, steps, 1, 4)])
    np.testing.assert_allclose(got.reshape(whole.shape), whole, rtol=1e-5, atol=1e-6)
    assert [each.next for each in done.report.states] == [
        "lstm.state.next",
        "lstm.cell_state.next",
        "gru.state.next",
    ]


@pytest.mark.parametrize("io", ["model", "int8"])
def test_integers(io: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = Graph()
    for name in ("x", "h"):
        step = graph.params(name, 0.25, -7, "int8")
        graph.add("QuantizeLinear", [name, *step], f"{name}_q")
        graph.add("DequantizeLinear", [f"{name}_q", *step], f"{name}_real")
    total = graph.add("Add", ["x_real", "h_real"], "total")
    step = graph.params("out", 0.25, -7, "int8")
    graph.add("QuantizeLinear", [total, *step], "total_q")
    result = graph.add("DequantizeLinear", ["total_q", *step], "next")
    double = graph.add("Add", ["h_real", "h_real"], "double")
    step = graph.params("more", 0.5, 3, "int8")
    graph.add("QuantizeLinear", [double, *step], "double_q")
    graph.add("DequantizeLinear", ["double_q", *step], "y")
    feeds: dict[str, Array] = dict.fromkeys(("x", "h"), numbers(1, 9))
    proto = graph.model(feeds, result, "float32", 13)
    proto.graph.output.add().CopyFrom(proto.graph.output[0])
    proto.graph.output[1].name = "y"
    options = ("--target", "host", "--io", io, *kept("h=next"))
    report = compiled(tmp_path, capsys, proto, *options)
    (state,) = report["states"]
    assert (state["bytes"], state["zero"]) == ((9, -7) if io == "int8" else (36, 0))


def test_a_state_that_is_lost_is_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "  (void)runs;\n  memset(arena, 0xA5, sizeof arena_memory);\n  net_reset(arena);"

    def lost(name: str, report: Report, *, from_file: bool) -> str:
        return text

    monkeypatch.setattr("npu_tools.verifying.harness.poison_text", lost)
    (tmp_path / "net.onnx").write_bytes(keyword(1).SerializeToString())
    run = [str(tmp_path / "net.onnx"), "--target", "host", "-o", str(tmp_path / "out"), "--verify"]
    assert main([*run, *kept("lstm", "gru")]) == 1
    assert "the first layer that differs is unknown, as no layer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (("x=y",), "'x=y': expected an input and an output of one type, got tensor<1x1x4xf32>"),
        (("h=y",), "no state 'h=y': expected INPUT=OUTPUT or a recurrent layer; inputs: x; out"),
        (("gru", "gru"), "'gru' has an initial state: expected a layer that starts from zeros"),
    ],
)
def test_wrong_states(
    states: tuple[str, ...],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "net.onnx").write_bytes(keyword(1).SerializeToString())
    run = [str(tmp_path / "net.onnx"), "--target", "host", "-o", str(tmp_path / "out")]
    assert main([*run, *kept(*states)]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
