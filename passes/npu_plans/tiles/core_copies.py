"""Whether tiles that the core itself copies to fast memory pay: no IR in here.

On a machine without a DMA engine, a map in slow memory is read there once for each product that
uses an element. If the core first copies a tile to fast memory, each element of the slow memory is
read once, or twice where tiles share rows. But copying takes time, too:

    in place    1 000 products of 4 bytes at 0.5 bytes a cycle, 4 in fast memory     7 000 cycles
    in tiles    300 elements: 1 200 bytes at 0.5 instead of 4                        2 100
                300 loads and stores, at 4 cycles                                    1 200
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from npu_plans.time.rates import Rates

GAIN = Fraction(99, 100)
"""Tiles are taken if the layer needs less than this share of its cycles in place: their loops are
code, and so are first and last tiles."""

T = TypeVar("T")


def copy_cycles(
    elements: int, width: int, element: str, rates: Rates, source: str, target: str
) -> Fraction:
    """The cycles in which the core copies elements of `width` bytes from one memory to another.

    It loads and stores each of them, and this takes no less than a multiply-accumulate of type
    `element`, which is two loads and a product in a loop. What slow memories take comes on top.
    """
    size = elements * width
    cycles = 2 * size / rates.sram_bytes_per_cycle
    if rate := rates.macs_per_cycle.get(element):
        cycles = max(cycles, elements / rate)
    return cycles + rates.stall(source, size, 0) + rates.stall(target, 0, size)


@dataclass(frozen=True)
class Way(Generic[T]):
    """One way to run a layer in tiles: `footprint` bytes of fast memory, and all its cycles."""

    tiles: T
    footprint: int
    cycles: Fraction


def best_way(ways: Iterable[Way[T]], in_place: Fraction, *rooms: int) -> Way[T] | None:
    """The way with the fewest cycles that fits into the first of the rooms in which one pays.

    `in_place`: the cycles of the layer without tiles. `rooms`: bytes of fast memory, those first
    that cost nothing. Of equal ways it is the one that takes the least memory. None if no way pays.
    """
    pays = [each for each in ways if each.cycles < GAIN * in_place]
    for room in rooms:
        fits = [each for each in pays if each.footprint <= room]
        if fits:
            return min(fits, key=lambda each: (each.cycles, each.footprint))
    return None
