"""Which layers write over their input in blocks of rows: no IR.

    X, A, B -> conv -> C       X, A and a slide of B and C, with the bytes of one map and some rows
    X, A, C -> conv -> D       X, A and the same slide

Maps that each layer of a chain makes of the one before share one buffer, the slide. It costs its
rows more as long as one of them lives, and saves a map where two of them live at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LARGE = 4
"""Maps of at least a 4th of the chip share a buffer, however long they live."""
SMALL = 8
"""Maps of less than an 8th of the chip do not: the rows more would cost as much as they save."""
SHORT = 12
"""Other maps do if they live for at most so many layers."""


@dataclass(frozen=True)
class Life:
    """A map of some bytes that lives from layer `first` to layer `last`, both included."""

    first: int
    last: int
    bytes: int


@dataclass(frozen=True)
class Link:
    """A layer, by its number, that could write map `target` over map `source`.

    `reach`: the rows above or below an output row that its windows read, whichever are more.
    """

    layer: int
    source: int
    target: int
    reach: int


@dataclass(frozen=True)
class Slide:
    """Links one behind the other, whose maps share a buffer with `spare` rows more than a map."""

    links: tuple[Link, ...]
    spare: int


def slides_of(
    links: Sequence[Link], lives: Sequence[Life], capacity: int, block: int
) -> list[Slide]:
    """The slides, in the order of their first links.

    `lives` has the maps by their numbers in the links. `capacity`: the bytes on chip. `block`: the
    rows that a layer computes at once. Rows of the next map may take the place of rows that no
    later block reads, so two maps lie a block and the reach of a window apart.
    """
    fit = [
        each
        for each in links
        if joins(lives[each.source], capacity) and joins(lives[each.target], capacity)
    ]
    return [Slide(tuple(chain), block + max(each.reach for each in chain)) for chain in chains(fit)]


def joins(life: Life, capacity: int) -> bool:
    """Whether a map may share its buffer: it is large, or it does not live for long."""
    if life.bytes * LARGE >= capacity:
        return True
    return life.bytes * SMALL >= capacity and life.last - life.first <= SHORT


def chains(links: Sequence[Link]) -> Iterator[list[Link]]:
    """The longest chains of links, each of which takes the map that the one before has written."""
    by_source = {each.source: each for each in links}
    written = {each.target for each in links}
    for first in links:
        if first.source in written:
            continue
        chain = [first]
        while (following := by_source.get(chain[-1].target)) is not None:
            chain.append(following)
        yield chain
