"""The training loop: epochs of SGD steps, with an evaluation after each epoch.

All random numbers depend only on the seed and the number of the epoch. So the same seed gives the
same weights, even if the training was interrupted between two epochs and resumed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from npu_tools.shared.errors import UserError
from npu_tools.shared.progress import Progress
from npu_train.data.images import Classified, Images
from npu_train.distributed import Worker
from npu_train.loading import Batch, Reading, Variation, batches, delivered
from npu_train.loss import slimming_penalty, total_loss
from npu_train.schedule import PRECISIONS, Recipe, optimizer_of
from npu_train.zebra import Zebra, zebras

EVALUATED = 256
"""How many images an evaluation puts into a batch."""


def seeded(seed: int) -> None:
    """Seed torch's generator of the host, from which initial weights are drawn."""
    torch.default_generator.manual_seed(seed)


@dataclass(frozen=True)
class Evaluated:
    """The evaluation of a network: the shares of right answers and of elements in zero blocks.

    `zero_share` is over the maps behind all ReLUs; None if the network has no Zebra modules.
    """

    accuracy: float
    zero_share: float | None

    def __str__(self) -> str:
        """Both shares in percent."""
        zeros = self.zero_share
        return f"accuracy {100 * self.accuracy:.2f} %" + (
            "" if zeros is None else f", zero blocks {100 * zeros:.1f} %"
        )


class Training:
    """The training of a network by a recipe; `done` epochs are over.

    `offset`: the number of epochs in earlier stretches, so that each epoch has its own random
    numbers. `reading`: how images are read.
    """

    def __init__(
        self,
        model: nn.Module,
        data: Classified,
        recipe: Recipe,
        place: Worker = Worker(),
        offset: int = 0,
        reading: Reading = Reading(),
    ) -> None:
        self.model = model.to(place.device)
        self.data = data
        self.recipe = recipe
        self.place = place
        self.offset = offset
        self.reading = reading
        self.done = 0
        self.optimizer: Any = optimizer_of(self.model, recipe)
        half = recipe.precision == "float16"  # small gradients of other types do not become 0
        self.scaler: Any = torch.amp.GradScaler(place.device.type, enabled=half)
        self.spread = place.spread(self.model)
        self.line = Progress()
        self.share = place.share(recipe.batch)

    def run(self, after: Callable[[dict[str, Any]], None] = lambda entry: None) -> None:
        """Train the remaining epochs of the recipe; `after` is called with each epoch's log entry.

        Raises: UserError if the loss is not finite.
        """
        while self.done < self.recipe.epochs:
            started, rate = time.monotonic(), self.recipe.rate(self.done)
            loss = self.epoch(rate)
            found = evaluate(self.model, self.data.watched, self.place, self.reading)
            self.done += 1
            self.line.clear()
            after(
                {
                    "epoch": self.done,
                    "learning_rate": rate,
                    "loss": loss,
                    **vars(found),
                    "seconds": round(time.monotonic() - started, 3),
                }
            )

    def epoch(self, rate: float) -> float:
        """Train on all training images once; returns the mean loss of the steps.

        Raises: UserError if the loss is not finite.
        """
        for options in self.optimizer.param_groups:
            options["lr"] = rate
        self.spread.train()
        total, steps = torch.zeros((), device=self.place.device), 0
        loader, epoch = self.batches(), self.offset + self.done
        varies = self.data.flips
        vary = Variation(len(self.data.train), self.recipe.seed, epoch) if varies else None
        for batch in delivered(loader):
            images, labels = self.prepared(batch, vary)
            total, steps = total + self.step(images, labels), steps + 1
            self.say(steps, len(loader))
        mean = float(self.place.total(total)) / max(steps * self.place.processes, 1)
        if not isfinite(mean):
            raise UserError(
                f"epoch {self.done + 1}: the loss is {mean}: a smaller --learning-rate may help"
            )
        return mean

    def prepared(self, batch: Batch, vary: Variation | None) -> tuple[Tensor, Tensor]:
        """The images of a batch, normalised and varied, and their labels, on the device."""
        raw, labels, indices = batch
        device = self.place.device
        images = self.data.train.normalised(raw.to(device, non_blocking=True))
        labels = labels.to(device, non_blocking=True)
        return (images if vary is None else vary.applied(images, indices)), labels

    def step(self, images: Tensor, labels: Tensor) -> Tensor:
        """Train on a batch; returns its loss."""
        loss: Any = self.loss(images, labels)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        if self.recipe.clip:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach()

    def loss(self, images: Tensor, labels: Tensor) -> Tensor:
        """The loss of a batch: equation (1) of paper 003 and the penalty of network slimming."""
        kind = PRECISIONS[self.recipe.precision]
        with torch.autocast(images.device.type, kind, enabled=kind is not torch.float32):
            logits = self.spread(images)
            loss = total_loss(logits, labels, self.spread, self.recipe.regularisation)
        if self.recipe.slimming:
            loss = loss + slimming_penalty(self.model, self.recipe.slimming)
        return loss

    def batches(self) -> DataLoader[Any]:
        """The batches of this process in an epoch; images that do not fill a batch are left out."""
        sampler = DistributedSampler[Any](
            self.data.train, self.place.processes, self.place.rank, seed=self.recipe.seed
        )
        sampler.set_epoch(self.offset + self.done)
        whole = len(sampler) >= self.share
        return batches(self.data.train, sampler, self.share, self.reading, whole=whole)

    def say(self, step: int, steps: int) -> None:
        """Show the current epoch and step on the terminal."""
        if self.place.first:
            self.line.say(f"epoch {self.done + 1}/{self.recipe.epochs}, step {step}/{steps}")


def evaluate(
    model: nn.Module, images: Images, place: Worker = Worker(), reading: Reading = Reading()
) -> Evaluated:
    """Measure accuracy and zero blocks on images, with the thresholds of inference.

    Each process evaluates a share of the images; all processes get the result.
    """
    counts = torch.zeros(3, dtype=torch.float64, device=place.device)
    mine = range(place.rank, len(images), place.processes)

    def count(module: nn.Module, _: object, output: Tensor) -> None:
        assert isinstance(module, Zebra)
        counts[1] += elements_kept(output, module.block)
        counts[2] += output.numel()

    hooks = [zebra.register_forward_hook(count) for zebra in zebras(model)]
    model.eval()
    try:
        with torch.no_grad():
            for raw, labels, _ in delivered(batches(images, mine, EVALUATED, reading)):
                batch = images.normalised(raw.to(place.device, non_blocking=True))
                answers = model(batch).argmax(1)
                counts[0] += (answers == labels.to(place.device)).sum()
    finally:
        for hook in hooks:
            hook.remove()
    right, kept, all_elements = (float(count) for count in place.total(counts))
    zero_share = 1 - kept / all_elements if all_elements else None
    return Evaluated(right / max(len(images), 1), zero_share)


def elements_kept(maps: Tensor, block: int) -> int:
    """How many elements of a ReLU's maps [N, C, H, W] lie in blocks that are not all zero."""
    keep = (F.max_pool2d(maps, block, block, ceil_mode=True) > 0).to(maps.dtype)
    whole = F.interpolate(keep, scale_factor=float(block), mode="nearest")
    return int(whole[:, :, : maps.shape[2], : maps.shape[3]].sum())
