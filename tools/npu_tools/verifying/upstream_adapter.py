"""The C file that gives the object of `upstream.py` the interface of the C that npu-compile writes.

    int lenet5_run(const float *image, float *scores, void *arena)
    {
        upstream_lenet5((void *)image, (void *)image, 0, 1, 1, 32, 32, 1024, 1024, 32, 1, ...);
        return 0;
    }

In LLVM's code a buffer of rank r is 3 + 2r arguments: its address twice, its offset, r extents and
r strides. Functions that start transfers call the engine of `npu_dma.h`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import IndexType, IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from npu_dialect.npu.maps import element_bytes, is_buffer_type
from npu_dialect.stream_attributes import STREAM_PARTS
from npu_tools.verifying.upstream import VISIBLE

ENGINE = """\
#include "npu_dma.h"

static npu_dma *engine;

/* A buffer: where it begins, and along each axis its extent and its stride in elements. */
typedef struct {
    unsigned char *data;
    const intptr_t *extents;
    const intptr_t *strides;
} buffer;

/* The engine reads a shape until the wait. A slot whose token is 0 is free; the last one takes what
 * is too much, and the engine counts that as a mistake. */
enum { SLOTS = NPU_DMA_RUNNING + 1 };
static npu_dma_token tokens[SLOTS];
static npu_dma_shape shapes[SLOTS];

static int free_slot(void)
{
    int slot = 0;
    while (slot < SLOTS - 1 && tokens[slot] != 0) {
        ++slot;
    }
    return slot;
}

static const npu_dma_shape *shape_of(int slot, int rank, size_t element, const buffer *from,
                                     const buffer *to)
{
    npu_dma_shape *const shape = &shapes[slot];
    shape->bytes = element;
    shape->axes = rank;
    for (int axis = 0; axis < rank; ++axis) {
        shape->axis[axis].count = (size_t)from->extents[axis];
        shape->axis[axis].to = to->strides[axis] * (ptrdiff_t)element;
        shape->axis[axis].from = from->strides[axis] * (ptrdiff_t)element;
    }
    return shape;
}
"""

START = """\
static int32_t start(npu_dma_kind kind, int32_t channel, int rank, size_t element,
                     const buffer *from, const buffer *to)
{
    const int slot = free_slot();
    tokens[slot] = npu_dma_start(engine, channel, kind, to->data, from->data,
                                 shape_of(slot, rank, element, from, to));
    return (int32_t)tokens[slot];
}
"""

BLOCKS = """\
static npu_dma_blocks blocks[SLOTS];

static int32_t start_blocks(npu_dma_kind kind, int32_t channel, int rank, size_t element,
                            const buffer *from, const buffer *to, const buffer *map,
                            const buffer *index, int32_t block, int32_t zero, int planes)
{
    const buffer *const chip = kind == NPU_DMA_WRITE ? from : to;
    const int slot = free_slot();
    const npu_dma_shape *const shape = shape_of(slot, rank, element, from, to);
    npu_dma_blocks *const parts = &blocks[slot];
    parts->element = element;
    parts->block = (size_t)block;
    parts->zero = (unsigned char)zero;
    parts->planes = planes;
    for (int axis = 0; axis < rank; ++axis) {
        parts->map[axis] = (size_t)map->extents[axis];
        parts->part[axis] = (size_t)chip->extents[axis];
        parts->chip[axis] = (size_t)chip->strides[axis] * element;
        parts->dram[axis] = (size_t)map->strides[axis] * element;
    }
    tokens[slot] = npu_dma_start_blocks(engine, channel, kind, to->data, from->data, map->data,
                                        index->data, shape, parts);
    return (int32_t)tokens[slot];
}
"""

WAIT = """\
void npu_transfer_wait(int32_t token);
void npu_transfer_wait(int32_t token)
{
    npu_dma_wait(engine, (npu_dma_token)token);
    for (int slot = 0; slot < SLOTS; ++slot) {
        if (tokens[slot] == (npu_dma_token)token) {
            tokens[slot] = 0;
        }
    }
}
"""

RUN, PARTS = "run", ("reset", *STREAM_PARTS)
"""The ends of the names of functions in C."""

WAIT_NAME = "npu_transfer_wait"
BLOCKED = {"_blocks_": 0, "_planes_": 1}
"""What the names of functions for transfers in blocks have in them, and whether as bit planes."""


def starts(name: str) -> bool:
    """Whether a function starts transfers."""
    return name != WAIT_NAME


def planes_of(name: str) -> int | None:
    """Whether a function starts transfers as bit planes: 1 or 0; None if it moves all elements."""
    return next((planes for part, planes in BLOCKED.items() if part in name), None)


def functions_of(module: ModuleOp) -> list[FuncOp]:
    """The functions of a module."""
    return [op for op in module.ops if isinstance(op, FuncOp)]


def public_functions(module: ModuleOp) -> dict[str, FuncOp]:
    """The functions that a caller sees, by the end of their names in C: `run`, `reset`, `begin`.

    The first one is that of a whole run, but for a program whose input arrives in rows.
    """
    public = [op for op in functions_of(module) if op.sym_visibility is None]
    if len(public) == 1:
        return {RUN: public[0]}
    return {
        next((part for part in PARTS if op.sym_name.data.endswith(f"_{part}")), RUN): op
        for op in public
    }


def public_names(module: ModuleOp) -> list[str]:
    """The names of the functions that a caller sees."""
    return [op.sym_name.data for op in public_functions(module).values()]


def adapter(module: ModuleOp, prefix: str, header: str) -> str:
    """The C file for a module; `header` is the text of npu-compile's header with that prefix."""
    declared = [op for op in functions_of(module) if op.is_declaration]
    names = sorted(op.sym_name.data for op in declared)
    parts = [f'#include <stdint.h>\n#include "{prefix}.h"\n']
    parts += [ENGINE] if declared else []
    kinds = [planes_of(name) for name in names if starts(name)]
    parts += [START] if None in kinds else []
    parts += [BLOCKS] if any(kind is not None for kind in kinds) else []
    parts += [start_function(op) if starts(op.sym_name.data) else WAIT for op in declared]
    for part, function in public_functions(module).items():
        head = re.search(rf"^(int|void) {prefix}_{part}\(([^)]*)\);", header, re.MULTILINE)
        assert head is not None, f"no {prefix}_{part} in the header"
        name, engine = f"{prefix}_{part}", bool(declared)
        parts.append(entry_function(function, name, *head.groups(), has_engine=engine))
    return "\n".join(parts)


def entry_function(function: FuncOp, name: str, result: str, head: str, *, has_engine: bool) -> str:
    """A function of the header, which calls LLVM's code. `head` are its parameters.

    `has_engine`: whether the module calls the functions for transfers.
    """
    names = [each.split("*")[-1].split()[-1] for each in head.split(",")]
    types, results = function.function_type.inputs.data, function.function_type.outputs.data
    values = names[: len(types)]
    passed = [word for each in zip(types, values, strict=True) for word in arguments(*each)]
    parameters = ", ".join(kind for type_ in types for kind in ctypes(type_))
    label, given = f"{VISIBLE}{function.sym_name.data}", "int32_t" if results else "void"
    call = f"{label}({', '.join(passed)})"
    lines = [f"{given} {label}({parameters});", ""]
    lines += [f"{result} {name}({head})", "{"]
    lines += [f"    (void){each};" for each in names if each not in values]
    is_given = "dma" in names and "dma" not in values
    lines += ["    engine = dma;"] if has_engine and is_given else []
    if results:
        lines.append(f"    return (int){call};")
    else:
        status = "npu_dma_result(dma)" if "dma" in names else "0"
        lines += [f"    {call};", *([f"    return {status};"] if result == "int" else [])]
    return "\n".join((*lines, "}", ""))


def ctypes(type_: Attribute) -> Sequence[str]:
    """The C types of the parameters that an argument becomes."""
    if is_buffer_type(type_):
        return ("void *", "void *", "intptr_t", *(["intptr_t"] * 2 * type_.get_num_dims()))
    if isinstance(type_, IndexType):
        return ("intptr_t",)
    assert isa(type_, IntegerType)
    return (f"int{type_.width.data}_t",)


def arguments(type_: Attribute, value: str) -> Iterator[str]:
    """The arguments in C for a value of a static type."""
    if not is_buffer_type(type_):
        yield value
        return
    yield from (f"(void *)(uintptr_t){value}",) * 2
    strides = [step or 0 for step in type_.get_strides() or ()]
    yield from map(str, (type_.get_offset() or 0, *type_.get_shape(), *strides))


def start_function(function: FuncOp) -> str:
    """The function that starts transfers of one rank and element type, in terms of the engine."""
    name = function.sym_name.data
    types = function.function_type.inputs.data
    kind = name.split("_")[2].upper()
    words = [f"{ctype} a{at}" for at, ctype in enumerate(c for t in types for c in ctypes(t))]
    at, lines, passed = 0, list[str](), list[str]()
    for number, type_ in enumerate(types):
        if not is_buffer_type(type_):
            passed.append(f"a{at}")
            at += 1
            continue
        lines.append(buffer_text(type_, number, at))
        passed.append(f"&b{number}")
        at += len(ctypes(type_))
    rank, element = buffer_of(types[1])
    planes = planes_of(name)
    how, passed = ("start", passed) if planes is None else ("start_blocks", [*passed, str(planes)])
    head = f"int32_t {name}({', '.join(words)})"
    values = ", ".join((f"NPU_DMA_{kind}", passed[0], str(rank), str(element), *passed[1:]))
    body = "".join(lines)
    return f"{head};\n{head}\n{{\n{body}    return {how}({values});\n}}\n"


def buffer_of(type_: Attribute) -> tuple[int, int]:
    """The rank of a buffer, and the bytes of its elements."""
    assert is_buffer_type(type_)
    return type_.get_num_dims(), element_bytes(type_)


def buffer_text(type_: Attribute, number: int, at: int) -> str:
    """C that puts the buffer of the parameters from number `at` on together as `bNUMBER`."""
    rank, element = buffer_of(type_)
    extents = ", ".join(f"a{at + 3 + axis}" for axis in range(rank)) or "0"
    strides = ", ".join(f"a{at + 3 + rank + axis}" for axis in range(rank)) or "0"
    return (
        f"    const intptr_t n{number}[] = {{{extents}}}, s{number}[] = {{{strides}}};\n"
        f"    const buffer b{number} = {{(unsigned char *)a{at + 1} + a{at + 2} * {element}, "
        f"n{number}, s{number}}};\n    (void)a{at};\n"
    )
