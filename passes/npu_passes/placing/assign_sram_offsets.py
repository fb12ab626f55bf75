"""`npu-assign-sram-offsets`: give every on-chip buffer of a function its place in one arena.

Level of IR: memrefs, before or after layers became loops, of any dialect. It decides the byte
offset of each buffer and the size of the arena. The strategies are in `npu_plans/arena`.

    %a = sram.alloc : memref<1x6x14x14xf32, #npu.sram>
    %b = memref.alloc() : memref<1x16x5x5xf32, #npu.sram>

becomes

    %a = sram.alloc at 4096 : memref<1x6x14x14xf32, #npu.sram>
    %b = memref.alloc() {sram.offset = 0 : i64} : memref<1x16x5x5xf32, #npu.sram>

in a function with `attributes {sram.arena = 8800 : i64}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import ParseError
from xdsl.utils.hints import isa

from npu_dialect.arenas import has_arenas, memory_of_space, set_arenas
from npu_dialect.arguments import argument_attributes
from npu_dialect.attributes import SRAM_OFFSET
from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import MemorySpace, SramSpace
from npu_dialect.sram import AllocOp
from npu_dialect.target import machine_of
from npu_passes.analysis.lifetimes import Lifetimes, OnChipBuffer, lifetimes_of
from npu_passes.analysis.on_chip import functions, in_space, on_chip_spaces, on_chip_values
from npu_passes.placing.messages import columns, name_of, place_of, shape_text
from npu_passes.placing.module_places import with_module_places
from npu_passes.support.refuse import DoesNotFit, Refusal, RefusingPass, refuse
from npu_passes.support.safe_text import SafeParser
from npu_plans.arena import STRATEGIES, exact
from npu_plans.arena.problem import Buffer, PlanError, Problem, Solution, check, live_bound

NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9.$-]*")
"""A memory space that is a string."""
LARGEST_ARENA = 2**63 - 1
"""The most bytes that a 64-bit attribute in the IR can hold."""


@dataclass(frozen=True)
class AssignSramOffsetsPass(RefusingPass):
    """Lay out the on-chip buffers of each function. Functions without any stay as they are.

    `strategy`: `greedy` (any graph), `exact` (any graph; where `greedy` takes more than the bytes
    that live together, it searches for a smaller arena with the work in `budget`), `modules` (paper
    001: MIFM and MOFM at their planned offsets, see `module_places.py`; all other buffers as with
    `greedy`), `ping-pong` (paper 002, section 3.2; chains only), or `none` (no two buffers share
    memory).
    `alignment`: the least alignment of every buffer in bytes; its elements, its allocation and the
    machine may require more. `space`: the on-chip memory space, also that of another compiler;
    `#npu.sram` stands for each `#npu.memory<...>`, too, and each memory gets an arena of its own:
    `attributes {sram.arenas = {dtcm = 1024 : i64, axi = 8800 : i64}}`.

    Offsets that are in the IR already are kept. With an `npu.target`, a plan that does not fit into
    the SRAM, or into a memory, is an error.
    """

    name = "npu-assign-sram-offsets"

    strategy: Literal["greedy", "exact", "modules", "ping-pong", "none"] = "greedy"
    """How to find offsets: `greedy` for any graph, `exact` for the smallest arena that `budget`
    allows, `modules` at the offsets of the module plan, `ping-pong` with two buffers in turns
    (chains only), `none` without sharing memory."""
    budget: int = exact.BUDGET
    """Work of `exact` besides `greedy`, counted in visits of a buffer by the search. The same
    number gives the same plan on every machine; the default takes about half a second."""
    alignment: int = 1
    """The least alignment of every buffer in bytes: a power of two."""
    space: str | int = "#npu.sram"
    """The on-chip memory space: a number, the text of an attribute, or a name such as `"L1"`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan every function, then write the offsets."""
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise Refusal(f"expected an alignment of 2^n, got {self.alignment}")
        if self.budget < 0:
            raise Refusal(f"expected a budget of 0 or more, got {self.budget}")
        space, machine = parse_space(ctx, self.space), machine_of(op)
        if isinstance(self.space, str) and NAME.fullmatch(self.space):
            reject_unknown(op, space, self.space)
        rooms = {each: rooms_of(each, space, machine) for each in functions(op)}
        planned = [each for each in rooms if rooms[each]]
        owners = {name_of(each) for each in functions(op) if each in planned or has_arenas(each)}
        plans: dict[Operation, list[Plan]] = {}
        for function in planned:
            reject_calls(function, owners)
            plans[function] = [self.plan(function, room, machine) for room in rooms[function]]
        for function, found in plans.items():
            write(function, found)

    def plan(self, function: Operation, room: Room, machine: Machine | None) -> Plan:
        """Offsets for the buffers of a function in one memory."""
        strategy = STRATEGIES["greedy" if self.strategy == "modules" else self.strategy]
        if self.strategy == "exact":
            strategy = partial(exact.solve, work=self.budget)
        lifetimes = lifetimes_of(function, room.space)
        problem = problem_of(lifetimes, max(self.alignment, room.alignment))
        if self.strategy == "modules":
            problem = with_module_places(lifetimes, problem, room.bytes)
        name = "" if machine is None else machine.name
        return Plan(room, lifetimes, solve(strategy, lifetimes, problem, room, name))


@dataclass(frozen=True)
class Room:
    """One memory: its name for messages, its space, its bytes and the least alignment in it."""

    name: str
    space: Attribute
    bytes: int
    alignment: int


@dataclass(frozen=True)
class Plan:
    """The offsets of the buffers of a function in one memory."""

    room: Room
    lifetimes: Lifetimes
    solution: Solution


def rooms_of(function: Operation, space: Attribute, machine: Machine | None) -> list[Room]:
    """The memories in which buffers of a function lie, in the order of the machine's file.

    That is `space`; if it is `#npu.sram`, each `#npu.memory<...>` as well.

    Raises: PassFailedException if the machine has no such memory, or several memories, of which
        none is chosen for a buffer.
    """
    spaces = [space]
    if isinstance(space, SramSpace):
        spaces += [each for each in on_chip_spaces(function) if each != space]
    spaces = [each for each in spaces if any(on_chip_values(function, each))]
    least = machine.alignment if machine else 1
    if not any(isinstance(each, MemorySpace) for each in spaces):
        if spaces and isinstance(space, SramSpace) and machine is not None and machine.memories:
            refuse(function, several(machine), f"@{name_of(function)}")
        size = machine.sram_bytes if machine else LARGEST_ARENA
        return [Room("SRAM", each, size, least) for each in spaces]
    if machine is None:
        return [Room(memory_of_space(each), each, LARGEST_ARENA, 1) for each in spaces]
    known = {each.name: each for each in machine.memories}
    for each in spaces:
        if not isinstance(each, MemorySpace):
            refuse(function, several(machine), f"@{name_of(function)}")
        if each.memory not in known:
            names = ", ".join(known) or "#npu.sram"
            message = f"expected buffers in the memories of {machine.name} ({names}), got {each}"
            refuse(function, message, f"@{name_of(function)}")
    return [
        Room(memory.name, MemorySpace.of(memory.name), memory.bytes, max(least, memory.alignment))
        for memory in machine.memories
        if MemorySpace.of(memory.name) in spaces
    ]


def several(machine: Machine) -> str:
    """The message that no memory is chosen yet."""
    names = ", ".join(each.name for each in machine.memories)
    return (
        f"expected npu-assign-memories before, as {machine.name} has the memories {names}, and a "
        "buffer lies in none of them"
    )


def parse_space(ctx: Context, text: str | int) -> Attribute:
    """The memory space that an option names: a number, a name, or else the text of an attribute.

    Raises: PassFailedException if the text is not one attribute.
    """
    text = str(text)
    if NAME.fullmatch(text):
        return StringAttr(text)
    try:
        parser = SafeParser(ctx, text)
        space = parser.parse_attribute()
        if parser.pos < len(text.rstrip()):
            parser.raise_error("expected nothing more")
        return space
    except ParseError:
        what = 'a number, a name like "L1", or an attribute like #npu.sram'
        raise Refusal(f"expected space to be {what}, got {text!r}") from None


def reject_unknown(module: ModuleOp, space: Attribute, text: str) -> None:
    """Reject a name of a memory space that no buffer lies in: `sram` is not `#npu.sram`.

    Raises: Refusal.
    """
    values = (value for op in module.walk() for value in (*op.operands, *op.results))
    if not any(in_space(value, space) for value in values):
        raise Refusal(f"expected space to be that of a buffer, such as #npu.sram, got {text!r}")


def reject_calls(function: Operation, owners: AbstractSet[str]) -> None:
    """Raise if a function with on-chip buffers calls one that has an arena of its own."""
    for op in function.walk():
        for attribute in (*op.properties.values(), *op.attributes.values()):
            if not isinstance(attribute, SymbolRefAttr):
                continue
            name = attribute.root_reference.data
            if name in owners:
                message = (
                    f"expected no call of @{name}, which has on-chip buffers of its own: "
                    "two arenas would share the memory; inline it first"
                )
                refuse(op, message)


def problem_of(lifetimes: Lifetimes, alignment: int) -> Problem:
    """The buffers of a function as plain data; each is aligned to at least `alignment` bytes."""
    return Problem(
        tuple(
            Buffer(
                each.name,
                each.size,
                max(each.alignment, alignment),
                each.first,
                each.last,
                each.pin,
            )
            for each in lifetimes.buffers
        ),
        lifetimes.overlays,
        lifetimes.floor,
    )


def solve(
    strategy: Callable[[Problem], Solution],
    lifetimes: Lifetimes,
    problem: Problem,
    room: Room,
    machine: str,
) -> Solution:
    """Offsets for all buffers with which the arena fits into the memory of a machine.

    Raises: PassFailedException if the strategy finds no offsets, or if the machine has too little
    memory.
    """
    function = lifetimes.function
    where = f"@{name_of(function)}"
    for buffer in problem.buffers:
        if buffer.pin is not None and buffer.pin + buffer.size > room.bytes:
            whose = machine if room.name == "SRAM" else f"{room.name} of {machine}"
            refuse(
                function,
                f"expected {buffer.name!r}, pinned at {buffer.pin}, to end within the "
                f"{room.bytes} bytes of {whose}, got {buffer.pin + buffer.size}",
                where,
            )
    try:
        solution, reason = strategy(problem), ""
    except PlanError as error:
        solution, reason = None, str(error)
    if solution is None:
        refuse(function, reason, where)
    assert not (wrong := check(problem, solution)), wrong
    if solution.arena > LARGEST_ARENA:
        refuse(function, f"expected an arena below 2^63 bytes, got {solution.arena}", where)
    if solution.arena > room.bytes:
        message = overflow(lifetimes, problem, solution, room, machine)
        raise DoesNotFit(f"{where}: {message}", solution.arena)
    return solution


def overflow(
    lifetimes: Lifetimes, problem: Problem, solution: Solution, room: Room, machine: str
) -> str:
    """The message that an arena is too large; it lists the buffers that live at the peak."""
    bound = live_bound(problem)
    where = place_of(lifetimes, bound)
    rows = [
        (
            problem.buffers[index].name,
            shape_text(lifetimes.buffers[index].value),
            f"[{solution.offsets[index]}, {solution.offsets[index] + problem.buffers[index].size})",
            f"{problem.buffers[index].size} bytes",
        )
        for index in sorted(bound.live, key=lambda index: (solution.offsets[index], index))
    ]
    return (
        f"{solution.arena} bytes of {room.name} needed, {room.bytes} available on {machine}; "
        f"the buffers live at {where} alone take {bound.bytes}:" + "".join(columns(rows))
    )


def write(function: Operation, plans: Sequence[Plan]) -> None:
    """Write the offsets and the sizes of the arenas into the IR."""
    for plan in plans:
        write_offsets(plan.lifetimes.buffers, plan.solution.offsets)
    set_arenas(function, {plan.room.space: plan.solution.arena for plan in plans})


def write_offsets(buffers: Sequence[OnChipBuffer], offsets: Sequence[int]) -> None:
    """Write the offset of each buffer into the IR, in bytes."""
    for buffer, offset in zip(buffers, offsets, strict=True):
        # An offset counted from the end of the memory is what the machine says its size is, which
        # may be a number of another type.
        write_offset(buffer.value, int(offset))


def write_offset(value: SSAValue, offset: int) -> None:
    """Write the offset of one buffer into the IR, in bytes."""
    if isinstance(value, BlockArgument):
        write_argument(value, offset)
    elif isinstance(value.owner, AllocOp):
        value.owner.offset = IntegerAttr(offset, i64)
    elif isinstance(value.owner, Operation):
        SRAM_OFFSET.set(value.owner, offset)


def write_argument(arg: BlockArgument, offset: int) -> None:
    """Write the offset of an argument of a function."""
    function = arg.owner.parent_op()
    assert function is not None
    every = function.properties["arg_attrs"]
    assert isa(every, ArrayAttr[DictionaryAttr])
    new = DictionaryAttr({**argument_attributes(arg), **SRAM_OFFSET.entry(offset)})
    function.properties["arg_attrs"] = ArrayAttr(
        [new if index == arg.index else each for index, each in enumerate(every)]
    )
