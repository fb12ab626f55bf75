"""The cost tables: instructions of each feature on a core, read from TOML files.

The files lie beside this one; each says how it was made. `bench/instructions.py --fit` writes them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from npu_plans.instructions.features import Core

WAYS = ("load", "store")
"""The events of accesses; their names end with the type of the element."""
FOLDER = "npu_plans.instructions"
SUFFIX = ".toml"


class CostError(ValueError):
    """There is no cost table for a core."""


@dataclass(frozen=True)
class Costs:
    """Instructions on a core: `costs` of each feature, and `other` for one that has no cost.

    `float_costs` are those of layers of floats, if they have some of their own: a compiler that has
    two files of registers to fill makes other code around the same loads and products.
    """

    core: Core
    costs: Mapping[str, float]
    other: float
    float_costs: Mapping[str, float] = field(default_factory=dict[str, float])

    def instructions(self, features: Mapping[str, float]) -> float:
        """The instructions of some events, which are those of one layer."""
        costs = self.costs
        if self.float_costs and are_of_floats(features):
            costs = self.float_costs
        return sum(number * costs.get(name, self.other) for name, number in features.items())


def are_of_floats(features: Mapping[str, float]) -> bool:
    """Whether a layer loads and stores more floats than integers."""

    def accesses(*types: str) -> float:
        return sum(features.get(f"{way}.{each}", 0.0) for way in WAYS for each in types)

    return accesses("f32") > accesses("i8", "i16", "i32", "word")


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
            (numbers["integer_offsets"], numbers["float_offsets"]),
            numbers["steps"],
            numbers["loads_first"],
        ),
        table["costs"],
        table["other"],
        table.get("float_costs", {}),
    )
