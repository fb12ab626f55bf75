"""What a compiled function executes, counted by kind: the features of the cost table.

Each feature is a number of events in one run of a function, such as multiplications, iterations of
innermost loops, or loads of values that found no register. Counted is what is left after what every
optimising C compiler does:

- a value that a loop does not change is computed in front of it,
- an address that a loop steps through is a pointer, one for all accesses at a fixed distance,
- an element that was loaded is not loaded again until the buffer is written,
- a short loop is unrolled (`unrolling.py`),
- a product that is only added is part of the addition, if the core has such an instruction,
- values that find no register go to the stack (`registers.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from npu_plans.instructions.code import (
    Access,
    Block,
    Branch,
    Compute,
    Copy,
    Function,
    Loop,
    Step,
    Terms,
    blocks_of,
    has_float_loads,
    is_innermost,
    steps_within,
)
from npu_plans.instructions.pressure import Early, Pressure, Values
from npu_plans.instructions.unrolling import FREE, unrolled
from npu_plans.instructions.zeros import any_zero, zero_shares

FLOATS = frozenset(
    f"arith.{name}"
    for name in "addf.f32 subf.f32 mulf.f32 divf.f32 cmpf.i1 sitofp.f32 fptosi.i32".split()
)
"""Kinds of ops that are calls of the C library without an FPU; they are faster for zeros."""


MOST_CARRIED = 24
"""Loops that carry more values than these count as those with so many.

A compiler copies some of them at the end of a trip; how many of them depends on their number.
"""


@dataclass(frozen=True)
class Core:
    """What of a core, or of its compiler, decides which instructions there are.

    `float_registers` is 0 for a core without an FPU. `ordered_registers` are those for floats of
    functions with `dsp.load_floats`, which the compiler leaves in their order. `offsets` are the
    bytes that the offsets of loads and stores span, for integers and for floats. `steps` are the
    most bytes by which a load or store of an integer moves its pointer at no cost; those of floats
    move it by one element. 0 if there are no such instructions. `early`: what the compiler moves to
    the front of straight-line code.
    """

    integer_registers: int
    float_registers: int
    ordered_registers: int
    offsets: tuple[int, int]
    steps: int
    early: Early


def features_of(
    function: Function, core: Core, zeros: Mapping[int, float] = MappingProxyType({})
) -> dict[str, float]:
    """The features of one run of a function, without those of the functions that it calls.

    `zeros` are the shares of zeros in the maps that are its arguments.
    """
    function = unrolled(function)
    zeros = zero_shares(function, zeros) if not core.float_registers else {}
    counter = FeatureCounter(function, core, zeros)
    counter.block(function.body, None)
    return dict(counter.found)


class FeatureCounter:
    """Counts the features of one function.

    A value's depth is the number of loops around the place where a compiler computes it.
    """

    def __init__(self, function: Function, core: Core, zeros: Mapping[int, float]) -> None:
        self.function, self.core, self.zeros = function, core, zeros
        self.found: defaultdict[str, float] = defaultdict(float)
        self.values = Values.of(function, has_floats=core.float_registers > 0)
        floats = core.ordered_registers if has_float_loads(function) else core.float_registers
        self.pressure = Pressure(self.values, core.integer_registers, floats, core.early)
        self.depths: dict[int, int] = {}
        self.written: dict[int, int] = {}
        """The depth of the innermost loop so far that writes a buffer."""
        self.hoisted: set[int] = set()
        """The values that are loaded in front of the loops around them."""
        self.settled = settled_in(function.body, self.values)
        self.times = [function.body.times]
        """How often the blocks run that are around the current one, outermost first."""

    def add(self, feature: str, times: float) -> None:
        """Count events."""
        if times:
            self.found[feature] += times

    def depth(self, values: Collection[int]) -> int:
        """The depth of what follows from some values."""
        return min(max((self.depths.get(each, 0) for each in values), default=0), self.here)

    @property
    def here(self) -> int:
        """The number of loops around the current block."""
        return len(self.times) - 1

    def block(self, block: Block, loop: Loop | None) -> None:
        """Count a block; `loop` is that of which it is the body."""
        if not block.times:
            return
        loaded: dict[tuple[int, Terms, int, int], int] = {}
        for step in block.steps:
            match step:
                case Compute():
                    self.depths[step.result] = depth = self.depth(step.operands)
                    self.compute(step, min(block.times, self.times[depth]))
                case Access(writes=False):
                    key = (step.root, step.terms, step.offset, step.size)
                    self.load(step, block.times, loaded.setdefault(key, step.value))
                case Access():
                    self.add(f"store.{moved(step)}", block.times)
                    constant = self.function.is_constant(step.value)
                    self.add("constant.stored", block.times * constant)
                case Copy():
                    self.add("copy", block.times)
                    self.add("copy.byte", block.times * step.size)
                case Loop() | Branch():
                    self.inner(step, block.times)
                case _:
                    pass
            loaded = {} if isinstance(step, Branch) else without(loaded, written_by(step))
        for kind, spills in self.pressure.of(block, loop, self.hoisted).items():
            self.add(f"spill.{kind}.store", spills.stores * block.times)
            self.add(f"spill.{kind}.load", spills.loads * block.times)
            self.add(f"spill.{kind}.entry", spills.entries * self.times[max(self.here - 1, 0)])

    def inner(self, step: Loop | Branch, times: float) -> None:
        """Count a loop or branch that is entered so often."""
        if isinstance(step, Loop):
            self.depths.update((each.result, self.here) for each in step.carried)
            self.loop(step, times)
            return
        self.add("branch", times)
        self.depths.update((result, self.here) for result in step.results)
        for side in step.sides:
            self.block(side, None)

    def load(self, step: Access, times: float, first: int) -> None:
        """Count a load: in front of the loops in which its address and its buffer stay the same.

        `first` is the value that was loaded from there before, or that of this load.
        """
        if first != step.value:
            self.values.unify(step.value, first)
            self.depths[step.value] = self.depths[first]
            self.add("load.again", times)
            return
        varying = [value for value, _ in step.terms]
        depth = min(max(self.depth(varying), self.written.get(step.root, 0)), self.here)
        self.depths[step.value] = depth
        once = min(times, self.times[depth])
        if depth < self.here:
            self.hoisted.add(step.value)
        self.add(f"load.{moved(step)}", once)
        self.add(f"load.invariant.{self.values.kind(step.value)}", times - once)

    def compute(self, step: Compute, times: float) -> None:
        """Count an op that runs so often."""
        if step.kind in FREE or step.result in self.settled:
            return
        if step.kind in FLOATS:
            zeros = times * any_zero(step.operands, self.zeros)
            self.add(f"{step.kind}.zero", zeros)
            times -= zeros
        self.add(step.kind + ".added" * self.values.is_only_added(step), times)
        constants = {value for value in step.operands if self.function.is_constant(value)}
        if step.kind != "arith.cmpf.i1":
            which = "float" if step.kind.endswith("f32") else "integer"
            self.add(f"constant.{which}", times * len(constants))
        if self.core.float_registers and self.values.copies_sum(step):
            self.add("sum.copied", times)

    def loop(self, step: Loop, times: float) -> None:
        """Count a loop that is entered so often: its trips, its pointers, its body."""
        trips, inner = step.body.times, is_innermost(step.body)
        if not trips:
            return
        if trips > times or not (inner or not step.bounds):
            self.steps(step, times, inner)
        self.times.append(trips)
        self.depths[step.index] = self.here
        self.depths.update((each.argument, self.here) for each in step.carried)
        before = dict(self.written)
        self.written.update(dict.fromkeys(written_by(step), self.here))
        self.block(step.body, step)
        self.written = before
        self.times.pop()

    def steps(self, step: Loop, times: float, inner: bool) -> None:
        """Count what a loop costs besides its body."""
        trips = step.body.times
        kind = f"{'inner' if inner else 'outer'}.{'varying' if step.bounds else 'fixed'}"
        pointers = pointers_of(step)
        self.add(f"trip.{kind}", trips)
        self.add(f"entry.{kind}", times)
        self.add(f"pointer.start.{kind}", times * len(pointers))
        group = min(len(step.carried), MOST_CARRIED) // 4 * 4
        for each in step.carried:
            carried = f"carried.{self.values.kind(each.argument)}"
            self.add(carried, times)
            self.add(f"{carried}.{group}", trips)
        if not inner:
            self.add(f"pointer.step.{kind}", trips * len(pointers))
            return
        by_pointer: defaultdict[tuple[int, Terms], list[Access]] = defaultdict(list)
        for access in accesses_in(step.body):
            by_pointer[access.root, access.terms].append(access)
        for (_, terms), accesses in by_pointer.items():
            if step.index in dict(terms):
                free = self.steps_freely(dict(terms)[step.index], step, accesses)
                self.add(f"pointer.step.inner.{'free' if free else 'paid'}", trips)
            self.add("pointer.far", trips * self.far(accesses))

    def steps_freely(self, factor: int, loop: Loop, accesses: list[Access]) -> bool:
        """Whether the only access of a pointer moves it, too."""
        if len({each.offset for each in accesses}) > 1 or not self.core.steps:
            return False
        distance = abs(factor * (loop.numbers.step if loop.numbers is not None else 1))
        is_float = accesses[0].element == "f32"
        return distance == accesses[0].size if is_float else distance <= self.core.steps

    def far(self, accesses: list[Access]) -> int:
        """The pointers besides the first one that the offsets of accesses need."""
        offsets = [each.offset for each in accesses]
        span = self.core.offsets[accesses[0].element == "f32"]
        return (max(offsets) - min(offsets)) // span


def settled_in(block: Block, values: Values) -> set[int]:
    """The bounds of loops that always run once: a compiler sees it, and computes none of them."""
    found: set[int] = set()
    for step in block.steps:
        for inner in blocks_of(step):
            found |= settled_in(inner, values)
        if isinstance(step, Loop) and step.bounds and step.body.times == block.times:
            found.update(value for value in step.bounds if not values.readers[value])
    return found


def moved(step: Access) -> str:
    """The type of what a load or store moves: that of an element, or a word of bytes."""
    return "word" if step.element == "i8" and step.size > 1 else step.element


def without(
    loaded: dict[tuple[int, Terms, int, int], int], roots: Collection[int]
) -> dict[tuple[int, Terms, int, int], int]:
    """The loaded elements that lie in other buffers."""
    return {key: value for key, value in loaded.items() if key[0] not in roots} if roots else loaded


def accesses_in(block: Block) -> list[Access]:
    """The loads and stores of a block and of the blocks inside it."""
    return [step for step in steps_within(block) if isinstance(step, Access)]


def written_by(step: Step) -> set[int]:
    """The buffers to which a step stores."""
    match step:
        case Access():
            return {step.root} if step.writes else set()
        case Loop() | Branch():
            blocks = blocks_of(step)
            return {a.root for block in blocks for a in accesses_in(block) if a.writes}
        case _:
            return set()


def pointers_of(loop: Loop) -> set[tuple[int, Terms]]:
    """The pointers that step with a loop: buffers, with the counters of it and of outer loops."""
    inside = {step.index for step in steps_within(loop.body) if isinstance(step, Loop)}
    return {
        (access.root, tuple(term for term in access.terms if term[0] not in inside))
        for access in accesses_in(loop.body)
        if loop.index in dict(access.terms)
    }
