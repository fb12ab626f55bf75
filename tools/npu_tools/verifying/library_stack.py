"""Measures the stack of library functions that emitted C calls, from their machine code.

No compiler output tells their stack, but few instructions move the stack pointer. The functions are
linked with the machine's libraries and disassembled. The frame of a function is the sum of all that
its instructions take, over all paths, so it is never too small. If an instruction moves the stack
pointer by a register, or calls through one, the function's stack is not known.

     8d38:  push  {r4, r5, r6, lr}          16 bytes
     8e90:  bl    9444 <__clzsi2>           calls __clzsi2
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from npu_dialect.machine import Toolchain

OBJDUMPS = ("arm-none-eabi-", "riscv64-unknown-elf-", "riscv32-unknown-elf-")
"""The prefixes of the bare-metal compilers whose machine code can be read here."""

HEAD = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
HEADS = re.compile(HEAD.pattern, re.MULTILINE)
SYMBOLS = re.compile(r"^([0-9a-f]+) .{7} \S+\t[0-9a-f]+ (?:\.\w+ )?(\S+)$", re.MULTILINE)
"""An entry of the symbol table: address, flags, section, size, visibility if it is not the usual
one, name."""
CODE = re.compile(r"^ *[0-9a-f]+:\t(\S+)(?:\t(.*))?$")
BRANCH = re.compile(r"c?b|j|call|tail")
PLACE = re.compile(r"<([^>+]+)(?:\+0x[0-9a-f]+)?>")
TAKES = (
    re.compile(r"subw?(?:\.w)? (?:sp, )?sp, #(\d+)"),
    re.compile(r"sub sp, #(\d+)"),
    re.compile(r"strd?(?:\.w)? .*\[sp, #-(\d+)\]!"),
    re.compile(r"(?:c\.)?addi?(?:16sp)? sp,sp,-(\d+)"),
)
"""Instructions that move the stack pointer down by a number."""
PUSHES = re.compile(r"(?:push|stmdb|stmfd|vpush|vstmdb)(?:\.w|\.32|\.64)? (?:sp!, )?\{(.*)\}")
UNKNOWN = re.compile(
    r"(?:add|sub)(?:\.w|s)? sp, (?:sp, )?[a-z]+\d|(?:add|sub) sp,sp,[a-z]|mov(?:\.w)? sp, r[^7]"
    r"|blx(?:\.w|\.n)? (?:r\d|ip)|(?:c\.)?jalr (?!.*<)"
)
SAVE = re.compile(r"__riscv_save_(\d+)$")
"""A function that takes stack for its caller: for the return address and so many registers."""


@dataclass(frozen=True)
class Code:
    """Functions of disassembled code: frames in bytes, the functions that each calls, and those
    whose stack is not known."""

    frames: Mapping[str, int] = field(default_factory=dict[str, int])
    calls: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    unknown: frozenset[str] = frozenset()

    @staticmethod
    def parse(text: str) -> Code:
        """Parse the output of `objdump -t -d --no-show-raw-insn`.

        The code shows one name of each function only; the symbol table has the others.
        """
        frames: dict[str, int] = {}
        calls: dict[str, tuple[str, ...]] = {}
        unknown: set[str] = set()
        name = ""
        for line in text.splitlines():
            if head := HEAD.match(line):
                name = head[2]
                frames[name], calls[name] = 0, ()
            elif name and (code := CODE.match(line)):
                instruction = f"{code[1]} {(code[2] or '').split('@')[0]}".strip()
                frames[name] += taken(instruction)
                place = PLACE.search(instruction) if BRANCH.match(instruction) else None
                if UNKNOWN.match(instruction):
                    unknown.add(name)
                elif place is not None and (save := SAVE.match(place[1])):
                    frames[name] += 16 * (int(save[1]) // 4 + 1)
                elif place is not None and place[1] not in (name, *calls[name]):
                    calls[name] += (place[1],)
        for name in [name for name in frames if name.startswith("__riscv_")]:
            frames[name], calls[name] = 0, ()
            unknown.discard(name)
        heads = {int(place, 16): name for place, name in HEADS.findall(text)}
        for place, name in SYMBOLS.findall(text):
            if name not in frames and int(place, 16) in heads:
                frames[name], calls[name] = 0, (heads[int(place, 16)],)
        return Code(frames, calls, frozenset(unknown))

    def deepest(self, name: str, path: tuple[str, ...] = ()) -> int | None:
        """The bytes of stack on the deepest call path from a function; None if not known."""
        if name in self.unknown or name not in self.frames or name in path:
            return None
        below = [self.deepest(each, (*path, name)) for each in self.calls[name]]
        known = [each for each in below if each is not None]
        return None if len(known) < len(below) else self.frames[name] + max(known, default=0)


def taken(instruction: str) -> int:
    """Bytes by which an instruction moves the stack pointer down."""
    for pattern in TAKES:
        if found := pattern.match(instruction):
            return int(found[1])
    if pushed := PUSHES.match(instruction):
        return sum(register_bytes(each.strip()) for each in pushed[1].split(","))
    return 0


def register_bytes(text: str) -> int:
    """The bytes of one register in a list, or of a range of registers such as `d8-d11`."""
    first, _, last = text.partition("-")
    count = int(last[1:]) - int(first[1:]) + 1 if last else 1
    return count * (8 if text.startswith("d") else 4)


def library_stack(toolchain: Toolchain, compiler: str, names: Iterable[str]) -> dict[str, int]:
    """The bytes of stack that each of these functions takes, with all functions that it calls.

    Functions whose stack is not known are left out, such as those that are not linked statically.
    """
    names = sorted(set(names))
    if not names or not toolchain.compiler.startswith(OBJDUMPS):
        return {}
    text = disassembled(toolchain, compiler, names)
    code = Code.parse(text)
    found = ((name, code.deepest(name)) for name in names)
    return {name: size for name, size in found if size is not None}


def disassembled(toolchain: Toolchain, compiler: str, names: Iterable[str]) -> str:
    """The symbols and the code of library functions, by `objdump`; empty if they do not link.

    The linker takes them from the libraries alone. `nm` would load plug-ins of compilers, which
    takes longer than all the rest.
    """
    with tempfile.TemporaryDirectory(prefix="npu-") as folder:
        link = [compiler, *toolchain.flags, "-nostartfiles", "-Wl,--gc-sections", "-Wl,-e,0"]
        link += [*(f"-Wl,-u,{name}" for name in names), "-lm", "-o", "none.elf"]
        done = subprocess.run(link, cwd=folder, capture_output=True, check=False)
        if done.returncode:
            return ""
        objdump = f"{compiler.removesuffix('gcc')}objdump"
        show = [objdump, "-t", "-d", "--no-show-raw-insn", "none.elf"]
        done = subprocess.run(show, cwd=folder, capture_output=True, text=True, check=False)
        return done.stdout
