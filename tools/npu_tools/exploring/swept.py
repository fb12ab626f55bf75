"""Sweeps with a progress bar."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from npu_tools.exploring.engine import Counts, Told, run
from npu_tools.exploring.front import Objective
from npu_tools.exploring.models import Models
from npu_tools.exploring.packages import package
from npu_tools.exploring.points import Point
from npu_tools.exploring.pools import Pool
from npu_tools.exploring.space import Space
from npu_tools.exploring.store import Store


def swept(points: Sequence[Point], store: Store, pool: Pool) -> Counts:
    """Compute points with a progress bar.

    Raises: UserError, as `run`.
    """
    with bar(len({point.key for point in points})) as told:
        return run(points, store, pool, told)


def searched(
    models: Models,
    space: Space,
    aims: Sequence[Objective],
    options: argparse.Namespace,
    store: Store,
    pool: Pool,
) -> tuple[Counts, list[Point]]:
    """Search a space with a progress bar; returns the points that were tried.

    Raises: UserError, as `run`.
    """
    from npu_tools.exploring.search import Search

    search = Search(models, space, aims, options.seed)
    with bar(options.search) as told:
        return search.run(options.search, store, pool, told)


@contextmanager
def bar(total: int) -> Generator[Told]:
    """A progress bar on the terminal, with an estimate of the rest; elsewhere nothing."""
    with package("tqdm").tqdm(
        total=total, unit=" points", file=sys.stderr, disable=not sys.stderr.isatty(), leave=False
    ) as shown:

        def told(number: int) -> None:
            shown.update(number)

        yield told
