"""Networks with the events that are predicted for their layers, and the instructions measured."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from helpers.instructions.networks import FORMS
from npu_passes.lowering.estimate_instructions import program_features
from npu_plans.instructions.costs import Costs
from npu_plans.instructions.features import Core
from npu_plans.instructions.program import add
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.verifying.emulators import Interface, run_on

LEVEL = "-O2"
"""The level of optimisation for which the costs hold."""
SHARE = 0.02
"""The share of a network's instructions from which on a layer counts."""


@dataclass(frozen=True)
class Layer:
    """One layer: the events that are predicted, and the instructions that were measured."""

    name: str
    features: Mapping[str, float]
    measured: int


@dataclass(frozen=True)
class Sample:
    """One network on one core. `between` are the events outside of layers."""

    name: str
    layers: tuple[Layer, ...]
    between: Mapping[str, float]
    measured: int

    @property
    def large_layers(self) -> list[Layer]:
        """The layers that take more than `SHARE` of the instructions."""
        return [layer for layer in self.layers if layer.measured > SHARE * self.measured]

    def error(self, costs: Costs) -> float:
        """The relative error of the prediction for the whole network."""
        events = (self.between, *(layer.features for layer in self.layers))
        return sum(map(costs.instructions, events)) / self.measured - 1


def error_of(layer: Layer, costs: Costs) -> float:
    """The relative error of the prediction for a layer."""
    return costs.instructions(layer.features) / layer.measured - 1


def sample(name: str, form: str, target: str, core: Core) -> Sample:
    """Compile a network for a machine, and run it on random numbers on the emulated board.

    Raises: UserError or PassFailedException if the machine has not enough memory; BuildError and
    EmulatorError as `run_on`.
    """
    with tempfile.TemporaryDirectory() as temporary:
        model = Path(temporary) / "net.onnx"
        model.write_bytes(FORMS[form](name).SerializeToString())
        seen: list[ModuleOp] = []
        job = Job(
            model,
            target,
            prefix="net",
            instructions=True,
            observers=(lambda _, module: seen.append(module),),
        )
        made = compile_model(job)
        for file, data in made.files.items():
            content = data if isinstance(data, bytes) else data.encode()
            (model.parent / file).write_bytes(content)
        interface, random = Interface.read(model.with_suffix(".h")), np.random.default_rng(0)
        feeds = {
            each.name: random.standard_normal(each.elements).astype(each.dtype)
            for each in interface.inputs
        }
        source, count = model.with_suffix(".c"), len(made.report.layers)
        whole = run_on(target, source, [feeds], flags=[LEVEL])
        hooked = run_on(target, source, [feeds], flags=[LEVEL], layers=count)
    program = program_features(seen[-1], core)
    # The hook counts what runs in front of the first layer with that layer.
    first, between = dict(program.layers.get(0, {})), dict(program.between)
    add(first, program.start, 1)
    add(between, program.start, -1)
    features = {**program.layers, 0: first}
    layers = zip(made.report.layers, hooked.runs[0].layers, strict=True)
    return Sample(
        name,
        tuple(
            Layer(f"{layer.name} {layer.op}", features.get(place, {}), measured)
            for place, (layer, measured) in enumerate(layers)
        ),
        between,
        whole.instructions,
    )
