"""`npu-keep-constants`: let constants that are read often lie in fast memory between runs.

Level of IR: loops, with the arenas of the program. It decides which constants get a copy, in which
memory, and where: behind the arena, which grows by them.

    func.func @f(...) attributes {sram.arenas = {dtcm = 1024 : i64}} {
      %w = memref.get_global @taps : memref<72xi32, #npu.flash>
becomes
    func.func @f(...) attributes {sram.arenas = {dtcm = 1328 : i64}, sram.ready = {dtcm = 1024 :
        i64}} {
      %w = memref.get_global @taps : memref<72xi32, #npu.flash> {sram.copy_at = {dtcm = 1040 : i64}}

The constants are those of the final program, as kernels read them: repacked, each part of a layer's
parameters on its own. What a copy saves are the bytes that the loops read
(`analysis/constant_reads.py`) at the rates of both memories. The choice is exact, with HiGHS
(`npu_plans/memories/constants.py`). The copies are made once, by `ID_init` in C.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npu_dialect.arenas import arenas_of, grow_arenas, has_arenas
from npu_dialect.kept_attributes import COPY_AT, KEPT_IN, READY, WORD
from npu_dialect.machine import Machine
from npu_dialect.memories import SINGLE, Memory
from npu_dialect.npu.maps import bytes_of, element_bytes, map_type
from npu_dialect.target import machine_of
from npu_dialect.walking import walk_kind
from npu_passes.analysis.constant_reads import constant_reads
from npu_passes.analysis.slow_memories import store_of
from npu_passes.support.refuse import RefusingPass, refuse
from npu_plans.memories.constants import Constant, kept
from npu_plans.memories.problem import Room


@dataclass(frozen=True)
class KeepConstantsPass(RefusingPass):
    """Choose the constants that have copies in on-chip memory; see the module.

    All that is left of a memory behind its arena is for copies. A constant costs the reads of the
    memory that holds it, which `npu-store-constants` has chosen if there are several. Nothing is
    copied on a machine whose file has no read-only memory, and on one with transfers.
    """

    name = "npu-keep-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose the copies, then write their places and the new arenas.

        Raises: PassFailedException if constants have copies already, or if the functions of a
            program have different arenas.
        """
        gets = list(walk_kind(op, memref.GetGlobalOp))
        for get in gets:
            if COPY_AT.is_on(get):
                refuse(get, f"expected no {COPY_AT.name}: this pass has run already")
        machine = machine_of(op)
        entries = [each for each in op.ops if isinstance(each, FuncOp) and has_arenas(each)]
        for other in entries[1:]:
            if arenas_of(other) != arenas_of(entries[0]):
                refuse(other, "expected the same arenas in all functions of a program")
        for get in gets:
            KEPT_IN.drop(get)
        stored = None if machine is None else machine.stored
        if machine is None or stored is None or machine.dma_channels or not entries:
            return
        places = tuple(places_in(machine, arenas_of(entries[0])))
        rates = {each.name: each.read_bytes_per_cycle for each in machine.memory}
        candidates = tuple(candidates_of(gets, constant_reads(op), rates, stored.name))
        choice = Choice.of(places, candidates, machine.alignment)
        for function in entries if choice.copies else ():
            grow_arenas(function, choice.ends)
            READY.set(function, choice.ready)
        for get in gets:
            if (copied := choice.copies.get(get.name_.string_value())) is not None:
                COPY_AT.set(get, copied)


@dataclass(frozen=True)
class Place:
    """A memory, by its name in attributes, and the `used` bytes of its arena."""

    name: str
    memory: Memory
    used: int


@dataclass(frozen=True)
class Candidate:
    """A constant of `size` bytes in elements of `unit` bytes.

    `read`: the bytes that one run reads of it. `stored`: the cycles of that without a copy.
    """

    symbol: str
    size: int
    unit: int
    read: int
    stored: Fraction


@dataclass(frozen=True)
class Choice:
    """The copies: memory and offset of each, by the symbol of the constant.

    `ready`: the byte of the word in each memory with copies. `ends`: the end of its arena.
    """

    copies: Mapping[str, dict[str, int]]
    ready: dict[str, int] = field(default_factory=dict[str, int])
    ends: dict[str, int] = field(default_factory=dict[str, int])

    @staticmethod
    def of(places: Sequence[Place], candidates: Sequence[Candidate], alignment: int) -> Choice:
        """The best choice; `alignment`: that of all buffers of the machine."""
        unit = max(WORD, alignment, *(each.memory.alignment for each in places))
        unit = max(unit, *(each.unit for each in candidates)) if candidates else unit
        ready = [-(-each.used // unit) * unit for each in places]
        rooms = [
            Room(each.name, max(0, each.memory.bytes - at - unit), unit)
            for each, at in zip(places, ready, strict=True)
        ]
        rates = [each.memory.read_bytes_per_cycle for each in places]
        constants = [
            Constant(each.symbol, each.size, tuple(each.read / rate for rate in rates), each.stored)
            for each in candidates
        ]
        found = Choice({})
        copies: dict[str, dict[str, int]] = {}
        for each, at in zip(candidates, kept(constants, rooms), strict=True):
            if at is not None:
                name, start = places[at[0]].name, ready[at[0]]
                copies[each.symbol] = {name: start + unit + at[1]}
                found.ready[name] = start
                found.ends[name] = start + unit + at[1] + each.size
        return Choice(copies, found.ready, found.ends)


def places_in(machine: Machine, arenas: Mapping[str, int]) -> Iterator[Place]:
    """The memories that may hold copies, in the order of the machine's file."""
    for each in machine.memory:
        if not each.read_only:
            name = each.name if machine.memories else SINGLE
            yield Place(name, each, arenas.get(name, 0))


def candidates_of(
    gets: Sequence[memref.GetGlobalOp],
    reads: Mapping[str, int],
    rates: Mapping[str, Fraction],
    stored: str,
) -> Iterator[Candidate]:
    """The constants that are read, each once; tables of integers that decide about loops, too.

    `rates`: the bytes that the core reads in a cycle in each memory. `stored`: that of a constant
    for which `npu-store-constants` has chosen none.
    """
    for symbol, op in {op.name_.string_value(): op for op in gets}.items():
        if read := reads.get(symbol, 0):
            type_ = map_type(op.memref)
            yield Candidate(
                symbol,
                bytes_of(type_),
                element_bytes(type_),
                read,
                read / rates[store_of(op) or stored],
            )
