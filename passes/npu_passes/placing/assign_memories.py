"""`npu-assign-memories`: choose one of several memories for every on-chip buffer of a function.

Level of IR: layers on buffers without offsets, on a machine with several memories. It decides the
memory space of each buffer; views have that of their buffer.

    %a = sram.alloc : memref<1x6x14x14xf32, #npu.sram>
    %rows = memref.subview %a[0, 0, 2, 0] ... : memref<..., #npu.sram> to memref<..., #npu.sram>
becomes
    %a = sram.alloc : memref<1x6x14x14xf32, #npu.memory<"dtcm">>
    %rows = memref.subview %a[0, 0, 2, 0] ... : ... to memref<..., #npu.memory<"dtcm">>

The buffers that the core reads and writes most lie in the memory that is fastest for them, as far
as there is room at every point of the program: `npu_plans/memories`. A buffer that is in the space
of a memory already stays there. A buffer that a transfer moves (`dma.start`, `memref.dma_start`)
lies in a memory that DMA engines reach. On a machine with a DMA engine, a buffer that has an offset
already lies in the memory that tiles are planned for (`Machine.planned`): `npu-tile-loops` decides
offsets where memory is short.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import IsTerminator

from npu_dialect.arguments import argument_attributes, is_input, is_output
from npu_dialect.dma import StartOp
from npu_dialect.kept_attributes import KEPT_IN, STORED_IN
from npu_dialect.machine import Machine
from npu_dialect.memories import Memory
from npu_dialect.npu.attributes import MemorySpace, SramSpace
from npu_dialect.npu.maps import is_buffer_type
from npu_dialect.target import machine_of
from npu_dialect.walking import walk_kind
from npu_passes.analysis.core_accesses import Accesses, accesses_of
from npu_passes.analysis.lifetimes import Lifetimes, OnChipBuffer, lifetimes_of
from npu_passes.analysis.on_chip import functions, in_space, on_chip_spaces, on_chip_values
from npu_passes.analysis.views import aliases_of, uses_of
from npu_passes.placing.constant_costs import (
    ReadConstant,
    read_constants,
    stores_for,
    with_constants,
)
from npu_passes.placing.messages import columns, name_of, place_of, shape_text
from npu_passes.support.refuse import DoesNotFit, RefusingPass, refuse
from npu_passes.support.traits import has
from npu_plans.arena.fillings import Occupancy
from npu_plans.arena.problem import PlanError, Problem, live_bound
from npu_plans.memories.decide import Overflow, decide
from npu_plans.memories.problem import MemoryProblem, Room


@dataclass(frozen=True)
class AssignMemoriesPass(RefusingPass):
    """Choose the memory of each on-chip buffer. With one memory, they stay in `#npu.sram`.

    The cost of a buffer in a memory is the cycles of the core's accesses (`core_accesses.py`) at
    the rates of the memory. The plan with the fewest cycles is found with HiGHS; of equal ones, the
    one with the fewest memories. A plan that does not fit is an error. With `constants`, a constant
    of a layer may lie in a memory, too, all the time (`sram.kept_in`): the bytes that it takes then
    are not for buffers. `npu-keep-constants` gives the constants of the final loops their places.

    An argument in `#npu.sram` without `sram.input` or `sram.output` is no buffer of the function,
    as for `npu-assign-sram-offsets`, and stays where its caller has it. A buffer that is passed to
    a function, or returned, is rejected, and so is a function of several blocks. With several
    read-only memories, the op that names a constant says which of them shall hold it
    (`npu.stored_in`), for `npu-estimate-time`; `npu-store-constants` decides on the final loops.
    """

    name = "npu-assign-memories"

    ports: Literal["any", "dma"] = "any"
    """The memories of inputs and outputs: `any`, or those that DMA engines reach, so that a
    peripheral can write an input and read an output in place."""
    sharing: bool = True
    """Whether buffers that do not live together may share bytes; not so with
    `npu-assign-sram-offsets{strategy=none}`."""
    constants: bool = False
    """Whether constants may have copies in memories, for `npu-keep-constants`."""
    together: bool = False
    """Whether all constants lie in one of several read-only memories, as a file of weights does."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan every function, then write the spaces."""
        machine = machine_of(op)
        if machine is None:
            return
        stores = stores_for(op, machine, together=self.together)
        choose = several if machine.memories else beside_one_memory
        plans = [
            choose(function, machine, self, stores)
            for function in functions(op)
            if any(on_chip_values(function, SramSpace()))
        ]
        for plan in plans:
            for value, memory in plan.buffers:
                move(value, MemorySpace.of(memory))
            for constant, memory in plan.constants:
                for get in constant.gets:
                    KEPT_IN.set(get, memory)
        for get in walk_kind(op, memref.GetGlobalOp) if stores else ():
            if (home := stores.get(get.name_.string_value())) is not None:
                STORED_IN.set(get, home.name)


@dataclass(frozen=True)
class Plan:
    """The memory of each buffer of a function, and of each constant that has a copy."""

    buffers: tuple[tuple[SSAValue, str], ...] = ()
    constants: tuple[tuple[ReadConstant, str], ...] = ()


def several(
    function: Operation,
    machine: Machine,
    options: AssignMemoriesPass,
    stores: Mapping[str, Memory],
) -> Plan:
    """The cheapest plan of a function in several memories, with constants if the options say so.

    Raises: PassFailedException if the buffers do not fit into the memories.
    """
    lifetimes = readable(function, machine)
    plain = problem_of(lifetimes, machine.memories, machine, options)
    reject_homeless(lifetimes, plain, machine)
    if options.constants:
        plan = keeping(lifetimes, plain, machine.memories, machine, stores)
        if plan is not None:
            return plan
    values = [each.value for each in lifetimes.buffers]
    return Plan(tuple(zip(values, planned(lifetimes, plain, machine), strict=True)))


def beside_one_memory(
    function: Operation,
    machine: Machine,
    options: AssignMemoriesPass,
    stores: Mapping[str, Memory],
) -> Plan:
    """The constants of a function that lie beside its buffers in the only memory."""
    memories = tuple(each for each in machine.memory if not each.read_only)
    if not options.constants or not memories or machine.dma_channels:
        return Plan()
    lifetimes = lifetimes_of(function, *on_chip_spaces(function))
    plain = problem_of(lifetimes, memories, machine, options)
    plan = keeping(lifetimes, plain, memories, machine, stores)
    return Plan() if plan is None else Plan(constants=plan.constants)


def keeping(
    lifetimes: Lifetimes,
    plain: MemoryProblem,
    memories: Sequence[Memory],
    machine: Machine,
    stores: Mapping[str, Memory],
) -> Plan | None:
    """The cheapest plan of buffers and constants; None if there is none, or no rate of flash."""
    stored = machine.stored
    if stored is None:
        return None
    values = [each.value for each in lifetimes.buffers]
    constants = read_constants(lifetimes.function)
    whole = with_constants(plain, constants, memories, stored, stores)
    try:
        places = decide(whole)
    except (Overflow, PlanError):
        return None
    names = [whole.rooms[places[whole.unit_of[i]]].name for i in range(len(whole.costs))]
    pairs = zip(constants, names[len(values) :], strict=True)
    kept = tuple((each, name) for each, name in pairs if name != stored.name)
    return Plan(tuple(zip(values, names)), kept)


def readable(function: Operation, machine: Machine) -> Lifetimes:
    """The buffers of a function in all on-chip spaces.

    Raises: PassFailedException if one has an offset, is in a memory that the machine has not, is
        passed to a function, or returned, or if there are several blocks.
    """
    if (count := len(function.regions[0].blocks)) > 1:
        refuse(
            function,
            f"expected a function of one block, with structured control flow (scf), got {count} "
            "blocks, which may pass buffers on",
        )
    lifetimes = lifetimes_of(function, *on_chip_spaces(function))
    names = [each.name for each in machine.memories]
    for buffer in lifetimes.buffers:
        space = memory_space(buffer.value)
        if isinstance(space, MemorySpace) and space.memory not in names:
            refuse(
                function,
                f"expected {buffer.name!r} in one of the memories {', '.join(names)} of "
                f"{machine.name}, got {space}",
            )
        pinned = buffer.pin is not None and not isinstance(space, MemorySpace)
        if pinned and machine.planned is None:
            refuse(
                function,
                f"expected {buffer.name!r} without an offset, as its memory is not chosen yet, got "
                f"{buffer.pin}",
            )
        for alias in aliases_of(buffer.value):
            for use in alias.uses:
                if isinstance(use.operation, CallOp):
                    refuse(use.operation, "expected no calls: run this before npu-outline-layers")
                if use.operation.parent_op() is function and ends(use.operation):
                    refuse(
                        use.operation,
                        f"expected {buffer.name!r} not to be returned, as its memory becomes a "
                        "part of its type: npu-bufferize makes results arguments",
                    )
    return lifetimes


def ends(op: Operation) -> bool:
    """Whether an op leaves the region that it is in."""
    return has(op, IsTerminator) and not op.successors


def reject_homeless(lifetimes: Lifetimes, problem: MemoryProblem, machine: Machine) -> None:
    """Check that each buffer may lie somewhere. Raises: PassFailedException if one may not."""
    for index, costs in enumerate(problem.unit_costs):
        if all(cost is None for cost in costs):
            name = lifetimes.buffers[problem.units[index][0]].name
            refuse(
                lifetimes.function,
                f"expected a memory of {machine.name} in which {name!r} may lie, got none: see the "
                "option ports, memories that buffers are in already, and buffers that transfers "
                "move, which need a memory with dma = true",
            )


def planned(lifetimes: Lifetimes, problem: MemoryProblem, machine: Machine) -> list[str]:
    """The name of the memory of each buffer.

    Raises: PassFailedException if the buffers do not fit into the memories.
    """
    try:
        places = decide(problem)
    except PlanError as error:
        refuse(lifetimes.function, str(error), f"@{name_of(lifetimes.function)}")
    except Overflow as overflow:
        message = too_large(lifetimes, problem, overflow, machine)
        raise DoesNotFit(message, sum(overflow.arenas)) from None
    names = [room.name for room in problem.rooms]
    return [names[places[problem.unit_of[index]]] for index in range(len(lifetimes.buffers))]


def problem_of(
    lifetimes: Lifetimes,
    memories: Sequence[Memory],
    machine: Machine,
    options: AssignMemoriesPass,
) -> MemoryProblem:
    """The buffers and memories as plain data."""
    values = [each.value for each in lifetimes.buffers]
    homes = [home_of(each, machine) for each in lifetimes.buffers]
    accesses = accesses_of(lifetimes.function, values)
    return MemoryProblem(
        tuple(
            Room(each.name, each.bytes, max(each.alignment, machine.alignment)) for each in memories
        ),
        lifetimes.occupancy() if options.sharing else alone(lifetimes),
        tuple(
            tuple(
                cost(value, needs, memory, options.ports) if home in (None, memory.name) else None
                for memory in memories
            )
            for value, needs, home in zip(values, accesses, homes, strict=True)
        ),
        units_of(values),
        lifetimes.rows if options.sharing else (),
    )


def alone(lifetimes: Lifetimes) -> Occupancy:
    """The buffers as if each lived all the time."""
    last = len(lifetimes.ops)
    buffers = tuple(replace(each.plain(), first=0, last=last) for each in lifetimes.buffers)
    return Occupancy(buffers, ((),) * len(buffers))


def home_of(buffer: OnChipBuffer, machine: Machine) -> str | None:
    """The memory in which a buffer lies already; None if it may lie in any.

    An offset without a memory is one in the memory that tiles are planned for.
    """
    space = memory_space(buffer.value)
    if isinstance(space, MemorySpace):
        return space.memory
    if buffer.pin is None or machine.planned is None:
        return None
    return machine.planned.name


def cost(value: SSAValue, accesses: Accesses, memory: Memory, ports: str) -> Fraction | None:
    """The cycles of the accesses to a buffer in a memory; None if it may not lie there."""
    marks = argument_attributes(value)
    given = isinstance(memory_space(value), MemorySpace)
    if not given and ports == "dma" and (is_input(marks) or is_output(marks)) and not memory.dma:
        return None
    if not memory.dma and is_transferred(value):
        return None
    reads = accesses.read / memory.read_bytes_per_cycle
    return reads + accesses.written / memory.write_bytes_per_cycle


def is_transferred(value: SSAValue) -> bool:
    """Whether a transfer reads or writes a buffer, or a view of it."""
    return any(isinstance(use.operation, StartOp | memref.DmaStartOp) for use in uses_of(value))


def units_of(values: Sequence[SSAValue]) -> tuple[tuple[int, ...], ...]:
    """The buffers in groups that one value may refer to, as the result of a choice does."""
    unit = list(range(len(values)))
    seen: dict[SSAValue, int] = {}
    for index, value in enumerate(values):
        for alias in aliases_of(value):
            other = unit[seen.setdefault(alias, index)]
            mine = unit[index]
            unit = [other if each == mine else each for each in unit]
    groups: dict[int, list[int]] = {}
    for index, each in enumerate(unit):
        groups.setdefault(each, []).append(index)
    return tuple(map(tuple, groups.values()))


def memory_space(value: SSAValue) -> Attribute:
    """The memory space of a buffer."""
    assert is_buffer_type(value.type)
    return value.type.memory_space


def too_large(
    lifetimes: Lifetimes, problem: MemoryProblem, overflow: Overflow, machine: Machine
) -> str:
    """The message that buffers do not fit: each memory's need, and the buffers at the peak."""
    needs = "".join(
        f"\n  {room.name}: {size} bytes needed, {room.bytes} available"
        for room, size in zip(problem.rooms, overflow.arenas, strict=True)
    )
    bound = live_bound(Problem(problem.lived.buffers, problem.lived.overlays, lifetimes.floor))
    names = [problem.rooms[overflow.places[problem.unit_of[index]]].name for index in bound.live]
    rows = [
        (each.name, shape_text(each.value), f"in {name}", f"{each.size} bytes")
        for name, each in zip(names, (lifetimes.buffers[index] for index in bound.live))
    ]
    return (
        f"@{name_of(lifetimes.function)}: the buffers do not fit into the memories of "
        f"{machine.name}:{needs}\nthe buffers live at {place_of(lifetimes, bound)} alone take "
        f"{bound.bytes}:" + "".join(columns(rows))
    )


def move(buffer: SSAValue, space: MemorySpace) -> None:
    """Give a buffer and its views another memory space."""
    block = buffer.owner
    function = None if isinstance(block, Operation) else block.parent_op()
    for value in aliases_of(buffer):
        if in_space(value, SramSpace()):
            type_ = value.type
            assert is_buffer_type(type_)
            new = MemRefType(type_.element_type, type_.get_shape(), type_.layout, space)
            Rewriter.replace_value_with_new_type(value, new)
    if isinstance(function, FuncOp):
        types = function.function_type
        inputs = [argument.type for argument in function.body.block.args]
        function.function_type = FunctionType.from_lists(inputs, types.outputs.data)
