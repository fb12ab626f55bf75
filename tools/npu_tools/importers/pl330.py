"""Disassembles microcode of a PL-330 into IR; loops are found by the jumps at their ends.

    tile: bc 01 25 40 09 00 ... 00  # channel 0

A text file has a line of hex like this for each program, as `-t pl330-hex` prints it. Name and
comment may be missing. A file with control characters (the byte of DMAEND is one) is taken as the
bytes of one program. Bytes that the dialect cannot express give one UserError with their address.
Assembling the IR gives the same bytes again.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from npu_dialect.pl330 import (
    ADDRESSES,
    PLAIN,
    AddhOp,
    AdnhOp,
    AnyLoopOp,
    Ccr,
    FlushpOp,
    GoOp,
    LdpOp,
    LoopForeverOp,
    LoopOp,
    MovOp,
    PeripheralOp,
    ProgramOp,
    SevOp,
    StpOp,
    WfeOp,
    WfpOp,
)
from npu_tools.shared.errors import UserError

LINE = re.compile(
    r"(?:(?P<name>[A-Za-z_][\w$.]*)\s*:)?\s*(?P<hex>(?:[0-9A-Fa-f]{2}\s*+)++)"
    r"(?:#(?P<comment>.*))?",
    re.ASCII,
)
"""A program as a line of text. The possessive quantifiers (`*+`, `++`) keep the regex from storing
a choice for each byte, which would take 100 bytes of memory each."""

LARGEST_PROGRAM = 2**14
"""Most bytes of a program. Ops for a million instructions would take a minute; the program of a
transfer has some hundred bytes."""

THREAD = re.compile(r"\s*(?:(?P<manager>manager)|channel\s+(?P<channel>\d{1,4}))\b.*", re.ASCII)
"""The comment that says which thread runs the program: the manager or a channel."""

Build = Callable[[bytes], Operation]


class DecodeError(Exception):
    """The bytes are no microcode, or none that the dialect can express; the message says why."""


@dataclass
class Open:
    """A counted loop whose end is not decoded yet, or the program itself."""

    start: int
    """Address of the first byte of the body."""
    head: tuple[int, int] | None = None
    """The loop's counter (0 or 1) and number of iterations; None for the program."""
    body: list[tuple[int, Operation]] = field(default_factory=list[tuple[int, Operation]])
    """The ops of the body so far, each after its address."""


def _event(byte: int, mask: int = 0) -> int:
    """The event or peripheral number in bits 7:3 of a byte.

    Raises: DecodeError if one of bits 2:0 is set that `mask` does not allow.
    """
    if byte & 7 & ~mask:
        raise DecodeError(f"reserved bits in {byte:#04x}")
    return byte >> 3


def _mov(data: bytes) -> Operation:
    names = {number: name for name, number in MovOp.REGISTERS.items()}
    if data[1] not in names:
        raise DecodeError(f"DMAMOV to register {data[1]}, which does not exist")
    word = int.from_bytes(data[2:], "little")
    return MovOp(names[data[1]], Ccr.of_word(word) if names[data[1]] == "ccr" else word)


def _add(data: bytes) -> Operation:
    amount = int.from_bytes(data[1:], "little")
    register = ADDRESSES[data[0] >> 1 & 1]
    if data[0] & 8:
        return AdnhOp(register, amount - 65536)
    return AddhOp(register, amount)


def _wfe(data: bytes) -> Operation:
    return WfeOp(_event(data[1], 2), invalid=bool(data[1] & 2))


def _go(data: bytes) -> Operation:
    if data[1] > 7:
        raise DecodeError(f"reserved bits in {data[1]:#04x}")
    return GoOp(data[1], int.from_bytes(data[2:], "little"), nonsecure=bool(data[0] & 2))


def _peripheral(kind: type[PeripheralOp], request: str) -> Build:
    return lambda data: kind(_event(data[1]), request)


def _instructions() -> dict[int, tuple[int, Build]]:
    """The length in bytes and the decoder of each opcode, but for those of loops."""
    table: dict[int, tuple[int, Build]] = {
        0xBC: (6, _mov),
        0x34: (2, lambda data: SevOp(_event(data[1]))),
        0x36: (2, _wfe),
        0x35: (2, lambda data: FlushpOp(_event(data[1]))),
        0xA0: (6, _go),
        0xA2: (6, _go),
    }
    table |= {opcode: (3, _add) for opcode in (0x54, 0x56, 0x5C, 0x5E)}
    for plain in PLAIN:
        table[plain.OPCODE] = (1, lambda _, kind=plain: kind())
    for kind in (WfpOp, LdpOp, StpOp):
        for request, (bits, _) in kind.KINDS.items():
            table[kind.OPCODE | bits] = (2, _peripheral(kind, request))
    return table


INSTRUCTIONS = _instructions()

LOOPS = {0x20: 0, 0x22: 1}
"""The opcodes of DMALP, with the loop counter that each uses."""

# Opcodes 29 and 2B would be DMALPEND for DMALPFE with counter 0 and a condition: they are DMASTP.
ENDS = {
    opcode | counter << 2 | bits: (counted, counter, request)
    for opcode, counted in ((0x38, True), (0x28, False))
    for counter in (0, 1)
    for bits, request in ((0, None), (1, "single"), (3, "burst"))
    if counted or counter or request is None
}
"""The opcodes of DMALPEND: whether the loop is counted, its counter, its condition."""


def decode(data: bytes) -> list[Operation]:
    """Decode the instructions of a program.

    Raises: DecodeError that names the address of the wrong byte.
    """
    stack = [Open(0)]
    at = 0
    while at < len(data):
        try:
            at = _step(data, at, stack)
        except (DecodeError, VerifyException) as error:
            raise DecodeError(f"byte {at:#06x}: {error}") from None
    if len(stack) > 1:
        raise DecodeError(f"the loop at byte {stack[-1].start - 2:#06x} has no DMALPEND")
    return [op for _, op in stack[0].body]


def _step(data: bytes, at: int, stack: list[Open]) -> int:
    """Decode the instruction at address `at`; returns the address of the next.

    `stack` holds the program and the open loops, the innermost last.

    Raises: DecodeError for an unknown opcode, missing bytes, or wrong loops.
    """
    opcode = data[at]
    length, build = INSTRUCTIONS.get(opcode, (2, None))
    if build is None and opcode not in LOOPS and opcode not in ENDS:
        raise DecodeError(f"{opcode:#04x} is no instruction")
    code = data[at : at + length]
    if len(code) < length:
        raise DecodeError(f"the code ends {length - len(code)} bytes too early")
    if build is not None:
        stack[-1].body.append((at, build(code)))
    elif opcode in LOOPS:
        if len(stack) > 2:
            raise DecodeError("three counted loops around each other")
        stack.append(Open(at + 2, (LOOPS[opcode], code[1] + 1)))
    elif ENDS[opcode][0]:
        _close_counted(at, code, stack)
    else:
        _close_forever(at, code, stack)
    return at + length


def _close_counted(at: int, code: bytes, stack: list[Open]) -> None:
    """Close the innermost counted loop: its ops since DMALP become the body of a `LoopOp`.

    Raises: DecodeError if no loop is open, or if counter or jump do not fit it.
    """
    _, counter, request = ENDS[code[0]]
    loop = stack[-1]
    if loop.head is None:
        raise DecodeError("DMALPEND without DMALP")
    if loop.head[0] != counter:
        raise DecodeError(f"DMALPEND of counter {counter} in a loop of counter {loop.head[0]}")
    if at - code[1] != loop.start:
        raise DecodeError(
            f"DMALPEND jumps to {at - code[1]:#06x}, the loop's body is at {loop.start:#06x}"
        )
    stack.pop()
    op = LoopOp(loop.head[1], [op for _, op in loop.body], while_request=request)
    if op.default_counter() != counter:
        op = LoopOp(loop.head[1], _detached(op), counter=counter, while_request=request)
    stack[-1].body.append((loop.start - 2, op))


def _close_forever(at: int, code: bytes, stack: list[Open]) -> None:
    """Close a loop forever: the ops since the target of the jump become its body.

    DMALPFE, its start, has no code of its own, so only the jump says where it begins.

    Raises: DecodeError if no instruction is at the target, or if the loop contains another one.
    """
    _, counter, request = ENDS[code[0]]
    target = at - code[1]
    around = stack[-1].body
    first = bisect_left(around, target, key=lambda item: item[0])
    known = around[first][0] if first < len(around) else at
    if known != target:
        raise DecodeError(f"DMALPEND jumps to {target:#06x}, where no instruction of its loop is")
    body = [op for _, op in around[first:]]
    if any(isinstance(inner, LoopForeverOp) for op in body for inner in op.walk()):
        raise DecodeError("a loop forever around a loop forever")
    del around[first:]
    op = LoopForeverOp(body, counter=None if counter else 0, while_request=request)
    around.append((target, op))


def _detached(loop: AnyLoopOp) -> list[Operation]:
    """Detach the ops of a loop's body, and return them."""
    ops = list(loop.body.ops)
    for op in ops:
        op.detach()
    return ops


def program_of(name: str, channel: int | None, data: bytes) -> ProgramOp:
    """The program that some bytes encode; without a channel it is the manager's.

    Raises: DecodeError if the bytes are too many, cannot be decoded, or give a wrong program.
    """
    if len(data) > LARGEST_PROGRAM:
        raise DecodeError(f"{len(data)} bytes: expected a program of at most {LARGEST_PROGRAM}")
    program = ProgramOp(name, channel, decode(data))
    try:
        program.verify()
    except VerifyException as error:
        raise DecodeError(str(error)) from None
    return program


def read_line(text: str, default: str) -> ProgramOp:
    """The program of a line of hex; `default` is its name if the line has none.

    Raises: DecodeError if the line has another form, or if its bytes cannot be decoded.
    """
    match = LINE.fullmatch(text.strip())
    if match is None:
        raise DecodeError("expected [name:] bytes in hex, two digits each, [# channel N]")
    thread = THREAD.fullmatch(match["comment"] or "")
    channel = 0 if thread is None else None if thread["manager"] else int(thread["channel"])
    return program_of(match["name"] or default, channel, bytes.fromhex(match["hex"]))


def text_of(data: bytes) -> str | None:
    """The text of a file; None if it holds the bytes of a program."""
    if re.search(rb"[\x00-\x08\x0e-\x1f\x7f]", data):
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def read_programs(data: bytes, name: str) -> ModuleOp:
    """The module with the programs of a file; programs without a name get one from `name`.

    Raises: UserError if a program cannot be decoded, if two have the same name, or if there is
    none.
    """
    default = re.sub(r"\W", "_", name, flags=re.ASCII) or "program"
    default = f"_{default}" if default[0].isdigit() else default
    if (text := text_of(data)) is None:
        try:
            return ModuleOp([program_of(default, 0, data)])
        except DecodeError as error:
            raise UserError(f"not microcode of a PL-330: {error}") from None
    programs: list[Operation] = []
    names: set[str] = set()
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            program = read_line(line, f"{default}_{number}" if programs else default)
        except DecodeError as error:
            raise UserError(f"line {number}: not microcode of a PL-330: {error}") from None
        if program.sym_name.data in names:
            raise UserError(f"line {number}: a second program {program.sym_name.data}")
        names.add(program.sym_name.data)
        programs.append(program)
    if not programs:
        raise UserError("not microcode of a PL-330: there is no program")
    return ModuleOp(programs)
