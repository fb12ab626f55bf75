"""`pl330-check`: microcode that emulators run and silicon does not.

    pl330.program @p channel 0 {
      pl330.mov ccr src 8x16 inc dst 8x16 inc
      ...
      pl330.loop 9 { pl330.ld }    // 1152 bytes, the MFIFO has 1024
is rejected, with a line for each instruction that is wrong:
    pl330-check: @p, byte 0x0014: DMALD: expected at most 1024 bytes in the MFIFO, got 1152

The decision: nothing changes; a program passes, or it is not one for this controller. What an
instruction needs by itself is looked up (`static_errors`); what depends on the instructions before
it is found by running the program on its state (`flow.py`). Of an address that is patched when the
program runs, only its place within a beat is known, so bursts from there are not seen to cross a
page. A loop that is too long to run is rejected too, not passed unchecked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from npu_dialect.machine import MOST_JUMP_OF_PL330
from npu_dialect.pl330 import (
    AnyLoopOp,
    CcrAttr,
    FlushpOp,
    GoOp,
    InstructionOp,
    KillOp,
    MovOp,
    OneOp,
    PeripheralOp,
    ProgramOp,
    SevOp,
    WfeOp,
    WfpOp,
)
from npu_dialect.target import machine_of
from npu_passes.pl330.controller import Controller
from npu_passes.pl330.flow import MOST_STEPS, Runner, State, TooLong, never_ends
from npu_passes.support.refuse import RefusingPass


@dataclass(frozen=True)
class Violation:
    """Why an instruction is wrong; `address` counts bytes from the start of its program."""

    program: ProgramOp
    op: InstructionOp
    address: int
    message: str

    def __str__(self) -> str:
        """One line."""
        name = self.op.mnemonic() if isinstance(self.op, OneOp) else self.op.MNEMONIC
        return f"@{self.program.sym_name.data}, byte {self.address:#06x}: {name}: {self.message}"


def violations_of(program: ProgramOp, controller: Controller) -> tuple[Violation, ...]:
    """What is wrong in a program, in the order of the code; one violation a message of an op."""
    addresses = dict(_addresses(program))
    found: dict[InstructionOp, list[str]] = {op: [] for op in addresses}

    def report(op: InstructionOp, message: str) -> None:
        # The first round in which something is wrong says it: later ones have other numbers.
        kind = message.split(", got")[0]
        if not any(known.split(", got")[0] == kind for known in found[op]):
            found[op].append(message)

    for op in addresses:
        for message in static_errors(op, controller):
            report(op, message)
    requests = [op.request.data for op in addresses if isinstance(op, WfpOp)]
    for periph in ("single", "burst") if "periph" in requests else ("burst",):
        try:
            Runner(controller, periph, report).run(program.instructions(), State())
        except TooLong:
            message = f"expected to be through after {MOST_STEPS} instructions: not checked"
            report(program.instructions()[0], message)
    return tuple(
        Violation(program, op, addresses[op], message)
        for op, messages in found.items()
        for message in messages
    )


def _addresses(program: ProgramOp) -> Iterator[tuple[InstructionOp, int]]:
    """Each instruction and the address of its first byte."""

    def visit(ops: list[InstructionOp], address: int) -> Iterator[tuple[InstructionOp, int]]:
        for op in ops:
            yield op, address
            if isinstance(op, AnyLoopOp):
                yield from visit(op.instructions(), address + len(op.head()))
            address += op.size

    return visit(program.instructions(), 0)


def static_errors(op: InstructionOp, controller: Controller) -> Iterator[str]:
    """What is wrong with an instruction, whatever comes before it."""
    match op:
        case AnyLoopOp():
            if op.jump > MOST_JUMP_OF_PL330:
                yield f"expected a body of at most {MOST_JUMP_OF_PL330} bytes, got {op.jump}"
            if never_ends(op):
                yield "expected a loop forever to wait for something: DMAWFE or DMAWFP"
        case MovOp(value=CcrAttr() as value):
            yield from _ccr_errors(value, controller)
        case SevOp() | WfeOp():
            yield from _below("an event", op.event.value.data, controller.events)
        case PeripheralOp() | FlushpOp():
            number = op.peripheral.value.data
            yield from _below("a peripheral", number, controller.peripherals)
        case GoOp():
            yield from _below("a channel", op.channel.value.data, controller.channels)
        case KillOp():
            yield "expected DMAKILL only from the debug registers"
        case _:
            pass


def _ccr_errors(value: CcrAttr, controller: Controller) -> Iterator[str]:
    ccr = value.ccr()
    for what, side in (("src", ccr.src), ("dst", ccr.dst)):
        if side.beat > controller.bus_bytes:
            yield (
                f"expected {what} beats of at most {controller.bus_bytes} bytes, got {side.beat}"
            )
        if side.beats > controller.burst:
            yield f"expected {what} bursts of at most {controller.burst}, got {side.beats}"


def _below(what: str, value: int, count: int) -> Iterator[str]:
    if value >= count:
        yield f"expected {what} below {count}, got {value}"


@dataclass(frozen=True)
class Pl330CheckPass(RefusingPass):
    """Reject microcode that a PL-330 with these numbers cannot run; see `Controller`.

    What is not said is the machine's.
    """

    name = "pl330-check"

    channels: int | None = None
    """Channels of the controller. Default for each option: the machine's."""
    events: int | None = None
    """Events between channels and core."""
    peripherals: int | None = None
    """Peripherals that can ask for transfers."""
    mfifo_bytes: int | None = None
    """Bytes that all channels together hold on their way."""
    bus_bytes: int | None = None
    """Bytes of the widest beat."""
    burst: int | None = None
    """Most beats of a burst."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check all programs.

        Raises: PassFailedException with a line for each violation.
        """
        said = {key: value for key, value in vars(self).items() if value is not None}
        controller = replace(Controller.of(machine_of(op)), **said)
        errors: list[str] = []
        for program in (found for found in op.walk() if isinstance(found, ProgramOp)):
            if program.channel is not None:
                channel = program.channel.value.data
                for message in _below("a channel", channel, controller.channels):
                    errors.append(f"@{program.sym_name.data}: {message}")
            errors += map(str, violations_of(program, controller))
        if errors:
            raise PassFailedException("\n".join(f"{self.name}: {error}" for error in errors))
