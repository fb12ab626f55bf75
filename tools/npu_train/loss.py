"""The regularised loss (paper 003, equation 1) and the penalty of network slimming.

The first rewards zero blocks, the second channels whose batch norm has a small scale.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from npu_tools.shared.errors import UserError
from npu_train.zebra import zebras


def total_loss(logits: Tensor, labels: Tensor, model: nn.Module, regularisation: float) -> Tensor:
    """Equation (1): the cross entropy + `regularisation` * `zebra_penalty`.

    `logits` [N, classes], `labels` [N] of integers; the result is a scalar.
    """
    return F.cross_entropy(logits, labels) + regularisation * zebra_penalty(model, logits)


def zebra_penalty(model: nn.Module, like: Tensor) -> Tensor:
    """The sum over layers l and channels c of (T_obj - T_lc)^2, averaged over a batch's images.

    The thresholds T_lc are those of the last batch. A Zebra module without any adds nothing: one in
    evaluation mode, or one whose thresholds are not learned. The result is on the device of
    `like`, and has its type, or float32 if that has more bits.
    """
    kind = torch.promote_types(like.dtype, torch.float32)  # sums of squares need the bits
    penalty = torch.zeros((), dtype=kind, device=like.device)
    for zebra in zebras(model):
        if zebra.training and zebra.thresholds is not None:
            distances = zebra.threshold - zebra.thresholds.to(kind)
            penalty = penalty + distances.square().sum(1).mean()
    return penalty


def slimming_penalty(model: nn.Module, strength: float) -> Tensor:
    """Network slimming: `strength` * the sum of |scale| over all batch norms (Z. Liu et al. 2017).

    Raises: UserError if the network has no batch norm with a scale.
    """
    scales = [
        module.weight.abs().sum()
        for module in model.modules()
        if isinstance(module, nn.BatchNorm2d) and module.affine
    ]
    if not scales:
        raise UserError("the network has no batch norm: slimming needs the scales of one")
    return strength * torch.stack(scales).sum()
