"""Strategies that lay buffers out in one arena: plain data in, offsets out, no IR in here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from npu_plans.arena import exact, greedy, none, ping_pong
from npu_plans.arena.problem import Problem, Solution

STRATEGIES: Mapping[str, Callable[[Problem], Solution]] = MappingProxyType(
    {
        "greedy": greedy.solve,
        "exact": exact.solve,
        "ping-pong": ping_pong.solve,
        "none": none.solve,
    }
)
"""The strategies by name. Each raises PlanError if it finds no plan."""
