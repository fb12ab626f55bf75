"""The models of a sweep, and their points at the settings of a space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from npu_dialect.machine import Machine
from npu_tools.compiling.driver import Job
from npu_tools.exploring.points import Point, imported, with_options
from npu_tools.exploring.space import Setting


@dataclass(frozen=True)
class Models:
    """The jobs of a sweep, one for each model, with the digests of the models."""

    jobs: tuple[tuple[Job, str], ...]
    verified: int | None = None

    @staticmethod
    def of(jobs: Sequence[Job], verified: int | None = None) -> Models:
        """Import each model, to know that it can be, and what it holds.

        Raises: UserError if one cannot be imported.
        """
        return Models(tuple((job, imported(job)[1]) for job in jobs), verified)

    def points(self, settings: Sequence[Setting]) -> Iterator[Point]:
        """The points of all models at some settings.

        Raises: MachineError for a machine that cannot be.
        """
        for setting, (job, digest) in product(settings, self.jobs):
            yield self.point(setting, job, digest)

    def point(self, setting: Setting, job: Job, digest: str) -> Point:
        """The point of a model at a setting.

        Raises: MachineError for a machine that cannot be.
        """
        target = setting.target or job.target
        machine = Machine.load(target, setting.machine)
        job = with_options(replace(job, target=target), setting.options)
        return Point(job, machine, digest, self.verified)
