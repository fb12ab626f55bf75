"""Builds a program whose input arrives in rows, and pushes the rows in portions of any sizes.

Each portion lies in a block of its own of exactly its size, so that a sanitizer sees each byte that
is read beside it. Before a run the arena is poisoned. All calls out of turn are tried too.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from helpers.c_harness import CTYPES, SANITIZERS, build, write_files
from helpers.kernel_roads import FUSE
from helpers.pipeline import context, run_passes
from npu_passes.emit.c import CFiles
from npu_tools.verifying.streamed import in_rows

MAIN = """\
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "{prefix}.h"

enum {{ ROWS = {rows}, LINE = {line}, OUTPUT = {output}, OUT_OF_TURN = 3 }};

static {input_type} input[ROWS * LINE];
static {output_type} *output;
static unsigned char *arena;

static void expect(int wanted, int status, int where)
{{
    if (wanted != status) {{
        fprintf(stderr, "call %d returned %d\\n", where, status);
        exit(20);
    }}
}}

static int push(int done, int n)
{{
    const size_t bytes = (size_t)(n * LINE) * sizeof *input;
    {input_type} *const rows = ({input_type} *)malloc(bytes + (n == 0));
    int status;
    if (rows == NULL) {{
        exit(10);
    }}
    memcpy(rows, input + done * LINE, bytes);
    status = {prefix}_push_rows(rows, n, arena);
    free(rows);
    return status;
}}

int main(int count, char **sizes)
{{
    FILE *file = fopen("input.bin", "rb");
    int done = 0;
    if (file == NULL || fread(input, sizeof *input, ROWS * LINE, file) != ROWS * LINE) {{
        return 11;
    }}
    fclose(file);
    arena = (unsigned char *)malloc({prefix_upper}_ARENA_BYTES);
    output = ({output_type} *)malloc(OUTPUT * sizeof *output);
    if (arena == NULL || output == NULL) {{
        return 12;
    }}
    memset(arena, 0xA5, {prefix_upper}_ARENA_BYTES);
    expect(0, {prefix}_begin(arena), 0);
    expect(0, push(0, ROWS / 2), 1); /* an image that is given up leaves nothing behind */
    expect(0, {prefix}_begin(arena), 2);
    for (int i = 1; i < count; ++i) {{
        const int n = atoi(sizes[i]);
        if (done < ROWS) {{
            expect(OUT_OF_TURN, {prefix}_finish(output, arena), 3);
        }}
        expect(OUT_OF_TURN, {prefix}_push_rows(input, ROWS - done + 1, arena), 4);
        expect(OUT_OF_TURN, {prefix}_push_rows(input, -1, arena), 5);
        expect(0, push(done, n), 6);
        done += n;
    }}
    expect(0, {prefix}_finish(output, arena), 7);
    file = fopen("output.bin", "wb");
    if (file == NULL || fwrite(output, sizeof *output, OUTPUT, file) != OUTPUT) {{
        return 13;
    }}
    fclose(file);
    expect(OUT_OF_TURN, {prefix}_finish(output, arena), 8);
    expect(OUT_OF_TURN, push(0, 1), 9);
    return 0;
}}
"""


@dataclass(frozen=True)
class Program:
    """A built program in a folder; its output has a shape and a type."""

    folder: Path
    shape: Sequence[int]
    dtype: str

    def run(self, image: NDArray[Any], portions: Sequence[int]) -> NDArray[Any]:
        """The output for an input [1, C, H, W] whose rows are pushed in portions.

        Raises: AssertionError if a call returns what it should not, or a sanitizer ends it.
        """
        (self.folder / "input.bin").write_bytes(in_rows(image).tobytes())
        command = ["./program", *map(str, portions)]
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, env=environment
        )
        assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr}"
        return np.fromfile(self.folder / "output.bin", self.dtype).reshape(self.shape)


@contextmanager
def built(
    files: CFiles, image: NDArray[Any], output: NDArray[Any], language: str = "c"
) -> Generator[Program]:
    """Build a program for inputs and outputs like these."""
    _, channels, height, width = image.shape
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder, files, files.prefix)
        text = MAIN.format(
            prefix=files.prefix,
            prefix_upper=files.prefix.upper(),
            rows=height,
            line=channels * width,
            output=output.size,
            input_type=CTYPES[image.dtype.name],
            output_type=CTYPES[output.dtype.name],
        )
        (folder / "main.c").write_text(text)
        build(folder, [f"{files.prefix}.c", "main.c"], language, SANITIZERS)
        yield Program(folder, output.shape, output.dtype.name)


def in_one_function(module: ModuleOp, when: str, machine: str) -> ModuleOp:
    """The loops of a network that reads its input row by row, before it is cut into functions.

    Raises: PassFailedException if its input cannot be streamed.
    """
    return run_passes(
        context(),
        module,
        f"npu-attach-target{{target={machine}}},npu-stream-input,{FUSE},"
        f"npu-fuse-regions{{when={when} max-slowdown=1000 overlays=true}},npu-bufferize,"
        "npu-choose-layouts{rows=true},npu-overlay-maps,npu-assign-sram-offsets,npu-turn-layers,"
        "npu-outline-layers,npu-lower-to-loops,npu-check-overlays",
    )
