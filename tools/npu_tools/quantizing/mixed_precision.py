"""Chooses the maps that need 16 bits, by measuring what each of them is worth.

Maps are taken in groups that must have one element type: those in front of and behind a Relu, or a
layer that moves elements without arithmetic, such as MaxPool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from onnx import ModelProto

Group: TypeAlias = tuple[str, ...]
"""The names of maps with one element type, in the order of the model."""

BOUNDS = ("Clip", "Relu")
"""Operators that a layer takes into its rounding, if both maps have one scale."""
MOVES = frozenset("Flatten MaxPool Reshape Squeeze Transpose Unsqueeze".split())
"""Operators whose output has the scale and the type of their input."""
CLOSE_DB = 0.5
"""Where 16 bits for all maps do not reach the goal, coming so near to them is enough."""


def bounded_maps(model: ModelProto) -> dict[str, str]:
    """The maps that one Relu or Clip alone reads, each with what that gives, in order."""
    readers = Counter(name for node in model.graph.node for name in node.input)
    readers.update(value.name for value in model.graph.output)
    return {
        node.input[0]: node.output[0]
        for node in model.graph.node
        if node.op_type in BOUNDS and readers[node.input[0]] == 1
    }


def groups_of(model: ModelProto, measured: Collection[str]) -> list[Group]:
    """The groups of the maps whose ranges were measured, in the order of the model."""
    bounded = bounded_maps(model)
    names = [value.name for value in model.graph.input]
    names += [name for node in model.graph.node for name in node.output]
    group_of = {name: [name] for name in names if name in measured}
    for node in model.graph.node:
        first, last = node.input[0] if node.input else "", node.output[0]
        joined = node.op_type in MOVES or bounded.get(first) == last
        if joined and first in group_of and last in group_of:
            group_of[first] += group_of[last]
            group_of[last] = group_of[first]
    unique = {id(group): tuple(group) for group in group_of.values()}
    return list(unique.values())


def sensitive_maps(
    groups: Sequence[Group], measure: Callable[[Collection[str]], float], goal: float
) -> list[str]:
    """The maps that get 16 bits, so that `measure` of them is at least `goal`.

    `measure` gives the signal to noise of the worst output, in dB, if these maps have 16 bits and
    all others 8. The groups are taken one by one, that first which is worth most alone. If all
    groups together do not reach the goal, it is what they reach, less `CLOSE_DB`.
    """
    if measure([]) >= goal:
        return []
    everything = [name for group in groups for name in group]
    goal = min(goal, measure(everything) - CLOSE_DB)
    worth = {group: measure(group) for group in groups}
    chosen: list[str] = []
    for group in sorted(groups, key=lambda group: -worth[group]):
        chosen += group
        if measure(chosen) >= goal:
            return chosen
    return everything
