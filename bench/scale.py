"""Times the compiler on an empty module, a small network and a large one; each has a limit.

    python bench/scale.py

Times are wall-clock seconds, the best of three for the short ones. The exit code is 1 if one is
over its limit.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parent.parent
LENET = ROOT / "examples" / "lenet5" / "lenet5.onnx"
LAYERS = 500
CHANNELS = 37
"""Channels of each 3x3 convolution. It has 49 284 bytes of weights; 500 of them have 25 MB."""

PIPELINE = (
    "npu-fuse-conv-relu-pool{overlap=line-buffer},npu-bufferize,"
    "npu-assign-sram-offsets{strategy=greedy}"
)


def large_model() -> onnx.ModelProto:
    """A chain of 500 convolutions, each followed by a ReLU; the weights take 25 MB."""
    generator = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    value = "input"
    for index in range(LAYERS):
        shape = (CHANNELS, CHANNELS, 3, 3)
        array = generator.standard_normal(shape, dtype=np.float32)
        weights.append(numpy_helper.from_array(array, f"weight{index}"))
        names = [f"conv{index}", "output" if index == LAYERS - 1 else f"relu{index}"]
        conv = helper.make_node("Conv", [value, weights[-1].name], names[:1], pads=[1, 1, 1, 1])
        nodes += [conv, helper.make_node("Relu", names[:1], names[1:])]
        value = names[-1]
    shape = [1, CHANNELS, 16, 16]
    graph = helper.make_graph(
        nodes,
        "large",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, shape)],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def seconds(command: Sequence[str], repeats: int) -> float:
    """The shortest wall-clock time of a command over `repeats` runs.

    Raises: CalledProcessError if a run fails.
    """
    best = float("inf")
    for _ in range(repeats):
        start = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        best = min(best, time.monotonic() - start)
    return best


def main() -> int:
    """Measure the times, and compare them with their limits; returns the exit code."""
    opt = [sys.executable, "-m", "npu_tools.commands.opt"]
    npu_compile = [sys.executable, "-m", "npu_tools.commands.compile"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        empty = folder / "empty.mlir"
        empty.write_text("builtin.module {}\n", encoding="utf-8")
        large = folder / "large.onnx"
        large.write_bytes(large_model().SerializeToString())
        size = large.stat().st_size / 1e6
        out = str(folder / "lenet5")
        measured = [
            ("npu-opt, empty module", 0.6, [*opt, str(empty)], 3),
            (
                "npu-compile, LeNet-5",
                3.0,
                [*npu_compile, str(LENET), "--target", "fe310", "-o", out],
                3,
            ),
            (
                f"{LAYERS} layers, {size:.0f} MB: import, fuse, bufferize, offsets",
                20.0,
                [*opt, str(large), f"--pass-pipeline={PIPELINE}", "-o", str(folder / "out.mlir")],
                1,
            ),
        ]
        late = 0
        for name, limit, command, repeats in measured:
            try:
                taken = seconds(command, repeats)
            except subprocess.CalledProcessError as error:
                print(f"{name:<56} failed with exit code {error.returncode}", flush=True)
                late += 1
                continue
            late += taken > limit
            verdict = "" if taken <= limit else "  TOO SLOW"
            print(f"{name:<56} {taken:6.2f} s  limit {limit:4.1f} s{verdict}", flush=True)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
