"""`npu-lower-dma-to-pl330`: give every transfer the microcode that moves its bytes.

Level of IR: buffers that have their offsets, before or after layers became loops. It decides the
bursts and loops of each transfer (`bursts.py` and `transfer_code.py` in `npu_plans/transfers`).

    %t = dma.start %rows to %tile channel 1 : ...
->
    %t = dma.start %rows to %tile channel 1 {pl330.program = @read_1x4x8x16} : ...
    pl330.program @read_1x4x8x16 channel 1 attributes {pl330.bytes = 38 : i64} {
      pl330.mov sar patched 0x00000000      // the run time writes the addresses of %rows and %tile
      pl330.mov dar patched 0x00000000      // here, into the words at bytes SAR_WORD and DAR_WORD
      pl330.mov ccr src 8x8 inc dst 8x8 inc
      pl330.loop 4 { pl330.loop 8 { pl330.ld pl330.st } pl330.addh sar 1536 }
      pl330.wmb
      pl330.sev 1                           // the event has the number of the channel
      pl330.end
    }

`dma.start` still says what moves, so that another engine can ignore the attribute. Transfers on one
channel share a program if they move the same runs of bytes, and the known alignment of their
addresses is the same. Buffers are taken to begin at multiples of a beat, which the memory plan and
the caller ensure; the offset of a view is computed from its indices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    IntegerType,
    ModuleOp,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from npu_dialect import dram, sram
from npu_dialect.attributes import CODE_BYTES, PROGRAM
from npu_dialect.dma import StartOp
from npu_dialect.machine import Machine
from npu_dialect.npu.attributes import DramSpace
from npu_dialect.pl330 import (
    AddhOp,
    AdnhOp,
    EndOp,
    InstructionOp,
    LdOp,
    LoopOp,
    MovesAttr,
    MovOp,
    ProgramOp,
    SevOp,
    Side,
    StOp,
    WmbOp,
)
from npu_dialect.pl330 import Ccr as CcrValue
from npu_dialect.pl330.ccr import BEATS, BURST
from npu_dialect.target import machine_of
from npu_passes.analysis.affine_index import Linear, constant_of, linear
from npu_passes.pl330.controller import Controller
from npu_passes.support.loop_builder import memref_type
from npu_passes.support.refuse import Refusal, RefusingPass, refuse
from npu_passes.support.symbols import GlobalNames, identifier
from npu_passes.support.transfer_runs import transfer_runs
from npu_plans.transfers.bursts import AddressResidue, bursts_of
from npu_plans.transfers.runs import Runs
from npu_plans.transfers.transfer_code import Add, Ccr, Code, Copy, Loop, NoCode, transfer_code

NAME = "npu-lower-dma-to-pl330"
SAME_ADDRESS = (
    memref.CastOp | memref.CollapseShapeOp | memref.ExpandShapeOp | memref.MemorySpaceCastOp
)
"""View ops whose first element is that of what they view."""
SAR_WORD, DAR_WORD = 2, 8
"""The positions, in bytes, of the two addresses in the code of a program."""


@dataclass(frozen=True)
class MicrocodeTransfer:
    """Everything that the code of a program depends on: the bytes moved, alignments, channel."""

    runs: Runs
    source: AddressResidue
    target: AddressResidue
    channel: int

    def moves(self) -> MovesAttr:
        """The transfer as the attribute `moves` of its program."""
        axes = [(axis.count, axis.target, axis.source) for axis in self.runs.axes]
        source, target = ((place.modulus, place.residue) for place in (self.source, self.target))
        return MovesAttr.of(self.runs.bytes, axes, source, target)


@dataclass(frozen=True)
class LowerDmaToPl330Pass(RefusingPass):
    """Give each `dma.start` a `pl330.program`; see the module.

    Raises: PassFailedException if the machine has no PL-330, or if the PL-330 cannot do a transfer.
    """

    name = NAME

    blocks: Literal["reject", "core"] = "reject"
    """What becomes of transfers in blocks, whose bits no microcode can test: `core` leaves them to
    the core."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Insert the programs of each function's transfers after the function."""
        machine = machine_of(op)
        if machine is None or not machine.dma_fifo_bytes:
            which = "no machine" if machine is None else f"{machine.name}, which has none"
            raise Refusal(f"expected a machine with a PL-330, got {which}")
        Controller.of(machine)  # raises an error if the machine's numbers are wrong
        for function in [each for each in op.walk() if isinstance(each, FuncOp)]:
            lower(function, machine, leave_blocks=self.blocks == "core")


def lower(function: FuncOp, machine: Machine, *, leave_blocks: bool) -> None:
    """Give the transfers of a function their programs; `leave_blocks`: but for those in blocks."""
    names = GlobalNames.of(function)
    made: dict[MicrocodeTransfer, ProgramOp] = {}
    place = InsertPoint.after(function)
    for op in [each for each in function.walk() if isinstance(each, StartOp)]:
        if leave_blocks and op.block is not None:
            continue
        transfer = microcode_transfer(op, machine)
        if transfer not in made:
            made[transfer] = program(op, transfer, machine, names)
            Rewriter.insert_op(made[transfer], place)
        PROGRAM.set(op, made[transfer].sym_name.data)


def microcode_transfer(op: StartOp, machine: Machine) -> MicrocodeTransfer:
    """What a transfer moves, as its program needs it.

    Raises: PassFailedException, attached to the op, if no program can do the transfer.
    """
    if op.block is not None:
        refuse(op, "expected a transfer of all elements: microcode cannot skip blocks")
    for value in (op.source, op.target):
        strides = memref_type(value).get_strides()
        if strides is None or any(stride is None for stride in strides):
            refuse(op, f"expected static strides, got {value.type}")
    type_ = memref_type(op.source)
    if 0 in type_.get_shape():
        refuse(op, f"expected a transfer of at least 1 element, got {type_}")
    element = type_.element_type
    if not isinstance(element, AnyFloat | IntegerType) or element.bitwidth % 8:
        refuse(op, f"expected elements of whole bytes, got {element}")
    channel, events = op.channel.value.data, machine.dma_events
    if channel >= machine.dma_channels:
        refuse(op, f"expected a channel below {machine.dma_channels}, got {channel}")
    if channel >= events:
        refuse(op, f"expected an event for channel {channel}, {machine.name} has {events} of them")
    runs = transfer_runs(op, element.size)
    source = place_of(op.source, element.size, machine).steps(axis.source for axis in runs.axes)
    target = place_of(op.target, element.size, machine).steps(axis.target for axis in runs.axes)
    bursts = bursts_of(runs.bytes, source, target, widest_beat(machine), longest_burst(machine))
    # Forget alignment beyond the widest beat in use, so that more transfers share a program.
    widest = [max(beats) for beats in zip(*(each.sides for each in bursts), strict=True)]
    return MicrocodeTransfer(runs, source.steps(widest[:1]), target.steps(widest[1:]), channel)


def place_of(value: SSAValue, element: int, machine: Machine) -> AddressResidue:
    """The known alignment of the address of a view's first element, at most that of a beat.

    `element`: bytes of an element.
    """
    offset, known = Linear(), widest_beat(machine)
    while isinstance(value, OpResult):
        op = value.op
        if isinstance(op, memref.SubviewOp):
            offset = offset.plus(view_offset(op), element)
        elif isinstance(op, sram.AllocOp | dram.AllocOp):
            if op.offset is None:
                known = gcd(known, machine.alignment)
            else:
                offset = offset.plus(Linear(op.offset.value.data))
            break
        elif isinstance(op, memref.GetGlobalOp):
            break
        elif not isinstance(op, SAME_ADDRESS):
            known = gcd(known, element)
            break
        value = op.operands[0]
    if memref_type(value).get_offset() != 0:
        known = gcd(known, element)  # an argument that is a view: only its caller knows the rest
    modulus = gcd(known, *steps_of(offset))
    return AddressResidue(modulus, start_of(offset) % modulus)


def widest_beat(machine: Machine) -> int:
    """Bytes of the widest beat: a power of 2."""
    return min(1 << machine.dma_beat_bytes.bit_length() - 1, BEATS[-1])


def longest_burst(machine: Machine) -> int:
    """Beats of the longest burst; within a line of the MFIFO it takes one line more."""
    lines = machine.dma_fifo_bytes // widest_beat(machine)
    return min(machine.dma_burst, BURST, max(1, lines - 1))


def view_offset(op: memref.SubviewOp) -> Linear:
    """Elements from the start of a view's source to its own, as a function of indices."""
    strides, dynamic = memref_type(op.source).get_strides(), iter(op.offsets)
    assert strides is not None
    found = Linear()
    for offset, stride in zip(op.static_offsets.get_values(), strides, strict=True):
        index = linear(next(dynamic)) if offset == DYNAMIC_INDEX else Linear(offset)
        found = found.plus(index, stride or 0)
    return found


def first_and_step(index: SSAValue) -> tuple[int, int]:
    """`first` and `step` of an index of the form first + step * n; 0 and 1 if nothing is known.

    They are known for the induction variable of a loop with constant bounds.
    """
    owner = index.owner.parent_op() if isinstance(index, BlockArgument) else None
    if isinstance(owner, scf.ForOp) and index is owner.body.block.args[0]:
        first, step = constant_of(owner.lb), constant_of(owner.step)
        if first is not None and step is not None:
            return first, step
    return 0, 1


def start_of(offset: Linear) -> int:
    """The value of an offset if all loops are in their first step and other indices are 0."""
    firsts = (factor * first_and_step(index)[0] for index, factor in offset.factors.items())
    return offset.constant + sum(firsts)


def steps_of(offset: Linear) -> Iterator[int]:
    """The distances, each of which may be added to `start_of` any number of times."""
    return (factor * first_and_step(index)[1] for index, factor in offset.factors.items())


def program(
    op: StartOp, transfer: MicrocodeTransfer, machine: Machine, names: GlobalNames
) -> ProgramOp:
    """The program of a transfer.

    Raises: PassFailedException, attached to the op, if it needs more than two nested loops.
    """
    try:
        code = transfer_code(
            transfer.runs,
            transfer.source,
            transfer.target,
            widest_beat(machine),
            longest_burst(machine),
        )
    except NoCode:
        axes = len(transfer.runs.axes)
        refuse(op, f"expected a transfer that two nested loops can do, got {axes} axes of runs")
    made = ProgramOp(
        names.fresh(wished_name(op)),
        transfer.channel,
        [
            MovOp("sar", 0, patched=True),
            MovOp("dar", 0, patched=True),
            *instructions(code),
            WmbOp(),
            SevOp(transfer.channel),
            EndOp(),
        ],
        transfer.moves(),
    )
    CODE_BYTES.set(made, made.size)
    return made


def wished_name(op: StartOp) -> str:
    """The wanted name of a program: what moves, and its shape, as `read_1x4x8x16`."""
    kind = "read"
    if op.weights is not None:
        kind = "weights"
    elif isinstance(memref_type(op.target).memory_space, DramSpace):
        kind = "write"
    shape = memref_type(op.source).get_shape()
    return identifier("_".join([kind, "x".join(map(str, shape))] if shape else [kind]))


def instructions(code: Code) -> list[InstructionOp]:
    """The ops for the code of a transfer."""
    found: list[InstructionOp] = []
    for each in code:
        match each:
            case Ccr(source, target):
                found.append(MovOp("ccr", CcrValue(Side(*source), Side(*target))))
            case Copy():
                found += [LdOp(), StOp()]
            case Add(register, amount):
                add = AddhOp if amount > 0 else AdnhOp
                found.append(add(register, amount))
            case Loop(count, body):
                found.append(LoopOp(count, instructions(body)))
    return found
