"""The cost tables: instructions of each feature on a core, read from TOML files.

The files lie beside this one; each says how it was made. `bench/instructions.py --fit` writes them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from npu_plans.instructions.features import Core

FOLDER = "npu_plans.instructions"
SUFFIX = ".toml"


class CostError(ValueError):
    """There is no cost table for a core."""


@dataclass(frozen=True)
class Costs:
    """Instructions on a core: `costs` of each feature, and `other` for one that has no cost."""

    core: Core
    costs: Mapping[str, float]
    other: float

    def instructions(self, features: Mapping[str, float]) -> float:
        """The instructions of some events."""
        return sum(number * self.costs.get(name, self.other) for name, number in features.items())


def known_cores() -> list[str]:
    """The names of the cores that have a table."""
    files = resources.files(FOLDER).iterdir()
    return sorted(f.name.removesuffix(SUFFIX) for f in files if f.name.endswith(SUFFIX))


@cache
def costs_of(core: str) -> Costs:
    """The table of a core.

    Raises: CostError if there is none.
    """
    if core not in known_cores():
        raise CostError(
            f"no costs of instructions for {core!r}: expected {', '.join(known_cores())}"
        )
    text = (resources.files(FOLDER) / f"{core}{SUFFIX}").read_text(encoding="utf-8")
    table: dict[str, Any] = tomllib.loads(text)
    numbers = table["core"]
    return Costs(
        Core(
            numbers["integer_registers"],
            numbers["float_registers"],
            numbers["ordered_registers"],
            (numbers["integer_offsets"], numbers["float_offsets"]),
            numbers["steps"],
            numbers["early"],
        ),
        table["costs"],
        table["other"],
    )
