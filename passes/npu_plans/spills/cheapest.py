"""The cheapest set of maps to spill, as an integer program: no IR in here.

Variables: x[m] in {0, 1}, whether map m is off chip; for each step and tile need a share y[s] in
[0, 1] of each subset s of the need's maps. The sum of the shares is 1, and for each map the shares
of the subsets that hold it sum up to x[m]: then y[s] = 1 for the very subset that is off chip.

Two buffers that share bytes while both are on chip have a z in [0, 1], with z + x[m] <= 1 for each.

    minimise   sum cost[m] x[m]
    subject to sum saved[m] x[m] + sum shared z - sum tiles[s] y[s] >= in use - capacity, each step

Solved by HiGHS through SciPy, to the optimum; it has one thread and no randomness of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from npu_plans.spills.problem import OpMemory, Shared, SpillProblem, TileNeed


def cheapest(
    problem: SpillProblem, capacity: int, forced: AbstractSet[int]
) -> frozenset[int] | None:
    """The buffers to spill, `forced` among them, so that every step fits; None if that cannot be.

    Ties are the solver's choice, the same one every time.
    """
    program = Program({index: place for place, index in enumerate(sorted(problem.movable))})
    program.costs = [problem.costs[index] or 0 for index in sorted(problem.movable)]
    for step in problem.steps:
        most = sum(size for _, size in step.live) + sum(max(need.sizes) for need in step.needs)
        if most > capacity:
            program.add_step(step, capacity)
    chosen = program.solve({program.column[index] for index in forced})
    if chosen is None:
        return None
    return frozenset(index for index, place in program.column.items() if place in chosen)


@dataclass
class Program:
    """An integer program that grows; `column` is the variable of each map, the first ones."""

    column: dict[int, int]
    costs: list[int] = field(default_factory=list[int])
    rows: list[dict[int, int]] = field(default_factory=list[dict[int, int]])
    lower: list[float] = field(default_factory=list[float])
    upper: list[float] = field(default_factory=list[float])

    def add_step(self, step: OpMemory, capacity: int) -> None:
        """The step fits."""
        row = {self.column[index]: size for index, size in step.live if index in self.column}
        for need in step.needs:
            for share, size in zip(self.add_shares(need), need.sizes, strict=True):
                row[share] = -size
        for pair in step.shared:
            row[self.add_pair(pair)] = pair.bytes
        total = sum(size for _, size in step.live)
        self.add_row(row, total - capacity, float("inf"))

    def add_pair(self, pair: Shared) -> int:
        """A variable that is 1 at most, and 0 if one of two buffers is off chip."""
        both = len(self.costs)
        self.costs.append(0)
        for index in (pair.one, pair.two):
            if index in self.column:
                self.add_row({both: -1, self.column[index]: -1}, -1, float("inf"))
        return both

    def add_shares(self, need: TileNeed) -> list[int]:
        """Variables for the subsets of a need's maps, of which one is 1: that which is off chip."""
        first = len(self.costs)
        shares = list(range(first, first + len(need.sizes)))
        self.costs += [0] * len(shares)
        self.add_row(dict.fromkeys(shares, 1), 1, 1)
        for bit, index in enumerate(need.maps):
            row = {share: 1 for mask, share in enumerate(shares) if mask >> bit & 1}
            self.add_row({**row, self.column[index]: -1}, 0, 0)
        return shares

    def add_row(self, row: dict[int, int], lower: float, upper: float) -> None:
        """A constraint."""
        self.rows.append(row)
        self.lower.append(lower)
        self.upper.append(upper)

    def solve(self, forced: AbstractSet[int]) -> set[int] | None:
        """The columns of the maps that are spilled."""
        optimize: Any = import_module("scipy.optimize")
        maps, columns = len(self.column), len(self.costs)
        result = optimize.milp(
            self.costs,
            integrality=[1] * maps + [0] * (columns - maps),
            bounds=optimize.Bounds([float(i in forced) for i in range(columns)], [1.0] * columns),
            constraints=self.constraints(optimize) if self.rows else (),
            options={"mip_rel_gap": 0.0},
        )
        values: Sequence[float] | None = result.x
        return None if values is None else {i for i in range(maps) if values[i] > 0.5}

    def constraints(self, optimize: Any) -> Any:
        """The rows as a sparse matrix, each one in units of its largest number."""
        sparse: Any = import_module("scipy.sparse")
        data: list[float] = []
        places: tuple[list[int], list[int]] = ([], [])
        lower, upper = list(self.lower), list(self.upper)
        for index, row in enumerate(self.rows):
            unit = max(map(abs, row.values()), default=0) or 1
            lower[index] /= unit
            upper[index] /= unit
            data += [value / unit for value in row.values()]
            places[0].extend([index] * len(row))
            places[1].extend(row)
        shape = (len(self.rows), len(self.costs))
        matrix = sparse.csr_array((data, places), shape=shape)
        return optimize.LinearConstraint(matrix, lower, upper)
