"""What NASNet-A and DARTS share: networks of cells, each of which reads the two cells before it.

A cell first brings both maps to its number of filters with 1x1 convolutions. If the cell before it
has halved the image, the older map is larger; its convolution then has stride 2, in place of the
two shifted halves of the papers. All layers read their map through a ReLU, as in the papers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from common import Map, Network, Options
from onnx import ModelProto

Cell = Callable[[Network, str, Map, Map, int], Map]
"""Network, name, the map before the last one, the last map, filters."""


@dataclass(frozen=True)
class Recipe:
    """A network of cells: a stem of `stem` filters, then `groups` groups of `normal` cells.

    A `reduction` cell with twice the filters stands between two groups. The cells of the first
    group have `filters` filters. `separable` is how often a separable convolution is repeated.
    """

    normal: Cell
    reduction: Cell
    stem: int
    filters: int
    groups: Sequence[int]


def network(name: str, options: Options, recipe: Recipe) -> ModelProto:
    """Image to scores."""
    net = Network(name, options)
    before = last = net.conv("stem", net.image, recipe.stem, 3)
    filters = recipe.filters
    for group, count in enumerate(recipe.groups):
        if group:
            filters *= 2
            made = recipe.reduction(net, f"reduction{group}", before, last, filters)
            before, last = last, made
        for index in range(count):
            made = recipe.normal(net, f"cell{group + 1}_{index + 1}", before, last, filters)
            before, last = last, made
    return net.model(net.classifier("fc", net.relu("last", last)))


def inputs(
    net: Network, name: str, before: Map, last: Map, filters: int, variance: float = 1.0
) -> tuple[Map, Map]:
    """The two maps that a cell reads, with the same size, number of filters and variance."""
    stride = 2 if before.size != last.size else 1
    return (
        relu_conv(net, f"{name}/before", before, filters, stride, variance),
        relu_conv(net, f"{name}/last", last, filters, 1, variance),
    )


def relu_conv(net: Network, name: str, x: Map, filters: int, stride: int, variance: float) -> Map:
    """A ReLU, then a 1x1 convolution."""
    return net.conv(name, net.relu(name, x), filters, 1, stride=stride, variance=variance)


def separable(
    net: Network, name: str, x: Map, filters: int, kernel: int, *, stride: int = 1
) -> Map:
    """A ReLU and a separable convolution, twice."""
    for place in (1, 2):
        layer = f"{name}_{place}"
        x = net.separable(layer, net.relu(layer, x), filters, kernel, stride=stride)
        stride = 1
    return x
