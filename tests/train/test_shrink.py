"""Shrunk networks compute the same, and have no unneeded channel."""

# pyright: reportUnknownMemberType=false
# Methods of torch have incomplete types.

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from npu_tools.shared.errors import UserError
from npu_train.models import NETWORKS, ZebraOptions, build
from npu_train.models.parts import Activation, map_shapes
from npu_train.pruning import prune_weights
from npu_train.shrink import shrink
from npu_train.slimming import prune_channels
from npu_train.zebra import Zebra, zebras

SIZE = 8


def network(name: str = "resnet18", *, zebra: bool = True) -> nn.Module:
    """A network with random statistics and scales of batch norms."""
    options = ZebraOptions(2, 0.1) if zebra else None
    torch.manual_seed(0)
    model = build(name, classes=5, size=SIZE, width=0.125, zebra=options)
    for norm in norms(model):
        nn.init.uniform_(norm.weight, 0.5, 1.5)
        nn.init.normal_(norm.bias, 0, 0.3)
        if norm.running_mean is not None and norm.running_var is not None:
            nn.init.normal_(norm.running_mean, 0, 0.3)
            nn.init.uniform_(norm.running_var, 0.5, 1.5)
    return model


def norms(model: nn.Module) -> list[nn.BatchNorm2d]:
    return [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]


def images() -> Tensor:
    return torch.rand(4, 3, SIZE, SIZE)


def same(model: nn.Module, x: Tensor) -> nn.Module:
    """Shrink a network, and check that the result computes the same; returns it."""
    mode = model.training
    small = shrink(model, x)
    assert model.training == small.training == mode
    with torch.no_grad():
        theirs, ours = model.eval()(x), small.eval()(x)
    assert theirs.abs().max() > 0
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5 * float(theirs.abs().max()))
    model.train(mode)
    return small.train(mode)


def channels(model: nn.Module) -> list[int]:
    return [norm.num_features for norm in norms(model)]


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("share", [0.0, 0.4, 0.9])
@pytest.mark.parametrize("zebra", [False, True])
def test_slimmed_networks(name: str, share: float, zebra: bool) -> None:
    model = network(name, zebra=zebra)
    prune_channels(model, share)
    small = same(model, images())
    alive = [max(1, int(norm.weight.count_nonzero())) for norm in norms(model)]
    if share == 0:
        assert channels(small) == channels(model)
    elif name == "vgg16":  # no additions, so every zero channel is removed
        assert channels(small) == alive
    else:
        assert sum(channels(small)) < sum(channels(model))
    for shape, found in zip(map_shapes(small, 3, SIZE).values(), zebras(small), strict=zebra):
        assert found.channels == shape[0]
        assert found.network is not None
        assert found.network.weight.shape == (shape[0], shape[0])
    if zebra:  # training can go on
        small.train()(images()).sum().backward()


def test_sums_keep_what_any_term_needs() -> None:
    model = network()
    stem, _, first, _, second = norms(model)[:5]
    with torch.no_grad():
        for norm, zero in ((stem, [0, 1, 2]), (first, [1, 2, 3]), (second, [2, 1, 7])):
            norm.weight[zero] = 0
            norm.bias[zero] = 0
    small = same(model, images())
    assert channels(small)[0] == 8 - 2  # 1 and 2 are zero in all terms


def test_sums_keep_what_a_term_is_needed_for() -> None:
    model = network()
    classifier = model.get_submodule("5")
    assert isinstance(classifier, nn.Linear)
    with torch.no_grad():
        classifier.weight[:, 3] = 0  # of the last sum, but the block before it reads it too
    assert channels(same(model, images())) == channels(model)


def constant(kernel: int, scale: float, shift: float) -> nn.Sequential:
    """Two convolutions; the second of the four channels between them is a constant map."""
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(4)
    with torch.no_grad():
        norm.weight[1] = scale
        norm.bias[1] = shift
    second = nn.Conv2d(4, 5, kernel, padding=kernel // 2)
    tail = (nn.BatchNorm2d(5), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 2))
    return nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), norm, Activation(), second, *tail).eval()


@pytest.mark.parametrize(
    ("kernel", "scale", "shift", "left"),
    [
        (1, 0.0, 0.5, 3),  # is added to the next bias
        (3, 0.0, 0.5, 4),  # contributes less at the border
        (3, 0.0, -0.5, 3),  # the ReLU makes it zero
        (3, 0.1, 0.0, 4),
    ],
)
def test_constants(kernel: int, scale: float, shift: float, left: int) -> None:
    assert channels(same(constant(kernel, scale, shift), images())) == [left, 5]


def test_constants_behind_zebra() -> None:
    model = constant(3, 0.0, 0.5)
    place = model.get_submodule("2")
    assert isinstance(place, Activation)
    for threshold, left in ((0.5, 4), (0.625, 3)):
        place.zebra = Zebra(4, 2, threshold).eval()
        assert channels(same(model, images())) == [left, 5]


def test_channels_that_nobody_reads() -> None:
    model = constant(3, 1.0, 0.0)
    second = model.get_submodule("3")
    assert isinstance(second, nn.Conv2d)
    with torch.no_grad():
        second.weight[:, 2] = 0
    assert channels(same(model, images())) == [3, 5]


def test_flattened_maps() -> None:
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(3)
    with torch.no_grad():
        norm.weight[1] = 0
        norm.bias[1] = 2
    flat = nn.Linear(3 * SIZE * SIZE, 4)
    model = nn.Sequential(nn.Conv2d(3, 3, 1), norm, nn.Flatten(), flat, nn.ReLU(), nn.Linear(4, 2))
    small = same(model.eval(), images())
    found = small.get_submodule("3")
    assert isinstance(found, nn.Linear)
    assert found.in_features == 2 * SIZE * SIZE


def test_a_layer_keeps_a_channel() -> None:
    model = network("vgg16")
    with torch.no_grad():
        norms(model)[3].weight.zero_()
        norms(model)[3].bias.zero_()
    small = same(model, images())
    assert channels(small)[3] == 1


class Odd(nn.Module):
    """Layers that the analysis does not know, so their channels stay."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.again = nn.Conv2d(4, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Sigmoids, a layer called twice, and channels one after the other."""
        x = self.again(self.again(torch.sigmoid(self.norm(self.conv(x)))))
        return torch.cat([x, x], 1).mean((2, 3))


def test_unknown_layers() -> None:
    model = Odd().eval()
    with torch.no_grad():
        model.norm.weight[0] = 0
        model.again.weight[:, 2] = 0
    assert channels(same(model, images())) == [4]


def test_masks_must_be_final() -> None:
    model = network()
    prune_weights(model, 0.5)
    with pytest.raises(UserError, match="make them permanent first"):
        shrink(model, images())
