"""The moves that put lines of memory into another order in place, with room for one line more.

A line that must go to an occupied place starts a cycle: it is kept aside, each place is filled from
where its line stands, and the line that was kept fills the last one.

    wanted: place 0 gets line 2, 1 gets 0, 2 gets 1      moves: kept <- 0 <- 2 <- 1 <- kept
"""

from __future__ import annotations

from collections.abc import Sequence

KEPT = -1
"""Stands for the line that is kept aside."""


def places_by_rows(planes: int, rows: int) -> list[int]:
    """For each place of [rows, planes] the place in [planes, rows] where its line stands."""
    return [plane * rows + row for row in range(rows) for plane in range(planes)]


def moves_in_place(sources: Sequence[int]) -> list[int]:
    """The places on the way of all moves: each of them goes from an entry to the one before it.

    `sources` has for each place the place where its line stands at the start. Lines that stand at
    their place do not move. Cycles follow each other, so the list starts and ends with `KEPT`, and
    a move from `KEPT` ends a cycle. Empty if nothing moves.
    """
    order: list[int] = []
    done = [place == source for place, source in enumerate(sources)]
    for start in range(len(sources)):
        if done[start]:
            continue
        order.append(KEPT)
        place = start
        while not done[place]:
            order.append(place)
            done[place] = True
            place = sources[place]
    return [*order, KEPT] if order else []
