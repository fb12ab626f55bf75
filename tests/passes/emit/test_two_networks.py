"""Two networks in one program: no names clash, and each computes what it computes alone."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from helpers.c_harness import LANGUAGES, WARNINGS
from helpers.paths import LENET5
from helpers.quantized.networks import residual
from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.shared.files import write_files
from npu_tools.verifying.harness import built

Array = npt.NDArray[Any]

RUN = """\
static void run_{name}(void)
{{
    static double memory[{upper}_ARENA_BYTES / 8 + 4];
    static {in_type} in[] = {{{values}}};
    static {out_type} out[{outputs}];
    unsigned char *arena = (unsigned char *)memory;
    arena += (16u - (uintptr_t)arena % 16u) % 16u;
{before}
    memset(arena, 0xA5, {upper}_ARENA_BYTES);
    if ({name}_run(in, out, arena{more}) != 0) {{
        exit(1);
    }}
    for (size_t i = 0; i < sizeof out; ++i) {{
        printf("%02x", ((unsigned char *)out)[i]);
    }}
    printf("\\n");
}}

"""
BEFORE = """\
    static double off_chip[{upper}_DRAM_BYTES / 8 + 4];
    static npu_dma engine;
    unsigned char *dram = (unsigned char *)off_chip;
    dram += (16u - (uintptr_t)dram % 16u) % 16u;
    npu_dma_init(&engine);"""


@dataclass(frozen=True)
class Part:
    """One of the networks, and numbers to run it on."""

    compiled: Compiled
    value: Array
    integers: bool = False

    def text(self) -> str:
        """A C function that runs it."""
        name, kind = self.compiled.name, "int8_t" if self.integers else "float"
        off_chip = "npu_dma.h" in self.compiled.files
        (shape,) = self.compiled.report.outputs.values()
        return RUN.format(
            name=name,
            upper=name.upper(),
            in_type=kind,
            out_type=kind,
            values=", ".join(c_number(each) for each in self.value.ravel().tolist()),
            outputs=int(np.prod(shape)),
            before=BEFORE.format(upper=name.upper()) if off_chip else "",
            more=", dram, &engine" if off_chip else "",
        )

    def alone(self) -> bytes:
        """The outputs of the network in a program of its own."""
        with built(self.compiled.name, self.compiled.files, self.compiled.report) as harness:
            port = harness.ports[1]
            (output,) = harness.run([harness.ports[0].real(self.value)[np.newaxis]])
            return port.stored(output).tobytes()


def c_number(value: float) -> str:
    """The exact text of a number in C."""
    return str(value) if isinstance(value, int) else f"{value.hex()}f"


def together(folder: Path, parts: Sequence[Part], language: str) -> list[bytes]:
    """The outputs of all networks in one program, each in a folder and a file of its own."""
    names = [part.compiled.name for part in parts]
    for part in parts:
        write_files(folder / part.compiled.name, part.compiled.files)
    standard = "stdint stdio stdlib string".split()
    lines = [f"#include <{name}.h>\n" for name in standard]
    lines += [f'#include "{name}/{name}.h"\n' for name in (*names, *names)]
    lines += [part.text() for part in parts]
    lines += ["int main(void)\n{\n", *(f"    run_{name}();\n" for name in names)]
    (folder / "main.c").write_text("".join((*lines, "    return 0;\n}\n")), encoding="utf-8")
    warnings = [flag for flag in WARNINGS if flag != "-pedantic"]  # hexadecimal floats in C++14
    command = [*LANGUAGES[language], *warnings, "-O2", "main.c"]
    command += [f"{name}/{name}.c" for name in names]
    command += ["-Wl,--fatal-warnings", "-Wl,--warn-common", "-o", "program", "-x", "none", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    done = subprocess.run(["./program"], cwd=folder, capture_output=True, text=True, check=True)
    return [bytes.fromhex(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["c", "c++"])
def test_floats_and_integers(tmp_path: Path, language: str) -> None:
    """LeNet-5, and a quantised network whose inputs and outputs are integers."""
    (tmp_path / "net.onnx").write_bytes(residual().SerializeToString())
    generator = np.random.default_rng(0)
    job = Job(tmp_path / "net.onnx", "host", prefix="quantised", io="int8")
    parts = [
        Part(
            compile_model(Job(LENET5, "host")),
            generator.uniform(0, 1, (1, 1, 32, 32)).astype(np.float32),
        ),
        Part(
            compile_model(job),
            generator.integers(-128, 128, (1, 3, 8, 8)).astype(np.int8),
            integers=True,
        ),
    ]
    assert together(tmp_path, parts, language) == [part.alone() for part in parts]


@pytest.mark.slow
def test_the_runtime_twice(tmp_path: Path) -> None:
    """Two programs with transfers, each with its own npu_dma.h."""
    text = (resources.files("npu_dialect.targets") / "zynq7020.toml").read_text(encoding="utf-8")
    parts: list[Part] = []
    for name, size in (("one", 40000), ("two", 50000)):
        machine = tmp_path / f"{name}.toml"
        machine.write_text(
            re.sub(r"sram_bytes = \d+", f"sram_bytes = {size}", text)
            .replace("dma_fifo_bytes = 1024", "")
            .replace('"zynq7020"', f'"{name}"'),
            encoding="utf-8",
        )
        job = Job(LENET5, str(machine), prefix=name, pipeline="off-chip")
        value = np.random.default_rng(size).uniform(0, 1, (1, 1, 32, 32)).astype(np.float32)
        parts.append(Part(compile_model(job), value))
    assert all("npu_dma.h" in part.compiled.files for part in parts)
    assert together(tmp_path, parts, "c") == [part.alone() for part in parts]
