"""Finds everything in a module that upstream cannot say, and lists it in one error.

Each entry names the op, its function, and what would be right.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from npu_dialect import dma, dram, dsp, sram
from npu_dialect.arguments import attributes_of_arguments, is_input, is_output
from npu_dialect.attributes import ARENAS, DRAM_INPUT, DRAM_OUTPUT, LAYER, SRAM_OFFSET
from npu_dialect.npu.attributes import DramSpace, FlashSpace, SramSpace
from npu_dialect.npu.maps import is_buffer_type
from npu_dialect.stream_attributes import STREAM
from npu_dialect.walking import walk
from npu_passes.analysis.tokens import starts_of
from npu_passes.emit.upstream.copies import Order, order_of
from npu_passes.emit.upstream.quirks import UNREADABLE, reads_differently
from npu_passes.emit.upstream.types import holds_ours, is_ours
from npu_passes.support.refuse import Refusal, listed

SPACES = frozenset[Attribute]((SramSpace(), DramSpace(), FlashSpace()))
"""Attributes of ours that become numbers, wherever they are."""

SAYABLE: frozenset[type[Operation]] = frozenset(
    (sram.AllocOp, sram.SpanOp, dram.AllocOp, *dma.DMA.operations, *dsp.DSP.operations)
)
"""Ops of ours that become ops of upstream."""

CARRY: frozenset[type[Operation]] = frozenset((dma.WaitOp, scf.ForOp, scf.YieldOp))
"""Ops that take the token of a transfer. A branch that gives one is found by its type."""

REMEDY = {
    "npu": "run npu-bufferize, npu-outline-layers and npu-lower-to-loops before",
    "pl330": "run npu-to-upstream in place of npu-lower-dma-to-pl330",
}
"""For each dialect how to get rid of its ops."""


def check(module: ModuleOp) -> None:
    """Check that upstream can say all of a module.

    Raises: Refusal with a list of everything that it cannot say.
    """
    for op in module.ops:
        if ARENAS.is_on(op):
            raise Refusal("expected buffers in one memory: leave out npu-assign-memories before")
    if problems := listed(problem for op in module.ops for problem in problems_at_top(op)):
        raise Refusal("upstream cannot say this:" + problems)


def problems_at_top(top: Operation) -> Iterator[str]:
    """What is wrong with an op of the module's body, and with those inside of it."""
    where = ""
    if isinstance(top, FuncOp):
        where = f" in @{top.sym_name.data}"
        yield from (f"{top.name}{where}: {problem}" for problem in problems_of_ports(top))
    for op in walk(top):
        problem = problem_of(op)
        if problem is None and type(op) in SAYABLE and not isinstance(top, FuncOp):
            problem = "expected it in a func.func of the module"
        if problem:
            layer = LAYER.get(op)
            yield f"{op.name}{where}" + (f" (layer {layer!r})" if layer else "") + f": {problem}"


def problems_of_ports(function: FuncOp) -> Iterator[str]:
    """What is wrong with the arguments of a function."""
    for index, attributes in enumerate(attributes_of_arguments(function)):
        moved = is_input(attributes) or is_output(attributes)
        outside = any(key.is_in(attributes) for key in (DRAM_INPUT, DRAM_OUTPUT, STREAM))
        if moved and not outside and not SRAM_OFFSET.is_in(attributes):
            yield f"argument {index} has no `{SRAM_OFFSET.name}`; run {SRAM_OFFSET.writers} before"


def problem_of(op: Operation) -> str | None:
    """Why upstream cannot say an op; None if it can."""
    if is_ours(op.name) and type(op) not in SAYABLE:
        dialect = op.name.partition(".")[0]
        return REMEDY.get(dialect, "expected an op of sram, dram, dma or dsp")
    match op:
        case sram.AllocOp() if op.offset is None:
            return "it has no offset; run npu-assign-sram-offsets before"
        case dram.AllocOp() if op.offset is None:
            return "it has no offset; run npu-assign-dram-offsets before"
        case memref.AllocOp() if not SRAM_OFFSET.is_on(op) and in_sram(op):
            return f"it has no `{SRAM_OFFSET.name}`; run npu-assign-sram-offsets before"
        case dma.StartOp() if any(type(use.operation) not in CARRY for use in op.token.uses):
            return "its token goes elsewhere; expected a dma.wait where its dma.start is visible"
        case memref.CopyOp() if order_of(op) is Order.NONE:
            return "its buffers share bytes; expected that of buffers without gaps only"
        case memref.GlobalOp() if reads_differently(op):
            return UNREADABLE
        case dma.WaitOp() if not starts_of(op.token):
            return "its token comes from elsewhere; expected a dma.start that is visible here"
        case _:
            return None if type(op) in SAYABLE else problem_of_attributes(op)


def in_sram(op: memref.AllocOp) -> bool:
    """Whether an allocation is in our on-chip memory."""
    type_ = op.memref.type
    return is_buffer_type(type_) and type_.memory_space == SramSpace()


def problem_of_attributes(op: Operation) -> str | None:
    """Which attribute or type of ours an op needs; None if it needs none but memory spaces."""
    types = [value.type for value in op.results]
    if isinstance(op, scf.ForOp):
        types = [type_ for type_ in types if not isinstance(type_, dma.TokenType)]
    for attribute in (*op.properties.values(), *types):
        if (found := holds_ours(attribute, SPACES)) is not None:
            return f"it needs {found}; expected no attribute or type of ours but memory spaces"
    return None
