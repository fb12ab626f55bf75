"""What a quantisation has cost, as text for people and as data for scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, cast

from onnx import ModelProto, TensorProto

from npu_tools.quantizing.fidelity import (
    Fidelity,
    LayerFidelity,
    OutputFidelity,
    fidelity,
    layers,
    map_noises,
)
from npu_tools.quantizing.quantize_data import Array, Feeds
from npu_tools.shared.text import columns

LOW_DB = 20.0
"""Outputs of less signal to noise than this, in dB, get a warning: their errors are a tenth."""
LISTED = 5
"""How many layers the text lists: those that lose most."""


@dataclass(frozen=True)
class Quality:
    """The outputs on calibration data and on other data, and all layers."""

    calibration: Fidelity
    evaluation: Fidelity | None
    layers: tuple[LayerFidelity, ...]
    int16_maps: tuple[str, ...]
    """The maps of 16 bits."""
    goal_db: float | None
    """What 16 bits for some maps were to reach, if that was asked for."""

    @property
    def warnings(self) -> list[str]:
        """A line for each output that lost too much, and one if the goal was not reached."""
        worst = min(output.snr_db for output in self.calibration.outputs)
        missed = self.goal_db is not None and worst < self.goal_db
        goal = (
            f"the goal of {self.goal_db} dB is not reached: outputs have {decibels(worst)} on the "
            "calibration data, and 16 bits for more maps gain less than 0.5 dB"
        )
        return [goal] * missed + [
            f"output '{output.name}' has a signal to noise of {decibels(output.snr_db)} on the "
            f"{what} data, less than {LOW_DB:g} dB"
            for what, each in (("calibration", self.calibration), ("evaluation", self.evaluation))
            for output in (each.outputs if each else ())
            if output.snr_db < LOW_DB
        ]

    def data(self) -> dict[str, Any]:
        """The numbers for JSON; infinite ones, as of maps without any loss, are None."""
        return finite({**asdict(self), "warnings": self.warnings})

    def text(self) -> str:
        """Tables of the outputs and of the layers that lose most."""
        lines = list(fidelity_lines("calibration", self.calibration))
        if self.evaluation:
            lines += ["", *fidelity_lines("evaluation", self.evaluation)]
        lines += ["", *layer_lines(self.layers)]
        if self.int16_maps:
            lines += ["", f"maps of 16 bits: {', '.join(self.int16_maps)}"]
        return "\n".join(lines)


def measured(
    model: ModelProto,
    other: ModelProto,
    runs: Sequence[Feeds],
    others: tuple[Sequence[Feeds], Array | None] | None,
    goal_db: float | None,
) -> Quality:
    """Compare a float model and a quantised one on calibration data and on labelled data."""
    return Quality(
        fidelity(model, other, runs),
        fidelity(model, other, *others) if others else None,
        layers(model, map_noises(model, other, runs)),
        wide_maps(model, other),
        goal_db,
    )


def wide_maps(model: ModelProto, other: ModelProto) -> tuple[str, ...]:
    """The maps of a float model that have 16 bits in the quantised one."""
    wide = {each.name for each in other.graph.initializer if each.data_type == TensorProto.INT16}
    points = {
        node.input[0]: node.input[2]
        for node in other.graph.node
        if node.op_type == "QuantizeLinear" and len(node.input) > 2
    }
    names = [value.name for value in model.graph.input]
    names += [name for node in model.graph.node for name in node.output]
    return tuple(
        name
        for name in names
        if points.get(name, points.get(f"{name}_QuantizeLinear_Input")) in wide
    )


def finite(value: Any) -> Any:
    """A value of JSON without infinite numbers."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in cast(dict[str, Any], value).items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in cast(Sequence[Any], value)]
    return None if isinstance(value, float) and not isfinite(value) else value


def decibels(level: float) -> str:
    """A level as text."""
    return f"{level:.1f} dB" if isfinite(level) else "exact" if level > 0 else "no signal"


def percent(share: float | None) -> str:
    """A share as text; a dash if there is none."""
    return "-" if share is None else f"{100 * share:.2f} %"


def fidelity_lines(what: str, fidelity: Fidelity) -> Iterator[str]:
    """The table of outputs on one set of samples, and the accuracy if there are labels."""
    heading = (f"output, {what} data", "signal to noise", "same class", "within a step", "furthest")
    yield from columns([heading, *map(output_row, fidelity.outputs)], 1)
    yield f"samples: {fidelity.samples}; a step is 1/255 of the output's range"
    if fidelity.accuracy:
        float32, quantised = fidelity.accuracy.float32, fidelity.accuracy.quantised
        yield f"accuracy: float32 {percent(float32)}, quantised {percent(quantised)}"


def output_row(output: OutputFidelity) -> tuple[str, ...]:
    """The cells of one output."""
    return (
        output.name,
        decibels(output.snr_db),
        percent(output.same_class),
        percent(output.within_step),
        f"{output.furthest_steps:.1f} steps",
    )


def layer_lines(layers: Sequence[LayerFidelity]) -> Iterator[str]:
    """The table of the layers that lose most, the worst first."""
    most = sorted(layers, key=lambda layer: -layer.lost_db)[:LISTED]
    rows = [
        (layer.name, layer.op, decibels(layer.snr_db), f"{layer.lost_db:.1f} dB") for layer in most
    ]
    yield from columns([("layers that lose most", "op", "signal to noise", "lost"), *rows], 2)
