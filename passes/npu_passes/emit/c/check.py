"""Finds everything in a module that the C target cannot print, and lists it in one error.

Each entry names the op, its function, and either the pass that would remove it or what was
expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    UnrealizedConversionCastOp,
    f32,
    i32,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from npu_dialect import dma, dram, dsp, mve, sram
from npu_dialect.attributes import LAYER, SRAM_OFFSET
from npu_dialect.contract import PROGRAM_OP
from npu_dialect.npu.attributes import DramSpace
from npu_dialect.stream_attributes import STREAM_PART
from npu_dialect.target import machine_of
from npu_dialect.walking import walk
from npu_passes.analysis.tokens import starts_of
from npu_passes.analysis.views import FROM_BASE
from npu_passes.emit.c.operators import OPERATORS
from npu_passes.emit.c.types import (
    as_memref,
    is_value,
    memref_of,
    memref_problem,
    strides_of,
    transfer_blocks,
    transfer_runs,
)
from npu_passes.support.block_runs import is_ordered
from npu_passes.support.refuse import listed

STRUCTURE = (
    scf.ForOp,
    scf.IfOp,
    scf.YieldOp,
    CallOp,
    ReturnOp,
    memref.GetGlobalOp,
    memref.LoadOp,
    memref.StoreOp,
    memref.CopyOp,
    memref.AllocaOp,
    memref.DeallocOp,
    dram.AllocOp,
    *dma.DMA.operations,
    dsp.LoadWordOp,
    dsp.LoadPairOp,
    dsp.LoadFloatsOp,
    dsp.StoreWordOp,
    dsp.StoreFloatsOp,
    dsp.CopyWordsOp,
    dsp.KeepOrderOp,
    dsp.OpaqueOp,
    mve.LoadOp,
    mve.StoreOp,
    mve.GatherOp,
    mve.GatherBytesOp,
    mve.ScatterOp,
    mve.ScatterBytesOp,
    mve.PackOp,
    mve.MulRowsOp,
    mve.MulRunsOp,
    sram.SpanOp,
    *FROM_BASE,
)
"""Printable ops that are not scalar operators and have no rule of their own."""

PRINTABLE = frozenset(
    (*OPERATORS, *(kind.name for kind in (*STRUCTURE, sram.AllocOp, memref.AllocOp)))
)
"""The names of all ops that can be printed. Looking them up is faster than `isinstance`."""

NUMBERS = (IntegerAttr, FloatAttr)
"""The values of constants that can be printed."""

TRANSFERS: frozenset[type[Operation]] = frozenset((dma.StartOp, dma.WaitOp, scf.ForOp, scf.YieldOp))
"""The ops that have the token of a transfer, or carry it."""

REMEDY = {
    "npu": "run npu-bufferize and npu-lower-to-loops before",
    "linalg": "run convert-linalg-to-loops before",
    "affine": "run lower-affine before",
    "tensor": "run npu-bufferize before",
}
"""For each dialect the passes that make its ops printable."""

MOST_AXES = 6
"""The most axes of a transfer: NPU_DMA_AXES in `npu_dma.h`."""


def check(module: ModuleOp) -> None:
    """Check that a module can be printed as C.

    Raises: PassFailedException with a list of everything that cannot be printed.
    """
    if problems := listed(problem for op in module.ops for problem in problems_at_top(op)):
        raise PassFailedException("c: this cannot be printed as C:" + problems)


def problems_at_top(op: Operation) -> Iterator[str]:
    """What is wrong with an op of the module's body."""
    match op:
        case FuncOp():
            yield from problems_of_signature(op)
            yield from problems_of_body(op)
        case memref.GlobalOp():
            what = f"memref.global @{op.sym_name.data}"
            if op.constant is None or isinstance(op.initial_value, UnitAttr):
                yield f"{what}: it can be written; expected `constant` and a value"
            if problem := type_problem(op.type):
                yield f"{what}: {problem}"
        case _ if op.name == PROGRAM_OP:
            pass  # the target pl330-c prints it
        case _:
            yield f"{op.name}: expected only func.func and memref.global in the module"


def problems_of_signature(function: FuncOp) -> Iterator[str]:
    """What is wrong with the body and the signature of a function."""
    what = f"func.func @{function.sym_name.data}"
    if function.is_declaration:
        yield f"{what}: it has no body"
    elif len(function.body.blocks) != 1:
        yield f"{what}: it has several blocks; expected structured control flow (scf)"
    results = function.function_type.outputs.data
    if results and not (STREAM_PART.is_on(function) and results == (i32,)):
        yield f"{what}: it returns values; run npu-bufferize before, it makes them arguments"
    for index, type_ in enumerate(function.function_type.inputs):
        if problem := type_problem(type_):
            yield f"{what}: argument {index}: {problem}"


def problems_of_body(function: FuncOp) -> Iterator[str]:
    """What is wrong with the ops of a function."""
    fine: set[int] = set()
    for op in walk(function):
        if op is not function and (problem := problem_of(op, fine)):
            layer = LAYER.get(op)
            where = f"@{function.sym_name.data}" + (f" (layer {layer!r})" if layer else "")
            yield f"{op.name} in {where}: {problem}"


def type_problem(type_: Attribute) -> str | None:
    """Why a value of this type cannot be printed as C; None if it can."""
    if is_value(type_) or mve.is_pack(type_):
        return None
    if buffer := as_memref(type_):
        return memref_problem(buffer)
    if isinstance(type_, TensorType):
        return "it is a tensor; run npu-bufferize before"
    if isinstance(type_, dma.TokenType):
        return "it hands a transfer on; expected a dma.wait where its dma.start is visible"
    return f"its type is {type_}, expected a memref or a number"


def problem_of(op: Operation, fine: set[int]) -> str | None:
    """Why an op in a function cannot be printed as C; None if it can.

    `fine` are the ids of types of which values can be printed: few types, that are looked up faster
    than they are checked. Types that are found right are added.
    """
    kind = type(op)
    if op.name not in PRINTABLE:
        dialect = op.name.partition(".")[0]
        return REMEDY.get(
            dialect, "expected an op of arith, math, scf, memref, func, sram, dram, dma, dsp or mve"
        )
    if kind is ReturnOp:
        return None  # problems_of_signature reports it
    for value in (*op.operands, *op.results):
        if id(type_ := value.type) in fine:
            continue
        if kind in TRANSFERS and isinstance(type_, dma.TokenType) and starts_of(value):
            continue  # the token between a start and its wait
        if problem := type_problem(type_):
            return problem
        fine.add(id(type_))
    rule = RULES.get(kind)
    return rule(op) if rule is not None else None


def problem_of_place(op: sram.AllocOp | dram.AllocOp) -> str | None:
    """Why an allocation cannot be printed; None if it has an offset."""
    space = "sram" if isinstance(op, sram.AllocOp) else "dram"
    return (
        None
        if op.offset is not None
        else f"it has no offset; run npu-assign-{space}-offsets before"
    )


def problem_of_alloc(op: memref.AllocOp) -> str | None:
    """Why an allocation of MLIR's own cannot be printed; None if it has an offset."""
    if SRAM_OFFSET.is_on(op):
        return None
    return f"it has no `{SRAM_OFFSET.name}`; run npu-assign-sram-offsets before"


def problem_of_access(op: Operation) -> str | None:
    """Why an op that reads or writes buffers cannot; None if none of them is off the chip."""
    for value in op.operands:
        type_ = as_memref(value.type)
        if type_ is not None and isinstance(type_.memory_space, DramSpace):
            return "only transfers reach #npu.dram; run npu-tile-loops before"
    return None


def problem_of_transfer(op: dma.StartOp) -> str | None:
    """Why the DMA engine cannot do a transfer; None if it can."""
    if 0 in memref_of(op.source).get_shape():
        return "it moves no elements"
    axes = len(transfer_runs(op).axes)
    if axes > MOST_AXES:
        return f"it moves runs along {axes} axes, expected at most {MOST_AXES}"
    blocks = transfer_blocks(op)
    if blocks is not None and not is_ordered(blocks):
        return "it moves blocks of a map whose axes are not in the order of memory"
    return problem_of_channel(op)


def problem_of_channel(op: dma.StartOp) -> str | None:
    """Why the channel of a transfer is wrong for the machine; None if it is not, or unknown."""
    module: Operation = op
    while (parent := module.parent_op()) is not None:
        module = parent
    machine = machine_of(module) if isinstance(module, ModuleOp) else None
    if machine is not None and 0 < machine.dma_channels <= (channel := op.channel.value.data):
        return f"expected a channel below {machine.dma_channels}, got {channel}"
    return None


def problem_of_results(op: Operation) -> str | None:
    """Why an op that chooses between values cannot be printed; None if these are numbers."""
    if any(as_memref(result.type) for result in op.results):
        return "it gives a buffer, expected numbers: in C a name stands for one buffer"
    return None


def problem_of_constant(op: arith.ConstantOp) -> str | None:
    """Why a constant cannot be printed; None if it is a number."""
    if isinstance(op.value, NUMBERS):
        return None
    return "expected a single number; keep arrays in memref.global"


def problem_of_copy(op: memref.CopyOp) -> str | None:
    """Why a copy cannot be printed; None if it can."""
    if problem := problem_of_access(op):
        return problem
    source, target = memref_of(op.source), memref_of(op.destination)
    if source.get_shape() != target.get_shape():
        return f"it copies {source} to {target}, expected equal shapes"
    if source.element_type != target.element_type:
        return f"it copies {source} to {target}, expected equal elements"
    return None


def problem_of_cast(op: UnrealizedConversionCastOp) -> str | None:
    """Why a cast cannot be printed; None if it can."""
    return None if same_bits(op) else "expected one i8 that becomes a ui8, or the reverse"


def problem_of_bits(op: arith.BitcastOp) -> str | None:
    """Why a cast of bits cannot be printed; None if it can."""
    types = op.input.type, op.result.type
    return None if types == (i32, f32) else "expected an i32 whose bits become an f32"


def problem_of_call(op: CallOp) -> str | None:
    """Why a call cannot be printed; None if the module has what it calls."""
    if callee_of(op) is not None:
        return None
    return f"expected a function of this module, got @{op.callee.string_value()}"


def problem_of_reinterpret(op: memref.ReinterpretCastOp) -> str | None:
    """Why a reinterpreted buffer has no static place in its source; None if it has one."""
    if op.offsets or op.sizes or op.strides:
        return "expected static offsets, sizes and strides"
    if memref_of(op.source).get_offset() is None:
        return "its source begins at an unknown offset"
    if tuple(op.static_strides.get_values()) != strides_of(memref_of(op.result)):
        return f"its strides are not those of its type {op.result.type}"
    return None


def same_bits(op: UnrealizedConversionCastOp) -> bool:
    """Whether a cast only changes the signedness of a byte."""
    types = [value.type for value in (*op.inputs, *op.outputs)]
    return len(types) == 2 and all(
        isa(type_, IntegerType) and type_.width.data == 8 for type_ in types
    )


def callee_of(op: CallOp) -> FuncOp | None:
    """The function of the same module that a call names; None if there is none."""
    top = op
    while (parent := top.parent_op()) is not None:
        top = parent
    reference: SymbolRefAttr = op.callee
    functions = (f for block in top.regions[0].blocks for f in block.ops if isinstance(f, FuncOp))
    return next((f for f in functions if f.sym_name.data == reference.string_value()), None)


RULES: Mapping[type[Operation], Callable[[Any], str | None]] = {
    **dict.fromkeys((sram.AllocOp, dram.AllocOp), problem_of_place),
    memref.AllocOp: problem_of_alloc,
    **dict.fromkeys((memref.LoadOp, memref.StoreOp), problem_of_access),
    **dict.fromkeys(
        (dsp.LoadWordOp, dsp.LoadPairOp, dsp.LoadFloatsOp, dsp.StoreWordOp, dsp.CopyWordsOp),
        problem_of_access,
    ),
    dsp.StoreFloatsOp: problem_of_access,
    **dict.fromkeys((mve.LoadOp, mve.StoreOp, mve.GatherOp), problem_of_access),
    **dict.fromkeys((mve.GatherBytesOp, mve.ScatterOp, mve.MulRowsOp), problem_of_access),
    **dict.fromkeys((mve.ScatterBytesOp, mve.MulRunsOp), problem_of_access),
    memref.CopyOp: problem_of_copy,
    memref.ReinterpretCastOp: problem_of_reinterpret,
    dma.StartOp: problem_of_transfer,
    **dict.fromkeys((scf.ForOp, scf.IfOp, arith.SelectOp), problem_of_results),
    arith.ConstantOp: problem_of_constant,
    UnrealizedConversionCastOp: problem_of_cast,
    arith.BitcastOp: problem_of_bits,
    CallOp: problem_of_call,
}
"""For each kind of op with rules of its own the function that says which of them one breaks."""
