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
from npu_train.distributed import Worker, synchronised
from npu_train.loading import Variation
from npu_train.loop import Training, evaluate, seeded
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


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_precisions(precision: str) -> None:
    """Layers compute in few bits; weights, their gradients and the loss stay in float32."""
    recipe = replace(RECIPE, epochs=1, precision=precision)
    kinds: set[torch.dtype] = set()
    training = Training(network(), DATA, recipe)
    layer = next(part for part in training.model.modules() if isinstance(part, nn.Conv2d))

    def note(_: nn.Module, given: object, output: torch.Tensor) -> None:
        kinds.add(output.dtype)

    hook = layer.register_forward_hook(note)
    images = torch.stack([DATA.train[index][0] for index in range(8)])
    loss = training.step(images, torch.tensor([0, 1] * 4))
    hook.remove()
    assert kinds == {getattr(torch, precision)}
    assert (loss.dtype, layer.weight.dtype) == (torch.float32, torch.float32)
    assert layer.weight.isfinite().all()  # a step whose gradients overflow is left out
    assert bool(training.scaler.state_dict()) == (precision == "float16")


def test_clipped_gradients() -> None:
    training = Training(network(), DATA, replace(RECIPE, clip=1e-3))
    images = torch.stack([DATA.train[index][0] for index in range(8)])
    training.step(images, torch.tensor([0, 1] * 4))
    squares = [
        part.grad.square().sum() for part in training.model.parameters() if part.grad is not None
    ]
    assert float(torch.stack(squares).sum().sqrt()) == pytest.approx(1e-3, rel=1e-3)


def test_synchronised_batch_norms() -> None:
    """The copy that trains in several processes has the network's own tensors."""
    model = network()
    twin = synchronised(model)
    norms = [part for part in twin.modules() if isinstance(part, nn.SyncBatchNorm)]
    assert len(norms) == sum(isinstance(part, nn.BatchNorm2d) for part in model.modules()) > 0
    assert not any(isinstance(part, nn.BatchNorm2d) for part in twin.modules())
    here, there = model.state_dict(), twin.state_dict()
    assert all(here[name].data_ptr() == there[name].data_ptr() for name in here)
    assert {id(part) for part in model.parameters()} == {id(part) for part in twin.parameters()}


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
    images = torch.arange(1.0, 65.0).reshape(1, 1, 8, 8).repeat(40, 1, 1, 1)
    indices = torch.arange(40)
    found = Variation(40, 3, 5).applied(images, indices)
    again = Variation(40, 3, 5).applied(images[:9], indices[:9])
    other = Variation(40, 3, 6).applied(images, indices)
    found, again, other = list(found), [*again, *found[9:]], list(other)
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
