"""Memory and instructions of compiled networks on emulated microcontrollers.

    python bench/mcu.py [MODEL.onnx ...] [--target NAME ...] [--io int8] [--requantize fixed]

Compiles each model with npu-compile, builds it with -O2 and with -O3, runs it under QEMU on seeded
random numbers, and prints the build with fewer instructions. Bytes and instructions are exact and
the same on every computer with the same compilers (gcc 12.2 where the peers were measured).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npu_tools.check import random_array
from npu_tools.emulators import BuildError, EmulatorError, Interface, Result, run_on
from npu_tools.ports import Port, ports_of

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "examples" / "lenet5" / "lenet5.onnx"
TARGETS = ("fe310", "cortex-m4")
LEVELS = ("-O2", "-O3")
COLUMNS = (
    ("target", "<10"),
    ("flags", "<6"),
    ("arena", ">7"),
    ("data+bss", ">9"),
    ("stack", ">6"),
    ("RAM", ">7"),
    ("text", ">7"),
    ("rodata", ">8"),
    ("instructions", ">13"),
    ("per MAC", ">8"),
    ("rel. error", ">11"),
)

# Figures that were recorded when the peers were measured, for comparison by eye; nothing here runs
# a peer. LeNet-5 of paper 002 in float32 (416 520 MACs, random weights), emulated as above, gcc
# 12.2, the better of -O2 and -O3; RAM is data + bss with arena, scratch, input and output, and no
# stack. onnx2c: -O3 -funroll-loops. The paper's C is the program published with paper 002.
PEERS = (
    ("onnx2c", "cortex-m4", 41_768, 1_770_920),
    ("emx-onnx-cgen 1.4.0", "cortex-m4", 64_280, 1_925_000),
    ("the paper's C", "cortex-m4", 8_804, 5_562_080),
    ("onnx2c", "fe310", 41_768, 75_988_763),
    ("the paper's C", "fe310", 8_804, 79_984_484),
)
PEER_MACS = 416_520


@dataclass(frozen=True)
class Network:
    """A model that npu-compile compiled: its C, its work, seeded inputs and their outputs."""

    source: Path
    macs: int
    inputs: dict[str, npt.NDArray[Any]]
    outputs: list[npt.NDArray[Any]]
    ports: list[Port]
    """How the outputs become numbers of the model."""


def compile_model(model: Path, target: str, folder: Path, more: Sequence[str]) -> Network:
    """Run npu-compile with more options, and onnxruntime on random numbers."""
    command = [sys.executable, "-m", "npu_tools.compile", str(model), "--target", target]
    command += ["--prefix", "net", "-o", str(folder), "--json", *more]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise EmulatorError(run.stderr.strip())
    report = json.loads(run.stdout)
    runtime: Any = import_module("onnxruntime")
    session = runtime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    kinds = {"tensor(int8)": np.int8, "tensor(uint8)": np.uint8}
    feeds: dict[str, npt.NDArray[Any]] = {
        value.name: random_array(
            generator, value.shape, np.dtype(kinds.get(value.type, np.float32))
        )
        for value in session.get_inputs()
    }
    interface = Interface.read(folder / "net.h")
    ports = ports_of((folder / "net.h").read_text(), len(interface.arguments))
    stored = [port.stored(feed) for port, feed in zip(ports, feeds.values())]
    return Network(
        folder / "net.c",
        sum(layer["macs"] for layer in report["layers"]),
        dict(zip((each.name for each in interface.inputs), stored, strict=True)),
        session.run(None, feeds),
        ports[len(stored) :],
    )


def largest_error(result: Result, network: Network) -> float:
    """The largest difference to onnxruntime, relative to each output's largest magnitude."""
    got = result.runs[0].outputs.values()
    errors = [
        float(
            np.abs(port.real(one) - other.reshape(-1).astype(np.float32)).max()
            / max(np.abs(other.astype(np.float32)).max(), 1e-30)
        )
        for port, one, other in zip(network.ports, got, network.outputs, strict=True)
    ]
    return max(errors)


def row(*values: object) -> str:
    """One line of the table."""
    cells = zip(values, COLUMNS, strict=True)
    return " ".join(f"{value!s:{width}}" for value, (_, width) in cells)


def measure(model: Path, target: str, more: Sequence[str]) -> str:
    """The line of one model on one machine, or what went wrong."""
    with tempfile.TemporaryDirectory() as temporary:
        network = compile_model(model, target, Path(temporary), more)
        results = {
            level: run_on(target, network.source, [network.inputs], flags=[level])
            for level in LEVELS
        }
    level = min(LEVELS, key=lambda level: results[level].instructions)
    result = results[level]
    return row(
        target,
        level,
        result.arena_bytes,
        result.sizes.data + result.sizes.bss,
        result.stack_bytes,
        result.ram_bytes,
        result.sizes.text,
        result.sizes.rodata,
        result.instructions,
        f"{result.instructions / max(network.macs, 1):.2f}",
        f"{largest_error(result, network):.1e}",
    )


def print_peers(targets: Sequence[str]) -> None:
    """The recorded figures of other compilers."""
    print("recorded figures of peers for LeNet-5, float32 (RAM without stack):")
    for name, target, ram, instructions in PEERS:
        if target in targets:
            per_mac = f"{instructions / PEER_MACS:.2f}"
            print(f"{target:<10} {name:<22} {ram:>7} RAM {instructions:>13} {per_mac:>8} per MAC")


def main() -> int:
    """Print a table for each model; exit code 1 if one of them could not be measured."""
    parser = argparse.ArgumentParser(description="networks on emulated microcontrollers")
    parser.add_argument("models", nargs="*", type=Path, default=[MODEL], metavar="MODEL.onnx")
    parser.add_argument("--target", action="append", choices=(*TARGETS, "cortex-m7"))
    parser.add_argument("--io", choices=("model", "int8"), default="model")
    parser.add_argument("--requantize", choices=("float", "fixed"))
    arguments = parser.parse_args()
    more = ["--io", arguments.io]
    more += ["--requantize", arguments.requantize] if arguments.requantize else []
    targets = arguments.target or list(TARGETS)
    code = 0
    for model in arguments.models:
        print(f"{model.name}: bytes, and instructions of one inference")
        print(row(*(name for name, _ in COLUMNS)))
        for target in targets:
            try:
                print(measure(model, target, more), flush=True)
            except (BuildError, EmulatorError) as error:
                print(f"{target}: {error}")
                code = 1
        print()
    print_peers(targets)
    return code


if __name__ == "__main__":
    sys.exit(main())
