"""Channels and weights that pruning makes zero: how many, and which."""

# pyright: reportUnknownMemberType=false
# Methods of torch have incomplete types.

from __future__ import annotations

from math import nan

import pytest
import torch
from torch import Tensor, nn

from npu_tools.shared.errors import UserError
from npu_train.models import ZebraOptions, build
from npu_train.pruning import check_finished, finish, prune_weights, weighted
from npu_train.slimming import prune_channels
from npu_train.zebra import zebras


def network() -> nn.Module:
    torch.manual_seed(0)
    model = build("vgg16", classes=3, size=8, width=0.0625, zebra=ZebraOptions(2, 0.1))
    for norm in norms(model):
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    return model


def norms(model: nn.Module) -> list[nn.BatchNorm2d]:
    return [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]


def all_weights(model: nn.Module) -> Tensor:
    return torch.cat([layer.weight.detach().flatten() for layer in weighted(model)])


@pytest.mark.parametrize("share", [0, 0.2, 0.5])
def test_the_least_scales_go(share: float) -> None:
    model = network()
    before = torch.cat([norm.weight.detach().abs() for norm in norms(model)])
    prune_channels(model, share)
    after = torch.cat([norm.weight.detach().abs() for norm in norms(model)])
    zero = after == 0
    assert zero.sum() == int(share * len(before))
    if share:
        assert before[zero].max() <= before[~zero].min()
    assert after[~zero].equal(before[~zero])
    shifts = torch.cat([norm.bias.detach() for norm in norms(model)])
    assert (shifts == 0).equal(zero)


def test_each_layer_keeps_its_largest_channel() -> None:
    model = network()
    largest = [int(norm.weight.abs().argmax()) for norm in norms(model)]
    prune_channels(model, 0.999)
    for norm, channel in zip(norms(model), largest, strict=True):
        assert norm.weight.count_nonzero() == 1
        assert norm.weight[channel] != 0


def test_the_least_weights_go_and_stay_away() -> None:
    model = network()
    before = all_weights(model)
    learned = [zebra.network for zebra in zebras(model)]
    prune_weights(model, 0.4)
    with pytest.raises(UserError, match="make them permanent first"):
        check_finished(model)
    with pytest.raises(UserError, match="make them permanent first"):
        prune_weights(model, 0.4)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.rand(2, 3, 8, 8)).square().sum().backward()
    optimiser.step()
    model(torch.rand(2, 3, 8, 8))
    finish(model)
    check_finished(model)
    after = all_weights(model)
    zero = after == 0
    assert zero.sum() == round(0.4 * len(before))
    assert before.abs()[zero].max() <= before.abs()[~zero].min()
    assert not after[~zero].equal(before[~zero])
    assert [zebra.network for zebra in zebras(model)] == learned
    assert not any(name.endswith(("_mask", "_orig")) for name in model.state_dict())
    finish(model)  # changes nothing more


@pytest.mark.parametrize("share", [-0.1, 1, nan])
def test_bad_shares(share: float) -> None:
    for prune in (prune_channels, prune_weights):
        with pytest.raises(UserError, match=rf"share {share}: expected at least 0 and less than 1"):
            prune(network(), share)


def test_nothing_to_slim() -> None:
    with pytest.raises(UserError, match="the network has no batch norm"):
        prune_channels(nn.Linear(2, 2), 0.5)
