"""Builds the IR of `npu-to-upstream` with LLVM's tools, as another back end would.

    mlir-opt-19 --convert-scf-to-cf ... | mlir-translate-19 --mlir-to-llvmir | clang-19 -O2 -c

gives an object file. With the C file of `upstream_adapter.py` beside it, a program that runs our C
runs the object in its place.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npu_dialect.machine import Toolchain
from npu_passes.emit.upstream.to_upstream import ToUpstreamPass
from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.shared.errors import UserError

VERSION = "19"
"""The version of LLVM and MLIR, at the end of the names of its tools."""

PACKAGES = f"mlir-{VERSION}-tools llvm-{VERSION} clang-{VERSION}"
"""The Debian packages of the tools."""

NAMES = ("mlir-opt", "mlir-translate", "opt", "clang", "llvm-objcopy")
TOOLS = tuple(f"{name}-{VERSION}" for name in NAMES)
"""The tools, in the order in which a module goes through them."""

WIDTH = "index-bitwidth={}"
LOWERING = (
    "convert-linalg-to-loops",
    "convert-scf-to-cf",
    "expand-strided-metadata",
    "lower-affine",
    "arith-expand",
    "convert-math-to-llvm",
    "convert-math-to-libm",
    f"finalize-memref-to-llvm={WIDTH}",
    f"convert-arith-to-llvm={WIDTH}",
    f"convert-func-to-llvm={WIDTH}",
    f"convert-cf-to-llvm={WIDTH}",
    "reconcile-unrealized-casts",
)
"""The passes of mlir-opt that lower a module to the llvm dialect."""

TRIPLES = {"arm-none-eabi-gcc": "arm-none-eabi", "riscv64-unknown-elf-gcc": "riscv32-unknown-elf"}
"""For each compiler that a machine's file names the target of clang."""

ONLY_GCC = "-misa-spec="
"""What a flag begins with that clang does not know, nor need."""


@dataclass(frozen=True)
class Backend:
    """How clang compiles for a machine: its flags, and the bits of an index."""

    flags: tuple[str, ...] = ("-O2",)
    index_bits: int = 64

    @staticmethod
    def of(machine: str, level: str = "-O2") -> Backend:
        """For a machine whose file has a table [toolchain], on the core that its flags choose.

        Raises: UpstreamError if its compiler is none that we know the target of.
        """
        toolchain = Toolchain.load(machine)
        if toolchain is None or toolchain.compiler not in TRIPLES:
            raise UpstreamError(f"{machine}: expected one of the compilers {', '.join(TRIPLES)}")
        target = f"--target={TRIPLES[toolchain.compiler]}"
        flags = (flag for flag in toolchain.flags if not flag.startswith(ONLY_GCC))
        return Backend((target, *flags, level), 32)


HOST = Backend()
"""This computer."""


VISIBLE = "upstream_"
"""What the names of the functions in an object begin with."""


class UpstreamError(UserError):
    """A tool of LLVM is missing, or has rejected a module."""


def run(command: Sequence[str], text: bytes) -> bytes:
    """Run a tool on a text; returns its output.

    Raises: UpstreamError with the beginning of its messages if it fails, or if it is missing.
    """
    if shutil.which(command[0]) is None:
        raise UpstreamError(f"{command[0]} is not installed: sudo apt-get install {PACKAGES}")
    done = subprocess.run(command, input=text, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace")
        raise UpstreamError(f"{command[0]} failed: {said[:2000]}")
    return done.stdout


def compile_for_upstream(job: Job, step: ToUpstreamPass) -> tuple[Compiled, ModuleOp]:
    """Compile a model as npu-compile does; also returns its loops behind `npu-to-upstream`.

    Raises: what `compile_model` raises.
    """
    held: list[ModuleOp] = []

    def hold(_: str, module: ModuleOp) -> None:
        held[:] = [module]

    compiled = compile_model(replace(job, observers=(*job.observers, hold)))
    (module,) = held
    step.apply(Context(), module)
    module.verify()
    return compiled, module


def verified(text: str) -> str:
    """A module as upstream's mlir-opt prints it, which parses and verifies it.

    Raises: UpstreamError if mlir-opt rejects it.
    """
    return run([TOOLS[0]], text.encode()).decode()


def build_object(text: str, public: Sequence[str], path: Path, backend: Backend = HOST) -> None:
    """Compile the text of a module to an object file.

    Only the functions `public` are visible, with `VISIBLE` in front of their names: they may have
    the names of functions in C.

    Raises: UpstreamError if a tool rejects it.
    """
    lower, translate, internalize, compile_, rename = TOOLS
    passes = [f"--{each.format(backend.index_bits)}" for each in LOWERING]
    lowered = run([lower, *passes], text.encode())
    code = run([translate, "--mlir-to-llvmir"], lowered)
    hidden = ["-passes=internalize,globaldce", f"-internalize-public-api-list={','.join(public)}"]
    code = run([internalize, *hidden], code)
    sections = ("-ffunction-sections", "-fdata-sections", "-w")
    run([compile_, *backend.flags, *sections, "-x", "ir", "-", "-c", "-o", str(path)], code)
    names = [f"--redefine-sym={name}={VISIBLE}{name}" for name in public]
    run([rename, *names, str(path)], b"")
