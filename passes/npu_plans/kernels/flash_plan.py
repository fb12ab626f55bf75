"""Which layers get fast kernels, whose constants take more flash: no IR in here.

Each layer has two forms, fast and small. The fast one takes `extra` more bytes of flash and saves
`saved` instructions of one inference. A budget of bytes then buys the most instructions: a knapsack
problem. HiGHS, called through SciPy, solves it to the optimum. It runs in one thread and is
deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Offer:
    """What the fast form of a layer costs, in bytes of flash, and saves, in instructions."""

    extra: int
    saved: float


def taken(offers: Sequence[Offer], budget: int) -> frozenset[int]:
    """The numbers of the layers that are fast: what they save is the most for `budget` bytes.

    Those that save nothing are small, and those that save and need no byte more are fast. No layer
    is fast beyond these if the budget is negative.
    """
    free = {index for index, each in enumerate(offers) if each.saved > 0 and each.extra <= 0}
    budget -= sum(offers[index].extra for index in free)
    dear = [
        index for index, each in enumerate(offers) if each.saved > 0 and 0 < each.extra <= budget
    ]
    if dear and sum(offers[index].extra for index in dear) > budget:
        dear = best(dear, offers, budget)
    return frozenset(free | {*dear})


def best(dear: Sequence[int], offers: Sequence[Offer], budget: int) -> list[int]:
    """Those of some layers that save the most for a budget which does not take all of them."""
    optimize: Any = import_module("scipy.optimize")
    extra = [[offers[index].extra for index in dear]]
    found: Any = optimize.milp(
        [-offers[index].saved for index in dear],
        integrality=[1] * len(dear),
        bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(extra, -float("inf"), budget),
        options={"mip_rel_gap": 0},
    )
    return [index for index, share in zip(dear, found.x, strict=True) if share > 0.5]
