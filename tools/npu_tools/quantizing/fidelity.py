"""How far a quantised model's maps are from those of the float model, on the same inputs.

Signal to noise is `10 log10(sum(float^2) / sum((float - quantised)^2))`, in dB: 20 dB are errors of
a tenth, 40 dB of a hundredth.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, log10, prod

import numpy as np
from onnx import ModelProto, NodeProto, numpy_helper

from npu_tools.quantizing.quantize_data import Array, Feeds
from npu_tools.quantizing.taps import tapped

STEPS = 255
"""A step of an output is this part of its range in float: that of an 8-bit map."""
LAYER_RUNS = 32
"""On how many runs, spread evenly, the layers are compared."""

EXACT = 96.0
"""Maps of more than this signal to noise, in dB, count as exact: it is what 16 bits hold."""

REMOVED = ("Clip", "Relu")
"""Operators that the quantiser removes where the layer before them saturates as they do."""


@dataclass
class Noise:
    """The sums of squares of a float map and of its errors."""

    signal: float = 0.0
    noise: float = 0.0

    def add(self, true: Array, found: Array) -> None:
        """Add the numbers of one run."""
        self.signal += float(np.sum(np.where(np.isfinite(true), true, 0).astype(np.float64) ** 2))
        self.noise += float(np.sum(errors(true, found) ** 2))

    @property
    def decibels(self) -> float:
        """Signal to noise in dB; infinite if nothing is lost."""
        if self.noise == 0:
            return inf
        lost = not self.signal or not isfinite(self.noise)
        return -inf if lost else 10 * log10(self.signal / self.noise)


def errors(true: Array, found: Array) -> Array:
    """The differences of two maps; equal infinities have none."""
    with np.errstate(invalid="ignore"):
        return np.where(true == found, 0.0, true.astype(np.float64) - found)


@dataclass(frozen=True)
class OutputFidelity:
    """One output of a network: shares are between 0 and 1."""

    name: str
    snr_db: float
    within_step: float
    """The share of numbers that are at most one step (1/255 of the range) away."""
    furthest_steps: float
    same_class: float | None
    """The share of samples with the same largest number, if the output is a row of numbers."""


@dataclass(frozen=True)
class Accuracy:
    """The shares of samples whose label is the class that a network finds."""

    float32: float
    quantised: float


@dataclass(frozen=True)
class Fidelity:
    """All outputs of a network, on one set of samples."""

    samples: int
    outputs: tuple[OutputFidelity, ...]
    accuracy: Accuracy | None


@dataclass(frozen=True)
class LayerFidelity:
    """The map of one layer, or of one input."""

    name: str
    op: str
    snr_db: float
    lost_db: float
    """By how much its signal to noise is smaller than that of the worst map that it reads."""


def classes(output: Array) -> Array | None:
    """The class of each sample of an output [N, C] or [N, C, 1, 1]; None for other shapes."""
    shape = output.shape
    if len(shape) < 2 or shape[1] < 2 or prod(shape[2:]) != 1:
        return None
    return output.reshape(shape[:2]).argmax(axis=1)


def fidelity(
    model: ModelProto, other: ModelProto, runs: Sequence[Feeds], labels: Array | None = None
) -> Fidelity:
    """Compare the outputs of a float model and a quantised one.

    `labels` are class numbers of the first output that is a row of numbers, one for each sample.
    """
    names = [value.name for value in model.graph.output]
    true, found = (
        [[maps[name] for name in names] for maps in map(tapped(each, ()), runs)]
        for each in (model, other)
    )
    outputs: list[OutputFidelity] = []
    accuracy: Accuracy | None = None
    for index, name in enumerate(names):
        ours, theirs = (np.stack([run[index] for run in each]) for each in (true, found))
        rows = [classes(each.reshape(-1, *each.shape[2:])) for each in (ours, theirs)]
        outputs.append(compared(name, ours, theirs, rows))
        if labels is not None and accuracy is None and rows[0] is not None:
            accuracy = Accuracy(*(share(row, labels) for row in rows))
    return Fidelity(len(runs), tuple(outputs), accuracy)


def compared(name: str, true: Array, found: Array, rows: Sequence[Array | None]) -> OutputFidelity:
    """Compare one output on all samples; `rows` are the classes of both models."""
    noise = Noise()
    noise.add(true, found)
    away = np.abs(errors(true, found))
    finite = true[np.isfinite(true)]
    step = (float(finite.max()) - float(finite.min())) / STEPS or 1.0 if finite.size else 1.0
    first, second = rows
    return OutputFidelity(
        name,
        noise.decibels,
        float(np.mean(away <= step * (1 + 1e-6))),
        float(away.max()) / step,
        None if first is None else share(first, second),
    )


def share(first: Array | None, second: Array | None) -> float:
    """The share of equal numbers in two arrays."""
    same: Array = np.equal(np.asarray(first), np.asarray(second))
    return float(same.mean())


def spread(runs: Sequence[Feeds], count: int = LAYER_RUNS) -> list[Feeds]:
    """At most `count` runs, spread evenly over all."""
    stride = max(1, -(-len(runs) // count))
    return list(runs[::stride])


@dataclass(frozen=True)
class Twin:
    """Where a quantised model holds a map of the float model."""

    name: str
    scale: float = 1.0
    zero_point: int = 0

    def real(self, maps: Mapping[str, Array]) -> Array:
        """The real numbers of the map."""
        return (maps[self.name].astype(np.float64) - self.zero_point) * self.scale


def twins(model: ModelProto, other: ModelProto) -> dict[str, Twin]:
    """The maps of a float model that exist in the quantised one, by the names of onnxruntime.

    Where the quantised model lacks a Relu or Clip, the layer before it saturates as that would, and
    its map is that of the activation.
    """
    held = {name for node in other.graph.node for name in node.output}
    held |= {value.name for value in other.graph.input}
    numbers = {tensor.name: numpy_helper.to_array(tensor) for tensor in other.graph.initializer}
    found: dict[str, Twin] = {}
    for value in model.graph.input:
        found |= twin_of(value.name, held, numbers)
    for node in model.graph.node:
        for name in node.output:
            found |= twin_of(name, held, numbers)
        first, last = node.input[:1], node.output[:1]
        if node.op_type in REMOVED and last[0] not in found and first[0] in found:
            found[last[0]] = found.pop(first[0])
    return found


def twin_of(name: str, held: Collection[str], numbers: Mapping[str, Array]) -> dict[str, Twin]:
    """Where a quantised model with the maps `held` has the map `name`; empty if it has it not."""
    if f"{name}_DequantizeLinear_Output" in held:
        return {name: Twin(f"{name}_DequantizeLinear_Output")}
    point, scale = numbers.get(f"{name}_zero_point"), numbers.get(f"{name}_scale")
    if f"{name}_quantized" in held and point is not None and scale is not None:
        return {name: Twin(f"{name}_quantized", scale.item(), point.item())}
    return {name: Twin(name)} if name in held else {}


def map_noises(model: ModelProto, other: ModelProto, runs: Sequence[Feeds]) -> dict[str, Noise]:
    """Signal and noise of each map of the float model that the quantised one has too."""
    pairs = twins(model, other)
    noises: dict[str, Noise] = {}
    true, found = tapped(model, pairs), tapped(other, [twin.name for twin in pairs.values()])
    for feeds in spread(runs):
        ours, theirs = true(feeds), found(feeds)
        for name, twin in pairs.items():
            if ours[name].dtype.kind == "f":
                noises.setdefault(name, Noise()).add(ours[name], twin.real(theirs))
    return noises


def layers(model: ModelProto, noises: Mapping[str, Noise]) -> tuple[LayerFidelity, ...]:
    """The layers of a float model whose maps were compared, in the order of the model.

    A map that the quantised model lacks belongs to the layer that reads it, as that of a
    convolution in front of Relu.
    """
    found: list[LayerFidelity] = []
    levels = {name: noise.decibels for name, noise in noises.items()}
    merged: dict[str, list[NodeProto]] = {}
    for value in model.graph.input:
        if value.name in levels:
            level = levels[value.name]
            found.append(LayerFidelity(value.name, "input", level, 0.0))
    for node in model.graph.node:
        parts = [*(part for name in node.input for part in merged.get(name, ())), node]
        before = worst(levels[name] for name in node.input if name in levels)
        for name in node.output:
            if name not in noises:
                merged[name], levels[name] = parts, before
                continue
            lost = min(before, EXACT) - min(levels[name], EXACT)
            ops = ", ".join(part.op_type for part in parts)
            title = parts[0].name or parts[0].output[0]
            found.append(LayerFidelity(title, ops, levels[name], lost))
    return tuple(found)


def worst(levels: Iterable[float]) -> float:
    """The least signal to noise; infinite if there is none, as of constants."""
    return min(levels, default=inf)
