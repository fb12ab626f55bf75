"""Lower and upper bounds of indices, as linear forms of the iteration numbers of loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith

from npu_plans.overlays.nest import Form

MOST_CHOICES = 16
"""The most values of an index that are followed; with more, the access is to the whole buffer."""

MOST_BOUNDS = 4
"""The most bounds of an index that are kept."""

Bounds: TypeAlias = tuple[tuple[Form, ...], ...]
"""Lower or upper bounds of an index, in groups: all bounds of one of the groups hold."""


@dataclass(frozen=True)
class Span:
    """The lower and the upper bounds of an index."""

    lows: Bounds
    highs: Bounds

    @staticmethod
    def exactly(place: Form) -> Span:
        """The bounds of an index that is known."""
        return Span(((place,),), ((place,),))

    @property
    def form(self) -> Form | None:
        """The index, if it is known as one form."""
        single = self.lows == self.highs and [len(group) for group in self.lows] == [1]
        return self.lows[0][0] if single else None

    def plus(self, other: Span, times: int = 1) -> Span | None:
        """The bounds of self + times * other; None if there are too many."""
        lows, highs = (other.lows, other.highs) if times >= 0 else (other.highs, other.lows)
        return Span.of(sums(self.lows, lows, times), sums(self.highs, highs, times))

    @staticmethod
    def of(lows: Bounds, highs: Bounds) -> Span | None:
        """An index with these bounds; None if there are too many."""
        lows, highs = tuple(dict.fromkeys(lows)), tuple(dict.fromkeys(highs))
        return Span(lows, highs) if max(len(lows), len(highs)) <= MOST_CHOICES else None


def either(
    op: arith.SelectOp | arith.MinSIOp | arith.MaxSIOp, one: Span, other: Span
) -> Span | None:
    """The bounds of an index that is one of two others, maybe the smaller or the larger."""
    lows, highs = (*one.lows, *other.lows), (*one.highs, *other.highs)
    if isinstance(op, arith.MaxSIOp):
        lows = tuple(kept((*a, *b)) for a in one.lows for b in other.lows)
    if isinstance(op, arith.MinSIOp):
        highs = tuple(kept((*a, *b)) for a in one.highs for b in other.highs)
    return Span.of(lows, highs)


def kept(bounds: Sequence[Form]) -> tuple[Form, ...]:
    """Bounds that all hold, each once and not too many."""
    return tuple(dict.fromkeys(bounds))[:MOST_BOUNDS]


def sums(one: Bounds, other: Bounds, times: int) -> Bounds:
    """The bounds of a sum of two indices."""
    return tuple(
        kept([each.plus(more, times) for each in group for more in another])
        for group in one
        for another in other
    )


def summed(start: Span, terms: Sequence[tuple[Span | None, int]]) -> Span | None:
    """The bounds of a sum of a start and terms times factors; None if one is not known."""
    found: Span | None = start
    for value, factor in terms:
        if value is None or found is None:
            return None
        found = found.plus(value, factor)
    return found
