"""Network slimming: channels whose batch norm hardly scales them (paper 003, III-A: NS).

Decision: which channels are zero. `npu_train.shrink` removes them; before that the network may be
trained with the L1 penalty `npu_train.loss.slimming_penalty`.
"""

from __future__ import annotations

import torch
from torch import nn

from npu_tools.shared.errors import UserError
from npu_train.pruning import check_share


def prune_channels(model: nn.Module, share: float) -> None:
    """Zero scale and shift of the `share` of all batch norms' channels least in |scale|.

    One threshold for the whole network (Z. Liu et al. 2017). The largest channel of a layer stays,
    so a little less than the share may go.

    Raises: UserError if the share is not in [0, 1), or no batch norm is there.
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
