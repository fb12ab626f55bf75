"""The points that no other one beats in all objectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npu_tools.exploring.columns import OBJECTIVES
from npu_tools.exploring.packages import Frame
from npu_tools.shared.errors import UserError


@dataclass(frozen=True)
class Objective:
    """A column to be made small, or with `largest` large."""

    name: str
    largest: bool = False

    def __str__(self) -> str:
        """As it is written on the command line."""
        return f"-{self.name}" if self.largest else self.name


def objectives_of(text: str) -> tuple[Objective, ...]:
    """The objectives in a text with commas: `cycles,off_chip.bytes,-frames_per_second`.

    Raises: UserError for a column that does not exist, or is no number.
    """
    found: list[Objective] = []
    for item in (item.strip() for item in text.split(",")):
        name = item.removeprefix("-")
        if name not in OBJECTIVES:
            raise UserError(
                f"--objective {text}: unknown objective {name!r}: expected {', '.join(OBJECTIVES)}"
            )
        found.append(Objective(name, item.startswith("-")))
    return tuple(dict.fromkeys(found))


def front_of(rows: Frame, objectives: Sequence[Objective]) -> Frame:
    """The rows that no other row of their model beats, by being as good in all and better in one.

    Rows that failed, or for which an objective is not known, are left out. The rows are sorted by
    their model and the objectives, the first one first; rows that are equal in all are kept.
    """
    names = [each.name for each in objectives]
    known = rows[(rows["status"] == "ok") & rows[names].notna().all(axis=1)]
    best = np.zeros(len(known), dtype=np.bool_)
    for digest in known["model_digest"].unique():
        mine = (known["model_digest"] == digest).to_numpy(dtype=np.bool_)
        best[mine] = is_best(costs_of(known[mine], objectives))
    return known[best].sort_values(
        ["model", *names, "key"],
        ascending=[True, *(not each.largest for each in objectives), True],
        ignore_index=True,
    )


def costs_of(rows: Frame, objectives: Sequence[Objective]) -> npt.NDArray[np.float64]:
    """A line of numbers for each row, the smaller the better."""
    signs = np.array([-1.0 if each.largest else 1.0 for each in objectives])
    names = [each.name for each in objectives]
    return rows[names].to_numpy(dtype=np.float64).reshape(-1, len(names)) * signs


def is_best(costs: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """For each line whether no other line is at most as large everywhere and smaller somewhere."""
    best = np.ones(len(costs), dtype=np.bool_)
    for index, line in enumerate(costs):
        beats = (costs <= line).all(axis=1) & (costs < line).any(axis=1)
        best[index] = not beats.any()
    return best
