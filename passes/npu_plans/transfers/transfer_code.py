"""The shortest code of a PL-330 for a transfer: loops, copies, jumps of the addresses; plain data.

    3 x 5 runs of 28 bytes, 80 bytes apart, and 4096 from one five to the next, into one block
    ->  Ccr((4, 7), (4, 7))
        Loop(3, Loop(5, Copy, Add(sar, 52)), Add(sar, 3696))

A channel has two loop counters, so of the axes of a transfer, the bursts of a run counted as one,
all but two are unrolled: those that give the fewest bytes. Where loops have ended, their counters
are free again: a jump of several instructions becomes a loop whose jumps come out even. A loop of
more than 256 rounds is split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from npu_dialect.machine import MOST_JUMP_OF_PL330
from npu_plans.transfers.bursts import AddressResidue, Bursts, bursts_of
from npu_plans.transfers.runs import Runs

COUNTERS = 2
ROUNDS = 256
"""Most rounds of a loop."""
LEAPS = {1: 65535, -1: 65536}
"""The farthest that an address is moved by one instruction: forwards by DMAADDH, else DMAADNH."""
UNROLLED = 4096
"""Bytes of an unrolled loop above which it is not looked at any more."""


class NoCode(Exception):
    """A transfer that two loop counters and jumps of 255 bytes are not enough for."""


@dataclass(frozen=True)
class Ccr:
    """Set the bursts of both sides: bytes of a beat, and how many."""

    source: tuple[int, int]
    target: tuple[int, int]

    @staticmethod
    def of(bursts: Bursts) -> Ccr:
        """What some bursts need."""
        source, target = ((beat, bursts.size // beat) for beat in bursts.sides)
        return Ccr(source, target)

    @property
    def size(self) -> int:
        """Bytes of code."""
        return 6


@dataclass(frozen=True)
class Copy:
    """Load a burst, store it."""

    @property
    def size(self) -> int:
        """Bytes of code."""
        return 2


@dataclass(frozen=True)
class Add:
    """Move an address, `sar` or `dar`."""

    register: str
    amount: int

    @property
    def size(self) -> int:
        """Bytes of code."""
        return 3


@dataclass(frozen=True)
class Loop:
    """A counted loop."""

    count: int
    body: Code

    @cached_property
    def size(self) -> int:
        """Bytes of code."""
        return 4 + size_of(self.body)


Code: TypeAlias = "tuple[Ccr | Copy | Add | Loop, ...]"
Maker: TypeAlias = Callable[[int], Code]
"""Code for so many free loop counters."""


def size_of(code: Code) -> int:
    """Bytes of code."""
    return sum(each.size for each in code)


def transfer_code(
    runs: Runs,
    source: AddressResidue,
    target: AddressResidue,
    bus_bytes: int = 8,
    longest: int = 16,
) -> Code:
    """The shortest code for a transfer, between moves to SAR and DAR and the end.

    `source` and `target` are what is known of the first addresses.

    Raises: NoCode.
    """
    bursts = bursts_of(
        runs.bytes,
        source.steps(axis.source for axis in runs.axes),
        target.steps(axis.target for axis in runs.axes),
        bus_bytes,
        longest,
    )
    alike = len(bursts) == 1
    code = _axes(runs, 0, _run(bursts, alike=alike))(COUNTERS)
    return (Ccr.of(bursts[0]), *code) if alike else code


def _run(bursts: tuple[Bursts, ...], *, alike: bool) -> Maker:
    """One run; bursts that differ set the register each time."""

    def make(counters: int) -> Code:
        code: Code = ()
        for each in bursts:
            code += () if alike else (Ccr.of(each),)
            code += repeated(each.count, lambda _: (Copy(),), counters)
        return code

    return make


def _axes(runs: Runs, depth: int, run: Maker) -> Maker:
    """The axes of a transfer from `depth` on."""
    if depth == len(runs.axes):
        return run
    axis = runs.axes[depth]
    inside = _axes(runs, depth + 1, run)
    moved = (runs.bytes, runs.bytes)
    if depth + 1 < len(runs.axes):
        inner = runs.axes[depth + 1]
        moved = (inner.count * inner.source, inner.count * inner.target)

    def body(counters: int) -> Code:
        return (
            *inside(counters),
            *jump("sar", axis.source - moved[0], counters),
            *jump("dar", axis.target - moved[1], counters),
        )

    return lambda counters: repeated(axis.count, body, counters)


def repeated(count: int, body: Maker, counters: int) -> Code:
    """The shortest code that does something `count` times.

    Raises: NoCode.
    """
    codes = [code for code in map(together, _ways(count, body, counters)) if _can_jump(code)]
    if not codes:
        raise NoCode
    return min(codes, key=size_of)


def _ways(count: int, body: Maker, counters: int) -> Iterator[Code]:
    """Unrolled, as loops one behind the other, as a loop in a loop."""
    try:
        once = body(counters)
        if count * size_of(once) <= UNROLLED or count == 1:
            yield once * count
    except NoCode:
        pass
    if count == 1 or counters == 0:
        return
    try:
        once = together(body(counters - 1))
    except NoCode:
        return
    full, rest = divmod(count, ROUNDS)
    if full * size_of(once) <= UNROLLED:
        yield (Loop(ROUNDS, once),) * full + ((Loop(rest, once),) if rest else ())
    if count <= ROUNDS or counters == 1:
        return
    try:
        once = together(body(counters - 2))
    except NoCode:
        return
    for outer in range(-(-count // ROUNDS), ROUNDS + 1):
        if count % outer == 0:
            yield (Loop(outer, (Loop(count // outer, once),)),)
            return
    outer = min(full, ROUNDS)
    nest: Code = (Loop(outer, (Loop(ROUNDS, once),)),)
    left = count - outer * ROUNDS
    yield nest + (repeated(left, body, counters) if left else ())


def together(code: Code) -> Code:
    """The same code, with additions that follow each other made one."""
    found: list[Ccr | Copy | Add | Loop] = []
    sums: dict[str, int] = {}
    for each in (*code, None):
        if isinstance(each, Add):
            sums[each.register] = sums.get(each.register, 0) + each.amount
            continue
        for register in sorted(sums, reverse=True):
            found += _adds(register, sums[register])
        sums = {}
        found += [] if each is None else [each]
    return tuple(found)


def _can_jump(code: Code) -> bool:
    """Whether the ends of all loops reach their starts."""
    loops = (each for each in code if isinstance(each, Loop))
    return all(size_of(each.body) <= MOST_JUMP_OF_PL330 and _can_jump(each.body) for each in loops)


def jump(register: str, amount: int, counters: int) -> Code:
    """The shortest code that adds a number to an address."""
    if not amount:
        return ()
    way = 1 if amount > 0 else -1
    leap = LEAPS[way]
    codes = [_adds(register, amount)]
    for adds in range(1, 9) if counters else ():
        least = max(2, -(-abs(amount) // (adds * leap)))
        even = next((n for n in range(least, ROUNDS + 1) if amount % n == 0), None)
        if even is not None:
            codes.append((Loop(even, _adds(register, amount // even)),))
        full = abs(amount) // (adds * leap)
        if 2 <= full <= ROUNDS:
            part = way * adds * leap
            rest = _adds(register, amount - full * part)
            codes.append((Loop(full, _adds(register, part)), *rest))
    return min(codes, key=size_of)


def _adds(register: str, amount: int) -> Code:
    """Additions one behind the other."""
    way = 1 if amount > 0 else -1
    full, rest = divmod(abs(amount), LEAPS[way])
    adds = [Add(register, way * LEAPS[way])] * full
    return (*adds, *((Add(register, way * rest),) if rest else ()))
