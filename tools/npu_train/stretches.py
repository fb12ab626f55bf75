"""One training in the two stretches of paper 003: pre-training, then pruning and Zebra.

    stretch 0   the plain network, with the penalty of network slimming    (`pretrain` epochs)
    between     channels are pruned and removed, weights are pruned, Zebra modules are added
    stretch 1   the pruned network, with the regularised loss              (`epochs`)

Paper 003, III-A: weight pruning is done "on a well-trained model", and slimming trains with its
penalty first, slims, "and then retrain[s] with our method". Without `pretrain`, only stretch 1
runs, with both penalties.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from npu_tools.shared.errors import UserError
from npu_tools.shared.files import write_files
from npu_train import checkpoint, weights
from npu_train.checkpoint import Checkpoint
from npu_train.data import Classified
from npu_train.distributed import Worker
from npu_train.loading import Reading
from npu_train.loop import Evaluated, Training, seeded
from npu_train.loss import slimming_penalty
from npu_train.models import ZebraOptions, add_zebra, build, check_activations
from npu_train.pruning import check_share, finish, prune_weights
from npu_train.schedule import Recipe
from npu_train.shrink import shrink
from npu_train.slimming import prune_channels

LOG = "log.jsonl"
TEST = '{"test": '
"""The begin of the log's line for the test images."""


@dataclass(frozen=True)
class Settings:
    """All options that the trained weights depend on, beside the images themselves.

    `data` is the name of the data set, `images` how many it trains on. `model` is as in `build`.
    With `block` None there are no Zebra modules. `tuning_rate`: the initial learning rate after
    `pretrain`, if it is another. `validation`: the share of images that is set apart. `weights`:
    the SHA-256 of the file of the weights that the training starts from.

    Raises: UserError if a number is out of range, or if pruning or a tuning rate is asked for
    without `pretrain`.
    """

    data: str
    images: int
    model: str
    width: float
    block: int | None
    threshold: float
    pretrain: int
    prune_channels: float
    prune_weights: float
    recipe: Recipe
    tuning_rate: float | None = None
    validation: float = 0.0
    weights: str | None = None

    def __post_init__(self) -> None:
        """Check the options that `Recipe` does not check."""
        if self.block is not None:
            ZebraOptions(self.block, self.threshold)
        for share in (self.prune_channels, self.prune_weights):
            check_share(share)
        if (self.prune_channels or self.prune_weights) and not self.pretrain:
            raise UserError("pruning needs a trained network: expected --pretrain of at least 1")
        if self.tuning_rate is not None:
            if not self.pretrain:
                raise UserError("--tuning-rate is for the epochs after --pretrain: expected both")
            if not (isfinite(self.tuning_rate) and self.tuning_rate >= 0):
                rate = self.tuning_rate
                raise UserError(f"--tuning-rate {rate}: expected a finite number of at least 0")

    def as_dict(self) -> dict[str, Any]:
        """All options by name, as a checkpoint stores them."""
        flat = asdict(self)
        recipe = flat.pop("recipe")
        return flat | recipe

    @staticmethod
    def of(held: Mapping[str, Any]) -> Settings:
        """The settings that `as_dict` has flattened."""
        names = {each.name for each in fields(Recipe)}
        recipe = Recipe(**{name: value for name, value in held.items() if name in names})
        rest = {name: value for name, value in held.items() if name not in names}
        return Settings(recipe=recipe, **rest)

    @property
    def recipes(self) -> tuple[Recipe, Recipe]:
        """The recipes of both stretches."""
        first = replace(self.recipe, epochs=self.pretrain, regularisation=0.0)
        second = replace(self.recipe, slimming=0.0) if self.pretrain else self.recipe
        if self.tuning_rate is not None:
            second = replace(second, learning_rate=self.tuning_rate)
        return first, second


def plain(settings: Settings, data: Classified) -> nn.Module:
    """The network before training, with weights drawn from the seed and without Zebra modules."""
    seeded(settings.recipe.seed)
    channels, size = data.shape
    return build(
        settings.model,
        classes=len(data.classes),
        channels=channels,
        size=size,
        width=settings.width,
        zebra=None,
    )


def prepared(model: nn.Module, settings: Settings, data: Classified) -> nn.Module:
    """Make the network of stretch 1 from that of stretch 0: prune it, and add Zebra modules."""
    channels, size = data.shape
    if settings.prune_channels:
        prune_channels(model, settings.prune_channels)
        model = shrink(model, example(model, data))
    if settings.prune_weights:
        prune_weights(model, settings.prune_weights)
    if settings.block is not None:
        options = ZebraOptions(settings.block, settings.threshold)
        add_zebra(model, options, channels=channels, size=size)
    return model


def finished(model: nn.Module, data: Classified) -> nn.Module:
    """The network to export: pruned weights are plain zeros, channels without effect are gone."""
    finish(model)
    return shrink(model, example(model, data)).eval()


def example(model: nn.Module, data: Classified) -> Tensor:
    """An image [1, C, H, W] on the device of the network."""
    image, _ = data.train[0]
    return image[None].to(next(model.parameters()).device)


@dataclass
class Session:
    """A training that writes a checkpoint and a log into `folder` after each epoch.

    `tell` prints a line of text. `reading`: how images are read. `weights`: the file of the weights
    that the training starts from.
    """

    settings: Settings
    data: Classified
    folder: Path
    place: Worker
    tell: Callable[[str], None]
    reading: Reading = field(default_factory=Reading)
    weights: Path | None = None

    def run(self, resume: bool, stretches: int = 2) -> nn.Module:
        """Train; with `resume`, go on from the checkpoint. Returns the trained network.

        With `stretches` 1 the training ends before pruning and Zebra.

        Raises: UserError if the checkpoint does not fit, or if one would be overwritten.
        """
        found = self.found(resume)
        model = self.begun().to(self.place.device)
        entries = [] if found is None else found.log
        if found is not None and found.start:
            checkpoint.fill(model, found.start, self.path)
        start: dict[str, Any] = {}
        for stretch, recipe in enumerate(self.settings.recipes[:stretches]):
            if stretch:
                start = copied(model) if self.settings.pretrain else {}
                model = prepared(model, self.settings, self.data)
            if found is None or found.stretch <= stretch:
                offset = stretch * self.settings.pretrain
                training = Training(model, self.data, recipe, self.place, offset, self.reading)
                if found is not None and found.stretch == stretch:
                    self.continued(training, found)
                training.run(self.writer(training, stretch, start, entries))
        return model

    def begun(self) -> nn.Module:
        """The network before training, with the weights of the file if there is one.

        Raises: UserError if the network cannot be made or trained as the settings say.
        """
        model = plain(self.settings, self.data)
        if self.weights is not None:
            for name in weights.fill(model, self.weights):
                if self.place.first:
                    self.tell(f"{self.weights}: {name} is of other classes, and is not read")
        if self.settings.block is not None:
            check_activations(model)
        if self.settings.prune_channels or self.settings.recipe.slimming:
            slimming_penalty(model, 0.0)  # checks that there are batch norms
        self.place.share(self.settings.recipe.batch)
        return model

    @property
    def path(self) -> Path:
        """The path of the checkpoint."""
        return self.folder / checkpoint.NAME

    def found(self, resume: bool) -> Checkpoint | None:
        """Read the checkpoint to resume from; None without `resume`.

        Raises: UserError if it does not fit, or if one would be overwritten.
        """
        if resume:
            return checkpoint.read(self.folder, self.settings.as_dict())
        if self.place.first and checkpoint.exists(self.folder):
            raise UserError(
                f"{self.path} is there already: --resume goes on with it; else choose another "
                "folder, or remove it"
            )
        return None

    def continued(self, training: Training, found: Checkpoint) -> None:
        """Restore network, optimiser, epoch and random state of a training.

        Raises: UserError if the checkpoint is of another network.
        """
        checkpoint.fill(training.model, found.model, self.path)
        try:
            training.optimizer.load_state_dict(found.optimizer)
            training.scaler.load_state_dict(found.scaler)
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise UserError(f"{self.path}: a checkpoint of another network: {error}") from None
        training.done = found.done
        torch.set_rng_state(found.random)

    def writer(
        self, training: Training, stretch: int, start: dict[str, Any], entries: list[dict[str, Any]]
    ) -> Callable[[dict[str, Any]], None]:
        """The function to call after each epoch: it prints, and writes log and checkpoint."""

        def write(entry: dict[str, Any]) -> None:
            entries.append({"stretch": stretch, **entry})
            if not self.place.first:
                return
            self.tell(line(entries[-1], training.recipe.epochs))
            lines = "".join(json.dumps(each) + "\n" for each in entries)
            write_files(self.folder, {LOG: lines})
            Checkpoint(
                settings=self.settings.as_dict(),
                stretch=stretch,
                done=training.done,
                start=start,
                model=training.model.state_dict(),
                optimizer=training.optimizer.state_dict(),
                scaler=training.scaler.state_dict(),
                log=entries,
                random=torch.get_rng_state(),
            ).write(self.folder)

        return write


def copied(model: nn.Module) -> dict[str, Any]:
    """A copy of a network's state, which further training does not change."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def line(entry: dict[str, Any], epochs: int) -> str:
    """The line to print for an entry of the log; `epochs` is how many the stretch has."""
    zeros = entry["zero_share"]
    parts = [
        f"{'pre-training ' * (not entry['stretch'])}epoch {entry['epoch']}/{epochs}",
        f"loss {entry['loss']:.4f}",
        f"accuracy {100 * entry['accuracy']:.2f} %",
        *([] if zeros is None else [f"in zero blocks {100 * zeros:.1f} %"]),
        f"{entry['seconds']:.1f} s",
    ]
    return ", ".join(parts)


def log_test(folder: Path, found: Evaluated) -> None:
    """Write the evaluation on the test images into the log, as its last line."""
    path = folder / LOG
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []
    kept = [each for each in lines if not each.startswith(TEST)]
    last = json.dumps({"test": vars(found)}) + "\n"
    write_files(folder, {LOG: "".join([*kept, last])})
