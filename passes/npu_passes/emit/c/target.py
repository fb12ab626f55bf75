"""The target `c`: a module of loops becomes one C file and its header.

    emit(module, prefix="lenet5", weights="c")   ->   lenet5.c and lenet5.h as text

`check` first reports everything that cannot be printed, in one error. Then there are two phases:
`Program.of` decides names, order, constness and offsets, and the modules beside this one print
them. The C is valid C99 and C++17, allocates nothing, has no writable globals, and only
`PREFIX_run` is visible to a linker, and `PREFIX_reset` if there are states, and `PREFIX_init` if
copies of constants stay in the arenas. If the input arrives in
rows, there are `PREFIX_begin`, `PREFIX_push_rows` and `PREFIX_finish` in place of `PREFIX_run`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from npu_passes.emit.c import off_chip
from npu_passes.emit.c import weights as weight_text
from npu_passes.emit.c.check import check
from npu_passes.emit.c.dead_code import remove_dead_code
from npu_passes.emit.c.entry import public_function, reset_function
from npu_passes.emit.c.functions import layer_function
from npu_passes.emit.c.header import header
from npu_passes.emit.c.initial import init_function
from npu_passes.emit.c.names import comment
from npu_passes.emit.c.program import ALIGNMENT, Program
from npu_passes.emit.c.sections import section_text
from npu_passes.emit.c.unit import Unit

RESTRICT = """\
#ifndef NPU_RESTRICT
#if defined(__GNUC__) || defined(__clang__)
#define NPU_RESTRICT __restrict__
#elif !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define NPU_RESTRICT restrict
#else
#define NPU_RESTRICT
#endif
#endif

"""

HOOK = """\
/* Called after each layer, or each part of one that runs in parts, with its number in report.json
 * and its name: define it to trace or to measure. */
#ifndef {0}
#define {0}(index, name) ((void)0)
#endif

"""


@dataclass(frozen=True)
class CFiles:
    """The files of a printed program."""

    source: str
    """The C file; it includes `PREFIX.h`."""
    header: str
    weights: bytes | None
    """The weights file; None if the weights stand in the C file."""
    runtime: str | None
    """The header `npu_dma.h`, which `PREFIX.h` includes; None if the program has no transfers."""
    arena_bytes: int
    prefix: str
    """The prefix of all names."""


def emit(
    module: ModuleOp,
    prefix: str | None = None,
    weights: Literal["c", "bin"] = "c",
    *,
    may_change: bool = False,
) -> CFiles:
    """Print a module of loops as C.

    Without a prefix the name of the public function is taken. `weights`: as arrays in the C file,
    or as a file of their own. `may_change`: dead ops are removed from the module itself. Without
    it they are removed from a copy.

    Raises: PassFailedException with a list of everything that cannot be printed.
    """
    check(module)
    module = module if may_change else module.clone()
    remove_dead_code(module)
    program = Program.of(module, prefix or None, weights)
    return CFiles(
        source(program),
        header(program),
        weight_text.blob(program) if weights == "bin" else None,
        off_chip.runtime() if program.uses_dma else None,
        program.arena_bytes,
        program.prefix,
    )


def source(program: Program) -> str:
    """The text of the C file."""
    unit = Unit(program.index)
    layers = [layer_function(program, function, unit) for function in program.private]
    public = [public_function(program, entry, unit) for entry in program.entries]
    public += [init_function(program, unit)] * bool(program.kept.copies)
    public += [reset_function(program, unit)] * bool(program.states)
    if weight_text.needs_math(program):
        unit.headers.add("math.h")
    arrays = list[str]()
    if program.where == "c" and program.weights:
        for weights in program.weights.values():
            unit.ctype(weights.type.element_type)
            arrays += [*weight_text.definition(program, weights), "\n"]
    text = "\n".join((*unit.helpers.values(), *layers, *public))
    parts = [f"/* {comment(program.prefix)}: printed by npu-dialect, do not edit. */\n\n"]
    parts += [f'#include "{program.prefix}.h"\n\n']
    parts += [f"#include <{name}>\n" for name in sorted(unit.headers)]
    parts += ["\n"] if unit.headers else []
    parts += [RESTRICT] if "NPU_RESTRICT" in text else []
    parts += [HOOK.format(program.macros.on_layer)] if program.macros.on_layer in text else []
    sections = dict.fromkeys(weights.section for weights in program.weights.values())
    aligned = ALIGNMENT if program.uses_dma else None
    parts += [section_text(each, aligned) for each in sections if arrays]
    parts += [
        f"#define {weights.macro} {weights.offset}\n"
        for weights in program.weights.values()
        if weights.macro is not None
    ]
    parts += off_chip.tables(program.shapes)
    parts += off_chip.block_tables(program.blocks)
    return "".join((*parts, *arrays, text))


@dataclass(frozen=True)
class CTarget(Target):
    """`-t c`: one self-contained C file, with the text of its headers at the top."""

    name = "c"

    prefix: str = ""
    """The prefix of all names; default: the name of the public function."""
    weights: Literal["c", "bin"] = "c"
    """Weights as arrays in the file, or read through a pointer that the caller passes."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """See `Target`."""
        files = emit(module, self.prefix or None, self.weights)
        include = f'#include "{files.prefix}.h"\n'
        before, _, after = files.source.partition(include)
        header = files.header
        if files.runtime is not None:
            header = header.replace(f'#include "{off_chip.RUNTIME}"\n', files.runtime)
        output.write(f"{before}{header}{after}")
