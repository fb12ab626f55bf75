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

from npu_dialect.arguments import argument_attributes
from npu_dialect.attributes import ARENA, LAYER, SRAM_OFFSET
from npu_dialect.machine import Machine
from npu_dialect.npu.maps import is_buffer_type
from npu_dialect.sram import AllocOp
from npu_dialect.target import machine_of
from npu_passes.analysis.lifetimes import Lifetimes, OnChipBuffer, lifetimes_of
from npu_passes.analysis.on_chip import functions, in_space, on_chip_values
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
    machine may require more. `space`: the on-chip memory space, also that of another compiler.

    Offsets that are in the IR already are kept. With an `npu.target`, a plan that does not fit into
    the SRAM is an error.
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
        alignment = max(self.alignment, machine.alignment if machine else 1)
        planned = [each for each in functions(op) if any(on_chip_values(each, space))]
        owners = {name_of(each) for each in functions(op) if each in planned or ARENA.is_on(each)}
        plans: list[tuple[Lifetimes, Solution]] = []
        strategy = STRATEGIES["greedy" if self.strategy == "modules" else self.strategy]
        if self.strategy == "exact":
            strategy = partial(exact.solve, work=self.budget)
        for function in planned:
            reject_calls(function, owners)
            lifetimes = lifetimes_of(function, space)
            problem = problem_of(lifetimes, alignment)
            if self.strategy == "modules":
                capacity = machine.sram_bytes if machine else LARGEST_ARENA
                problem = with_module_places(lifetimes, problem, capacity)
            plans.append((lifetimes, solve(strategy, lifetimes, problem, machine)))
        for lifetimes, solution in plans:
            write(lifetimes, solution)


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


def name_of(function: Operation) -> str:
    """The symbol of a function."""
    name = function.properties.get("sym_name", function.attributes.get("sym_name"))
    return name.data if isinstance(name, StringAttr) else function.name


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
    machine: Machine | None,
) -> Solution:
    """Offsets for all buffers with which the arena fits on the machine.

    Raises: PassFailedException if the strategy finds no offsets, or if the machine has too little
    memory.
    """
    function = lifetimes.function
    where = f"@{name_of(function)}"
    if machine is not None:
        for buffer in problem.buffers:
            if buffer.pin is not None and buffer.pin + buffer.size > machine.sram_bytes:
                refuse(
                    function,
                    f"expected {buffer.name!r}, pinned at {buffer.pin}, to end within the "
                    f"{machine.sram_bytes} bytes of {machine.name}, got {buffer.pin + buffer.size}",
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
    if machine is not None and solution.arena > machine.sram_bytes:
        message = overflow(lifetimes, problem, solution, machine)
        raise DoesNotFit(f"{where}: {message}", solution.arena)
    return solution


def overflow(lifetimes: Lifetimes, problem: Problem, solution: Solution, machine: Machine) -> str:
    """The message that an arena is too large; it lists the buffers that live at the peak."""
    bound = live_bound(problem)
    op = lifetimes.ops[min(bound.point, len(lifetimes.ops) - 1)]
    layer = LAYER.get(op)
    where = op.name if layer is None else f'{op.name} "{layer}"'
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
        f"{solution.arena} bytes of SRAM needed, {machine.sram_bytes} available on {machine.name}; "
        f"the buffers live at {where} alone take {bound.bytes}:" + "".join(columns(rows))
    )


def shape_text(value: SSAValue) -> str:
    """Shape and element type of a buffer: `1x6x14x14xf32`."""
    type_ = value.type
    assert is_buffer_type(type_)
    return "x".join(map(str, (*type_.get_shape(), type_.element_type)))


def columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """One line for each row, with the cells padded so that the columns are aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "\n  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def write(lifetimes: Lifetimes, solution: Solution) -> None:
    """Write the offsets and the size of the arena into the IR."""
    write_offsets(lifetimes.buffers, solution.offsets)
    ARENA.set(lifetimes.function, solution.arena)


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
