"""The cheapest set of maps to spill, as an integer program: no IR in here.

Variables: x[m] in {0, 1} is 1 if map m is off chip. For each step and each of its tile needs, y[s]
in [0, 1] is the share of subset s of the need's maps. The shares add up to 1, and for each map the
shares of the subsets with this map add up to x[m]. So y[s] = 1 for the subset that is off chip.

For each pair of buffers that share bytes while both are on chip there is a z in [0, 1], with
z + x[m] <= 1 for both buffers m. All terms of the program are in bytes:

    minimise   sum cost[m] x[m]
    subject to sum saved[m] x[m] + sum shared z - sum tiles[s] y[s] >= in use - capacity, each step

For each pair of buffers of which m takes over what k holds, x[k] <= x[m].

HiGHS, called through SciPy, solves it to the optimum. It runs in one thread and is deterministic.
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
    """The cheapest set of buffers to spill so that every step fits into `capacity` bytes.

    It includes `forced`. None if no such set exists. Of several cheapest sets the solver chooses
    one, the same in every run.
    """
    program = Program({index: place for place, index in enumerate(sorted(problem.movable))})
    program.costs = [problem.costs[index] or 0 for index in sorted(problem.movable)]
    for step in problem.steps:
        most = sum(size for _, size in step.live) + sum(max(need.sizes) for need in step.needs)
        if most > capacity:
            program.add_step(step, capacity)
    for early, late in problem.moves:
        program.add_move(early, late)
    chosen = program.solve({program.column[index] for index in forced})
    if chosen is None:
        return None
    return frozenset(index for index, place in program.column.items() if place in chosen)


@dataclass
class Program:
    """An integer program that grows by variables (columns) and constraints (rows).

    `column` gives for each movable buffer its variable x; these are the first variables.
    """

    column: dict[int, int]
    costs: list[int] = field(default_factory=list[int])
    rows: list[dict[int, int]] = field(default_factory=list[dict[int, int]])
    lower: list[float] = field(default_factory=list[float])
    upper: list[float] = field(default_factory=list[float])

    def add_step(self, step: OpMemory, capacity: int) -> None:
        """Add the constraint that a step fits into `capacity` bytes."""
        row = {self.column[index]: size for index, size in step.live if index in self.column}
        for need in step.needs:
            for share, size in zip(self.add_shares(need), need.sizes, strict=True):
                row[share] = -size
        for pair in step.shared:
            row[self.add_pair(pair)] = pair.bytes
        total = sum(size for _, size in step.live)
        self.add_row(row, total - capacity, float("inf"))

    def add_pair(self, pair: Shared) -> int:
        """Add the z of a pair of buffers: at most 1, and 0 if one of them is off chip."""
        both = len(self.costs)
        self.costs.append(0)
        for index in (pair.one, pair.two):
            if index in self.column:
                self.add_row({both: -1, self.column[index]: -1}, -1, float("inf"))
        return both

    def add_move(self, early: int, late: int) -> None:
        """Add the constraint that a buffer is off chip if the one before it is."""
        if early in self.column:
            row = {self.column[early]: -1}
            if late in self.column:
                row[self.column[late]] = 1
            self.add_row(row, 0, float("inf"))

    def add_shares(self, need: TileNeed) -> list[int]:
        """Add the y of each subset of a need's maps: 1 for the subset that is off chip, else 0."""
        first = len(self.costs)
        shares = list(range(first, first + len(need.sizes)))
        self.costs += [0] * len(shares)
        self.add_row(dict.fromkeys(shares, 1), 1, 1)
        for bit, index in enumerate(need.maps):
            row = {share: 1 for mask, share in enumerate(shares) if mask >> bit & 1}
            self.add_row({**row, self.column[index]: -1}, 0, 0)
        return shares

    def add_row(self, row: dict[int, int], lower: float, upper: float) -> None:
        """Add a constraint: bounds on a sum; `row` maps each variable to its coefficient."""
        self.rows.append(row)
        self.lower.append(lower)
        self.upper.append(upper)

    def solve(self, forced: AbstractSet[int]) -> set[int] | None:
        """The columns of the buffers to spill, with `forced`; None if there is no solution."""
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
        """The rows as a sparse matrix; each row is scaled to a largest coefficient of 1."""
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
