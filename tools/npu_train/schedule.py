"""The hyperparameters of a training, its learning rate by epoch, and its optimiser: plain SGD.

Paper 003, III-A: "standard SGD optimizer with learning rate step decay from 0.1 to 0.001".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType

import torch
from torch import nn

from npu_tools.shared.errors import UserError
from npu_train.zebra import zebras

STEPS = (0.5, 0.75)
"""After each of these shares of the epochs the learning rate is divided by ten."""

NUMBERS = ("learning_rate", "weight_decay", "regularisation", "slimming", "momentum", "clip")
PRECISIONS: Mapping[str, torch.dtype] = MappingProxyType(
    {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
)
"""The types in which layers may compute while they are trained, by name."""


@dataclass(frozen=True)
class Recipe:
    """The hyperparameters of one stretch of training.

    `batch`: images in one step, over all processes together. `regularisation`: the weight of
    Zebra's penalty in equation (1) of paper 003. `slimming`: the weight of the L1 penalty on the
    scales of batch norms. `clip`: the largest norm of all gradients together; 0 for any. With a
    `precision` other than float32 the layers that torch.autocast chooses compute in it.

    Raises: UserError if a number is negative or not finite, the momentum 1 or more, the batch
    below 1, or the precision unknown.
    """

    epochs: int
    batch: int = 64
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    regularisation: float = 0.0
    slimming: float = 0.0
    seed: int = 0
    clip: float = 0.0
    precision: str = "float32"

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in NUMBERS:
            value: float = getattr(self, name)
            if not (isfinite(value) and value >= 0):
                option = name.replace("_", "-")
                raise UserError(f"--{option} {value}: expected a finite number of at least 0")
        if self.momentum >= 1:
            raise UserError(f"--momentum {self.momentum}: expected less than 1")
        if self.batch < 1:
            raise UserError(f"--batch {self.batch}: expected at least 1")
        if self.precision not in PRECISIONS:
            raise UserError(f"--precision {self.precision}: expected {', '.join(PRECISIONS)}")

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0."""
        return self.learning_rate * 0.1 ** sum(epoch >= share * self.epochs for share in STEPS)


def optimizer_of(model: nn.Module, recipe: Recipe) -> torch.optim.SGD:
    """SGD for a network. Zebra's threshold networks have no weight decay: the loss guides them."""
    apart = {id(part) for zebra in zebras(model) for part in zebra.parameters()}
    weights = [part for part in model.parameters() if id(part) not in apart]
    thresholds = [part for part in model.parameters() if id(part) in apart]
    groups = [{"params": weights}, {"params": thresholds, "weight_decay": 0.0}]
    return torch.optim.SGD(
        [group for group in groups if group["params"]],
        lr=recipe.learning_rate,
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
    )
