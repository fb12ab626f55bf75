"""The arenas of `greedy` and `exact` on instances with a known capacity.

    python bench/offsets.py FOLDER

FOLDER holds CSV files named NAME.CAPACITY.csv with the columns id, lower, upper and size: a buffer
lives from `lower` up to `upper`, which is excluded. Google's repository `minimalloc` has eleven
such instances in `benchmarks/challenging`; they are not in this repository.

`over` is in percent of the capacity, `bound` is the largest live set in bytes, `seconds` are
processor time with `greedy`, `work` is in millions of visits by the search. The exit code is 1 if
an `exact` plan is wrong, takes more than the capacity in more than two files or over 3 % more in
any, or takes 120 seconds, or if there is no file.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path

from npu_plans.arena import exact, greedy
from npu_plans.arena.problem import Buffer, Problem, check, live_bound

BUDGET = 4_000_000_000
"""Work for each instance, in visits."""
SECONDS, PERCENT, MISSES = 120, 3, 2
"""Limits: seconds, percent above the capacity, and instances above it."""


def read(path: Path) -> tuple[Problem, int]:
    """The problem in a file, and its capacity in bytes."""
    with path.open(encoding="utf-8", newline="") as file:
        buffers = tuple(
            Buffer(row["id"], int(row["size"]), 1, int(row["lower"]), int(row["upper"]) - 1)
            for row in csv.DictReader(file)
        )
    return Problem(buffers), int(path.suffixes[-2].removeprefix("."))


def over(arena: int, capacity: int) -> float:
    """Percent above the capacity."""
    return max(0.0, 100 * (arena / capacity - 1))


def measure(path: Path) -> tuple[float, bool]:
    """Print the line of an instance; returns percent above the capacity, and whether it is fine."""
    problem, capacity = read(path)
    start = time.process_time()
    bound, fast = live_bound(problem).bytes, greedy.solve(problem)
    search = exact.Search(problem, fast, bound, BUDGET)
    search.run()
    plan, seconds = search.best, time.process_time() - start
    work = (BUDGET - search.budget.left) / 1e6
    percent = over(plan.arena, capacity)
    good = not check(problem, plan) and percent <= PERCENT and seconds < SECONDS
    print(
        f"{path.stem:<12} {len(problem.buffers):>7} {bound:>9} {fast.arena:>9} "
        f"{over(fast.arena, capacity):>7.1f} {plan.arena:>9} {percent:>7.1f} {seconds:>8.1f} "
        f"{work:>6.0f}"
        f"{'' if good else '  WRONG'}",
        flush=True,
    )
    return percent, good


def main() -> int:
    """Measure every instance; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="where the CSV files are")
    paths = sorted(parser.parse_args().folder.glob("*.*.csv"))
    if not paths:
        print("no NAME.CAPACITY.csv in this folder", file=sys.stderr)
        return 1
    print("instance     buffers     bound    greedy   over %     exact  over %  seconds   work")
    results = [measure(path) for path in paths]
    misses = sum(percent > 0 for percent, _ in results)
    print(f"{len(results) - misses} of {len(results)} fit")
    return 0 if misses <= MISSES and all(good for _, good in results) else 1


if __name__ == "__main__":
    sys.exit(main())
