"""Magnitude pruning of weights, with `torch.nn.utils.prune` (paper 003, III-A: WP).

Masks keep the pruned weights at zero while training goes on. `finish` replaces masks and weights by
plain weights.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from torch import nn

from npu_tools.shared.errors import UserError
from npu_train.zebra import Zebra

prune: Any = import_module("torch.nn.utils.prune")  # has no types


def prune_weights(model: nn.Module, share: float) -> None:
    """Mask the share of weights with the smallest magnitudes in the whole network.

    The weights of convolutions and fully connected layers count, but not those of Zebra's threshold
    networks, which inference does not have. Until `finish`, the state of the network has
    `weight_orig` and `weight_mask` in place of `weight`.

    Raises: UserError if the share is not in [0, 1), or if the network has masks already.
    """
    check_share(share)
    check_finished(model)
    layers = [(module, "weight") for module in weighted(model)]
    prune.global_unstructured(layers, pruning_method=prune.L1Unstructured, amount=share)


def finish(model: nn.Module) -> None:
    """Make the zeros of `prune_weights` permanent; networks without masks do not change."""
    for module in weighted(model):
        if prune.is_pruned(module):
            prune.remove(module, "weight")


def check_finished(model: nn.Module) -> None:
    """Check that a network has no masks.

    Raises: UserError if it has some.
    """
    if prune.is_pruned(model):
        raise UserError("the network has pruning masks: make them permanent first, by `finish`")


def weighted(model: nn.Module) -> list[nn.Conv2d | nn.Linear]:
    """The convolutions and fully connected layers of a network, but for threshold networks."""
    inside = {
        id(part)
        for zebra in model.modules()
        if isinstance(zebra, Zebra)
        for part in zebra.modules()
    }
    return [
        module
        for module in model.modules()
        if isinstance(module, nn.Conv2d | nn.Linear) and id(module) not in inside
    ]


def check_share(share: float) -> None:
    """Check a share to be pruned.

    Raises: UserError if it is not in [0, 1).
    """
    if not 0 <= share < 1:
        raise UserError(f"share {share}: expected at least 0 and less than 1")
