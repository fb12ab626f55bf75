"""Compile emitted C with a small main(), run it on numpy arrays, and check its fences.

The arena is exactly as large as the header says. It is filled with 0xA5, so that a value that was
never written is a wrong number. AddressSanitizer guards its ends; without sanitizers, fences of 64
bytes do. The same holds for memory off the chip. The DMA engine is the strict one: it copies at the
wait.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npu_dialect.interpreters import Counters
from npu_passes.emit.c import CFiles

WARNINGS = (
    "-Wall -Wextra -Werror -pedantic -Wshadow -Wconversion -Wstrict-overflow=1 -Wcast-qual".split()
)
BRIEF = (
    "-fsanitize-undefined-trap-on-error",
    *("--param", "asan-instrumentation-with-call-threshold=0"),
)
"""Undefined behaviour ends the program without a message; checks are calls: quick to compile."""
SANITIZERS = (
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    *(("-g",) if os.environ.get("C_MESSAGES") else BRIEF),
)
"""With C_MESSAGES=1 the sanitizers report what is wrong, and where. That takes 5 times as long."""
LANGUAGES = {
    "c": ("gcc", "-std=c99", "-x", "c"),
    "c++": ("g++", "-std=c++17", "-x", "c++"),
}
CTYPES = {
    "float32": "float",
    "float64": "double",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "bool": "bool",
}

MAIN = """\
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "{prefix}.h"

#ifdef __SANITIZE_ADDRESS__
enum {{ FENCE = 0 }};
#else
enum {{ FENCE = 64 }};
#endif

static unsigned char *block(size_t bytes, int fill)
{{
    unsigned char *const made = (unsigned char *)malloc(bytes + 2 * FENCE + (bytes == 0));
    if (made == NULL) {{
        exit(10);
    }}
    memset(made, 0x5A, bytes + 2 * FENCE);
    memset(made + FENCE, fill, bytes);
    return made + FENCE;
}}

static int broken(const unsigned char *made, size_t bytes)
{{
    const unsigned char *const behind = made + bytes;
    for (int i = 0; i < FENCE; ++i) {{
        if (made[-1 - i] != 0x5A || behind[i] != 0x5A) {{
            return 1;
        }}
    }}
    return 0;
}}

int main(void)
{{
    FILE *file;
    int status = 0;
    unsigned char *const arena = block({arena}, 0xA5);
{before}
    for (int run = 0; run < 2; ++run) {{ /* twice: nothing is kept between runs */
{fill}
        status = {prefix}_run({arguments});
        if (status != 0) {{
            fprintf(stderr, "run returned %d\\n", status);
            return 20 + status;
        }}
    }}
    if (broken(arena, {arena}){broken}) {{
        fprintf(stderr, "a fence is broken\\n");
        return 11;
    }}
    file = fopen("outputs.bin", "wb");
    if (file == NULL) {{
        return 12;
    }}
{after}
    fclose(file);
{finish}
    return 0;
}}
"""

READ = """\
        file = fopen("{file}", "rb");
        if (file == NULL || fread({name}, 1, {size}, file) != {size}) {{
            return 13;
        }}
        fclose(file);"""


ENGINE = """\
    static npu_dma engine;
    npu_dma *const dma = &engine;
    unsigned char *const dram = block({dram}, 0xA5);"""

FINISH = """\
    if (npu_dma_mistakes(dma) != 0) {{
        fprintf(stderr, "%u mistakes with transfers\\n", (unsigned)npu_dma_mistakes(dma));
        return 14;
    }}
{counters}"""

COUNTER = """\
    printf("{0} %llu\\n", (unsigned long long)dma->counters.{0});"""


def run_c(
    files: CFiles,
    prefix: str,
    inputs: Sequence[NDArray[Any]],
    output_shapes: Sequence[Sequence[int]],
    *,
    output_types: Sequence[str] | None = None,
    language: str = "c",
    sanitize: bool = True,
    in_arena: bool = False,
    flags: Sequence[str] = (),
    counters: Counters | None = None,
) -> list[NDArray[Any]]:
    """Run PREFIX_run on inputs (in the order of its arguments, outputs behind them).

    `output_types` are numpy's names (default: all float32). `in_arena`: pass the inputs and outputs
    at their offsets in the arena, not in memory of their own. What the last run moved is added to
    `counters`.

    Raises: AssertionError if the compiler prints a message, the program writes outside of a buffer,
    or it makes a mistake with transfers.
    """
    types = output_types or ["float32"] * len(output_shapes)
    outputs = [np.zeros(tuple(s), t) for s, t in zip(output_shapes, types, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        write_files(path, files, prefix)
        (path / "main.c").write_text(main_text(files, prefix, inputs, outputs, in_arena))
        for index, array in enumerate(inputs):
            (path / f"input{index}.bin").write_bytes(np.ascontiguousarray(array).tobytes())
        options = SANITIZERS if sanitize else ()
        if files.runtime is not None:
            options += ("-DNPU_DMA_STRICT",)
        build(path, [f"{prefix}.c", "main.c"], language, (*options, *flags))
        printed = execute(path)
        data = (path / "outputs.bin").read_bytes()
    found: list[NDArray[Any]] = []
    for array in outputs:
        found.append(np.frombuffer(data[: array.nbytes], array.dtype).reshape(array.shape))
        data = data[array.nbytes :]
    for line in printed.splitlines() if counters is not None else ():
        name, value = line.split()
        setattr(counters, name, getattr(counters, name) + int(value))
    return found


def write_files(path: Path, files: CFiles, prefix: str) -> None:
    """Write source, headers and weights into a folder."""
    (path / f"{prefix}.c").write_text(files.source)
    (path / f"{prefix}.h").write_text(files.header)
    if files.runtime is not None:
        (path / "npu_dma.h").write_text(files.runtime)
    if files.weights is not None:
        (path / "weights.bin").write_bytes(files.weights)


def build(path: Path, sources: Sequence[str], language: str, flags: Sequence[str] = ()) -> None:
    """Compile and link a program. A warning is an error."""
    command = [*LANGUAGES[language], *WARNINGS, "-O1", *flags, *sources, "-o", "program", "-lm"]
    command[-3:] = ["-x", "none", *command[-3:]]
    done = subprocess.run(command, cwd=path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + (path / sources[0]).read_text()


def execute(path: Path) -> str:
    """Run the program; returns what it printed. Its main() does not free memory."""
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        ["./program"], cwd=path, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr}"
    return done.stdout


def visible_symbols(program: Path) -> list[str]:
    """The names that an object file or program shows to a linker."""
    command = ["nm", "-g", "--defined-only", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split()[-1] for line in done.stdout.splitlines()]


def main_text(
    files: CFiles,
    prefix: str,
    inputs: Sequence[NDArray[Any]],
    outputs: Sequence[NDArray[Any]],
    in_arena: bool,
) -> str:
    """The program that calls PREFIX_run."""
    places = re.findall(r"#define (\w+_OFFSET) ", files.header) if in_arena else []
    before: list[str] = []
    fill: list[str] = []
    after: list[str] = []
    names = [f"in{i}" for i in range(len(inputs))] + [f"out{i}" for i in range(len(outputs))]
    for index, (name, array) in enumerate(zip(names, (*inputs, *outputs), strict=True)):
        kind, size = CTYPES[array.dtype.name], array.nbytes
        start = f"arena + {places[index]}" if places else f"block({size}, 0xA5)"
        before.append(f"    {kind} *const {name} = ({kind} *)(void *)({start});")
        if index < len(inputs):
            fill.append(READ.format(file=f"input{index}.bin", name=name, size=size))
        else:
            after.append(f"    fwrite({name}, 1, {size}, file);")
    fences = [] if places else list(zip(names, (*inputs, *outputs), strict=True))
    arguments, finish, checks = [*names, "arena"], "", ""
    if files.runtime is not None:
        dram = f"{prefix.upper()}_DRAM_BYTES"
        before.append(ENGINE.format(dram=dram))
        fill.append("        npu_dma_init(dma);")
        arguments += ["dram", "dma"]
        checks = f" || broken(dram, {dram})"
        names_of = (COUNTER.format(field.name) for field in fields(Counters))
        finish = FINISH.format(counters="\n".join(names_of))
    if files.weights is not None:
        size = len(files.weights)
        before.append(f"    unsigned char *const weights = block({size}, 0);")
        fill.append(READ.format(file="weights.bin", name="weights", size=size))
        arguments.append("weights")
    return MAIN.format(
        prefix=prefix,
        arena=f"{prefix.upper()}_ARENA_BYTES",
        before="\n".join(before),
        fill="\n".join(fill),
        after="\n".join(after),
        finish=finish,
        arguments=", ".join(arguments),
        broken=checks
        + "".join(
            f" || broken((const unsigned char *){name}, {array.nbytes})" for name, array in fences
        ),
    )
