"""Searches a space that is too large for all of its points, with Optuna.

Optuna proposes some points at a time, from what earlier ones have given: NSGA-II for several
objectives, a tree-structured Parzen estimator for one. Points that fail are told as failures. Rows
go into the same store as those of a sweep, and rows that are there already cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from npu_tools.exploring.engine import Counts, Told, run
from npu_tools.exploring.front import Objective
from npu_tools.exploring.models import Models
from npu_tools.exploring.points import Point
from npu_tools.exploring.pools import Pool
from npu_tools.exploring.space import Space, setting_of
from npu_tools.exploring.store import Store
from npu_tools.shared.errors import UserError

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import Trial

AT_ONCE = 16
"""How many points are proposed before results of them are known. It does not depend on the number
of workers, so that a search can be repeated."""


def need_optuna() -> None:
    """Check that Optuna is installed.

    Raises: UserError that says what to install.
    """
    if find_spec("optuna") is None:
        raise UserError("--search needs optuna: pip install 'npu-dialect[explore]'")


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
        import optuna

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
        values = {
            key: choices[trial.suggest_int(key, 0, len(choices) - 1)]
            for key, choices in self.space.axes.items()
        }
        jobs = self.models.jobs
        job, digest = jobs[trial.suggest_int("model", 0, len(jobs) - 1)]
        return trial, self.models.point(setting_of(values), job, digest)

    def tell(self, study: Study, trial: Trial, row: Mapping[str, Any]) -> None:
        """Tell the study what a point has given."""
        from optuna.trial import TrialState

        values = [row[each.name] for each in self.aims]
        if row["status"] != "ok" or any(value is None for value in values):
            study.tell(trial, state=TrialState.FAIL)
        else:
            study.tell(trial, [float(value) for value in values])
