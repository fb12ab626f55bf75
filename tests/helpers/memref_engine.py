"""A back end for `memref.dma_start`, of which LLVM has no lowering: calls of an engine in C.

    func.call @start_f32_in(%from, %to, %bytes, %tag) : (memref<*xf32>, memref<*xf32, 1>, ...) -> ()

The buffers begin at the first element of a run. The engine copies the run when it is waited for.
Until then the target holds 0xA5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import FunctionType, NoneAttr, UnrankedMemRefType
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from helpers.upstream import Both
from npu_dialect.npu.maps import element_bytes
from npu_passes.support.loop_builder import LoopBuilder, memref_type

ENGINE = """
#include <stdlib.h>
#include <string.h>

struct map { char *base, *data; intptr_t offset; };
static struct run { char *tag, *from, *to; size_t bytes; } runs[4096];

static struct run *found(const char *tag)
{
    for (unsigned i = 0; i < 4096; i++)
        if (runs[i].tag == tag)
            return &runs[i];
    abort();
}

static void start(const struct map *from, const struct map *to, intptr_t count, intptr_t element,
                  const struct map *tag)
{
    struct run *const run = found(NULL);
    run->tag = tag->data + tag->offset * 4;
    run->from = from->data + from->offset * element;
    run->to = to->data + to->offset * element;
    run->bytes = (size_t)(count * element);
    memset(run->to, 0xA5, run->bytes);
}

void wait_for(intptr_t rank, struct map *tag);
void wait_for(intptr_t rank, struct map *tag)
{
    struct run *const run = found(tag->data + tag->offset * 4);
    (void)rank;
    memmove(run->to, run->from, run->bytes);
    run->tag = NULL;
}
"""
START = """
#define ARGUMENTS intptr_t r, struct map *from, intptr_t s, struct map *to, intptr_t count, \\
                  intptr_t element, intptr_t t, struct map *tag
void NAME(ARGUMENTS);
void NAME(ARGUMENTS)
{
    (void)r, (void)s, (void)t;
    start(from, to, count, element, tag);
}
#undef ARGUMENTS
"""
WAIT = "wait_for"


@dataclass(frozen=True)
class WithEngine(Both):
    """A network whose transfers are calls of the engine; `names` are those of its functions."""

    plain: Both
    names: Sequence[str]

    @property
    def adapter(self) -> str:
        """The C file of the network as it was, and the engine."""
        starts = (START.replace("NAME", name) for name in self.names)
        return "\n".join((self.plain.adapter, ENGINE, *starts))


def with_engine(both: Both) -> WithEngine:
    """A network with calls of the engine in place of `memref.dma_start` and `memref.dma_wait`."""
    module = both.module.clone()
    functions: dict[str, FunctionType] = {}
    for op in list(module.walk()):
        if not isinstance(op, memref.DmaStartOp | memref.DmaWaitOp):
            continue
        b, name = LoopBuilder(op), WAIT
        values = [start_of(b, op.tag, op.tag_indices)]
        if isinstance(op, memref.DmaStartOp):
            source, target = memref_type(op.src), memref_type(op.dest)
            way = "out" if isinstance(target.memory_space, NoneAttr) else "in"
            name = f"start_{source.element_type}_{way}"
            ends = ((op.src, op.src_indices), (op.dest, op.dest_indices))
            size = b.value(element_bytes(source))
            values = [*(start_of(b, *end) for end in ends), op.num_elements, size, *values]
        functions[name] = FunctionType.from_lists([value.type for value in values], [])
        b.insert(func.CallOp(name, values, []))
        Rewriter.erase_op(op)
    for name, type_ in functions.items():
        module.body.block.add_op(func.FuncOp.external(name, type_.inputs.data, ()))
    names = [name for name in functions if name != WAIT]
    return WithEngine(both.compiled, both.files, module, both, names)


def start_of(b: LoopBuilder, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    """A buffer from an element on, as one of any rank."""
    type_ = memref_type(buffer)
    one = b.window(buffer, indices, [1] * len(indices), [0])
    loose = UnrankedMemRefType.from_type(type_.element_type, type_.memory_space)
    return b.insert(memref.CastOp.get(one, loose)).dest
