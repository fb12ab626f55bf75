"""Networks in tiles for an emulated Zynq: their IR, their C, and the program that runs them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from helpers.pl330.zynq import COMPILER, SUPPORT, Zynq
from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine, Toolchain
from npu_dialect.target import TargetAttr
from npu_passes.emit.c.target import emit
from npu_passes.emit.pl330.tables import engine_files
from npu_passes.pipelines import PIPELINES
from npu_plans.transfers.pages import PAGE
from npu_tools.compiling.driver import run_passes
from npu_tools.compiling.pass_text import parse_passes
from npu_tools.shared.installed import available_passes, context

TILES = "npu-tile-loops"
LAYERS = ((6, 32, 7), (32, 64, 5), (64, 64, 5))
"""Channels in and out, and the kernel: each has stride 2 and a relu behind it."""
SIZE = (48, 64)
IMAGE = 0x0200_0000
FLAGS = ("-std=c99", "-O2", "-ffreestanding", "-nostartfiles", "-Wall", "-Wextra", "-Werror")


def network(layers: Sequence[tuple[int, int, int]] = LAYERS, size: tuple[int, int] = SIZE) -> str:
    """The layers, on tensors; parameters are small whole numbers."""
    lines: list[str] = []
    random = np.random.default_rng(5)
    rows, columns = size
    value, kind = "%x", f"tensor<1x{layers[0][0]}x{rows}x{columns}xf32>"
    head = f"func.func @net(%x : {kind})"
    for number, (depth, features, kernel) in enumerate(layers):
        rows, columns = rows // 2, columns // 2
        weight, bias = f"{features}x{depth}x{kernel}x{kernel}xf32", f"{features}xf32"
        for name, shape in ((f"%w{number}", weight), (f"%b{number}", bias)):
            count = int(np.prod([int(extent) for extent in shape.split("x")[:-1]]))
            # Most are 0, so the sums stay far below 2^24.
            numbers = random.choice([0, 0, 0, 1, -1], count).astype("<f4")
            data = f'dense<"0x{numbers.tobytes().hex()}">'
            lines.append(f"{name} = arith.constant {data} : tensor<{shape}>")
        out = f"tensor<1x{features}x{rows}x{columns}xf32>"
        lines.append(
            f"%{number} = npu.conv2d {value}, %w{number}, %b{number} strides [2, 2] "
            f"pads {[kernel // 2] * 4} then relu "
            f'{{npu.layer = "conv{number}"}} : ({kind}, tensor<{weight}>, tensor<{bias}>) -> {out}'
        )
        value, kind = f"%{number}", out
    return "\n".join([f"{head} -> {kind} {{", *lines, f"func.return {value} : {kind}", "}"])


def through(module: ModuleOp, passes: str) -> None:
    """Run passes."""
    run_passes(module, parse_passes(available_passes(), passes), ())


def write_c(module: ModuleOp, folder: Path) -> None:
    """Write the C of loops and of microcode."""
    made = emit(module, "net")
    assert made.runtime is not None
    texts = {"net.c": made.source, "net.h": made.header, "npu_dma.h": made.runtime}
    for name, text in (texts | engine_files(module, "net")).items():
        (folder / name).write_text(text, encoding="utf-8")


def build(folder: Path, output_bytes: int, *flags: str, main: str = "network.c") -> Path:
    """Compile and link for the Zynq, with a main function of `board/`."""
    toolchain = Toolchain.load("zynq7020")
    assert toolchain is not None
    assert toolchain.compiler == COMPILER
    elf = folder / "net.elf"
    command = [
        *(toolchain.compiler, *toolchain.flags, *FLAGS, "-DNPU_DMA_EXTERNAL", f"-I{folder}"),
        *(f"-DOUTPUT_BYTES={output_bytes}", *flags),
        *(str(SUPPORT / name) for name in ("start.S", main)),
        *(str(folder / "net.c"), *map(str, sorted(folder.glob("*pl330*.c")))),
        *("-T", str(SUPPORT / "network.ld"), "-o", str(elf), "-lc", "-lm", "-lgcc"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return elf


TRACE = ("-trace", "pl330_dmald", "-trace", "pl330_dmast", "-D", "bursts.log")
"""Options of QEMU to write each burst to a file in the folder of the run."""
BURST = re.compile(r"pl330_dma(?:ld|st) channel:\d+ address:0x(\w+) size:0x(\w+) num:(\d+)")


def crossings(log: str) -> tuple[int, int]:
    """The bursts of a run, and how many of them cross a multiple of 4096 bytes."""
    bursts = [(int(at, 16), int(size, 16), int(num)) for at, size, num in BURST.findall(log)]
    return len(bursts), sum(at % PAGE + size * num > PAGE for at, size, num in bursts)


def run(zynq: Zynq, elf: Path, image: NDArray[np.float32], folder: Path, *options: str) -> bytes:
    """The file that the program writes; `options` are of QEMU."""
    path = folder / "image.bin"
    path.write_bytes(image.tobytes())
    command = [
        *("timeout", "-k", "2", "120", zynq.qemu, "-M", "xilinx-zynq-a9", "-m", "256M"),
        *("-kernel", str(elf), "-display", "none", "-monitor", "none", "-serial", "null"),
        *("-semihosting-config", "enable=on,target=native"),
        *("-device", f"loader,file={path},addr={IMAGE:#x},force-raw=on"),
        *options,
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr}"
    return (folder / "out.bin").read_bytes()


def parsed(size: tuple[int, int] = (12, 16)) -> ModuleOp:
    """One layer, on tensors."""
    return Parser(context(), network([(8, 24, 3)], size)).parse_module()


def small(size: tuple[int, int] = (12, 16)) -> ModuleOp:
    """The layer in the paper's order: sums are read back, and each kind of transfer has a channel.

    The module has loops and microcode.
    """
    module = parsed(size)
    TARGET.set(module, TargetAttr.of(Machine.load("zynq7020")))
    passes = PIPELINES["off-chip"].text.replace(TILES, f"{TILES}{{tile-sizes=6,8,2,8}}")
    through(module, f"{passes},npu-lower-dma-to-pl330,pl330-check")
    return module
