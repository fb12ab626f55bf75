"""`npu-store-constants`: choose the read-only memory of each constant of a program.

Level of IR: loops, on a machine with several read-only memories. It decides the memory space of
each constant; what reads it goes on with the space that it had.

    %w = memref.get_global @taps : memref<72xi32, #npu.flash>
becomes
    %w = memref.get_global @taps : memref<72xi32, #npu.memory<"rom">>
    %w_1 = "memref.memory_space_cast"(%w) : (...) -> memref<72xi32, #npu.flash>

The constants are those of the final program, as kernels read them (see `npu-keep-constants`), so
their bytes are those of the C. What a memory costs are the bytes that the loops read
(`analysis/constant_reads.py`) at its rate. The choice is exact, with HiGHS
(`npu_plans/memories/stored.py`). A function may be called with constants of several memories, so
only the constants have their memory in the type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect.kept_attributes import STORED_IN
from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import MemorySpace
from npu_dialect.npu.maps import bytes_of, is_buffer_type, map_type
from npu_dialect.target import machine_of
from npu_dialect.walking import walk_kind
from npu_passes.analysis.constant_reads import constant_reads
from npu_passes.analysis.on_chip import space_of
from npu_passes.placing.constant_costs import rooms_of
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import RefusingPass, refuse
from npu_plans.memories.decide import Overflow
from npu_plans.memories.stored import StoredConstant, stored

BLOCK = 16
"""Bytes to whose multiples constants are padded in a file of weights."""


@dataclass(frozen=True)
class StoreConstantsPass(RefusingPass):
    """Choose the read-only memory of each constant; see the module.

    With one read-only memory, or none, all constants stay in their space. Constants that do not fit
    into the memories, each as a whole, are an error. What transfers move costs the core nothing.
    """

    name = "npu-store-constants"

    together: bool = False
    """Whether all constants lie in one memory, as a file of weights does."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose the memories, then write the spaces.

        Raises: PassFailedException if constants are in a memory already, or do not fit.
        """
        machine = machine_of(op)
        gets = list(walk_kind(op, memref.GetGlobalOp))
        if machine is None or not machine.stores or not gets:
            return
        for get in gets:
            space = space_of(get.memref)
            if isinstance(space, MemorySpace):
                refuse(get, f"expected a constant whose memory is not chosen yet, got {space}")
        reads = constant_reads(op)
        sizes = {get.name_.string_value(): bytes_of(map_type(get.memref)) for get in gets}
        constants = [
            StoredConstant(
                name, -(-size // BLOCK) * BLOCK if self.together else size, reads.get(name, 0)
            )
            for name, size in sizes.items()
        ]
        spaces = self.chosen(op, machine, constants)
        for get in gets:
            STORED_IN.drop(get)
            move(get, spaces[get.name_.string_value()])
        for constant in walk_kind(op, memref.GlobalOp):
            if (space := spaces.get(constant.sym_name.data)) is not None:
                constant.type = in_space(constant.type, space)

    def chosen(
        self, module: ModuleOp, machine: Machine, constants: Sequence[StoredConstant]
    ) -> Mapping[str, MemorySpace]:
        """The space of each constant, by its symbol.

        Raises: PassFailedException if they do not fit.
        """
        rooms, rates = rooms_of(machine.stores, machine)
        try:
            places = stored(constants, rooms, rates, together=self.together)
        except Overflow as overflow:
            needs = "".join(
                f"\n  {room.name}: {size} bytes needed, {room.bytes} available"
                for room, size in zip(rooms, overflow.arenas, strict=True)
            )
            largest = max(constants, key=lambda each: each.size)
            what = "the constants, which are one block," if self.together else "the constants"
            refuse(
                module,
                f"{what} do not fit into the read-only memories of {machine.name}:{needs}\n"
                f"the largest of {len(constants)} constants, {largest.name}, takes {largest.size}",
            )
        names = (rooms[place].name for place in places)
        return {each.name: MemorySpace.of(name) for each, name in zip(constants, names)}


def move(get: memref.GetGlobalOp, space: MemorySpace) -> None:
    """Let an op read a constant from its memory, and its users go on with the space it had."""
    before, users = memref_type(get.memref), list(get.memref.uses)
    value = Rewriter.replace_value_with_new_type(get.memref, in_space(before, space))
    if users:
        cast = memref.MemorySpaceCastOp(value, before)
        cast.dest.name_hint = value.name_hint
        Rewriter.insert_op(cast, InsertPoint.after(get))
        for use in users:
            use.operation.operands[use.index] = cast.dest


def in_space(type_: Attribute, space: MemorySpace) -> MemRefType:
    """The type of a buffer in another space."""
    assert is_buffer_type(type_)
    return MemRefType(type_.element_type, type_.get_shape(), type_.layout, space)
