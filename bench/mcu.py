"""Memory and instructions of compiled networks on emulated microcontrollers.

    python bench/mcu.py [MODEL.onnx ...] [--target NAME ...] [--io int8] [--requantize fixed]
                        [--flash fast|small] [--flash-bytes N] [--layers] [--all]

Each model is compiled with npu-compile, built with -O2 and with -O3, and run under QEMU on seeded
random numbers. The table shows the build that executes fewer instructions; with --flash small only
-O2 is built. With --layers, the instructions of each layer follow. Bytes and instructions are exact
and the same on every computer with the same compilers (gcc 12.2 where the peers were measured).
Recorded figures of peers.toml follow, for networks that it knows by the name of their file.

With --all, the tables of the other benches for boards come first, each with its command: single
layers and networks of other kinds, without and with vectors, and machines with several memories.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npu_tools.compiling.check import random_array
from npu_tools.shared.errors import guarded
from npu_tools.shared.text import columns
from npu_tools.verifying.emulators import (
    BOARDS,
    BuildError,
    EmulatorError,
    Interface,
    Result,
    run_on,
)
from npu_tools.verifying.ports import Port, ports_of

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "examples" / "lenet5" / "lenet5.onnx"
PEERS = Path(__file__).with_name("peers.toml")
TARGETS = ("fe310", "cortex-m4")
LEVELS = ("-O2", "-O3")
SMALL_LEVELS = ("-O2",)
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
LARGEST_ERROR = 0.1
"""The largest error that an output may have, relative to its largest magnitude. It is that large
because outputs of quantised networks may differ from onnxruntime's by some steps."""


@dataclass(frozen=True)
class Network:
    """A compiled model: its C file, its layers, random inputs, and onnxruntime's outputs for them.

    `layers` are those of report.json.
    """

    source: Path
    layers: list[dict[str, Any]]
    inputs: dict[str, npt.NDArray[Any]]
    outputs: list[npt.NDArray[Any]]
    ports: list[Port]
    """The ports of the outputs, which convert the C's results to numbers of the model."""

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one inference."""
        return sum(layer["macs"] for layer in self.layers)


@dataclass(frozen=True)
class Measured:
    """The build of a network with the fewest instructions on a machine."""

    network: Network
    level: str
    result: Result
    layers: tuple[int, ...]
    """The instructions of each layer; empty without --layers."""

    @property
    def ram(self) -> int:
        """The RAM in bytes as it was measured for the peers: without stack and harness.

        The C has no data and no bss (tests/passes/emit/test_run.py), so this is the arena.
        """
        return self.result.arena_bytes

    @property
    def rom(self) -> int:
        """The bytes of code and constants."""
        return self.result.sizes.text + self.result.sizes.rodata


def compile_model(model: Path, target: str, folder: Path, more: Sequence[str]) -> Network:
    """Compile a model with npu-compile, and run onnxruntime on random numbers.

    `more` are further options of npu-compile.

    Raises: EmulatorError if npu-compile fails.
    """
    command = [sys.executable, "-m", "npu_tools.commands.compile", str(model), "--target", target]
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
        report["layers"],
        dict(zip((each.name for each in interface.inputs), stored, strict=True)),
        session.run(None, feeds),
        ports[len(stored) :],
    )


def measure(model: Path, target: str, more: Sequence[str], with_layers: bool) -> Measured:
    """Compile, build and run one model for one machine.

    Raises: BuildError if the C cannot be built; EmulatorError if npu-compile or a run fails.
    """
    levels = SMALL_LEVELS if "small" in more else LEVELS
    with tempfile.TemporaryDirectory() as temporary:
        network = compile_model(model, target, Path(temporary), more)
        results = {
            level: run_on(target, network.source, [network.inputs], flags=[level])
            for level in levels
        }
        level = min(levels, key=lambda level: results[level].instructions)
        counts: tuple[int, ...] = ()
        if with_layers:
            hooked = run_on(
                target,
                network.source,
                [network.inputs],
                flags=[level],
                layers=len(network.layers),
            )
            counts = hooked.runs[0].layers
    return Measured(network, level, results[level], counts)


def largest_error(measured: Measured) -> float:
    """The largest difference to onnxruntime, relative to each output's largest magnitude."""
    network, got = measured.network, measured.result.runs[0].outputs.values()
    errors = [
        float(
            np.abs(port.real(one) - other.reshape(-1).astype(np.float32)).max()
            / max(np.abs(other.astype(np.float32)).max(), 1e-30)
        )
        for port, one, other in zip(network.ports, got, network.outputs, strict=True)
    ]
    return max(errors)


def per_mac(instructions: int, macs: int) -> str:
    """Instructions per multiply-accumulate as text; "-" if there are none."""
    return f"{instructions / macs:.2f}" if macs else "-"


def row(*values: object) -> str:
    """One line of the table."""
    cells = zip(values, COLUMNS, strict=True)
    return " ".join(f"{value!s:{width}}" for value, (_, width) in cells)


def line(target: str, measured: Measured) -> str:
    """The line of one model on one machine."""
    result = measured.result
    return row(
        target,
        measured.level,
        result.arena_bytes,
        result.sizes.data + result.sizes.bss,
        result.stack_bytes,
        result.ram_bytes,
        result.sizes.text,
        result.sizes.rodata,
        result.instructions,
        per_mac(result.instructions, measured.network.macs),
        f"{largest_error(measured):.1e}",
    )


def layer_lines(target: str, measured: Measured) -> list[str]:
    """The lines of a table with the sizes of each layer from the report, and its instructions.

    The last row is the instructions of the whole minus those of all layers. It can be more than the
    code between layers: the hook that counts keeps gcc from merging code of neighbouring layers.
    """
    rows: list[tuple[str, ...]] = [
        ("layer", "op", "MACs", "in", "out", "weights", "instructions", "per MAC", "share")
    ]
    total = measured.result.instructions
    for layer, count in zip(measured.network.layers, measured.layers, strict=True):
        sizes = (layer[key] for key in ("macs", "input_bytes", "output_bytes", "weight_bytes"))
        rate = per_mac(count, layer["macs"])
        share = f"{count / total:.1%}"
        rows.append((layer["name"], layer["op"], *map(str, sizes), str(count), rate, share))
    rest = total - sum(measured.layers)
    rows.append(("the whole, less these", "", "", "", "", "", str(rest), "", f"{rest / total:.1%}"))
    return [
        f"layers on {target}: predicted MACs and bytes, measured instructions",
        *columns(rows, 2),
    ]


def verdict(name: str, ours: Mapping[str, int], figures: Mapping[str, Any]) -> str:
    """The last cell of a row of recorded figures: whether our figures are within them.

    For `must` and `goal` each figure is a limit: "met" or "missed". For a peer it names the bounds
    of --flash that hold: `fast` if our ROM is at most twice the peer's; `small` if it is at most
    the peer's, with at most 85 % of the peer's instructions.
    """
    if name in ("must", "goal"):
        met = all(ours[key] <= limit for key, limit in figures.items())
        return "met" if met else "missed"
    if name == "measured" or "rom" not in figures:
        return ""
    fast = ours["rom"] <= 2 * figures["rom"]
    small = ours["rom"] <= figures["rom"]
    small &= 100 * ours["instructions"] <= 85 * figures["instructions"]
    return ", ".join(kind for kind, good in (("fast", fast), ("small", small)) if good) or "neither"


def known_networks(stem: str, target: str) -> Iterator[Mapping[str, Any]]:
    """The entries of peers.toml for a model's file, by its stem, on a machine."""
    with PEERS.open("rb") as file:
        for entry in tomllib.load(file)["network"]:
            if stem in entry["stems"] and target == entry["target"]:
                yield entry


def recorded_lines(stem: str, target: str, measured: Measured) -> Iterator[str]:
    """The lines of a table: our measured figures, our targets, and the figures of the peers."""
    ours = {
        "ram": measured.ram,
        "rom": measured.rom,
        "instructions": measured.result.instructions,
    }
    macs = measured.network.macs
    for entry in known_networks(stem, target):
        rows: list[tuple[str, ...]] = [
            ("", "RAM without stack", "ROM", "instructions", "per MAC", "ours in % of it", "")
        ]
        named = [("measured", ours)]
        named += [(kind, entry[kind]) for kind in ("must", "goal") if kind in entry]
        named += [(peer["name"], peer) for peer in entry["peers"]]
        for name, figures in named:
            cells = [str(figures.get(key, "-")) for key in ours]
            instructions = figures.get("instructions")
            rate = "-" if instructions is None else per_mac(instructions, macs)
            of_it = "-" if instructions is None else f"{ours['instructions'] / instructions:.1%}"
            rows.append((name, *cells, rate, of_it, verdict(name, ours, figures)))
        yield f"{entry['what']} on {target}, recorded figures (see {PEERS.name}):"
        yield from columns(rows, 1)


def bench(model: Path, target: str, more: Sequence[str], with_layers: bool) -> tuple[bool, str]:
    """Measure a model on a machine and print its row of the table.

    Returns whether its outputs are right, and the text to print after the table.
    """
    try:
        measured = measure(model, target, more, with_layers)
    except (BuildError, EmulatorError) as error:
        print(f"{target}: {error}", flush=True)
        return False, ""
    print(line(target, measured), flush=True)
    right = largest_error(measured) <= LARGEST_ERROR
    parts = [] if right else [f"{target}: wrong outputs"]
    parts += ["\n".join(layer_lines(target, measured))] if with_layers else []
    parts += ["\n".join(recorded_lines(model.stem, target, measured))]
    return right, "\n\n".join(filter(None, parts))


def other_tables() -> Iterator[str]:
    """The tables of the other benches for boards, each behind the command that prints it alone.

    Outputs are compared with onnxruntime's; a bench raises an error if they differ.
    """
    layers, kinds, memories = map(import_module, ("layers", "kinds", "memories"))
    for core in ("cortex-m4", "cortex-m55"):
        yield f"python bench/layers.py --target {core} --check"
        yield f"{layers.tables('', core, check=True)}\n"
        yield f"python bench/kinds.py --target {core} --check"
        yield f"{kinds.table(kinds.KINDS, core, check=True)}\n"
    yield "python bench/memories.py"
    yield f"{memories.table(memories.CASES)}\n"


def main() -> int:
    """Print a table for each model; exit code 1 if one of them could not be measured."""
    parser = argparse.ArgumentParser(description="networks on emulated microcontrollers")
    parser.add_argument("models", nargs="*", type=Path, default=[MODEL], metavar="MODEL.onnx")
    parser.add_argument("--target", action="append", choices=tuple(BOARDS))
    parser.add_argument("--io", choices=("model", "int8"), default="model")
    parser.add_argument("--requantize", choices=("float", "fixed"))
    parser.add_argument("--flash", choices=("fast", "small"), help="as for npu-compile")
    parser.add_argument("--flash-bytes", metavar="N", help="as for npu-compile")
    parser.add_argument("--layers", action="store_true", help="instructions of each layer")
    parser.add_argument("--all", action="store_true", help="other tables for boards first")
    arguments = parser.parse_args()
    more = ["--io", arguments.io]
    more += ["--requantize", arguments.requantize] if arguments.requantize else []
    more += ["--flash", arguments.flash] if arguments.flash else []
    more += ["--flash-bytes", arguments.flash_bytes] if arguments.flash_bytes else []
    for said in other_tables() if arguments.all else ():
        print(said, flush=True)
    good = True
    for model in arguments.models:
        print(f"{model.name}: bytes, and instructions of one inference")
        print(row(*(name for name, _ in COLUMNS)))
        behind: list[str] = []
        for target in arguments.target or TARGETS:
            right, said = bench(model, target, more, arguments.layers)
            good &= right
            behind += [said] if said else []
        print("".join(f"\n{said}\n" for said in behind), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(guarded("bench/mcu.py", main))
