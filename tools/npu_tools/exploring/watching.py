"""Notes what passes ask of a machine, so that another machine with the same answers need not ask.

A pass reads a machine through `machine_of`. Here it gets one that notes which numbers are read. The
size of the SRAM is more than read: passes compare sizes with it. So it is a number that notes the
range in which all comparisons would have come out as they did.

    free = machine.sram_bytes - 4096       # 65536 - 4096
    if 30000 <= free:                      # so from here on: sram_bytes of 34096 or more

A machine whose SRAM lies in that range, and which has the same other numbers, leads a pass to the
same IR. What cannot be followed that way, such as the text of the number, makes the range that one
number: it costs time, never a wrong result.
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import ceil, floor, isinf
from typing import Any, TypeAlias

from npu_dialect.machine import Machine
from npu_dialect.machine_values import MOST

SRAM = "sram_bytes"
KEYS = frozenset(each.name for each in fields(Machine))


class Leaked(RuntimeError):
    """A watched number was used after its watch had ended, so that nothing can note it."""


@dataclass
class Seen:
    """What was asked of a machine: numbers that were read, and a range of its SRAM's size.

    `most` is None if there is no upper end. A machine with these numbers gives the same answers.
    """

    exact: dict[str, object] = field(default_factory=dict[str, object])
    least: int = 0
    most: int | None = None

    def holds(self, machine: Machine) -> bool:
        """Whether a machine gives the same answers."""
        sram = machine.sram_bytes
        if sram < self.least or (self.most is not None and sram > self.most):
            return False
        return all(getattr(machine, key) == value for key, value in self.exact.items())

    def add(self, other: Seen) -> None:
        """Add what was asked of the same machine elsewhere."""
        self.exact.update(other.exact)
        self.at_least(other.least)
        if other.most is not None:
            self.at_most(other.most)

    def at_least(self, size: int) -> None:
        """Note that a smaller SRAM gives another answer."""
        self.least = max(self.least, size)

    def at_most(self, size: int) -> None:
        """Note that a larger SRAM gives another answer."""
        self.most = size if self.most is None else min(self.most, size)


class Watch:
    """Makes machines that note in `seen` what is asked of them, until `end`."""

    def __init__(self) -> None:
        self.seen = Seen()
        self.is_over = False

    def end(self) -> Seen:
        """Stop; returns what was asked."""
        self.is_over = True
        return self.seen

    def __call__(self, machine: Machine) -> Machine:
        """A machine with the same numbers that notes what is read."""
        watched = object.__new__(WatchedMachine)
        vars(watched).update(vars(machine))
        object.__setattr__(watched, "watch", self)
        return watched

    def read(self, key: str, value: Any) -> Any:
        """The value of a key that is read now.

        Raises: Leaked if the watch is over.
        """
        if self.is_over:
            raise Leaked(key)
        if key == SRAM:
            return value if self.seen.least == self.seen.most else Size(self, value)
        self.seen.exact[key] = value
        return value


class WatchedMachine(Machine):
    """A machine that tells its watch which of its numbers are read."""

    def __getattribute__(self, name: str) -> Any:
        """Note the number that is read."""
        value: Any = object.__getattribute__(self, name)
        if name not in KEYS:
            return value
        watch: Watch = object.__getattribute__(self, "watch")
        return watch.read(name, value)

    def __eq__(self, other: object) -> bool:
        """Compare all numbers, which are read for that."""
        return isinstance(other, Machine) and all(
            getattr(self, key) == getattr(other, key) for key in KEYS
        )

    def __hash__(self) -> int:
        """The hash of all numbers, which are read for that."""
        return hash(tuple(getattr(self, key) for key in sorted(KEYS)))


STEPS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda one, other: one + other,
    "//": lambda one, other: one // other,
    "*": lambda one, other: one * other,
}

Number: TypeAlias = int | float | Fraction
Step: TypeAlias = tuple[str, Any]


class Size:
    """A number that grows with the size of the SRAM; comparisons are noted as ranges of the latter.

    `steps`: how it comes from that size: `("+", n)` adds n, `("//", n)` divides by n, `("*", n)`
    multiplies by n. It is no `int`: code in C would take its value without a trace.
    """

    __slots__ = ("steps", "value", "watch")
    __array_ufunc__ = None

    def __init__(self, watch: Watch, value: Any, steps: tuple[Step, ...] = ()) -> None:
        self.watch, self.value, self.steps = watch, value, steps

    def at(self, sram: int) -> Any:
        """The number for another size of the SRAM."""
        found: Any = sram
        for kind, number in self.steps:
            found = STEPS[kind](found, number)
        return found

    def first(self, other: Number, strict: bool) -> int:
        """The smallest SRAM for which the number is at least another one, or above it."""
        if self.is_scaled:
            above = operator.gt if strict else operator.ge
            return bisect_left(range(MOST), True, key=lambda sram: above(self.at(sram), other))
        least = floor(other) + 1 if strict else ceil(other)
        for kind, number in reversed(self.steps):
            least = least - number if kind == "+" else least * number
        return least

    @property
    def is_scaled(self) -> bool:
        """Whether the number may be a fraction."""
        return any(kind == "*" for kind, _ in self.steps)

    def holds(self, other: Number, strict: bool) -> bool:
        """Whether the number is at least another one, or above it; notes for which sizes.

        Raises: Leaked if the watch is over.
        """
        if isinf(other):
            return other < 0
        if self.watch.is_over:
            raise Leaked(SRAM)
        first = self.first(other, strict)
        if self.value > other or (self.value == other and not strict):
            self.watch.seen.at_least(first)
            return True
        self.watch.seen.at_most(first - 1)
        return False

    def apart(self, other: object) -> int | None:
        """How much more the number is than another one, if that is so for all sizes; else None."""
        if not isinstance(other, Size) or base_of(self.steps) != base_of(other.steps):
            return None
        return None if self.is_scaled else self.value - other.value

    def known(self) -> Any:
        """The number itself, of which other sizes of SRAM would give another one.

        The range ends where the number changes.
        """
        self.holds(self.value, strict=False)
        self.holds(self.value, strict=True)
        return self.value

    def __index__(self) -> int:
        """The number itself, where only an integer will do."""
        return operator.index(self.known())

    def __int__(self) -> int:
        """The number itself without its fraction."""
        return int(self.known())

    def __ge__(self, other: Any) -> Any:
        """Compare, and note."""
        if (apart := self.apart(other)) is not None:
            return apart >= 0
        return self.holds(other, strict=False) if plain(other) else self.known() >= bare(other)

    def __gt__(self, other: Any) -> Any:
        """Compare, and note."""
        if (apart := self.apart(other)) is not None:
            return apart > 0
        return self.holds(other, strict=True) if plain(other) else self.known() > bare(other)

    def __lt__(self, other: Any) -> Any:
        """Compare, and note."""
        return not self >= other

    def __le__(self, other: Any) -> Any:
        """Compare, and note."""
        return not self > other

    def __eq__(self, other: object) -> Any:
        """Compare, and note."""
        if isinstance(other, int | float | Fraction):
            return self.holds(other, strict=False) and not self.holds(other, strict=True)
        if (apart := self.apart(other)) is not None:
            return apart == 0
        return self.known() == bare(other)

    def __hash__(self) -> int:
        """A hash that numbers have which come from the size of the SRAM in the same way."""
        return hash(self.steps)

    def __bool__(self) -> bool:
        """Whether the number is not 0."""
        return not self == 0

    def __add__(self, other: Any) -> Any:
        """A number that grows likewise."""
        if type(other) is not int:
            return self.known() + bare(other)
        steps, more = self.steps, other
        if steps and steps[-1][0] == "+":  # one step, so that equal numbers look alike
            steps, more = steps[:-1], steps[-1][1] + other
        return Size(self.watch, self.value + other, (*steps, ("+", more)) if more else steps)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """A number that grows likewise."""
        if type(other) is int:
            return self + -other
        apart = self.apart(other)
        return self.known() - bare(other) if apart is None else apart

    def __floordiv__(self, other: Any) -> Any:
        """A number that grows slower."""
        if type(other) is not int or other < 1:
            return self.known() // bare(other)
        return Size(self.watch, self.value // other, (*self.steps, ("//", other)))

    def __mul__(self, other: Any) -> Any:
        """A number that grows faster or slower."""
        if not plain(other) or not 0 < other < MOST:
            return self.known() * bare(other)
        return Size(self.watch, self.value * other, (*self.steps, ("*", other)))

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        """The number with the other sign, which is known then."""
        return -self.known()

    def __float__(self) -> float:
        """The number itself."""
        return float(self.known())

    def __str__(self) -> str:
        """The text of the number, which is known then."""
        return str(self.known())

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        """The text of the number, which is known then."""
        return format(self.known(), spec)


def base_of(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps without what is added at the end."""
    return steps[:-1] if steps and steps[-1][0] == "+" else steps


def plain(other: object) -> bool:
    """Whether a number can be compared with a `Size` without knowing the latter."""
    return isinstance(other, int | float | Fraction)


def bare(other: Any) -> Any:
    """A number as it is, also if it is a `Size`."""
    return other.known() if isinstance(other, Size) else other


Operator: TypeAlias = Callable[[Any, Any], Any]

FOLLOWED = ("sub", "floordiv")
"""Operators with a `Size` on the left that are followed."""
KNOWN: Mapping[str, Operator] = {
    "truediv": lambda one, other: one / other,
    "mod": lambda one, other: one % other,
    "pow": lambda one, other: one**other,
    "sub": lambda one, other: one - other,
    "floordiv": lambda one, other: one // other,
}
"""Operators that are not followed, at least with a `Size` on the right."""


def of_known(apply: Operator) -> tuple[Operator, Operator]:
    """An operator on a `Size` that is known then, as the left and as the right operand."""
    return (
        lambda size, other: apply(size.known(), bare(other)),
        lambda size, other: apply(bare(other), size.known()),
    )


for _name, _apply in KNOWN.items():
    _left, _right = of_known(_apply)
    setattr(Size, f"__r{_name}__", _right)
    if _name not in FOLLOWED:
        setattr(Size, f"__{_name}__", _left)
