"""Instructions of single layers on an emulated Cortex-M, an element or a multiply-accumulate.

    python bench/layers.py [--only TEXT] [--target cortex-m55] [--check]

Each layer stands in a small network, built here, compiled with npu-compile, and run on seeded
random numbers with the better of -O2 and -O3. The counts of tables are of the whole call: its entry
is part of them. Those of convolutions are of the layer alone: `with room` is below the memory peak
of a network, `in rows` the same layer inside a loop over rows. `--check` compares the outputs with
onnxruntime's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from layer_networks import MEASURED, Net, Shape, alone, into_concat, out_of_concat
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from npu_passes.pipelines import DEFAULT, FREE_REGIONS, PIPELINES
from npu_tools.compiling.check import random_array
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.shared.text import columns
from npu_tools.verifying.emulators import BuildError, Interface, Result, run_on
from npu_tools.verifying.exact_reference import with_exact_sums

TARGET = "cortex-m4"
TARGETS = (TARGET, "cortex-m55")
LEVELS = ("-O2", "-O3")
TITLES = ("layer", "unit", "arena bytes", "instructions", "per unit")
CONVOLUTIONS = ("convolution", "per MAC", "with room", "in a concat", "of a concat", "in rows")
ARENA = "arena"
"""The bytes of the arena of the first column."""
ROWS = PIPELINES[DEFAULT].text.replace(FREE_REGIONS, "npu-fuse-regions{when=always overlays=true}")
"""The default pipeline with as many layers as possible in loops over rows."""
ROOM = PIPELINES[DEFAULT].text.replace("choose-kernels", "choose-kernels{room=65536}")
"""The default pipeline with memory for working memories, as it is below the peak of a network."""

SHAPES = {
    "3x3, 24 to 96, map 3x3": Shape((1, 24, 3, 3), 96),
    "3x3, 16 to 64, map 3x3": Shape((1, 16, 3, 3), 64),
    "3x3, 16 to 64, map 12x12": Shape((1, 16, 12, 12), 64),
    "1x1, 64 to 8, map 6x6": Shape((1, 64, 6, 6), 8, 1),
    "5x5, 32 to 32, groups 4, dilation 2": Shape((1, 32, 12, 12), 32, 5, dilation=2, groups=4),
    "3x3, 16 to 32, groups 2, stride 2": Shape((1, 16, 16, 16), 32, stride=2, groups=2),
    "3x3, 18 to 30, groups 6": Shape((1, 18, 12, 12), 30, groups=6),
    "3x3, 16 to 32, batch 2": Shape((2, 16, 12, 12), 32),
    "3x3, 8 to 32, pool 3x3 / 2": Shape((1, 8, 16, 16), 32, pool=(3, 2)),
    "3x3, 32 to 32, map 12x12": Shape((1, 32, 12, 12), 32),
    "3x3, 8 to 32, given": Shape((1, 8, 12, 12), 32, given=True),
    "1x1, 8 to 32, given": Shape((1, 8, 12, 12), 32, 1, given=True),
    "depthwise 3x3, 8, given": Shape((1, 8, 12, 12), 8, groups=8, given=True),
    "7x7, 3 to 16, stride 2, pool 3x3 / 2, given": Shape(
        (1, 3, 32, 32), 16, 7, 2, pool=(3, 2), given=True
    ),
    "3x3, 32 to 32, uint8": Shape((1, 32, 12, 12), 32, kind="uint8"),
    "1x1, 64 to 64, uint8": Shape((1, 64, 12, 12), 64, 1, kind="uint8"),
    "depthwise 3x3, 32, uint8": Shape((1, 32, 12, 12), 32, groups=32, kind="uint8"),
    "depthwise 3x3, 32, stride 2, uint8": Shape((1, 32, 24, 24), 32, 3, 2, groups=32, kind="uint8"),
    "3x3, 32 to 32, zero point -3": Shape((1, 32, 12, 12), 32, point=-3),
    "3x3, 32 to 32, one scale": Shape((1, 32, 12, 12), 32, scales="tensor"),
    "depthwise 3x3, 32": Shape((1, 32, 12, 12), 32, groups=32),
    "depthwise 3x3, 30": Shape((1, 30, 12, 12), 30, groups=30),
    "depthwise 3x3, 30, zero point -3": Shape((1, 30, 12, 12), 30, groups=30, point=-3),
    "depthwise 5x5, 30, stride 2": Shape((1, 30, 16, 16), 30, 5, 2, groups=30),
    "depthwise 3x3, 16, stride 2, map 48x48": Shape((1, 16, 48, 48), 16, 3, 2, groups=16),
    "depthwise 3x3, 64, stride 2, map 24x24": Shape((1, 64, 24, 24), 64, 3, 2, groups=64),
    "depthwise 3x3, 128, stride 2, map 12x12": Shape((1, 128, 12, 12), 128, 3, 2, groups=128),
    "depthwise 3x3, 128, map 6x6": Shape((1, 128, 6, 6), 128, groups=128),
    "depthwise 3x3, 256, map 3x3": Shape((1, 256, 3, 3), 256, groups=256),
    "depthwise 5x5, 32": Shape((1, 32, 12, 12), 32, 5, groups=32),
    "depthwise 7x7, 32": Shape((1, 32, 12, 12), 32, 7, groups=32),
    "depthwise 7x7, 32, stride 2, map 24x24": Shape((1, 32, 24, 24), 32, 7, 2, groups=32),
    "depthwise 3x3, 16, multiplier 2": Shape((1, 16, 12, 12), 32, groups=16),
    "depthwise 3x3, 6, multiplier 3": Shape((1, 6, 12, 12), 18, groups=6),
}
"""The measured convolutions."""
ENDS = (
    "3x3, 24 to 96, map 3x3",
    "3x3, 16 to 64, map 12x12",
    "1x1, 64 to 8, map 6x6",
    "5x5, 32 to 32, groups 4, dilation 2",
    "3x3, 16 to 32, groups 2, stride 2",
    "3x3, 16 to 32, batch 2",
    "depthwise 3x3, 30",
    "depthwise 3x3, 16, multiplier 2",
)
"""Layers that are also measured at the ends of a network."""
AT_ENDS = {
    f"{name}, {ends}": replace(SHAPES[name], given=ends != "returned", returned=True)
    for ends in ("returned", "given and returned")
    for name in ENDS
}
"""Layers whose outputs, or inputs and outputs, have the model's layout."""


@dataclass(frozen=True)
class Single:
    """A network of one layer: what it is, its elements or multiply-accumulates, and its `unit`."""

    name: str
    model: onnx.ModelProto
    count: int
    unit: str


def singles() -> Iterator[Single]:
    """The layers that are no convolutions."""
    for kind in ("HardSwish", "Sigmoid"):
        shape = (1, 8, 16, 16)
        yield Single(f"table of {kind}, int8 {shape}", table(kind, shape), prod(shape), "element")
    for depth, features in ((640, 128), (128, 8), (8, 128)):
        name = f"fully connected, {depth} to {features}"
        yield Single(name, connected(depth, features), depth * features, "MAC")


def table(kind: str, shape: tuple[int, ...]) -> onnx.ModelProto:
    """A function of an int8 map between DequantizeLinear and QuantizeLinear."""
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "sx", "zx"], ["a"]),
        helper.make_node(kind, ["a"], ["b"]),
        helper.make_node("QuantizeLinear", ["b", "sy", "zy"], ["y"]),
    ]
    numbers = {"sx": 0.05, "sy": 0.03, "zx": 3, "zy": -20}
    constants = [
        numpy_helper.from_array(np.array(value, np.float32 if name[0] == "s" else np.int8), name)
        for name, value in numbers.items()
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.INT8, shape) for name in ("x", "y"))
    graph = helper.make_graph(nodes, "table", [x], [y], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    return made


def connected(depth: int, features: int) -> onnx.ModelProto:
    """A fully connected layer, as a 1x1 convolution of one pixel."""
    net = Net()
    return net.model([net.pointwise(net.input((1, depth, 1, 1)), MEASURED, features)])


@dataclass(frozen=True)
class Run:
    """A network that was compiled and run: its report's layers, arena, inputs, and the result."""

    layers: list[Any]
    arena: int
    feeds: dict[str, NDArray[Any]]
    best: Result

    def macs(self, index: int) -> int:
        """The multiply-accumulates of a layer."""
        return self.layers[index].macs


Ports = Literal["model", "int8"]
"""The option --io of npu-compile."""


def compiled(
    model: onnx.ModelProto, pipeline: str, folder: Path, io: Ports, target: str
) -> tuple[Any, Interface]:
    """The files of a network in a folder; returns the report and the interface of the C."""
    path = folder / "layer.onnx"
    path.write_bytes(model.SerializeToString())
    found = compile_model(Job(path, target, prefix="layer", pipeline=pipeline, io=io))
    for name, content in found.files.items():
        (folder / name).write_text(str(content), encoding="utf-8")
    return found.report, Interface.read(folder / "layer.h")


def run(
    model: onnx.ModelProto,
    pipeline: str,
    *,
    layers: bool,
    io: Ports = "model",
    target: str = TARGET,
) -> Run:
    """Compile a network and run it; `layers`: count the instructions of each layer."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        report, interface = compiled(model, pipeline, folder, io, target)
        feeds = {
            each.name: random_array(
                np.random.default_rng(0), (each.elements,), np.dtype(each.dtype)
            )
            for each in interface.inputs
        }
        count = len(report.layers) if layers else 0
        results = list(built(target, folder / "layer.c", feeds, count))
    best = min(results, key=lambda result: result.instructions)
    return Run(list(report.layers), report.memory.arena_bytes, feeds, best)


def built(
    target: str, source: Path, feeds: dict[str, NDArray[Any]], layers: int
) -> Iterator[Result]:
    """The results of the levels with which the compiler can build a network.

    GCC 12 places some branches too far with -O3 on the Cortex-M55. Raises: BuildError if no level
    is left.
    """
    problem: BuildError | None = None
    good = 0
    for level in LEVELS:
        try:
            yield run_on(target, source, [feeds], flags=[level], layers=layers)
            good += 1
        except BuildError as error:
            problem = error
    if problem is not None and not good:
        raise problem


def measured(single: Single, target: str) -> tuple[str, ...]:
    """The row of one layer that is no convolution."""
    found = run(single.model, DEFAULT, layers=False, target=target)
    count = found.best.runs[0].instructions
    each = f"{count / single.count:.2f}"
    return single.name, single.unit, str(found.arena), str(count), each


def rate(model: onnx.ModelProto, pipeline: str, target: str, *, check: bool) -> tuple[str, int]:
    """Instructions per multiply-accumulate of the measured layer of a network, and its arena.

    Raises: ValueError if `check` finds other numbers than onnxruntime's.
    """
    found = run(model, pipeline, layers=True, target=target)
    if check:
        compare(model, found)
    counts = found.best.runs[0].layers
    own = [i for i, layer in enumerate(found.layers) if layer.name.startswith(MEASURED)]
    macs = sum(found.macs(index) for index in own)
    return f"{sum(counts[index] for index in own) / macs:.2f}", found.arena


def compare(model: onnx.ModelProto, found: Run) -> None:
    """Compare the outputs of a network with onnxruntime's, which must be equal."""
    runtime: Any = import_module("onnxruntime")
    exact = with_exact_sums(model).SerializeToString()
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(exact, options, providers=["CPUExecutionProvider"])
    shapes = {value.name: value.shape for value in session.get_inputs()}
    feeds = {name: found.feeds[name].reshape(shape) for name, shape in shapes.items()}
    outputs = found.best.runs[0].outputs.values()
    for wanted, got in zip(session.run(None, feeds), outputs, strict=True):
        np.testing.assert_array_equal(got, wanted.reshape(-1))


def figures(name: str, shape: Shape, target: str, *, check: bool) -> tuple[str, ...]:
    """The row of one convolution."""
    ways = (
        (alone(shape), DEFAULT),
        (alone(shape), ROOM),
        (into_concat(shape), DEFAULT),
        (out_of_concat(shape), DEFAULT),
        (alone(shape), ROWS),
    )
    if shape.input[0] > 1:  # loops over rows have one image
        ways = ways[:-1]
    if shape.returned:  # the other networks have layers behind
        ways = ways[:2]
    found = [rate(model, pipeline, target, check=check) for model, pipeline in ways]
    rates = [each for each, _ in found]
    rates += ["-"] * (len(CONVOLUTIONS) - 1 - len(rates))
    return name, *rates, str(found[0][1])


def tables(only: str, target: str, *, check: bool) -> str:
    """The tables of the layers whose names have a text, on a machine."""
    rows = [measured(single, target) for single in singles() if only in single.name]
    shapes = SHAPES | AT_ENDS
    chosen = {name: shape for name, shape in shapes.items() if only in name}
    lines = [figures(name, shape, target, check=check) for name, shape in chosen.items()]
    found = list(columns([TITLES, *rows], left=2)) if rows else []
    return "\n".join(
        [*found, *(columns([(*CONVOLUTIONS, ARENA), *lines], left=1) if lines else ())]
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="single layers on an emulated Cortex-M")
    parser.add_argument("--only", default="", metavar="TEXT", help="layers whose name has it")
    parser.add_argument("--target", choices=TARGETS, default=TARGET)
    parser.add_argument("--check", action="store_true", help="compare with onnxruntime")
    arguments = parser.parse_args()
    print(tables(arguments.only, arguments.target, check=arguments.check))


if __name__ == "__main__":
    sys.exit(main())
