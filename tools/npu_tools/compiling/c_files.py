"""The files of a C program, from a module whose layers are loops, and how they may be called."""

from __future__ import annotations

from typing import Literal

from xdsl.dialects.builtin import ModuleOp

from npu_passes.emit.c.names import is_identifier

HEADERS = frozenset(
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg "
    "stdbool stddef stdint stdio stdlib string tgmath time wchar wctype".split()
)
"""C99's headers. A network must not be called like one: a compiler would take its `string.h` for
the standard one."""
LONGEST_PREFIX = 100
"""Most characters of a prefix. File systems allow 255 in a file's name."""


def is_name(text: str) -> bool:
    """Whether `text.h` can be the header of a program whose names start with `text`."""
    return is_identifier(text) and text.lower() not in HEADERS and len(text) <= LONGEST_PREFIX


def emit(
    module: ModuleOp, name: str, weights: Literal["c", "bin"], has_microcode: bool
) -> dict[str, str | bytes]:
    """The files of the C program: `name.c`, `name.h`, and `name_weights.bin` if `weights` is `bin`.

    A program with transfers also gets the runtime and the files of the DMA engine. The module loses
    its dead ops.
    """
    from npu_passes.emit.c import emit as emit_c
    from npu_passes.emit.c.off_chip import RUNTIME

    engine: dict[str, str] = {}
    if has_microcode:
        from npu_passes.emit.pl330.tables import engine_files

        engine = engine_files(module, name)  # they need ops that are dead in C
    made = emit_c(module, name, weights, may_change=True)
    files: dict[str, str | bytes] = {f"{name}.c": made.source, f"{name}.h": made.header}
    if made.runtime is not None:
        files[RUNTIME] = made.runtime
    if made.weights is not None:
        files[f"{name}_weights.bin"] = made.weights
    return files | engine
