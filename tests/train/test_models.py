"""The networks of the paper: their maps, their blocks, and rejected options."""

# pyright: reportUnknownMemberType=false
# Methods of torch have incomplete types.

from __future__ import annotations

from math import nan, prod
from typing import Any

import pytest
import torch
from torch import nn

from npu_tools.shared.errors import UserError
from npu_train.models import NETWORKS, ZebraOptions, add_zebra, build
from npu_train.models.parts import activations, map_shapes
from npu_train.zebra import Zebra, zebras

OPTIONS = ZebraOptions(4, 0.1)


def parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_resnet18_has_the_maps_of_the_paper() -> None:
    model = build("resnet18", classes=10, zebra=OPTIONS)
    shapes = list(map_shapes(model, 3, 32).values())
    assert len(shapes) == 17
    assert sum(prod(shape) for shape in shapes) == 557_056
    assert {zebra.block for zebra in zebras(model)} == {4}
    assert parameters(build("resnet18", classes=10, zebra=None)) == 11_173_962
    shapes = list(map_shapes(build("resnet18", classes=200, zebra=None), 3, 64).values())
    blocks = [shape for shape in shapes[1:]]
    assert len(blocks) == 16
    assert 4 * sum(prod(shape) for shape in blocks) == 7_864_320


@pytest.mark.parametrize(
    ("name", "maps", "count", "last", "last_block"),
    [
        ("vgg16", 13, 14_724_042, (512, 2, 2), 2),
        ("resnet56", 55, 855_770, (64, 8, 8), 4),
        ("mobilenet", 27, 3_217_226, (1024, 2, 2), 2),
    ],
)
def test_networks(
    name: str, maps: int, count: int, last: tuple[int, int, int], last_block: int
) -> None:
    model = build(name, classes=10, zebra=None)
    assert parameters(model) == count
    shapes = list(map_shapes(model, 3, 32).values())
    assert len(shapes) == len(activations(model)) == maps
    assert shapes[-1] == last
    assert zebras(model) == []
    add_zebra(model, OPTIONS, channels=3, size=32)
    assert len(zebras(model)) == maps
    assert zebras(model)[-1].block == last_block


@pytest.mark.parametrize("name", NETWORKS)
def test_narrow_networks_for_small_images(name: str) -> None:
    torch.manual_seed(0)
    model = build(name, classes=3, channels=1, size=9, width=0.0625, zebra=OPTIONS)
    shapes = map_shapes(model, 1, 9).values()
    assert model.training
    assert [zebra.block for zebra in zebras(model)] == [min(4, rows) for _, rows, _ in shapes]
    logits = model(torch.rand(2, 1, 9, 9))
    assert logits.shape == (2, 3)
    logits.sum().backward()
    for parameter in model.parameters():
        assert parameter.grad is not None


def test_maps_of_resnets_begin_with_values_from_0_to_1() -> None:
    torch.manual_seed(0)
    model = build("resnet18", classes=3, size=16, width=0.25, zebra=None)
    seen: list[float] = []
    for place in activations(model):
        place.register_forward_hook(lambda _, __, y: seen.append(float((y > 1).float().mean())))
    model(torch.randn(16, 3, 16, 16))
    assert len(seen) == 17
    assert max(seen) < 0.01


def test_seeds_repeat() -> None:
    states: list[dict[str, Any]] = []
    for _ in range(2):
        torch.manual_seed(7)
        model = build("resnet18", classes=3, width=0.05, zebra=OPTIONS)
        states.append(model.state_dict())
    assert all(states[0][name].equal(states[1][name]) for name in states[0])


def test_zebra_on_a_network_that_has_it() -> None:
    model = build("vgg16", classes=3, size=8, width=0.05, zebra=OPTIONS).eval()
    add_zebra(model, ZebraOptions(2, 0.5), channels=3, size=8)
    found = zebras(model)
    assert len(found) == 13
    assert {(zebra.block, zebra.threshold) for zebra in found} == {(2, 0.5), (1, 0.5)}
    assert not any(zebra.training for zebra in found)
    assert all(isinstance(place.zebra, Zebra) for place in activations(model))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "alexnet"}, "network 'alexnet': expected vgg16, resnet18, resnet56, mobilenet"),
        ({"width": 0.001}, "width 0.001: a layer of 64 channels would have none"),
        ({"width": 0.0}, "width 0.0: expected a finite number above 0"),
        ({"width": nan}, "width nan: expected a finite number above 0"),
        ({"classes": 0}, "classes 0: expected at least 1"),
        ({"channels": 0}, "channels 0: expected at least 1"),
        ({"size": 0}, "size 0: expected at least 1"),
        ({"zebra": ZebraOptions(33, 0.1)}, "block size 33: expected at most the image's 32"),
    ],
)
def test_what_cannot_be_built(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"name": "resnet18", "classes": 10, "zebra": None, **change}
    with pytest.raises(UserError, match=message):
        build(given.pop("name"), **given)
