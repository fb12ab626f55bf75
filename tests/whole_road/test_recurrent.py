"""Recurrent layers from ONNX to C: one and two directions, one step, and machines with DMA."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import ModelProto

from helpers.onnx_models import Array, int64, model, node, numbers
from helpers.road import Road, travel
from npu_tools.commands.compile import main

UNITS = 6
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def weights(op: str, name: str, depth: int, count: int = 1) -> dict[str, Array]:
    """Weight, recurrence and bias of a node, whose names start with that of the node."""
    rows = GATES[op] * UNITS
    shapes = {"w": (count, rows, depth), "r": (count, rows, UNITS), "b": (count, 2 * rows)}
    return {name + key: numbers(*shape, seed=7 * ord(key)) / 2 for key, shape in shapes.items()}


def network(steps: int, batch: int) -> ModelProto:
    """A GRU in both directions, an LSTM with peepholes and states, a GRU, a reversed RNN."""
    size = {"hidden_size": UNITS}
    nodes = [
        node("GRU", "x gw gr gb", "g gl", **size, direction="bidirectional", name="gru"),
        node("Transpose", "g", "gt", perm=[0, 2, 1, 3], name="turn"),
        node("Reshape", "gt rows", "wide", name="wide"),
        node("LSTM", "wide lw lr lb _ h c p", "l ll lc", **size, name="lstm"),
        node("Squeeze", "l one", "flat", name="flat"),
        node("GRU", "flat kw kr kb", "k", **size, linear_before_reset=1, clip=1.5, name="gated"),
        node("Squeeze", "k one", "kf", name="flat2"),
        node("RNN", "kf rw rr rb", "y yl", **size, direction="reverse", name="rnn"),
    ]
    arrays = {
        **weights("GRU", "g", 5, 2),
        **weights("LSTM", "l", 2 * UNITS),
        **weights("GRU", "k", UNITS),
        **weights("RNN", "r", UNITS),
        "p": numbers(1, 3 * UNITS, seed=3),
        "rows": int64(steps, batch, 2 * UNITS),
        "one": int64(1),
    }
    state = (1, batch, UNITS)
    shapes = {"x": (steps, batch, 5), "h": state, "c": state}
    return model(nodes, shapes, ["y", "yl", "lc", "gl"], arrays, opset=14)


@pytest.mark.parametrize(
    ("pipeline", "registers", "steps", "batch"),
    [("default", 32, 5, 1), ("rows", 0, 3, 2), ("naive", 16, 1, 2)],
)
def test_floats(pipeline: str, registers: int, steps: int, batch: int, tmp_path: Path) -> None:
    check = pipeline == "default"
    road = Road(registers, pipeline, None, None, "c", None, "c", in_arena=False, check_passes=check)
    proto = network(steps, batch)
    shapes = {"x": (steps, batch, 5), "h": (1, batch, UNITS), "c": (1, batch, UNITS)}
    feeds = {
        name: numbers(*shape, seed=index) for index, (name, shape) in enumerate(shapes.items())
    }
    travel(tmp_path, proto, feeds, road)


@pytest.mark.slow
def test_with_dma(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(network(4, 3).SerializeToString())
    assert main([str(path), "--target", "zynq7020", "-o", str(tmp_path), "--verify"]) == 0
