"""The features of a whole program: of each layer, and of the code between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from npu_plans.instructions.code import (
    Block,
    Call,
    Function,
    calls_of,
    steps_within,
)
from npu_plans.instructions.features import Core, features_of
from npu_plans.instructions.zeros import OFTEN, rectified_roots

Features: TypeAlias = dict[str, float]
"""How often each event happens."""


@dataclass
class Program:
    """What a program executes: `layers` by their places, `between` them all other code.

    `start` is the part of `between` in front of the first layer.
    """

    layers: dict[int, Features] = field(default_factory=dict[int, "Features"])
    between: Features = field(default_factory=dict[str, float])
    start: Features = field(default_factory=dict[str, float])


def program_of(functions: Mapping[str, Function], entries: Sequence[str], core: Core) -> Program:
    """The features of one run of the functions `entries`, one after another."""
    reader = ProgramReader(functions, core)
    for index, name in enumerate(entries):
        reader.visit(name, 1.0)
        if index == 0:
            reader.program.start = features_of(before_layers(functions[name]), core)
    return reader.program


def before_layers(function: Function) -> Function:
    """The start of a function, up to the first step that runs a layer."""
    steps = function.body.steps
    calls = [
        any(isinstance(inner, Call) for inner in steps_within(Block((step,), 1.0)))
        for step in steps
    ]
    end = calls.index(True) if True in calls else len(steps)
    return replace(function, body=replace(function.body, steps=steps[:end]))


@dataclass
class ProgramReader:
    """Follows the calls of a program. `rectified` are the buffers that are often zero now."""

    functions: Mapping[str, Function]
    core: Core
    program: Program = field(default_factory=Program)
    rectified: dict[int, bool] = field(default_factory=dict[int, bool])
    _features: dict[tuple[str, frozenset[tuple[int, float]]], Features] = field(
        default_factory=dict[tuple[str, frozenset[tuple[int, float]]], "Features"]
    )
    _roots: dict[tuple[str, frozenset[int]], dict[int, bool]] = field(
        default_factory=dict[tuple[str, frozenset[int]], dict[int, bool]]
    )

    def visit(self, name: str, times: float) -> None:
        """Count a function that runs so often, and what it calls."""
        add(self.program.between, self.features(name, {}), times)
        for inner, call in calls_of(self.functions[name].body):
            if call.callee not in self.functions:
                continue
            if call.layer is None:
                self.visit(call.callee, inner * times)
            else:
                self.layer(call, call.layer, inner * times)

    def layer(self, call: Call, place: int, times: float) -> None:
        """Count the call of a layer."""
        counted = self.program.layers.setdefault(place, dict[str, float]())
        callee = self.functions[call.callee]
        pairs = list(zip(callee.parameters, call.roots, strict=True))
        shares = self.shares(call, callee)
        add(counted, self.features(call.callee, shares), times)
        add(counted, {"call": 1, "call.argument": len(call.roots)}, times)
        key = (call.callee, often := frozenset(shares))
        if key not in self._roots:
            self._roots[key] = rectified_roots(callee, often)
        written = self._roots[key]
        self.rectified.update((root, written[one]) for one, root in pairs if one in written)

    def shares(self, call: Call, callee: Function) -> dict[int, float]:
        """The shares of zeros in the arguments of a function: those that were measured.

        If none were, a map that is often zero has the share `OFTEN`.
        """
        if call.zeros is not None:
            measured = zip(callee.parameters, call.zeros, strict=False)
            return {argument: share for argument, share in measured if share}
        pairs = zip(callee.parameters, call.roots, strict=True)
        return {argument: OFTEN for argument, root in pairs if self.rectified.get(root)}

    def features(self, name: str, zeros: Mapping[int, float]) -> Features:
        """The features of a function; `zeros` are the shares of zeros in its arguments."""
        key = (name, frozenset(zeros.items()))
        if key not in self._features:
            self._features[key] = features_of(self.functions[name], self.core, zeros)
        return self._features[key]


def add(total: Features, features: Mapping[str, float], times: float) -> None:
    """Add some events so often."""
    for name, number in features.items():
        if number * times:
            total[name] = total.get(name, 0.0) + number * times
