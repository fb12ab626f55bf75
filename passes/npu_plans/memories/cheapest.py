"""The cheapest memory of each buffer, as an integer program: no IR in here.

Variables: x[u, m] in {0, 1} is 1 if unit u lies in memory m. For each pair of units that share
bytes there is a z[m] in [0, 1], at most x[u, m] of both. y[m] in {0, 1} is 1 if memory m is used.

    minimise   sum cost[u, m] x[u, m] + sum y[m]
    subject to sum x[u, m] = 1 for each unit u,  x[u, m] <= y[m]
               sum used[u] x[u, m] - sum shared z[m] <= limit[m] for each moment and memory m

Each memory in use counts like a cycle, so of equal plans the one with the fewest memories is found.
With `over`, the limits may be exceeded, and the sum of what is over them comes before all costs.

HiGHS, called through SciPy, solves it. It runs in one thread and is deterministic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from npu_plans.memories.problem import MemoryProblem, Moment
from npu_plans.memories.quiet import silent

GAP = 1e-6
"""How far, as a share, the plan may be from the best one."""

STEPS = 2**20
"""Into how many steps the largest unit is divided at least, to count what is over a limit. HiGHS
drops coefficients below 1e-9."""

NODES = 20_000
"""The most nodes of the search tree: a limit that does not depend on the speed of the computer."""


def cheapest(
    problem: MemoryProblem, limits: Sequence[int], *, over: bool = False
) -> tuple[int, ...] | None:
    """The memory of each unit so that every moment fits into `limits` bytes; None if there is none.

    `over`: the plan that exceeds the limits by the fewest bytes. There always is one then, if each
    unit may lie in some memory.
    """
    program = Program(problem, tuple(limits))
    program.add_units()
    if over:
        program.add_excess()
    for moment in needed(tuple(problem.moments())):
        program.add_moment(moment)
    return program.solve()


def needed(moments: Sequence[Moment]) -> Sequence[Moment]:
    """The moments without those whose units all live with as many bytes at the one before or after.

    What fits there fits at these.
    """
    return [each for index, each in enumerate(moments) if not covered(moments, index)]


def covered(moments: Sequence[Moment], index: int) -> bool:
    """Whether a moment holds no more of any unit than a neighbour, which also shares nothing."""
    own = moments[index]
    for near in (index - 1, index + 1):
        if not 0 <= near < len(moments) or moments[near].shared:
            continue
        other = moments[near].used
        same = own.used == other and near < index
        less = own.used != other and all(other.get(k, -1) >= size for k, size in own.used.items())
        if same or less:
            return True
    return False


@dataclass
class Program:
    """An integer program that grows by variables (columns) and constraints (rows)."""

    problem: MemoryProblem
    limits: tuple[int, ...]
    costs: list[float] = field(default_factory=list[float])
    most: list[float] = field(default_factory=list[float])
    whole: list[int] = field(default_factory=list[int])
    rows: list[Mapping[int, float]] = field(default_factory=list[Mapping[int, float]])
    lower: list[float] = field(default_factory=list[float])
    upper: list[float] = field(default_factory=list[float])
    excess: list[int] = field(default_factory=list[int])
    """The variable of the steps over the limit of each memory; empty if there are none."""

    @property
    def step(self) -> int:
        """The bytes in which excess is counted: one, unless units are very large."""
        sizes = [each.size for each in self.problem.lived.buffers]
        return max(1, max(sizes, default=0) // STEPS)

    def column(self, unit: int, room: int) -> int:
        """The variable x of a unit and a memory."""
        return unit * len(self.limits) + room

    def add(self, cost: float, most: float, *, whole: bool) -> int:
        """Add a variable between 0 and `most`; returns its number."""
        self.costs.append(cost)
        self.most.append(most)
        self.whole.append(int(whole))
        return len(self.costs) - 1

    def add_row(self, row: Mapping[int, float], lower: float, upper: float) -> None:
        """Add a constraint: bounds on a sum; `row` has the coefficient of each variable."""
        self.rows.append(row)
        self.lower.append(lower)
        self.upper.append(upper)

    def add_units(self) -> None:
        """Add x and y, and what ties them."""
        for costs in self.problem.unit_costs:
            for cost in costs:
                self.add(float(cost or 0), float(cost is not None), whole=True)
        used = [self.add(1.0, 1.0, whole=True) for _ in self.limits]
        for unit in range(len(self.problem.units)):
            columns = [self.column(unit, room) for room in range(len(self.limits))]
            self.add_row(dict.fromkeys(columns, 1.0), 1.0, 1.0)
            for column, in_use in zip(columns, used, strict=True):
                self.add_row({column: 1.0, in_use: -1.0}, -1.0, 0.0)

    def add_excess(self) -> None:
        """Let the limits be exceeded, at a price above all other costs."""
        price = self.step * (1.0 + sum(self.costs))
        self.excess = [self.add(price, float("inf"), whole=False) for _ in self.limits]

    def add_moment(self, moment: Moment) -> None:
        """Add the constraints that a moment fits into each memory."""
        most = sum(moment.used.values())
        for room, limit in enumerate(self.limits):
            if most <= limit:
                continue
            row = {self.column(unit, room): float(size) for unit, size in moment.used.items()}
            for one, other, size in moment.shared:
                both = self.add(0.0, 1.0, whole=False)
                row[both] = -float(size)
                for unit in (one, other):
                    self.add_row({both: 1.0, self.column(unit, room): -1.0}, -1.0, 0.0)
            if self.excess:
                row[self.excess[room]] = -float(self.step)
            unit = max(map(abs, row.values()), default=1.0)
            scaled = {column: value / unit for column, value in row.items()}
            self.add_row(scaled, -float("inf"), limit / unit)

    def solve(self) -> tuple[int, ...] | None:
        """The memory of each unit; None if there is no solution."""
        optimize: Any = import_module("scipy.optimize")
        largest = max(self.costs, default=1.0) or 1.0
        with silent():
            result = optimize.milp(
                [cost / largest for cost in self.costs],
                integrality=self.whole,
                bounds=optimize.Bounds([0.0] * len(self.costs), self.most),
                constraints=self.constraints(optimize),
                options={"mip_rel_gap": GAP, "node_limit": NODES},
            )
        found: Sequence[float] | None = result.x
        if found is None:
            return None
        values, rooms = list(found), range(len(self.limits))
        return tuple(
            max(rooms, key=lambda room: values[self.column(unit, room)])
            for unit in range(len(self.problem.units))
        )

    def constraints(self, optimize: Any) -> Any:
        """The rows as a sparse matrix."""
        sparse: Any = import_module("scipy.sparse")
        data: list[float] = []
        places: tuple[list[int], list[int]] = ([], [])
        for index, row in enumerate(self.rows):
            data += row.values()
            places[0].extend([index] * len(row))
            places[1].extend(row)
        shape = (len(self.rows), len(self.costs))
        matrix = sparse.csr_array((data, places), shape=shape)
        return optimize.LinearConstraint(matrix, self.lower, self.upper)
