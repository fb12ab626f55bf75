"""The shortest PL-330 code for a transfer: loops, copies and address additions, as plain data.

    3 x 5 runs of 28 bytes, 80 bytes apart, and 4096 from one five to the next, into one block
    ->  Ccr((4, 7), (4, 7))
        Loop(3, Loop(5, Copy, Add(sar, 52)), Add(sar, 3696))

A channel has two loop counters. So all axes of a transfer but two are unrolled, where the bursts of
a run count as an axis; the choice of the two gives the fewest bytes. After a loop its counter is
free again: a long address jump of several additions can become a loop of equal additions. A loop of
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
"""The most bytes that one instruction moves an address: DMAADDH forwards (1), DMAADNH back (-1)."""
UNROLLED = 4096
"""The most bytes of code of an unrolled loop; larger ones are not considered."""


class NoCode(Exception):
    """A transfer has no code with two loop counters and loops of at most 255 bytes.

    255 bytes is the longest backward jump at the end of a loop.
    """


@dataclass(frozen=True)
class Ccr:
    """Set the bursts of both sides, each as (bytes of a beat, beats of a burst)."""

    source: tuple[int, int]
    target: tuple[int, int]

    @staticmethod
    def of(bursts: Bursts) -> Ccr:
        """The register setting for some bursts."""
        source, target = ((beat, bursts.size // beat) for beat in bursts.sides)
        return Ccr(source, target)

    @property
    def size(self) -> int:
        """Bytes of code."""
        return 6


@dataclass(frozen=True)
class Copy:
    """Load a burst and store it."""

    @property
    def size(self) -> int:
        """Bytes of code."""
        return 2


@dataclass(frozen=True)
class Add:
    """Add `amount` bytes to an address register, `sar` (source) or `dar` (target)."""

    register: str
    amount: int

    @property
    def size(self) -> int:
        """Bytes of code."""
        return 3


@dataclass(frozen=True)
class Loop:
    """A loop of `count` rounds."""

    count: int
    body: Code

    @cached_property
    def size(self) -> int:
        """Bytes of code."""
        return 4 + size_of(self.body)


Code: TypeAlias = "tuple[Ccr | Copy | Add | Loop, ...]"
Maker: TypeAlias = Callable[[int], Code]
"""Makes code with at most the given number of loop counters; raises NoCode if there is none."""


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
    """The shortest code for a transfer, without the moves to SAR and DAR and without the end.

    `source` and `target` are the alignments of the first addresses; `bus_bytes` is the widest beat,
    `longest` the most beats of a burst.

    Raises: NoCode if no code is possible with two loop counters.
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
    """A maker of the code for one run. If bursts differ (not `alike`), each sets the register."""

    def make(counters: int) -> Code:
        code: Code = ()
        for each in bursts:
            code += () if alike else (Ccr.of(each),)
            code += repeated(each.count, lambda _: (Copy(),), counters)
        return code

    return make


def _axes(runs: Runs, depth: int, run: Maker) -> Maker:
    """A maker of the code for the axes of a transfer from `depth` on."""
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
    """The shortest code that repeats a body `count` times with at most `counters` loop counters.

    Raises: NoCode if there is none.
    """
    codes = [code for code in map(together, _ways(count, body, counters)) if _can_jump(code)]
    if not codes:
        raise NoCode
    return min(codes, key=size_of)


def _ways(count: int, body: Maker, counters: int) -> Iterator[Code]:
    """The ways to repeat a body: unrolled, as consecutive loops, as a loop in a loop."""
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
    """The same code, with consecutive additions to an address combined."""
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
    """Whether the jump at the end of each loop can reach the loop's start."""
    loops = (each for each in code if isinstance(each, Loop))
    return all(size_of(each.body) <= MOST_JUMP_OF_PL330 and _can_jump(each.body) for each in loops)


def jump(register: str, amount: int, counters: int) -> Code:
    """The shortest code that adds `amount` bytes to an address, as additions or loops of them."""
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
    """Consecutive additions that add up to `amount` bytes."""
    way = 1 if amount > 0 else -1
    full, rest = divmod(abs(amount), LEAPS[way])
    adds = [Add(register, way * LEAPS[way])] * full
    return (*adds, *((Add(register, way * rest),) if rest else ()))
