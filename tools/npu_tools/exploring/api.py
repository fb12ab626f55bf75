"""Sweeps from Python.

    from npu_tools.exploring.api import explore

    rows = explore("resnet18.onnx", ["sram_bytes=64K:2M:x2", "pipeline=off-chip,tails"],
                   "cycles,sram_bytes", target="exynos-npu", plan_as="i8", store="sweep")
    rows[rows.front]

A script that calls it without `client` needs `if __name__ == "__main__":`, as Dask starts
processes that import it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from npu_tools.compiling.driver import Job
from npu_tools.exploring.engine import Told, run
from npu_tools.exploring.front import front_of, objectives_of
from npu_tools.exploring.models import Models
from npu_tools.exploring.packages import NEEDED, Client, Frame, need
from npu_tools.exploring.pools import OnDask, pool_of
from npu_tools.exploring.space import Space, space_of
from npu_tools.exploring.store import Store


def explore(
    model: str | Path | Sequence[str | Path],
    space: Space | Sequence[str],
    objectives: str = "arena_bytes",
    *,
    target: str = "host",
    client: Client | None = None,
    scheduler: str | None = None,
    jobs: int | None = None,
    store: str | Path | None = None,
    verify: bool = False,
    told: Told = lambda number: None,
    **options: Any,
) -> Frame:
    """A row for each point of a space; the column `front` says which ones no other one beats.

    `space`: texts as for `--set`. `options`: fields of `Job`, such as `plan_as="i8"`. The points
    are computed by `client`, on a `scheduler`, or on `jobs` processes (None: one a core; 0: in this
    process). `store`: the folder of a store; without it, the rows are only returned.

    Raises: UserError for a wrong model, space, objective or store, or if the scheduler is lost;
    MachineError for a machine that cannot be.
    """
    need(*NEEDED)
    aims = objectives_of(objectives)
    found = space if isinstance(space, Space) else space_of(space)
    paths = [model] if isinstance(model, str | Path) else model
    models = Models.of(
        [Job(Path(path), target, **options) for path in paths], 0 if verify else None
    )
    points = list(models.points(list(found.settings())))
    with tempfile.TemporaryDirectory(prefix="npu-") as folder:
        held = Store(Path(folder if store is None else store))
        try:
            if client is not None:
                run(points, held, OnDask(client), told)
            else:
                with pool_of(scheduler, jobs) as pool:
                    run(points, held, pool, told)
            rows = held.frame(point.key for point in points)
        finally:
            held.close()
    rows["front"] = rows["key"].isin(front_of(rows, aims)["key"])
    return rows
