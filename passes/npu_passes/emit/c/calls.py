"""The call graph of a program and the effects of each function on memory.

They decide the order of functions, `const` and `restrict`, and which functions need pointers to the
arena, the weights, off-chip memory or the DMA engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from npu_dialect import dma, dram, dsp, mve, sram
from npu_dialect.arenas import memory_of_type
from npu_dialect.attributes import LAYER, VALUE
from npu_dialect.kept_attributes import copy_of
from npu_dialect.stream_attributes import STREAM_PART
from npu_dialect.walking import OpsByClass
from npu_passes.analysis.views import root_of
from npu_passes.emit.c.buffers import Memory, memory_of

OpT = TypeVar("OpT", bound=Operation)


@dataclass(frozen=True)
class Effects:
    """The memory that a function uses."""

    written: frozenset[SSAValue]
    """Buffers (arguments, allocations) that it or a function that it calls writes."""
    arenas: frozenset[str]
    """The memories of its own allocations and of those of the functions that it calls."""
    copies: frozenset[str]
    """The memories of the copies of constants that it or a function that it calls reads."""
    weights: bool
    """Whether it reads weights by name, or calls a function that does."""
    dram: bool
    """Whether it has buffers off the chip, or calls a function that has."""
    dma: bool
    """Whether it starts or counts transfers, or calls a function that does."""


USES = ("weights", "dram", "dma")
"""The fields of `Effects` for what a function may need beside its arguments."""

USE_OF: Mapping[type[Operation], str] = MappingProxyType(
    {
        dram.AllocOp: "dram",
        memref.GetGlobalOp: "weights",
        **dict.fromkeys(dma.DMA.operations, "dma"),
    }
)
"""The kinds of ops that need one of `USES`."""

WRITERS: tuple[type[Operation], ...] = (
    *(memref.StoreOp, memref.CopyOp, dsp.StoreWordOp),
    *(mve.StoreOp, mve.ScatterOp, mve.ScatterBytesOp),
    *(dsp.StoreFloatsOp, dsp.CopyWordsOp, dma.StartOp, CallOp),
)
"""The ops that write memory, or call a function that may do so."""


@dataclass(frozen=True)
class CallGraph:
    """The functions that the public ones need, callees before callers."""

    order: tuple[FuncOp, ...]
    effects: dict[FuncOp, Effects]
    sites: dict[FuncOp, tuple[CallOp, ...]]
    ops: dict[FuncOp, OpsByClass]
    """The ops of each function."""

    @staticmethod
    def of(module: ModuleOp, public: Sequence[FuncOp]) -> CallGraph:
        """Follow the calls from the public functions.

        Raises: PassFailedException if a function calls itself, or writes weights.
        """
        functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        ops: dict[FuncOp, OpsByClass] = {}
        for function in public:
            visit(function, functions, ops, ())
        effects: dict[FuncOp, Effects] = {}
        sites: dict[FuncOp, tuple[CallOp, ...]] = dict.fromkeys(ops, ())
        for function, inside in ops.items():
            effects[function] = effects_of(function, inside, functions, effects)
            for call in inside.of(CallOp):
                callee = functions[call.callee.string_value()]
                sites[callee] += (call,)
        return CallGraph(tuple(ops), effects, sites, ops)

    def ops_of(self, *kinds: type[OpT]) -> Iterator[OpT]:
        """The ops of these classes in all functions, callees first."""
        for function in self.order:
            yield from self.ops[function].of(*kinds)

    def restricted(self, function: FuncOp) -> frozenset[int]:
        """The indices of the arguments that may be `restrict`.

        At each call, they share no byte with another argument, unless the function writes neither
        of the two.
        """
        arguments = function.body.block.args
        buffers = [a.index for a in arguments if isinstance(a.type, MemRefType)]
        effects = self.effects[function]
        if effects.arenas or effects.dram or not self.sites[function]:
            return frozenset()
        written = {index for index in buffers if arguments[index] in effects.written}
        calls = [
            {index: memory_of(call.arguments[index]) for index in buffers}
            for call in self.sites[function]
        ]
        return frozenset(
            index
            for index in buffers
            if not any(conflict(places, index, written) for places in calls)
        )


def conflict(places: dict[int, Memory], index: int, written: set[int]) -> bool:
    """Whether an argument may overlap another one of a call, and one of the two is written."""
    return any(
        places[index].may_overlap(place)
        for other, place in places.items()
        if other != index and (index in written or other in written)
    )


def layers_of(graph: CallGraph, in_tiles: bool) -> dict[CallOp, tuple[int, str]]:
    """The number and name of the layer that each call runs, numbered in the order of the IR.

    With `in_tiles`, several calls may run tiles of one layer: those with the same name that compute
    the same value of the model. They get the same number. So do calls in the parts of a program
    whose input arrives in rows, in their order in each part.
    """
    found: dict[CallOp, tuple[int, str]] = {}
    numbers: dict[object, int] = {}
    for function in graph.order:
        seen: Counter[tuple[str, str | None]] = Counter()
        in_parts = STREAM_PART.is_on(function)
        for call in graph.ops[function].of(CallOp):
            name, value = LAYER.get(call), VALUE.get(call)
            if name is not None:
                again = 0 if in_tiles else seen[name, value]
                seen[name, value] += 1
                key = (name, value, again) if in_tiles or in_parts else call
                found[call] = numbers.setdefault(key, len(numbers)), name
    return found


def visit(
    function: FuncOp,
    functions: dict[str, FuncOp],
    found: dict[FuncOp, OpsByClass],
    path: tuple[FuncOp, ...],
) -> None:
    """Add the ops of a function to `found`, after its callees; `path` are the callers around it.

    Raises: PassFailedException if it calls itself.
    """
    if function in path:
        name = function.sym_name.data
        raise PassFailedException(f"c: function @{name} calls itself, expected no recursion")
    if function in found:
        return
    ops = OpsByClass(function)
    for call in ops.of(CallOp):
        visit(functions[call.callee.string_value()], functions, found, (*path, function))
    found[function] = ops


def effects_of(
    function: FuncOp,
    ops: OpsByClass,
    functions: dict[str, FuncOp],
    known: dict[FuncOp, Effects],
) -> Effects:
    """The effects of a function, from its ops and from the effects of its callees.

    Raises: PassFailedException if it writes weights.
    """
    written: set[SSAValue] = set()
    used = {USE_OF[kind] for kind in ops.lists if kind in USE_OF}
    read = [copy_of(op) for op in ops.of(memref.GetGlobalOp)]
    copies = {each.memory for each in read if each is not None}
    if None not in read:
        used.discard("weights")
    placed = ops.of(sram.AllocOp, memref.AllocOp)
    arenas = {memory_of_type(op.results[0].type) for op in placed}
    for op in ops.of(*WRITERS):
        match op:
            case (
                memref.StoreOp()
                | dsp.StoreWordOp()
                | dsp.StoreFloatsOp()
                | mve.StoreOp()
                | mve.ScatterOp()
                | mve.ScatterBytesOp()
            ):
                written.add(root_of(op.memref))
            case memref.CopyOp():
                written.add(root_of(op.destination))
            case dsp.CopyWordsOp():
                written.add(root_of(op.target))
            case dma.StartOp():
                written.add(root_of(op.target))
                written.update(root_of(value) for value in op.blocked[1:])
            case CallOp():
                callee = functions[op.callee.string_value()]
                effects = known[callee]
                used |= {each for each in USES if getattr(effects, each)}
                arenas |= effects.arenas
                copies |= effects.copies
                written |= {
                    root_of(value)
                    for value, inner in zip(op.arguments, callee.body.block.args, strict=True)
                    if inner in effects.written
                }
            case _:
                pass
    for root in written:
        if isinstance(root.owner, memref.GetGlobalOp):
            name = root.owner.name_.string_value()
            raise PassFailedException(f"c: @{function.sym_name.data} writes the constant @{name}")
    flags = {each: each in used for each in USES}
    return Effects(frozenset(written), frozenset(arenas), frozenset(copies), **flags)
