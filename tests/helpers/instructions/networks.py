"""The networks on which instructions are predicted: those of the fit, and those that it never sees.

The rule: every network of `examples/networks` is for the test, and only random networks are for the
fit. So no published network, nor a layer that was chosen after one, has a part in the costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np
from onnx import ModelProto

from helpers.networks.zoo import build, image, script
from npu_tools.quantizing.quantize_model import Recipe, quantised

SEEDS = range(120)
"""The seeds of the random networks of the fit."""
CHAINS = 60
"""How many of them are chains of any layers; the others have stages, as designed networks do."""
LARGEST = 1600
"""The most elements of a map of a random network: what the 16 KB of an FE310 hold as floats."""
UNSEEN: Mapping[str, dict[str, Any]] = {
    "cifar10": {"width": 1 / 4, "size": (16, 16)},
    "darts": {"width": 1 / 4, "size": (8, 8)},
    "ds_cnn": {"width": 1 / 8},
    "efficientnet": {"width": 1 / 8, "size": (16, 16), "classes": 10},
    "inception_small": {"size": (15, 15)},
    "lenet5": {"width": 1 / 2},
    "mobilenet_v1": {"width": 1 / 8, "size": (32, 32)},
    "mobilenet_v2": {"width": 1 / 8, "size": (16, 16), "classes": 10},
    "mobilenet_v3": {"width": 1 / 8, "size": (16, 16), "classes": 10},
    "nasnet_a": {"width": 1 / 16, "size": (8, 8)},
    "randwire": {"width": 1 / 16, "size": (32, 32), "classes": 10},
    "resnet18": {"width": 1 / 16, "size": (32, 32), "classes": 10},
    "resnet50": {"width": 1 / 32, "size": (32, 32), "classes": 10},
    "resnet8": {"width": 1 / 4, "size": (16, 16)},
    "squeezenet1_1": {"width": 1 / 8, "size": (32, 32), "classes": 10},
}
"""The networks of the test, with options that let them fit the 16 KB of an FE310."""
CALIBRATION = 2
"""How many random images calibrate."""


def float_network(name: str) -> ModelProto:
    """A network of the test by its name, or one of the fit by its seed."""
    return random_network(int(name)) if name.isdigit() else build(name, **UNSEEN[name])


def int8_network(name: str) -> ModelProto:
    """The same network, quantised to int8."""
    model = float_network(name)
    images = [{"image": image(model, seed)} for seed in range(CALIBRATION)]
    return quantised(model, images, Recipe())[1]


FORMS: Mapping[str, Callable[[str], ModelProto]] = {"int8": int8_network, "float": float_network}
"""The element types of a network, each with its builder."""


def random_network(seed: int) -> ModelProto:
    """A chain of random layers with random shapes, or random stages behind a stem."""
    return Chain(seed).model() if seed < CHAINS else Stages(seed).model()


class Chain:
    """A random network under construction; `last` is the map that the next layer reads."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.common: Any = script("common")
        size = (self.random.randint(6, 20), self.random.randint(6, 20))
        channels = self.random.choice((1, 1, 2, 3, 3, 4, 5, 8))
        while channels * size[0] * size[1] > LARGEST:
            size = (size[0] - 2, size[1] - 2)
        options = self.common.Options(seed=seed, size=size, classes=self.random.randint(2, 20))
        same = self.random.random() < 0.5
        self.net = self.common.Network(f"random{seed}", options, channels, same=same)
        self.last = self.net.image
        self.count = 0

    def model(self) -> ModelProto:
        """The network: some layers, then a classifier, or none."""
        layers = (*(self.conv,) * 3, *(self.depthwise,) * 2, self.pool, self.residual)
        layers = (*layers, self.gate, self.branches, self.separable)
        self.conv()
        for _ in range(self.random.randint(2, 5)):
            self.random.choice(layers)()
        end = self.random.random()
        if end < 0.4:
            return self.net.model(self.net.classifier("fc", self.last))
        if end < 0.8:
            flat = self.net.flatten("flatten", self.last)
            return self.net.model(self.net.fully_connected("fc", flat, self.random.randint(2, 60)))
        return self.net.model(self.last)

    @property
    def name(self) -> str:
        """The name of a new layer."""
        self.count += 1
        return f"layer{self.count}"

    def filters(self, size: tuple[int, int], most: int = 48) -> int:
        """A number of filters for a map of some size: mostly multiples of four, as in networks."""
        number = self.random.randint(1, max(1, min(most, LARGEST // (size[0] * size[1]))))
        return max(1, number // 4 * 4 if self.random.random() < 0.6 else number)

    def activated(self, x: Any) -> Any:
        """A map, or an activation of it."""
        kind = self.random.choice(
            ("", "relu", "relu", "relu", "relu6", "hard_swish", "swish", "sigmoid")
        )
        return getattr(self.net, kind)(self.name, x) if kind else x

    def conv(self) -> None:
        """A convolution with any kernel that the map has room for."""
        size = self.last.size
        kernels = (1, 1, 3, 3, 5, (1, 3), (3, 1), 2, 7)
        kernel = self.random.choice(kernels)
        if max(self.common.pair(kernel)) > min(size):
            kernel = 1
        stride = self.random.choice((1, 1, 2)) if min(size) > 3 else 1
        outer = tuple(-(-each // stride) + 1 for each in size)
        filters = self.filters((outer[0], outer[1]))
        padded = self.random.random() < 0.7
        name = self.name
        self.last = self.activated(
            self.net.conv(name, self.last, filters, kernel, stride=stride, padded=padded)
        )

    def depthwise(self) -> None:
        """A depthwise convolution."""
        kernel = self.random.choice((3, 3, 5))
        stride = self.random.choice((1, 1, 2))
        self.last = self.activated(self.net.depthwise(self.name, self.last, kernel, stride=stride))

    def separable(self) -> None:
        """A depthwise and a 1x1 convolution."""
        self.depthwise()
        filters = self.filters(self.last.size)
        self.last = self.activated(self.net.conv(self.name, self.last, filters, 1))

    def pool(self) -> None:
        """A maximum or an average pool."""
        kernel, stride = self.random.choice(((2, 2), (3, 2), (3, 1)))
        if min(self.last.size) < 4:
            return
        if self.random.random() < 0.5:
            padded = self.random.random() < 0.5 and kernel == 3
            self.last = self.net.max_pool(
                self.name, self.last, kernel, stride=stride, padded=padded
            )
        else:
            self.last = self.net.average_pool(self.name, self.last, kernel, stride=stride)

    def residual(self) -> None:
        """A convolution or two, added to their input."""
        x, channels = self.last, self.last.channels
        y = self.net.conv_relu(self.name, x, channels, self.random.choice((1, 3)))
        if self.random.random() < 0.5:
            y = self.net.conv(self.name, y, channels, 3)
        self.last = self.activated(self.net.add(self.name, y, x))

    def gate(self) -> None:
        """A map times a gate for each channel, as in squeeze and excitation."""
        x = self.last
        y = self.net.conv_relu(self.name, self.net.global_average_pool(self.name, x), 4, 1)
        y = self.net.conv(self.name, y, x.channels, 1)
        kind = self.random.choice((self.net.hard_sigmoid, self.net.sigmoid))
        self.last = self.net.multiply(self.name, x, kind(self.name, y))

    def branches(self) -> None:
        """Two or three convolutions side by side, concatenated."""
        count = self.random.choice((2, 2, 3))
        most = max(1, LARGEST // (self.last.size[0] * self.last.size[1]) // count)
        parts = [
            self.net.conv_relu(
                self.name, self.last, self.random.randint(1, min(16, most)), 1 + 2 * (index % 2)
            )
            for index in range(count)
        ]
        self.last = self.net.concat(self.name, parts)


class Stages(Chain):
    """A random network as people design them: channels in fours, fewer places stage by stage."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        size = (self.random.randint(8, 22), self.random.randint(8, 22))
        options = self.common.Options(seed=seed, size=size, classes=self.random.randint(2, 20))
        channels, same = self.random.choice((1, 3, 3)), self.random.random() < 0.5
        self.net = self.common.Network(f"random{seed}", options, channels, same=same)
        self.last = self.net.image

    def model(self) -> ModelProto:
        """The network: a stem, stages of one or two equal blocks, a classifier."""
        self.stem()
        blocks = (self.basic, self.bottleneck, self.inverted, self.pointwise, self.separable)
        for stage in range(self.random.randint(1, 3)):
            block = self.random.choice(blocks)
            for _ in range(self.random.randint(1, 2)):
                block()
            if stage == 0 and self.random.random() < 0.5:
                self.pool()
        return self.net.model(self.net.classifier("fc", self.last))

    def fours(self, places: int, most: int = 48) -> int:
        """A multiple of four channels for so many places."""
        return 4 * self.random.randint(1, max(1, min(most, LARGEST // places) // 4))

    def strided(self, stride: int) -> int:
        """The places of the last map behind a layer with a stride."""
        return int(np.prod([-(-each // stride) for each in self.last.size]))

    def stem(self) -> None:
        """The first convolution, with or without a pool behind its activation."""
        kernel, stride = self.random.choice((3, 3, 5, 7)), self.random.choice((1, 2, 2))
        filters = self.fours(self.strided(stride), 16)
        padded = self.random.random() < 0.7
        kind = self.random.choice((self.net.relu, self.net.relu6, self.net.hard_swish))
        y = self.net.conv(self.name, self.last, filters, kernel, stride=stride, padded=padded)
        self.last = kind(self.name, y)
        if self.random.random() < 0.5 and min(self.last.size) > 3:
            kernel = self.random.choice((2, 3))
            self.last = self.net.max_pool(self.name, self.last, kernel, stride=2)

    def stride(self) -> int:
        """A stride that leaves a map."""
        return self.random.choice((1, 1, 2)) if min(self.last.size) > 3 else 1

    def joined(self, y: Any, stride: int) -> None:
        """Add a map to the last one, behind a 1x1 convolution if their shapes differ."""
        x = self.last
        if stride > 1 or x.channels != y.channels:
            x = self.net.conv(self.name, x, y.channels, 1, stride=stride)
        self.last = self.net.relu(self.name, self.net.add(self.name, y, x))

    def basic(self) -> None:
        """Two 3x3 convolutions beside a short cut."""
        stride = self.stride()
        filters = self.fours(self.strided(stride), 32)
        y = self.net.conv_relu(self.name, self.last, filters, 3, stride=stride)
        self.joined(self.net.conv(self.name, y, filters, 3), stride)

    def bottleneck(self) -> None:
        """1x1 to fewer channels, 3x3, 1x1 to more, beside a short cut."""
        stride = self.stride()
        inner, outer = self.fours(self.strided(1), 16), self.fours(self.strided(stride))
        y = self.net.conv_relu(self.name, self.last, inner, 1)
        y = self.net.conv_relu(self.name, y, inner, 3, stride=stride)
        self.joined(self.net.conv(self.name, y, outer, 1), stride)

    def inverted(self) -> None:
        """1x1 to more channels, depthwise with or without a gate, 1x1 to fewer."""
        stride, kernel = self.stride(), self.random.choice((3, 3, 5))
        kind = self.random.choice((self.net.relu6, self.net.hard_swish, self.net.swish))
        y = self.net.conv(self.name, self.last, self.fours(self.strided(1)), 1)
        y = self.net.depthwise(self.name, kind(self.name, y), kernel, stride=stride)
        self.last = kind(self.name, y)
        if self.random.random() < 0.4:
            self.gate()
        filters = self.fours(self.strided(1), 16)
        self.last = self.net.conv(self.name, self.last, filters, 1)

    def pointwise(self) -> None:
        """A 1x1 convolution to few or many channels, with or without a stride."""
        stride = self.stride()
        filters = self.fours(self.strided(stride), self.random.choice((8, 16, 48)))
        y = self.net.conv(self.name, self.last, filters, 1, stride=stride)
        self.last = self.net.relu(self.name, y)
