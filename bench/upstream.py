"""Instructions of networks that LLVM compiles behind npu-to-upstream, beside those of our C.

    python bench/upstream.py [MODEL.onnx ...] [--target NAME]

Each model is compiled with npu-compile's passes. Its C is built by the machine's gcc. The same
loops go through npu-to-upstream, mlir-opt, mlir-translate and clang. Both run under QEMU on the
same random numbers, with -O2, and must compute the same: bit for bit, or floats up to 1e-5 of the
largest. Without a model, it is LeNet-5 as float32, and as int8. Bytes and instructions are exact
and the same on every computer with the same compilers (gcc 12.2, LLVM 19.1.7).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto

from npu_passes.emit.upstream.to_upstream import ToUpstreamPass
from npu_tools.compiling.driver import Job
from npu_tools.compiling.printer import ir_text
from npu_tools.quantizing.quantize_model import Recipe, quantised
from npu_tools.shared.errors import guarded
from npu_tools.shared.text import columns
from npu_tools.verifying.emulators import BOARDS, Interface, Result, run_on
from npu_tools.verifying.ports import ports_of
from npu_tools.verifying.upstream import Backend, build_object, compile_for_upstream
from npu_tools.verifying.upstream_adapter import adapter, public_names

ROOT = Path(__file__).resolve().parent.parent
LENET5 = ROOT / "examples" / "lenet5" / "lenet5.onnx"
DIGITS = ROOT / "examples" / "lenet5" / "heldout.npz"
PREFIX = "net"
STACK_BYTES = 4096
TOLERANCE = 1e-5
"""How far floats may be off, relative to the largest."""


@dataclass(frozen=True)
class Pair:
    """A run of our C, and one of LLVM's object."""

    ours: Result
    theirs: Result

    @property
    def agree(self) -> bool:
        """Whether both have computed the same."""
        both = (each.runs[0].outputs.values() for each in (self.ours, self.theirs))
        return all(same(one, other) for one, other in zip(*both, strict=True))


def same(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> bool:
    """Whether outputs are the same bits, or floats that differ by at most the tolerance."""
    if ours.dtype.kind != "f":
        return bool((ours == theirs).all())
    return bool(np.abs(ours - theirs).max() <= TOLERANCE * np.abs(ours).max())


def measure(model: Path, target: str, folder: Path) -> Pair:
    """Compile a model in both ways, and run both.

    Raises: EmulatorError if one cannot be built or run.
    """
    job = Job(model, target, prefix=PREFIX, weights="c")
    compiled, module = compile_for_upstream(job, ToUpstreamPass())
    for name in (f"{PREFIX}.c", f"{PREFIX}.h"):
        (folder / name).write_text(str(compiled.files[name]), encoding="utf-8")
    header, source = folder / f"{PREFIX}.h", folder / f"{PREFIX}.c"
    shapes = list(compiled.report.inputs.values())
    ports = ports_of(header.read_text(encoding="utf-8"), len(shapes))
    generator = np.random.default_rng(0)
    arrays = [
        port.stored(generator.standard_normal(shape).astype(np.float32))
        for port, shape in zip(ports, shapes, strict=True)
    ]
    names = [each.name for each in Interface.read(header).inputs]
    case = dict(zip(names, arrays, strict=True))
    ours = run_on(target, source, [case], stack_bytes=STACK_BYTES)
    built = folder / "upstream.o"
    build_object(ir_text(module), public_names(module), built, Backend.of(target))
    text = adapter(module, PREFIX, header.read_text(encoding="utf-8"))
    source.write_text(text, encoding="utf-8")
    return Pair(ours, run_on(target, [source, built], [case], stack_bytes=STACK_BYTES))


def row(name: str, how: str, result: Result, than: Result | None) -> tuple[str, ...]:
    """A row of the table; `than` is the result to which the instructions are compared."""
    count = result.instructions
    share = "" if than is None else f"{count / than.instructions:.2f}"
    cells = (result.stack_bytes, result.sizes.text, result.sizes.rodata, count)
    return (name, how, *map(str, cells), share)


def int8_lenet5(folder: Path) -> Path:
    """LeNet-5, quantised with the digits of its test."""
    digits = np.load(DIGITS)["images"][:100, None].astype(np.float32) / 255
    images = [{"image": digit[None]} for digit in digits]
    path = folder / "lenet5_int8.onnx"
    model = quantised(ModelProto.FromString(LENET5.read_bytes()), images, Recipe())[1]
    path.write_bytes(model.SerializeToString())
    return path


def main() -> int:
    """Print the table; exit code 1 if a network is not what it is in C."""
    parser = argparse.ArgumentParser(description="networks through LLVM, beside our C")
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--target", default="cortex-m4", choices=tuple(BOARDS))
    arguments = parser.parse_args()
    rows: list[tuple[str, ...]] = [
        ("network", "built by", "stack", "text", "rodata", "instructions", "of gcc's")
    ]
    right = True
    with tempfile.TemporaryDirectory() as temporary:
        models = arguments.models or [LENET5, int8_lenet5(Path(temporary))]
        for model in models:
            pair = measure(model, arguments.target, Path(temporary))
            rows.append(row(model.stem, "C, gcc", pair.ours, None))
            rows.append(row("", "upstream, LLVM", pair.theirs, pair.ours))
            if not pair.agree:
                print(f"{model}: LLVM's object computes something else", file=sys.stderr)
                right = False
    print(f"{arguments.target}: bytes, and instructions of one inference, -O2")
    print("\n".join(columns(rows, 2)))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(guarded("bench/upstream.py", main))
