"""The Zebra module, equation (1), and the penalty of network slimming."""

# pyright: reportUnknownMemberType=false
# Methods of torch have incomplete types.

from __future__ import annotations

import copy
from math import inf, nan, sqrt

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import nn

from npu_tools.shared.errors import UserError
from npu_train.loss import slimming_penalty, total_loss, zebra_penalty
from npu_train.zebra import Zebra, ZebraOptions, straight_through, zebras


def pruned(x: NDArray[np.float32], block: int, threshold: float) -> NDArray[np.float32]:
    """The result of `npu.prune_zero_blocks`, computed block by block."""
    result = x.copy()
    for row in range(0, x.shape[2], block):
        for column in range(0, x.shape[3], block):
            part = result[:, :, row : row + block, column : column + block]
            below = (part < np.float32(threshold)).all(axis=(2, 3))
            part[below] = 0
    return result


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_evaluation(data: st.DataObject) -> None:
    height, width = data.draw(st.integers(1, 13)), data.draw(st.integers(1, 13))
    block = data.draw(st.integers(1, min(height, width)))
    threshold = data.draw(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]))
    seed = data.draw(st.integers(0, 99))
    steps = np.random.default_rng(seed).integers(-8, 8, (2, 3, height, width))
    x = np.maximum(steps.astype(np.float32) / 8, 0)  # some elements equal the threshold
    zebra = Zebra(3, block, threshold).eval()
    ours = zebra(torch.tensor(x)).detach().numpy()
    expected = pruned(x, block, threshold)
    np.testing.assert_array_equal(ours, expected)
    if threshold == 0:
        np.testing.assert_array_equal(ours, x)


def test_thresholds_are_learned_in_training_only() -> None:
    zebra = Zebra(2, 2, 0.5)
    network = zebra.network
    assert network is not None
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[sqrt(2), 0.0], [0.0, 0.0]]))
        network.bias.copy_(torch.tensor([0.25, 0.75]))
    x = torch.full((1, 2, 2, 2), 0.6)
    ours = zebra(x)
    assert zebra.thresholds is not None
    torch.testing.assert_close(zebra.thresholds, torch.tensor([[0.85, 0.75]]))
    assert ours.count_nonzero() == 0
    assert zebra.eval()(x).equal(x)
    fixed = Zebra(2, 2, 0.7, learned=False)
    assert fixed(x).count_nonzero() == 0
    assert fixed.thresholds is None
    assert list(fixed.parameters()) == []


def test_straight_through() -> None:
    margin = torch.tensor([-0.6, -0.4, 0.0, 0.4, 0.6], requires_grad=True)
    keep = straight_through(margin)
    assert keep.tolist() == [0, 0, 1, 1, 1]
    keep.sum().backward()
    assert margin.grad is not None
    assert margin.grad.tolist() == [0, 1, 1, 1, 0]


def test_gradient_reaches_the_threshold_network_and_the_map() -> None:
    torch.manual_seed(0)
    zebra = Zebra(3, 4, 0.1)
    x = torch.rand(2, 3, 5, 5, requires_grad=True)
    zebra(x).square().sum().backward()
    network = zebra.network
    assert network is not None
    for parameter in (network.weight, network.bias, x):
        assert parameter.grad is not None
        assert parameter.grad.abs().sum() > 0


def test_thresholds_meet_their_target() -> None:
    torch.manual_seed(0)
    zebra = Zebra(16, 4, 0.2)
    optimiser = torch.optim.SGD(zebra.parameters(), lr=0.1, momentum=0.9)
    for _ in range(60):
        x = torch.rand(8, 16, 8, 8).square()
        y = zebra(x)
        loss = zebra_penalty(zebra, y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert zebra.thresholds is not None
    assert (zebra.thresholds - 0.2).abs().max() < 0.02


def test_equation_1() -> None:
    model = nn.Sequential(Zebra(2, 2, 0.5), Zebra(1, 2, 0.1), Zebra(4, 2, 9.0))
    first, second, third = zebras(model)
    first.thresholds = torch.tensor([[0.5, 0.7], [0.1, 0.5]])
    second.thresholds = torch.tensor([[0.4], [0.4]])
    third.thresholds = None  # without learned thresholds
    logits, labels = torch.tensor([[0.0, 0.0], [3.0, 3.0]]), torch.tensor([0, 1])
    entropy = np.log(2)
    penalty = (0.2**2 + 0.4**2) / 2 + 0.3**2
    loss = total_loss(logits, labels, model, 0.25)
    assert loss.item() == pytest.approx(entropy + 0.25 * penalty, rel=1e-6)
    assert total_loss(logits, labels, model, 0).item() == pytest.approx(entropy, rel=1e-6)
    assert total_loss(logits, labels, model.eval(), 1).item() == pytest.approx(entropy, rel=1e-6)


def test_slimming_penalty() -> None:
    model = nn.Sequential(nn.BatchNorm2d(2), nn.ReLU(), nn.BatchNorm2d(1))
    with torch.no_grad():
        for parameter, values in zip(model.parameters(), ([1, -2], [5, 5], [3], [7]), strict=True):
            parameter.copy_(torch.tensor(values))
    penalty = slimming_penalty(model, 0.5)
    assert penalty.item() == 3
    penalty.backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    assert gradients[0] is not None
    assert gradients[0].tolist() == [0.5, -0.5]
    assert gradients[1] is None
    with pytest.raises(UserError, match="no batch norm"):
        slimming_penalty(nn.ReLU(), 0.5)


def test_copies_leave_the_last_batch_behind() -> None:
    zebra = Zebra(2, 2, 0.5)
    zebra(torch.rand(1, 2, 4, 4))
    assert zebra.thresholds is not None
    assert copy.deepcopy(zebra).thresholds is None
    assert "block=2, threshold=0.5" in repr(zebra)


@pytest.mark.parametrize(
    ("block", "threshold", "message"),
    [
        (0, 0.1, "block size 0: expected at least 1"),
        (-4, 0.1, "block size -4: expected at least 1"),
        (4, -0.1, "threshold -0.1: expected a finite number of at least 0"),
        (4, nan, "threshold nan: expected a finite number"),
        (4, inf, "threshold inf: expected a finite number"),
    ],
)
def test_bad_options(block: int, threshold: float, message: str) -> None:
    with pytest.raises(UserError, match=message):
        ZebraOptions(block, threshold)
    with pytest.raises(UserError, match=message):
        Zebra(1, block, threshold)
