"""Searches a space that is too large for all of its points, with Optuna.

Optuna proposes some points at a time, from what earlier ones have given: NSGA-II for several
objectives, a tree-structured Parzen estimator for one. Points that fail are told as failures. Rows
go into the same store as those of a sweep, and rows that are there already cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from npu_tools.exploring.engine import Counts, Told, run
from npu_tools.exploring.front import Objective
from npu_tools.exploring.models import Models
from npu_tools.exploring.packages import package
from npu_tools.exploring.points import Point
from npu_tools.exploring.pools import Pool
from npu_tools.exploring.space import Space, setting_of
from npu_tools.exploring.store import Store

Study: TypeAlias = Any
"""A `optuna.Study`."""
Trial: TypeAlias = Any
"""A `optuna.trial.Trial`."""

AT_ONCE = 16
"""How many points are proposed before results of them are known. It does not depend on the number
of workers, so that a search can be repeated."""


@dataclass(frozen=True)
class Search:
    """A search with a seed; with the same seed and store it proposes the same points."""

    models: Models
    space: Space
    aims: Sequence[Objective]
    seed: int

    def run(
        self, trials: int, store: Store, pool: Pool, told: Told = lambda number: None
    ) -> tuple[Counts, list[Point]]:
        """Try some points; returns how they got their rows, and the points.

        Raises: UserError, as `run` of the engine.
        """
        study, counts = self.study(), Counts()
        tried: dict[str, Point] = {}
        asked = 0
        while asked < trials:
            batch = [self.proposed(study) for _ in range(min(AT_ONCE, trials - asked))]
            asked += len(batch)
            points = {point.key: point for _, point in batch}
            counts.add(run(points.values(), store, pool))
            tried |= points
            rows = store.rows(points)
            for trial, point in batch:
                self.tell(study, trial, rows[point.key])
                told(1)
        return counts, list(tried.values())

    def study(self) -> Study:
        """A new study."""
        optuna = package("optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        several = len(self.aims) > 1
        samplers = optuna.samplers
        sampler = samplers.NSGAIISampler if several else samplers.TPESampler
        directions = ["maximize" if each.largest else "minimize" for each in self.aims]
        return optuna.create_study(directions=directions, sampler=sampler(seed=self.seed))

    def proposed(self, study: Study) -> tuple[Trial, Point]:
        """A trial of the study, and the point that it stands for.

        The values of a key are numbered in their order, so that Optuna knows which are close.
        """
        trial = study.ask()

        def index(key: str, count: int) -> int:
            return trial.suggest_int(key, 0, count - 1)

        values = {key: each[index(key, len(each))] for key, each in self.space.axes.items()}
        job, digest = self.models.jobs[index("model", len(self.models.jobs))]
        return trial, self.models.point(setting_of(values), job, digest)

    def tell(self, study: Study, trial: Trial, row: Mapping[str, Any]) -> None:
        """Tell the study what a point has given."""
        values = [row[each.name] for each in self.aims]
        if row["status"] != "ok" or any(value is None for value in values):
            study.tell(trial, state=package("optuna.trial").TrialState.FAIL)
        else:
            study.tell(trial, [float(value) for value in values])
