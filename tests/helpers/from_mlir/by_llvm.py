"""What MLIR's own lowering makes of `tosa` text, executed on this computer."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.builds import needs
from npu_tools.verifying.upstream import LOWERING

Array = NDArray[Any]

TO_LOOPS = (
    "func.func(tosa-to-linalg-named,tosa-to-linalg,"
    "tosa-to-arith{include-apply-rescale=true},tosa-to-tensor),canonicalize,"
    "one-shot-bufferize{bufferize-function-boundaries=true "
    "function-boundary-type-conversion=identity-layout-map},buffer-results-to-out-params"
)
"""The passes of mlir-opt that make loops of `tosa`."""
BARE_POINTERS = "convert-func-to-llvm{use-bare-ptr-memref-call-conv=true}"
COPY = """\
#include <stdint.h>
#include <string.h>

struct map { char *base, *data; int64_t offset, sizes[]; };
struct any { int64_t rank; struct map *map; };

static void copy(int64_t bytes, int64_t rank, const int64_t *sizes, const int64_t *from_steps,
                 const int64_t *to_steps, const char *from, char *to) {
  if (rank == 0)
    memcpy(to, from, bytes);
  for (int64_t i = 0; rank > 0 && i < *sizes; i++)
    copy(bytes, rank - 1, sizes + 1, from_steps + 1, to_steps + 1,
         from + i * *from_steps * bytes, to + i * *to_steps * bytes);
}

void memrefCopy(int64_t bytes, struct any *from, struct any *to) {
  struct map *x = from->map, *y = to->map;
  copy(bytes, from->rank, x->sizes, x->sizes + from->rank, y->sizes + to->rank,
       x->data + x->offset * bytes, y->data + y->offset * bytes);
}
"""
"""The one function that LLVM's code calls: it copies a map of any strides."""
TOOLS = ("mlir-opt-19", "mlir-translate-19", "clang-19")


def lowering() -> str:
    """The passes of mlir-opt, with the sizes of this computer's indices."""
    rest = [each.split("=")[0] for each in LOWERING]
    functions = rest.index("convert-func-to-llvm")
    rest[functions] = BARE_POINTERS
    return ",".join((TO_LOOPS, *rest))


def computed(folder: Path, text: str, images: Sequence[Array], shape: Sequence[int]) -> list[Array]:
    """The int8 results of a shape of `@main` for some images. It skips without LLVM's tools."""
    for tool in TOOLS:
        needs(tool)
    given, lowered, bitcode, copy, library = (
        folder / f"theirs.{suffix}" for suffix in ("mlir", "llvm", "ll", "c", "so")
    )
    given.write_text(text, encoding="utf-8")
    copy.write_text(COPY, encoding="utf-8")
    pipeline = f"--pass-pipeline=builtin.module({lowering()})"
    for command in (
        ["mlir-opt-19", str(given), pipeline, "-o", str(lowered)],
        ["mlir-translate-19", "--mlir-to-llvmir", str(lowered), "-o", str(bitcode)],
        ["clang-19", "-O1", "-w", "-shared", "-fPIC", str(bitcode), str(copy), "-o", str(library)],
    ):
        subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library)).main
    results: list[Array] = []
    for image in images:
        source, result = np.ascontiguousarray(image), np.empty(shape, np.int8)
        function(*(ctypes.c_void_p(each.ctypes.data) for each in (source, result)))
        results.append(result)
    return results
