"""Network slimming: sets channels with small batch norm scales to zero (paper 003, III-A: NS).

The network may be trained with the L1 penalty `npu_train.loss.slimming_penalty` before.
`npu_train.shrink` removes the channels afterwards.
"""

from __future__ import annotations

import torch
from torch import nn

from npu_tools.shared.errors import UserError
from npu_train.pruning import check_share


def prune_channels(model: nn.Module, share: float) -> None:
    """Set scale and shift to 0 for the share of channels with the smallest |scale|.

    The channels of all batch norms are compared with each other (Z. Liu et al. 2017). Each batch
    norm keeps its largest channel, so slightly fewer channels than the share may be set to 0.

    Raises: UserError if the share is not in [0, 1), or if the network has no batch norm.
    """
    check_share(share)
    norms = [
        module for module in model.modules() if isinstance(module, nn.BatchNorm2d) and module.affine
    ]
    if not norms:
        raise UserError("the network has no batch norm: slimming needs the scales of one")
    with torch.no_grad():
        scales = torch.cat([norm.weight.abs() for norm in norms])
        doomed = torch.zeros_like(scales, dtype=torch.bool)
        doomed[scales.argsort(stable=True)[: int(share * len(scales))]] = True
        start = 0
        for norm in norms:
            part = doomed[start : start + norm.num_features]
            start += norm.num_features
            part[norm.weight.abs().argmax()] = False
            norm.weight[part] = 0
            norm.bias[part] = 0
