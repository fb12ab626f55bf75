"""The training loop is repeatable, follows the schedule of the paper, and learns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers.train_files import squares
from npu_tools.shared.errors import UserError
from npu_train.data import Images
from npu_train.distributed import Worker
from npu_train.loop import Training, Varied, evaluate, seeded
from npu_train.models import ZebraOptions, build
from npu_train.schedule import Recipe, optimizer_of
from npu_train.zebra import zebras

RECIPE = Recipe(epochs=4, batch=8, regularisation=0.1, slimming=1e-4)
DATA = squares()


def network(seed: int = 0, zebra: ZebraOptions | None = ZebraOptions(2, 0.1)) -> nn.Module:
    seeded(seed)
    return build("resnet18", classes=2, channels=1, size=8, width=1 / 16, zebra=zebra)


def trained(recipe: Recipe, flips: bool = False) -> tuple[nn.Module, list[dict[str, object]]]:
    entries: list[dict[str, object]] = []
    training = Training(network(), replace(DATA, flips=flips), recipe)
    training.run(entries.append)
    return training.model, entries


def same(one: nn.Module, two: nn.Module) -> bool:
    states = one.state_dict(), two.state_dict()
    return all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.parametrize("flips", [False, True])
def test_the_same_seed_gives_the_same_weights(flips: bool) -> None:
    """The weights are the same even if torch's generator is used in between."""
    short = replace(RECIPE, epochs=2)
    one, _ = trained(short, flips)
    training = Training(network(), replace(DATA, flips=flips), short)
    torch.rand(5)
    training.run()
    assert same(one, training.model)
    other, _ = trained(replace(short, seed=1), flips)
    assert not same(one, other)


def test_it_learns() -> None:
    model, entries = trained(replace(RECIPE, epochs=16))
    assert evaluate(model, DATA.held_out).accuracy == 1.0
    assert [entry["epoch"] for entry in entries] == list(range(1, 17))
    rates = [entry["learning_rate"] for entry in entries]
    assert rates == pytest.approx([0.1] * 8 + [0.01] * 4 + [0.001] * 4)
    assert entries[-1]["accuracy"] == 1.0


def test_rates() -> None:
    """The rate goes from 0.1 to 0.001: a tenth at half and at three quarters of the epochs."""
    recipe = Recipe(epochs=200)
    rates = [recipe.rate(epoch) for epoch in (0, 99, 100, 149, 150, 199)]
    assert rates == pytest.approx([0.1, 0.1, 0.01, 0.01, 0.001, 0.001])


def test_thresholds_do_not_decay() -> None:
    model = network()
    optimizer = optimizer_of(model, RECIPE)
    weights, thresholds = optimizer.param_groups
    assert (weights["weight_decay"], thresholds["weight_decay"]) == (5e-4, 0.0)
    assert len(thresholds["params"]) == 2 * 17
    assert len(weights["params"]) + 2 * 17 == len(list(model.parameters()))
    assert len(optimizer_of(network(zebra=None), RECIPE).param_groups) == 1


def test_learned_thresholds_come_to_the_target() -> None:
    """With equation (1) learned thresholds converge to the target (paper 003, section II-B)."""
    model, _ = trained(replace(RECIPE, epochs=8, regularisation=1.0))
    thresholds = [z.thresholds for z in zebras(model)]
    means = [float(found.detach().mean()) for found in thresholds if found is not None]
    assert len(means) == 17
    assert np.mean(means) == pytest.approx(0.1, abs=0.05)


def test_zero_share() -> None:
    """The share of elements in blocks of zeros, over all maps behind a ReLU."""
    model = network().eval()
    maps: list[torch.Tensor] = []

    def noted(_: nn.Module, given: object, output: torch.Tensor) -> None:
        maps.append(output)

    for zebra in zebras(model):
        zebra.register_forward_hook(noted)
    found = evaluate(model, DATA.held_out)
    kept = total = 0
    for each, zebra in zip(maps, zebras(model), strict=True):
        blocks = F.unfold(each.flatten(0, 1)[:, None], zebra.block, stride=zebra.block)
        kept += int((blocks > 0).any(1).sum()) * zebra.block**2
        total += each.numel()
    assert found.zero_share == pytest.approx(1 - kept / total)
    assert 0 < (found.zero_share or 0) < 1
    assert evaluate(network(zebra=None), DATA.held_out).zero_share is None


def test_variations() -> None:
    """Images are shifted by at most 4 and mirrored, in the same way for the same epoch."""
    image = np.arange(1.0, 65.0, dtype=np.float32).reshape(1, 1, 8, 8)
    images = Images.of(np.repeat(image, 40, axis=0), np.arange(40))
    found = [Varied(images, 3, 5)[index][0] for index in range(40)]
    again = [Varied(images, 3, 5)[index][0] for index in range(40)]
    other = [Varied(images, 3, 6)[index][0] for index in range(40)]
    assert all(torch.equal(one, two) for one, two in zip(found, again, strict=True))
    assert not all(torch.equal(one, two) for one, two in zip(found, other, strict=True))
    mirrored = 0
    for each in found:
        places = each[0].nonzero()
        values = each[0][each[0] > 0]
        rows, columns = (values - 1) // 8, (values - 1) % 8
        assert len({int(v) for v in rows - places[:, 0]}) == 1
        straight = len({int(v) for v in columns - places[:, 1]}) == 1
        assert straight or len({int(v) for v in columns + places[:, 1]}) == 1
        mirrored += not straight
    assert 10 < mirrored < 30
    assert len({each.numpy().tobytes() for each in found}) > 20


def test_a_loss_that_explodes() -> None:
    with pytest.raises(UserError, match=r"epoch 1: the loss is .*a smaller --learning-rate"):
        trained(replace(RECIPE, learning_rate=1e30, epochs=1))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("learning_rate", float("nan"), "--learning-rate nan: expected a finite number"),
        ("weight_decay", -1.0, "--weight-decay -1.0: expected a finite number of at least 0"),
        ("regularisation", float("inf"), "--regularisation inf"),
        ("slimming", -0.5, "--slimming -0.5"),
        ("momentum", 1.0, "--momentum 1.0: expected less than 1"),
        ("batch", 0, "--batch 0: expected at least 1"),
    ],
)
def test_recipes_that_cannot_be(name: str, value: float, message: str) -> None:
    with pytest.raises(UserError, match=message):
        replace(RECIPE, **{name: value})


def test_a_batch_that_cannot_be_shared() -> None:
    with pytest.raises(UserError, match="--batch 9: expected a multiple of 2 processes"):
        Worker(processes=2).share(9)
