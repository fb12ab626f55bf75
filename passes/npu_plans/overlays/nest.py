"""Loop nests as plain data, and how close their output may follow their input in memory.

A layer may write its output over the part of its input that it will not read again:

    for k in range(9): read 4 bytes of the input from 8 * k on; write 8 bytes of the output at 8 * k

The write of iteration k must not reach what iteration k + 1 and later ones read. So the input must
start at least 0 bytes behind the output: after k, bytes up to 8 * k + 7 are written, and bytes from
8 * k + 8 on are still read.

Bounds of addresses are linear in the iteration numbers of the loops, and an access may be to any
byte between its bounds. So a distance is never too small, and it is exact if all bounds are met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import gcd
from typing import TypeAlias

MOST_FORMS = 400
"""The most linear forms that a summary may have; there is no distance beyond."""

Factors: TypeAlias = tuple[tuple[int, int], ...]
"""Bytes for each iteration of loops, by their number; ascending, none of them zero."""


class TooManyForms(Exception):
    """A nest has so many different accesses that its distance is not computed."""


@dataclass(frozen=True)
class Form:
    """A number that is linear in the iteration numbers of loops."""

    constant: int
    factors: Factors = ()

    def plus(self, other: Form, times: int = 1) -> Form:
        """Self + times * other."""
        factors = dict(self.factors)
        for number, factor in other.factors:
            factors[number] = factors.get(number, 0) + times * factor
        return Form(self.constant + times * other.constant, factors_of(factors))

    def negated(self) -> Form:
        """The negative of the form."""
        return Form(-self.constant, tuple((number, -factor) for number, factor in self.factors))

    def turned(self, loop: int, count: int) -> Form:
        """The form with iteration count - 1 - k of a loop in place of its iteration k."""
        shift = dict(self.factors).get(loop, 0) * (count - 1)
        return Form(
            self.constant + shift, tuple((n, -f if n == loop else f) for n, f in self.factors)
        )

    def spread(self, loop: int, count: int) -> tuple[Form, Form]:
        """The least and the largest value over all iterations of a loop."""
        factor, rest = _without(self.factors, loop)
        reach = factor * max(0, count - 1)
        least, largest = sorted((self.constant, self.constant + reach))
        return Form(least, rest), Form(largest, rest)


@dataclass(frozen=True)
class Access:
    """A read or write of bytes of a buffer between `first` and `last`, both included.

    `buffer` is the number of the buffer. The bytes are `first` and others that lie multiples of
    `step` behind it.
    """

    buffer: int
    writes: bool
    first: Form
    last: Form
    step: int = 1


@dataclass(frozen=True)
class Loop:
    """A loop of `count` iterations; its number is that in `Access.factors`."""

    number: int
    count: int
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """Bodies of which at most one runs."""

    bodies: tuple[tuple[Node, ...], ...]


Node: TypeAlias = Access | Loop | Choice


def distance(nodes: Sequence[Node], source: int, target: int) -> int | None:
    """The least offset(source) - offset(target) at which no later read meets an earlier write.

    It is in bytes, for a nest that reads `source` and writes `target`, at this distance and any
    larger one. None if every write comes after all reads, so that any distance will do.

    Raises: TooManyForms if the nest is too irregular.
    """
    gaps = _sequence(nodes, source, target).gaps
    return max(gaps.values()) + 1 if gaps else None


def distance_in_classes(nodes: Sequence[Node], source: int, target: int) -> tuple[int, int] | None:
    """A distance at which no later read meets an earlier write, and a number: (distance, modulus).

    So it is at this distance plus any multiple of the modulus. It is for a nest whose outermost
    loop visits channels of pixels: an iteration touches bytes of one class modulo the pixel only,
    the next iteration those of the next class. Classes never meet, so the distance is that of one
    iteration. None for another nest.

    Raises: TooManyForms if the nest is too irregular.
    """
    found = [(node, [a for a in _accesses(node) if a.buffer in (source, target)]) for node in nodes]
    touching = [(node, accesses) for node, accesses in found if accesses]
    if len(touching) != 1:
        return None
    ((loop, accesses),) = touching
    if not isinstance(loop, Loop):
        return None
    starts: dict[int, int] = {}
    modulus = 0
    for access in accesses:
        start = starts.setdefault(access.buffer, access.first.constant)
        for form in (access.first, access.last):
            own, rest = _without(form.factors, loop.number)
            if own != 1:
                return None
            factors = (factor for _, factor in rest)
            modulus = gcd(modulus, access.step, form.constant - start, *factors)
    if modulus < loop.count or len(starts) < 2:
        return None
    least = max(0, distance(loop.body, source, target) or 0)
    return least + (starts[target] - starts[source] - least) % modulus, modulus


def _accesses(node: Node) -> Iterator[Access]:
    """The accesses of a node."""
    match node:
        case Access():
            yield node
        case Loop():
            yield from (access for each in node.body for access in _accesses(each))
        case Choice():
            yield from (a for body in node.bodies for each in body for a in _accesses(each))


def mirrored(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The nest with all addresses negated: its distance is offset(target) - offset(source)."""
    return tuple(_mirror(node) for node in nodes)


def backwards(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The nest with its outermost loops, and the order among them, turned round."""
    return tuple(_turned(node) if isinstance(node, Loop) else node for node in reversed(nodes))


def can_turn(nodes: Sequence[Node]) -> bool:
    """Whether the outermost loops may run backwards and in the opposite order.

    So it is if only reads stand beside them, in front of the last loop, if no buffer is both read
    and written, and if no two iterations write the same byte.
    """
    beside = [node for node in nodes if not isinstance(node, Loop)]
    if any(isinstance(node, Choice) or node.writes for node in beside):
        return False
    if not isinstance(nodes[-1], Loop):
        return False
    found = [_hulls(node) for node in nodes]
    written = {access.buffer for each in found for access in each if access.writes}
    if any(access.buffer in written for each in found for access in each if not access.writes):
        return False
    return all(_writes_are_apart(nodes, found, buffer) for buffer in written)


def _mirror(node: Node) -> Node:
    match node:
        case Access():
            return replace(node, first=node.last.negated(), last=node.first.negated())
        case Loop():
            return replace(node, body=mirrored(node.body))
        case Choice():
            return Choice(tuple(map(mirrored, node.bodies)))


def _turned(loop: Loop) -> Loop:
    """A loop whose iteration k does what its iteration count - 1 - k did."""

    def turn(node: Node) -> Node:
        match node:
            case Access():
                first, last = (
                    each.turned(loop.number, loop.count) for each in (node.first, node.last)
                )
                return replace(node, first=first, last=last)
            case Loop():
                return replace(node, body=tuple(map(turn, node.body)))
            case Choice():
                return Choice(tuple(tuple(map(turn, body)) for body in node.bodies))

    return replace(loop, body=tuple(map(turn, loop.body)))


def _hulls(node: Node, *, outermost: bool = True) -> list[Access]:
    """The accesses of a node, spread over all its loops but the outermost one."""
    match node:
        case Access():
            return [node]
        case Choice():
            return [a for body in node.bodies for each in body for a in _hulls(each)]
        case Loop():
            inner = [a for each in node.body for a in _hulls(each, outermost=False)]
            return inner if outermost else [_spread(node, each) for each in inner]


def _spread(loop: Loop, access: Access) -> Access:
    """The hull of an access over all iterations of a loop."""
    first, _ = access.first.spread(loop.number, loop.count)
    _, last = access.last.spread(loop.number, loop.count)
    return replace(access, first=first, last=last)


def _writes_are_apart(
    nodes: Sequence[Node], found: Sequence[Sequence[Access]], buffer: int
) -> bool:
    """Whether no two iterations of the outermost loops write the same byte of a buffer."""
    spans: list[tuple[int, int]] = []
    for node, accesses in zip(nodes, found, strict=True):
        writes = [each for each in accesses if each.writes and each.buffer == buffer]
        if not writes:
            continue
        assert isinstance(node, Loop)
        turned = [replace(a, first=a.last.negated(), last=a.first.negated()) for a in writes]
        if not (_ascend(node, writes) or _ascend(node, turned)):
            return False
        hulls = [_spread(node, each) for each in writes]
        first = min(each.first.constant for each in hulls)
        spans.append((first, max(each.last.constant for each in hulls)))
    spans.sort()
    return all(one[1] < two[0] for one, two in pairwise(spans))


def _ascend(loop: Loop, writes: Sequence[Access]) -> bool:
    """Whether each iteration of a loop writes only behind all that earlier ones have written."""
    return loop.count < 2 or all(
        _largest_gap(loop, one.last, other.first) < 0 for one in writes for other in writes
    )


def _largest_gap(loop: Loop, one: Form, other: Form) -> int:
    """The largest one(i) - other(j) for iterations i < j of a loop, the only one in both forms."""
    ours, theirs = _without(one.factors, loop.number)[0], _without(other.factors, loop.number)[0]
    gap = max(ours * i - theirs * j for i, j in _corners(loop))
    return one.constant - other.constant + gap


def _corners(loop: Loop) -> tuple[tuple[int, int], ...]:
    """The corners of the triangle of iterations i < j of a loop with at least two."""
    last = loop.count - 1
    return (0, 1), (0, last), (last - 1, last)


@dataclass
class _Summary:
    """What a part of a nest does, as linear forms of the loops around it.

    `reads`: the first bytes of the source that are read. `writes`: the last bytes of the target
    that are written. `gaps`: a byte that is written, less one that is read later. By the factors of
    the form, the constant: the least of reads, the largest of writes and gaps.
    """

    reads: dict[Factors, int] = field(default_factory=dict[Factors, int])
    writes: dict[Factors, int] = field(default_factory=dict[Factors, int])
    gaps: dict[Factors, int] = field(default_factory=dict[Factors, int])

    def add(self, other: _Summary, *, follows: bool) -> None:
        """Take in another part, which runs after this one if it follows."""
        if follows:
            for factors, last in self.writes.items():
                for others, first in other.reads.items():
                    _raise(self.gaps, _minus(factors, others), last - first)
        for factors, first in other.reads.items():
            self.reads[factors] = min(first, self.reads.get(factors, first))
        for factors, last in other.writes.items():
            _raise(self.writes, factors, last)
        for factors, gap in other.gaps.items():
            _raise(self.gaps, factors, gap)
        if max(len(self.reads), len(self.writes), len(self.gaps)) > MOST_FORMS:
            raise TooManyForms


def _sequence(nodes: Iterable[Node], source: int, target: int) -> _Summary:
    """The summary of parts that run one after the other."""
    found = _Summary()
    for node in nodes:
        found.add(_summary(node, source, target), follows=True)
    return found


def _summary(node: Node, source: int, target: int) -> _Summary:
    match node:
        case Access():
            found = _Summary()
            if node.writes and node.buffer == target:
                found.writes[node.last.factors] = node.last.constant
            if not node.writes and node.buffer == source:
                found.reads[node.first.factors] = node.first.constant
            return found
        case Choice():
            found = _Summary()
            for body in node.bodies:
                found.add(_sequence(body, source, target), follows=False)
            return found
        case Loop():
            return _repeated(node, _sequence(node.body, source, target))


def _repeated(loop: Loop, body: _Summary) -> _Summary:
    """The summary of a loop from that of its body."""
    found, last = _Summary(), loop.count - 1
    if last < 0:
        return found
    for factors, first in body.reads.items():
        factor, rest = _without(factors, loop.number)
        lowest = first + min(0, factor * last)
        found.reads[rest] = min(lowest, found.reads.get(rest, lowest))
    for forms, into in ((body.writes, found.writes), (body.gaps, found.gaps)):
        for factors, value in forms.items():
            factor, rest = _without(factors, loop.number)
            _raise(into, rest, value + max(0, factor * last))
    if last == 0:
        return found
    # The write of iteration i and the read of iteration j > i.
    for factors, written in body.writes.items():
        ours, rest = _without(factors, loop.number)
        for others, read in body.reads.items():
            theirs, other = _without(others, loop.number)
            gap = max(ours * i - theirs * j for i, j in _corners(loop))
            _raise(found.gaps, _minus(rest, other), written - read + gap)
    return found


def _raise(forms: dict[Factors, int], factors: Factors, value: int) -> None:
    forms[factors] = max(value, forms.get(factors, value))


def _without(factors: Factors, number: int) -> tuple[int, Factors]:
    """The factor of a loop, and the other factors."""
    return dict(factors).get(number, 0), tuple(each for each in factors if each[0] != number)


def _minus(one: Factors, other: Factors) -> Factors:
    found = dict(one)
    for number, factor in other:
        found[number] = found.get(number, 0) - factor
    return factors_of(found)


def factors_of(factors: Mapping[int, int]) -> Factors:
    """Factors by the number of their loop, in the form that `Access` has."""
    return tuple(sorted((number, factor) for number, factor in factors.items() if factor))
