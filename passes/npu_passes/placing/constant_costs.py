"""What the constants of layers cost in each memory, read-only or for copies that stay.

Level of IR: layers on buffers, before their memories are chosen. A constant takes the bytes that it
has here; kernels may repack it later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from xdsl.dialects import memref
from xdsl.ir import Operation, OpResult

from npu_dialect.machine import Machine
from npu_dialect.memories import Memory
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import bytes_of, element_bytes, map_type
from npu_dialect.walking import walk_kind
from npu_passes.analysis.core_accesses import accesses_by
from npu_passes.analysis.views import root_of
from npu_plans.arena.fillings import Occupancy
from npu_plans.arena.problem import Buffer
from npu_plans.memories.decide import Overflow
from npu_plans.memories.problem import MemoryProblem, Room
from npu_plans.memories.stored import StoredConstant, stored


@dataclass(frozen=True)
class ReadConstant:
    """A constant that layers of a function read, with the ops that name it.

    `size`: its bytes; `unit`: those of an element; `read`: those that the core reads in one run.
    """

    gets: tuple[memref.GetGlobalOp, ...]
    size: int
    unit: int
    read: int

    @property
    def symbol(self) -> str:
        """The name of the constant."""
        return self.gets[0].name_.string_value()


def read_constants(function: Operation) -> tuple[ReadConstant, ...]:
    """The constants that the layers of a function read, in the order of the text."""
    found: dict[str, ReadConstant] = {}
    for op in walk_kind(function, memref.GetGlobalOp):
        type_, known = map_type(op.memref), found.get(op.name_.string_value())
        gets, read = ((), 0) if known is None else (known.gets, known.read)
        one = ReadConstant((*gets, op), bytes_of(type_), element_bytes(type_), read)
        found[op.name_.string_value()] = one
    for layer in walk_kind(function, LayerOp):
        for value, accesses in accesses_by(layer):
            root = root_of(value)
            if isinstance(root, OpResult) and isinstance(root.op, memref.GetGlobalOp):
                name = root.op.name_.string_value()
                found[name] = replace(found[name], read=found[name].read + accesses.read)
    return tuple(each for each in found.values() if each.read)


def stores_for(module: Operation, machine: Machine, *, together: bool) -> Mapping[str, Memory]:
    """The one of several read-only memories for each constant that layers read, by its symbol.

    Empty on other machines, and if the constants do not fit: they may fit as loops store them.
    """
    if not (stores := machine.stores):
        return {}
    constants = read_constants(module)
    asked = [StoredConstant(each.symbol, each.size, each.read) for each in constants]
    try:
        chosen = stored(asked, *rooms_of(stores, machine), together=together)
    except Overflow:
        return {}
    return {each.symbol: stores[at] for each, at in zip(constants, chosen, strict=True)}


def rooms_of(stores: Sequence[Memory], machine: Machine) -> tuple[list[Room], list[Fraction]]:
    """Read-only memories as rooms, and the bytes that the core reads of each in a cycle."""
    rooms = [Room(each.name, each.bytes, max(each.alignment, machine.alignment)) for each in stores]
    return rooms, [each.read_bytes_per_cycle for each in stores]


def with_constants(
    problem: MemoryProblem,
    constants: Sequence[ReadConstant],
    memories: Sequence[Memory],
    stored: Memory,
    stores: Mapping[str, Memory],
) -> MemoryProblem:
    """The problem of a function with its constants, which may also stay where they are stored.

    That is a room with the name of `stored`. `stores`: where constants lie that are not in `stored`
    itself, by their symbols.
    """
    lived = problem.lived
    last = max((each.last for each in lived.buffers), default=0)
    buffers = tuple(Buffer(f"@{each.symbol}", each.size, each.unit, 0, last) for each in constants)
    rates = [each.read_bytes_per_cycle for each in memories]
    homes = [stores.get(each.symbol, stored).read_bytes_per_cycle for each in constants]
    first = len(lived.buffers)
    return MemoryProblem(
        (*problem.rooms, Room(stored.name, sum(each.size + each.unit for each in constants))),
        Occupancy(
            (*lived.buffers, *buffers), (*lived.fillings, *((),) * len(buffers)), lived.overlays
        ),
        (
            *((*costs, None) for costs in problem.costs),
            *(
                tuple(each.read / rate for rate in (*rates, home))
                for each, home in zip(constants, homes, strict=True)
            ),
        ),
        (*problem.units, *((first + index,) for index in range(len(constants)))),
        problem.rows,
    )
