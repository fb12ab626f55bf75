"""Windows of rows cost next to nothing: instructions of a chain that runs row by row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

from helpers.emulated import require
from helpers.quantized.build import Graph, rng
from npu_tools.commands.compile import main
from npu_tools.verifying.emulators import Interface, run_on

SLACK = 1.08
"""The most instructions for rows, as a part of those for whole maps."""


def chain(channels: int, size: int, width: int, pad: int, stride: int) -> ModelProto:
    """Two int8 convolutions from float32 [1, channels, size, size] over a large map."""
    graph, generator = Graph(), rng(size)

    def conv(source: str, name: str, shape: tuple[int, int], stride: int) -> str:
        weight = generator.integers(-127, 128, (*shape, 3, 3)).astype(np.int8)
        graph.constant(f"{name}_w", weight)
        scales = generator.uniform(0.002, 0.006, shape[0]).astype(np.float32)
        real = graph.dequantize(f"{name}_w", scales, np.zeros(shape[0]), "int8", axis=0)
        y = graph.add("Conv", [source, real], name, pads=[pad] * 4, strides=[stride] * 2)
        y = graph.quantize(graph.add("Relu", [y], f"{name}_relu"), 0.05, -128, "int8")
        return graph.dequantize(y, 0.05, -128, "int8")

    x = graph.dequantize(graph.quantize("x", 0.05, 3, "int8"), 0.05, 3, "int8")
    y = conv(conv(x, "c1", (width, channels), 1), "c2", (8, width), stride)
    return graph.model({"x": np.zeros((1, channels, size, size), np.float32)}, y, np.float32, 21)


@pytest.mark.parametrize(
    ("channels", "size", "width", "pad", "stride"),
    [
        (3, 17, 6, 1, 2),
        pytest.param(1, 18, 8, 0, 1, marks=pytest.mark.slow),
        pytest.param(8, 15, 12, 1, 2, marks=pytest.mark.slow),
    ],
)
def test_instructions(
    channels: int, size: int, width: int, pad: int, stride: int, tmp_path: Path
) -> None:
    """The rows of the first map, of 1, 3 or 8 channels, with and without padding."""
    machine = require("cortex-m4")
    model = tmp_path / "net.onnx"
    model.write_bytes(chain(channels, size, width, pad, stride).SerializeToString())
    counts: list[int] = []
    arenas: list[int] = []
    outputs: list[bytes] = []
    for pipeline in ("default", "rows"):
        folder = tmp_path / pipeline
        arguments = ["--target", machine, "--pipeline", pipeline, "--io", "int8", "--prefix", "net"]
        assert main([str(model), *arguments, "-o", str(folder)]) == 0
        interface = Interface.read(folder / "net.h")
        feeds = {
            each.name: rng(7).integers(-128, 128, each.elements).astype(each.dtype)
            for each in interface.inputs
        }
        (run,) = run_on(machine, folder / "net.c", [feeds]).runs
        counts.append(run.instructions)
        arenas.append(interface.arena_bytes)
        outputs.append(b"".join(each.tobytes() for each in run.outputs.values()))
    assert arenas[1] < arenas[0]
    assert counts[1] <= SLACK * counts[0]
    assert outputs[0] == outputs[1]
