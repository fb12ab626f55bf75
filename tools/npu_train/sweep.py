"""`npu-train sweep`: accuracy and traffic for several thresholds, as in table I of paper 003.

ResNet-18 learns scikit-learn's digits: first without Zebra, and from there on with Zebra, once for
each target threshold. The same is done after network slimming and after weight pruning. The emitted
C of each network counts its traffic (`measure`) on held-out images.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from npu_train.data import Classified, together
from npu_train.export import export
from npu_train.loop import Training, evaluate, seeded
from npu_train.measure import bytes_as_they_are, moved
from npu_train.models import ZebraOptions, add_zebra, build
from npu_train.pruning import prune_weights
from npu_train.schedule import Recipe
from npu_train.shrink import shrink
from npu_train.slimming import prune_channels
from npu_train.stretches import example, finished

METHODS = ("zebra", "zebra + slimming", "zebra + weight pruning", "slimming")
"""The methods of the table. `slimming` has thresholds at inference, but is trained without them."""


@dataclass(frozen=True)
class Row:
    """The results of one trained network.

    `accuracy`: the share of right answers on all held-out images. `bytes`: bytes of feature maps
    that an inference moves, the mean of images, counted by the C. `reduced`: the share of traffic
    saved, 1 - `bytes` / those of the unpruned network without compression. `differing`: the number
    of images for which C and torch find different classes.
    """

    method: str
    threshold: float
    accuracy: float
    bytes: float
    reduced: float
    differing: int


@dataclass(frozen=True)
class Sweep:
    """The options of a sweep; a threshold of 0 stands for a network without Zebra.

    All networks start from `pretrain` epochs with the learning rate of `recipe`, and with its
    slimming penalty if the method slims. Then they train for `recipe.epochs` with the learning rate
    `tuning_rate`. It is small, so that networks with the same start stay comparable. `channels`,
    `weights`: the shares that are pruned. `images`: how many images the C runs on. `sram`: bytes of
    SRAM of the machine.
    """

    thresholds: tuple[float, ...]
    methods: tuple[str, ...]
    recipe: Recipe
    tuning_rate: float
    pretrain: int
    width: float
    block: int
    channels: float
    weights: float
    images: int
    sram: int


@dataclass
class Seed:
    """Trains all networks of one seed; a start that several networks share is trained once.

    `starts` are the networks after the first epochs, by the strength of the slimming penalty.
    `tell` prints a line of text.
    """

    options: Sweep
    data: Classified
    seed: int
    tell: Callable[[str], None]
    starts: dict[float, nn.Module] = field(default_factory=dict[float, nn.Module])

    @property
    def recipe(self) -> Recipe:
        """The recipe of the sweep with this seed."""
        return replace(self.options.recipe, seed=self.seed)

    def start(self, slimming: float) -> nn.Module:
        """A copy of the plain network after its first epochs with a slimming penalty."""
        if slimming not in self.starts:
            seeded(self.seed)
            channels, size = self.data.shape
            model = build(
                "resnet18",
                classes=len(self.data.classes),
                channels=channels,
                size=size,
                width=self.options.width,
                zebra=None,
            )
            recipe = replace(
                self.recipe, epochs=self.options.pretrain, slimming=slimming, regularisation=0.0
            )
            self.train(model, recipe, "start" + " with slimming" * bool(slimming))
            self.starts[slimming] = model
        return copy.deepcopy(self.starts[slimming])

    def train(self, model: nn.Module, recipe: Recipe, name: str, offset: int = 0) -> None:
        """Train a network, and print its evaluation; see `Training` for the offset."""
        training = Training(model, self.data, recipe, offset=offset)
        training.run()
        found = evaluate(model, self.data.held_out)
        self.tell(f"seed {self.seed}: {name}: {found}")

    def pruned(self, method: str) -> nn.Module:
        """The network that a method trains further: the start, pruned as the method says."""
        slims = "slimming" in method
        model = self.start(self.recipe.slimming if slims else 0.0)
        if slims:
            prune_channels(model, self.options.channels)
            model = shrink(model, example(model, self.data))
        elif "weight pruning" in method:
            prune_weights(model, self.options.weights)
        return model

    def networks(self, method: str) -> Iterator[tuple[float, nn.Module]]:
        """Train a method for each threshold; returns each threshold with its finished network."""
        recipe = replace(self.recipe, slimming=0.0, learning_rate=self.options.tuning_rate)
        alone: nn.Module | None = None
        for threshold in self.options.thresholds:
            learns = threshold > 0 and method != "slimming"
            model = self.pruned(method) if learns or alone is None else copy.deepcopy(alone)
            if learns:
                self.add_zebra(model, threshold)
            if learns or alone is None:
                name = f"{method}, threshold {threshold:g}" if learns else f"{method}, no threshold"
                self.train(model, recipe, name, self.options.pretrain)
            if not learns:
                alone = copy.deepcopy(model)
                self.add_zebra(model, threshold)
            yield threshold, finished(model, self.data)

    def add_zebra(self, model: nn.Module, threshold: float) -> None:
        """Add Zebra modules. A threshold of 0 prunes nothing, but marks the maps to store."""
        channels, size = self.data.shape
        add_zebra(model, ZebraOptions(self.options.block, threshold), channels=channels, size=size)

    def rows(self) -> Iterator[Row]:
        """Train and measure all networks; returns a row for each."""
        baseline = self.baseline()
        for method in self.options.methods:
            for threshold, model in self.networks(method):
                row = self.measured(model, method, threshold, baseline)
                self.tell(
                    f"seed {self.seed}: {method}, threshold {threshold:g}: accuracy "
                    f"{100 * row.accuracy:.2f} %, {100 * row.reduced:.1f} % less is moved"
                )
                yield row

    def baseline(self) -> int:
        """Bytes that the unpruned network moves without compression, whatever its weights are."""
        model = self.start(0.0)
        self.add_zebra(model, 0.0)
        with exported(model.eval(), self.data) as path:
            return bytes_as_they_are(path, self.options.block, self.options.sram)

    def measured(self, model: nn.Module, method: str, threshold: float, baseline: int) -> Row:
        """Measure a finished network: run its C on held-out images, and compare it with torch."""
        count = min(self.options.images, len(self.data.held_out))
        images, _ = together(self.data.held_out, range(count))
        with exported(model, self.data) as path:
            found = moved(path, self.options.block, self.options.sram, np.asarray(images))
        with torch.no_grad():
            answers = model.eval()(images).argmax(1)
        differing = sum(int(one) != two for one, two in zip(answers, found.answers, strict=True))
        accuracy = evaluate(model, self.data.held_out).accuracy
        reduced = 1 - found.bytes / baseline
        return Row(method, threshold, accuracy, found.bytes, reduced, differing)


@contextmanager
def exported(model: nn.Module, data: Classified) -> Generator[Path]:
    """Export a network to a temporary ONNX file, removed at the end."""
    channels, size = data.shape
    with tempfile.TemporaryDirectory(prefix="npu-") as folder:
        path = Path(folder) / "network.onnx"
        export(model, path, channels, size)
        yield path
