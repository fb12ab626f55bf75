"""Times the compiler on an empty module, a small network and large ones; each has a limit.

    python bench/scale.py
    python bench/scale.py resnet8.onnx      and this model, for the Cortex-M4, without a limit

Times are seconds of wall clock and of processor, that of the compiler for C included; the best of
three for the short ones. The exit code is 1 if one is over its limit.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parent.parent
LENET = ROOT / "examples" / "lenet5" / "lenet5.onnx"
BUILDER = ROOT / "examples" / "networks" / "efficientnet.py"
"""Builds EfficientNet-B0: many layers of equal shapes that are moved in tiles."""
CHANNELS = 37
"""Channels of each 3x3 convolution of the model that is only planned: 49 284 bytes of weights."""
PLANNED, COMPILED = 500, 200
"""Layers of the model that is only planned, and of the one of 8 channels that is compiled."""

PIPELINE = (
    "npu-fuse-conv-relu-pool{overlap=line-buffer},npu-bufferize,"
    "npu-assign-sram-offsets{strategy=greedy}"
)


@dataclass(frozen=True)
class Task:
    """A command, and the most seconds that it may take: of wall clock, or of processor."""

    name: str
    command: Sequence[str]
    limit: float | None = None
    of_processor: bool = False
    repeats: int = 3


def chain(layers: int, channels: int) -> onnx.ModelProto:
    """A chain of 3x3 convolutions, each followed by a ReLU."""
    generator = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    value, shape = "input", (channels, channels, 3, 3)
    for index in range(layers):
        array = generator.standard_normal(shape, dtype=np.float32)
        weights.append(numpy_helper.from_array(array, f"weight{index}"))
        names = [f"conv{index}", "output" if index == layers - 1 else f"relu{index}"]
        conv = helper.make_node("Conv", [value, weights[-1].name], names[:1], pads=[1, 1, 1, 1])
        nodes += [conv, helper.make_node("Relu", names[:1], names[1:])]
        value = names[-1]
    source, result = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, 16, 16])]
        for name in ("input", "output")
    )
    graph = helper.make_graph(nodes, "large", source, result, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def seconds(task: Task) -> tuple[float, float]:
    """The shortest wall-clock and processor times of a command.

    Raises: CalledProcessError if a run fails.
    """
    best = float("inf"), float("inf")
    for _ in range(task.repeats):
        start, before = time.monotonic(), processor()
        subprocess.run(task.command, check=True, stdout=subprocess.DEVNULL)
        best = min(best[0], time.monotonic() - start), min(best[1], processor() - before)
    return best


def processor() -> float:
    """The seconds of processor that ended child processes and theirs took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tasks(folder: Path, models: Sequence[Path]) -> list[Task]:
    """What is measured; files are made in `folder`."""
    opt = [sys.executable, "-m", "npu_tools.commands.opt"]
    npu_compile = [sys.executable, "-m", "npu_tools.commands.compile", "-o", str(folder / "c")]
    empty, large, many = folder / "empty.mlir", folder / "large.onnx", folder / "many.onnx"
    empty.write_text("builtin.module {}\n", encoding="utf-8")
    large.write_bytes(chain(PLANNED, CHANNELS).SerializeToString())
    many.write_bytes(chain(COMPILED, 8).SerializeToString())
    efficient = folder / "efficientnet.onnx"
    subprocess.run([sys.executable, BUILDER, "-o", efficient], check=True)
    plan = [*opt, str(large), f"--pass-pipeline={PIPELINE}", "-o", str(folder / "out.mlir")]
    size = large.stat().st_size / 1e6
    name = f"{PLANNED} layers, {size:.0f} MB: import, fuse, bufferize, offsets"
    compiled = [*npu_compile, str(many), "--target", "host"]
    moved = [*npu_compile, str(efficient), "--target", "exynos-npu"]
    return [
        Task("npu-opt, empty module", [*opt, str(empty)], 0.6),
        Task("npu-compile, LeNet-5", [*npu_compile, str(LENET), "--target", "fe310"], 3.0),
        Task(name, plan, 20.0, repeats=1),
        Task(f"npu-compile, {COMPILED} convolutions", compiled, 4.0, of_processor=True),
        Task("npu-compile, EfficientNet-B0, float32, 1024 KB", moved, 120.0, True, 1),
        Task("npu-compile, EfficientNet-B0, as int8", [*moved, "--plan-as", "i8"], 30.0, True, 1),
        *(
            Task(f"npu-compile, {each.name}", [*npu_compile, str(each), "--target", "cortex-m4"])
            for each in models
        ),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the times, and compare them with their limits; returns the exit code."""
    parser = argparse.ArgumentParser(description="Time the compiler.")
    parser.add_argument("models", nargs="*", type=Path, help="further models to compile")
    options, late = parser.parse_args(arguments), 0
    with tempfile.TemporaryDirectory() as temporary:
        for task in tasks(Path(temporary), options.models):
            try:
                wall, used = seconds(task)
            except subprocess.CalledProcessError as error:
                print(f"{task.name:<56} failed with exit code {error.returncode}", flush=True)
                late += 1
                continue
            said = ""
            if task.limit is not None:
                is_late = (used if task.of_processor else wall) > task.limit
                late += is_late
                kind = " of processor" if task.of_processor else ""
                said = f"  limit {task.limit:4.1f} s{kind}{'  TOO SLOW' * is_late}"
            print(f"{task.name:<56} {wall:6.2f} s  processor {used:6.2f} s{said}", flush=True)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
