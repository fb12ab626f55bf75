"""Target thresholds against accuracy and bandwidth, as in table I of paper 003: `npu-train sweep`.

ResNet-18 learns scikit-learn's digits: once without Zebra, then from there with it, for each target
threshold; also behind network slimming and behind weight pruning. What each network moves is
counted by its emitted C (`measure`) on held-out images.
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
"""The last one has thresholds at inference only: it is not trained for them."""


@dataclass(frozen=True)
class Row:
    """A trained network: `accuracy` on all held-out images, as a share.

    `bytes`: of feature maps, per image, by the counters of the C; `reduced`: 1 - those of the
    network / those of the unpruned one with maps as they are; `differing`: images to which the C
    gives another class than torch.
    """

    method: str
    threshold: float
    accuracy: float
    bytes: float
    reduced: float
    differing: int


@dataclass(frozen=True)
class Sweep:
    """The options of a sweep; 0 among the thresholds is a network without Zebra.

    `recipe`: behind the `pretrain` epochs of what all networks start from; its slimming is for
    those, and `tuning_rate` in place of its learning rate: networks that start alike stay
    comparable if they are not shaken up first. `channels`, `weights`: shares that are pruned.
    `images`: so many the C runs on.
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
    """All networks of one seed; what several of them start from is trained once."""

    options: Sweep
    data: Classified
    seed: int
    tell: Callable[[str], None]
    starts: dict[float, nn.Module] = field(default_factory=dict[float, nn.Module])

    @property
    def recipe(self) -> Recipe:
        """The recipe of what comes behind the start."""
        return replace(self.options.recipe, seed=self.seed)

    def start(self, slimming: float) -> nn.Module:
        """A copy of the plain network after its first epochs."""
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
        """Train a network."""
        training = Training(model, self.data, recipe, offset=offset)
        training.run()
        found = evaluate(model, self.data.held_out)
        self.tell(f"seed {self.seed}: {name}: {found}")

    def pruned(self, method: str) -> nn.Module:
        """What a method trains further."""
        slims = "slimming" in method
        model = self.start(self.recipe.slimming if slims else 0.0)
        if slims:
            prune_channels(model, self.options.channels)
            model = shrink(model, example(model, self.data))
        elif "weight pruning" in method:
            prune_weights(model, self.options.weights)
        return model

    def networks(self, method: str) -> Iterator[tuple[float, nn.Module]]:
        """The finished network of a method for each threshold."""
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
        """Let maps be pruned; a threshold of 0 prunes nothing, and marks what is stored."""
        channels, size = self.data.shape
        add_zebra(model, ZebraOptions(self.options.block, threshold), channels=channels, size=size)

    def rows(self) -> Iterator[Row]:
        """Train and measure everything."""
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
        """Bytes of the unpruned network with maps as they are, which no training changes."""
        model = self.start(0.0)
        self.add_zebra(model, 0.0)
        with exported(model.eval(), self.data) as path:
            return bytes_as_they_are(path, self.options.block, self.options.sram)

    def measured(self, model: nn.Module, method: str, threshold: float, baseline: int) -> Row:
        """Run the C of a network on held-out images."""
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
    """A network as an ONNX file, which disappears at the end."""
    channels, size = data.shape
    with tempfile.TemporaryDirectory(prefix="npu-") as folder:
        path = Path(folder) / "network.onnx"
        export(model, path, channels, size)
        yield path
