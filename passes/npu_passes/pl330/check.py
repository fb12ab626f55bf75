"""`pl330-check`: reject microcode that emulators run, but a PL-330 in silicon does not.

    pl330.program @p channel 0 {
      pl330.mov ccr src 8x16 inc dst 8x16 inc
      ...
      pl330.loop 9 { pl330.ld }    // loads 1152 bytes, the MFIFO has 1024
is rejected, with a line for each instruction that is wrong:
    pl330-check: @p, byte 0x0014: DMALD: expected at most 1024 bytes in the MFIFO, got 1152

The IR is not changed: a program is accepted, or it cannot run on this controller. `static_errors`
checks each instruction by itself. Conditions that depend on the instructions before it are checked
by running the program on an abstract state (`flow.py`). Who patches an address when the program is
started also cuts the bursts that cross a page there, as `npu_pl330.c` does; so such bursts are not
rejected. A program that takes too many steps to run is rejected, too. All channels may run at once,
so their programs must fit into the MFIFO together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
        """The violation as one line of the error message."""
        name = self.op.mnemonic() if isinstance(self.op, OneOp) else self.op.MNEMONIC
        return f"@{self.program.sym_name.data}, byte {self.address:#06x}: {name}: {self.message}"


@dataclass(frozen=True)
class Lines:
    """The lines of the MFIFO that a program needs: those that it holds when it takes the right to
    load (`static`), and the most that it ever holds."""

    static: int = 0
    peak: int = 0


def violations_of(program: ProgramOp, controller: Controller) -> tuple[Violation, ...]:
    """The violations in a program, in the order of the code.

    An instruction in a loop gets a message once, not for each round.
    """
    return checked(program, controller)[0]


def checked(program: ProgramOp, controller: Controller) -> tuple[tuple[Violation, ...], Lines]:
    """The violations in a program, and the lines of the MFIFO that it needs."""
    addresses = dict(_addresses(program))
    found: dict[InstructionOp, list[str]] = {op: [] for op in addresses}

    def report(op: InstructionOp, message: str) -> None:
        # Report the first round that goes wrong: in later rounds only the number of "got" differs.
        kind = message.split(", got")[0]
        if not any(known.split(", got")[0] == kind for known in found[op]):
            found[op].append(message)

    for op in addresses:
        for message in static_errors(op, controller):
            report(op, message)
    requests = [op.request.data for op in addresses if isinstance(op, WfpOp)]
    lines = Lines()
    for periph in ("single", "burst") if "periph" in requests else ("burst",):
        runner = Runner(controller, periph, unit_of(addresses, controller))
        try:
            runner.run(program.instructions(), State())
        except TooLong:
            message = f"expected to end within {MOST_STEPS} instructions: the rest is not checked"
            report(program.instructions()[0], message)
        for error in runner.errors():
            report(error.op, error.message)
        static, peak = max(lines.static, runner.static_lines), max(lines.peak, runner.peak_lines)
        lines = Lines(static, peak)
    violations = tuple(
        Violation(program, op, addresses[op], message)
        for op, messages in found.items()
        for message in messages
    )
    return violations, lines


def unit_of(ops: Iterable[InstructionOp], controller: Controller) -> int:
    """The bytes of the widest beat of a program and of the bus: a power of 2."""
    values = [
        op.value.ccr() for op in ops if isinstance(op, MovOp) and isinstance(op.value, CcrAttr)
    ]
    beats = [side.beat for ccr in values for side in (ccr.src, ccr.dst)]
    return max(1 << (controller.bus_bytes - 1).bit_length(), *beats, 1)


def shared_errors(needs: Iterable[tuple[int, Lines]], controller: Controller) -> Iterator[str]:
    """Why programs, each given with its channel, cannot share the MFIFO at any time."""
    pairs = list(needs)
    static: dict[int, int] = {}
    for channel, lines in pairs:
        static[channel] = max(static.get(channel, 0), lines.static)
    most = max((lines.peak - lines.static for _, lines in pairs), default=0)
    if (total := sum(static.values()) + most) > controller.mfifo_lines:
        held = ", ".join(f"{lines} by channel {each}" for each, lines in static.items() if lines)
        yield (
            f"expected programs that share {controller.mfifo_lines} lines of the MFIFO, got "
            f"{total}: {held or 'none'} held while others load, {most} for one load at a time"
        )


def _addresses(program: ProgramOp) -> Iterator[tuple[InstructionOp, int]]:
    """Each instruction with the address of its first byte, from the start of the program."""

    def visit(ops: list[InstructionOp], address: int) -> Iterator[tuple[InstructionOp, int]]:
        for op in ops:
            yield op, address
            if isinstance(op, AnyLoopOp):
                yield from visit(op.instructions(), address + len(op.head()))
            address += op.size

    return visit(program.instructions(), 0)


def static_errors(op: InstructionOp, controller: Controller) -> Iterator[str]:
    """What is wrong with an instruction by itself, whatever comes before it."""
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

    A number that is not given is the machine's.
    """

    name = "pl330-check"

    channels: int | None = None
    """The number of channels of the controller. Default for each option: the machine's."""
    events: int | None = None
    """The number of events between channels and core."""
    peripherals: int | None = None
    """The number of peripherals that can request transfers."""
    mfifo_bytes: int | None = None
    """The bytes of the MFIFO, which all channels share."""
    bus_bytes: int | None = None
    """The bytes of the widest beat."""
    burst: int | None = None
    """The most beats of a burst."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check all programs.

        Raises: PassFailedException with a line for each violation.
        """
        said = {key: value for key, value in vars(self).items() if value is not None}
        controller = replace(Controller.of(machine_of(op)), **said)
        errors: list[str] = []
        needs: list[tuple[int, Lines]] = []
        for program in (found for found in op.walk() if isinstance(found, ProgramOp)):
            if program.channel is not None:
                channel = program.channel.value.data
                for message in _below("a channel", channel, controller.channels):
                    errors.append(f"@{program.sym_name.data}: {message}")
            violations, lines = checked(program, controller)
            errors += map(str, violations)
            if program.channel is not None:
                needs.append((program.channel.value.data, lines))
        errors += [] if errors else shared_errors(needs, controller)
        if errors:
            raise PassFailedException("\n".join(f"{self.name}: {error}" for error in errors))
