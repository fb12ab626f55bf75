"""The networks of paper 003 in their CIFAR forms, with a Zebra module behind each ReLU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from torch import nn

from npu_tools.shared.errors import UserError
from npu_train.models.mobilenet import mobilenet
from npu_train.models.modules import check_activations, from_file
from npu_train.models.parts import Widths, add_zebra
from npu_train.models.resnet import resnet18, resnet56
from npu_train.models.vgg import vgg16
from npu_train.zebra import ZebraOptions

__all__ = ["NETWORKS", "ZebraOptions", "add_zebra", "build", "check_activations"]

NETWORKS: Mapping[str, Callable[[Widths, int, int, int], nn.Module]] = MappingProxyType(
    {"vgg16": vgg16, "resnet18": resnet18, "resnet56": resnet56, "mobilenet": mobilenet}
)
"""Functions that build the networks, by name: of widths, image channels, image size, classes."""


def build(
    name: str,
    *,
    classes: int,
    channels: int = 3,
    size: int = 32,
    width: float = 1.0,
    zebra: ZebraOptions | None,
) -> nn.Module:
    """Build a network for images [N, channels, size, size] whose results are logits [N, classes].

    `name` is one of `NETWORKS`, or FILE.py:FACTORY for a network of the user's; the file is run.
    `width` scales the channels of all layers. `zebra` are the options of `add_zebra`; with None the
    network has no Zebra modules. Weights are drawn from torch's generator.

    Raises: UserError if there is no such network, if `width` leaves a layer without channels, if
    `classes`, `channels` or `size` is below 1, or if the block is larger than the image.
    """
    if ":" not in name and name not in NETWORKS:
        raise UserError(f"network {name!r}: expected {', '.join(NETWORKS)}")
    for what, extent in (("classes", classes), ("channels", channels), ("size", size)):
        if extent < 1:
            raise UserError(f"{what} {extent}: expected at least 1")
    if ":" in name:
        model = from_file(name, classes=classes, channels=channels, size=size)
    else:
        model = NETWORKS[name](Widths(width), channels, size, classes)
    if zebra is not None:
        add_zebra(model, zebra, channels=channels, size=size)
    return model
