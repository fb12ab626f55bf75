"""The training loop: epochs of SGD steps, with an evaluation after each epoch.

All random numbers depend only on the seed and the number of the epoch. So the same seed gives the
same weights, even if the training was interrupted between two epochs and resumed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from npu_tools.shared.errors import UserError
from npu_tools.shared.progress import Progress
from npu_train.data.images import Classified, Images
from npu_train.distributed import Worker
from npu_train.loss import slimming_penalty, total_loss
from npu_train.schedule import Recipe, optimizer_of
from npu_train.zebra import Zebra, zebras

BORDER = 4
"""Most pixels by which training shifts an image, as is usual for CIFAR-10."""
EVALUATED = 256
"""How many images an evaluation puts into a batch."""


def seeded(seed: int) -> None:
    """Seed torch's generator of the host, from which initial weights are drawn."""
    torch.default_generator.manual_seed(seed)


@dataclass(frozen=True)
class Varied(Dataset[tuple[Tensor, int]]):
    """Training images, shifted and mirrored at random; seed and epoch decide how."""

    images: Images
    seed: int
    epoch: int

    def __len__(self) -> int:
        """The number of images."""
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        """An image, with zeros where it was shifted away, and its label."""
        image, label = self.images[index]
        draw = torch.Generator().manual_seed(hash((self.seed, self.epoch, index)) & (2**63 - 1))
        rows, columns = image.shape[1:]
        down, right = (int(torch.randint(0, 2 * BORDER + 1, (), generator=draw)) for _ in range(2))
        image = F.pad(image, (BORDER,) * 4)[:, down : down + rows, right : right + columns]
        mirrored = torch.rand((), generator=draw).item() < 0.5
        return (image.flip(2) if mirrored else image), label


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
    numbers.
    """

    def __init__(
        self,
        model: nn.Module,
        data: Classified,
        recipe: Recipe,
        place: Worker = Worker(),
        offset: int = 0,
    ) -> None:
        self.model = model.to(place.device)
        self.data = data
        self.recipe = recipe
        self.place = place
        self.offset = offset
        self.done = 0
        self.optimizer: Any = optimizer_of(self.model, recipe)
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
            found = evaluate(self.model, self.data.held_out, self.place)
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
        batches = self.batches()
        for images, labels in batches:
            loss: Any = self.loss(images.to(self.place.device), labels.to(self.place.device))
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            total, steps = total + loss.detach(), steps + 1
            self.say(steps, len(batches))
        mean = float(self.place.total(total)) / max(steps * self.place.processes, 1)
        if not isfinite(mean):
            raise UserError(
                f"epoch {self.done + 1}: the loss is {mean}: a smaller --learning-rate may help"
            )
        return mean

    def loss(self, images: Tensor, labels: Tensor) -> Tensor:
        """The loss of a batch: equation (1) of paper 003 and the penalty of network slimming."""
        logits = self.spread(images)
        loss = total_loss(logits, labels, self.model, self.recipe.regularisation)
        if self.recipe.slimming:
            loss = loss + slimming_penalty(self.model, self.recipe.slimming)
        return loss

    def batches(self) -> DataLoader[tuple[Tensor, Tensor]]:
        """The batches of this process in an epoch; images that do not fill a batch are left out."""
        epoch = self.offset + self.done
        images: Any = self.data.train
        if self.data.flips:
            images = Varied(self.data.train, self.recipe.seed, epoch)
        sampler = DistributedSampler[Any](
            images, self.place.processes, self.place.rank, seed=self.recipe.seed
        )
        sampler.set_epoch(epoch)
        return DataLoader(
            images,
            self.share,
            sampler=sampler,
            drop_last=len(sampler) >= self.share,
            generator=torch.Generator(),  # not torch's own, which a network may draw from
        )

    def say(self, step: int, steps: int) -> None:
        """Show the current epoch and step on the terminal."""
        if self.place.first:
            self.line.say(f"epoch {self.done + 1}/{self.recipe.epochs}, step {step}/{steps}")


def evaluate(model: nn.Module, images: Images, place: Worker = Worker()) -> Evaluated:
    """Measure accuracy and zero blocks on images, with the thresholds of inference.

    Each process evaluates a share of the images; all processes get the result.
    """
    counts = torch.zeros(3, dtype=torch.float64, device=place.device)
    mine = list(range(place.rank, len(images), place.processes))

    def count(module: nn.Module, _: object, output: Tensor) -> None:
        assert isinstance(module, Zebra)
        counts[1] += elements_kept(output, module.block)
        counts[2] += output.numel()

    hooks = [zebra.register_forward_hook(count) for zebra in zebras(model)]
    model.eval()
    try:
        with torch.no_grad():
            for batch, labels in in_batches(images, mine):
                answers = model(batch.to(place.device)).argmax(1)
                counts[0] += (answers == labels.to(place.device)).sum()
    finally:
        for hook in hooks:
            hook.remove()
    right, kept, all_elements = (float(count) for count in place.total(counts))
    zero_share = 1 - kept / all_elements if all_elements else None
    return Evaluated(right / max(len(images), 1), zero_share)


def in_batches(images: Images, indices: list[int]) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of at most `EVALUATED` images, in the order of `indices`, with their labels."""
    for start in range(0, len(indices), EVALUATED):
        pairs = [images[index] for index in indices[start : start + EVALUATED]]
        labels = torch.tensor([label for _, label in pairs])
        yield torch.stack([image for image, _ in pairs]), labels


def elements_kept(maps: Tensor, block: int) -> int:
    """How many elements of a ReLU's maps [N, C, H, W] lie in blocks that are not all zero."""
    keep = (F.max_pool2d(maps, block, block, ceil_mode=True) > 0).to(maps.dtype)
    whole = F.interpolate(keep, scale_factor=float(block), mode="nearest")
    return int(whole[:, :, : maps.shape[2], : maps.shape[3]].sum())
