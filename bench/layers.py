"""Instructions of single layers on the emulated Cortex-M4, an element or a multiply-accumulate.

    python bench/layers.py

Each layer is a network of its own, built here, compiled with npu-compile, and run on seeded random
numbers with -O2. The counts are of the whole call: its entry is part of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from npu_tools.compiling.check import random_array
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.reports.table import columns
from npu_tools.verifying.emulators import Interface, run_on

TARGET = "cortex-m4"
TITLES = ("layer", "unit", "arena bytes", "instructions", "per unit")


@dataclass(frozen=True)
class Single:
    """A network of one layer: what it is, its elements or multiply-accumulates, and its `unit`."""

    name: str
    model: onnx.ModelProto
    count: int
    unit: str


def singles() -> Iterator[Single]:
    """The layers."""
    for kind in ("HardSwish", "Sigmoid"):
        shape = (1, 8, 16, 16)
        yield Single(f"table of {kind}, int8 {shape}", table(kind, shape), prod(shape), "element")


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


def measured(single: Single, folder: Path) -> tuple[str, ...]:
    """The row of one layer."""
    path = folder / "layer.onnx"
    path.write_bytes(single.model.SerializeToString())
    compiled = compile_model(Job(path, TARGET, prefix="layer"))
    for name, content in compiled.files.items():
        (folder / name).write_text(str(content), encoding="utf-8")
    interface = Interface.read(folder / "layer.h")
    feeds = {
        each.name: random_array(np.random.default_rng(0), (each.elements,), np.dtype(each.dtype))
        for each in interface.inputs
    }
    count = run_on(TARGET, folder / "layer.c", [feeds]).runs[0].instructions
    arena = compiled.report.memory.arena_bytes
    return single.name, single.unit, str(arena), str(count), f"{count / single.count:.2f}"


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [measured(single, Path(folder)) for single in singles()]
    print("\n".join(columns([TITLES, *rows], left=2)))


if __name__ == "__main__":
    main()
