"""docs/off-chip.md: the figures that say why maps leave the chip, from the shapes of the layers."""

from __future__ import annotations

import re
from itertools import pairwise
from math import ceil, prod
from typing import NamedTuple

from onnx import ModelProto, numpy_helper

from helpers.networks.light import light_file
from helpers.networks.zoo import build
from helpers.paths import ROOT

PAGE = " ".join((ROOT / "docs" / "off-chip.md").read_text(encoding="utf-8").split())
SRAM = 1024
"""KB of memory on the chip; all sizes here are in KB."""


class Layer(NamedTuple):
    """A convolution of bytes that keeps rows and columns; `size` is the number of each."""

    channels: int
    filters: int
    kernels: float
    size: int

    @property
    def input(self) -> float:
        """Its input."""
        return self.channels * self.size**2 / 1024

    @property
    def output(self) -> float:
        """Its output."""
        return self.filters * self.size**2 / 1024


def vgg19() -> list[Layer]:
    """The convolutions of the model, 3x3 with padding; a pool halves rows and columns."""
    graph = ModelProto.FromString(light_file("vgg19").read_bytes()).graph
    shapes = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    weights = {
        node.output[0]: shapes[node.input[0]].tolist()
        for node in graph.node
        if node.op_type == "ConstantOfShape"
    }
    layers: list[Layer] = []
    size = 224
    for node in graph.node:
        if node.op_type == "Conv":
            filters, channels, rows, columns = weights[node.input[1]]
            kernels = filters * channels * rows * columns / 1024
            layers.append(Layer(channels, filters, kernels, size))
        size //= 2 if node.op_type == "MaxPool" else 1
    return layers


LAYERS = vgg19()
SECOND_POOL = next(n for n, each in enumerate(LAYERS) if each.size == 56)
BEFORE, LAYER, BEHIND = LAYERS[SECOND_POOL : SECOND_POOL + 3]
"""The three layers behind the second pool."""


def row_of(name: str) -> list[float]:
    """The figures of a network in the table of the page."""
    found = re.search(rf"\| {re.escape(name)} ((?:\| [\d.]+ )+)\|", PAGE)
    assert found is not None
    return [float(each) for each in found[1].replace("|", " ").split()]


def says(text: str) -> None:
    """Check that the page says something."""
    assert text in PAGE, text


def test_no_order_keeps_all_maps_and_fetches_each_kernel_once() -> None:
    assert (LAYER.channels, LAYER.filters, LAYER.size) == (256, 256, 56)
    one, finished = LAYER.kernels / LAYER.filters, LAYER.output / LAYER.filters
    says(f"kernels ({one:.2f} KB) or a finished map ({finished:.2f} KB)")
    held = (LAYER.filters - 1) * min(one, finished)
    says(f"{held:.0f} KB at least")
    says(f"The input takes {LAYER.input:.0f} KB beside them")
    says(f"its own input takes {BEFORE.input:.0f} KB and its kernels {BEFORE.kernels:.0f} KB")
    earlier = sum(each.kernels for each in LAYERS[: SECOND_POOL + 1])
    assert SECOND_POOL + 1 == 5
    says(f"then the kernels of all five layers before are needed, {int(earlier)} KB")
    others = (LAYER.input, BEFORE.input + BEFORE.kernels, earlier)
    assert all(held + other > SRAM for other in others)


def bands() -> int:
    """How many bands of rows of the layer there must be if it is computed in place.

    Beside the map there are the rows of a band, one row between, and one kernel.
    """
    row = LAYER.output / LAYER.size
    room = SRAM - LAYER.input - row - LAYER.kernels / LAYER.filters
    most = int(room // row)
    says(f"leaves {SRAM - LAYER.input:.0f} KB for the rows of a band")
    says(f"a band has {most} rows at most, so {LAYER.size} rows are four bands")
    return ceil(LAYER.size / most)


def test_kernels_again_cost_more_than_a_map_that_leaves() -> None:
    assert bands() == 4
    again, leaves = 3 * LAYER.kernels, 2 * LAYER.output
    assert BEHIND == LAYER
    says(f"Three more fetches of {LAYER.kernels:.0f} KB are {again:.0f} KB for each of the two")
    says(f"a map that leaves costs {leaves:.0f} KB, and one is enough for both")
    all_bytes, compulsory = row_of("light:vgg19")[5], row_of("light:vgg19")[7]
    assert all_bytes == compulsory + leaves + 2 * BEFORE.input
    in_bands = compulsory + 2 * again + BEFORE.kernels
    assert in_bands > all_bytes
    shares = [100 * (each / compulsory - 1) for each in (all_bytes, in_bands)]
    says(f"are {shares[0]:.1f} % above the compulsory ones, and would be {shares[1]:.1f} % above")
    saved = 2 * BEFORE.input - BEFORE.kernels
    says(f"{BEFORE.kernels:.0f} KB of kernels for {2 * BEFORE.input:.0f} KB of maps")
    says(f"{100 * saved / all_bytes:.2f} % of all bytes")


def kernels(name: str) -> list[tuple[tuple[int, ...], float]]:
    """The shapes of the weights of the convolutions of a network, and their sizes."""
    graph = build(name, bias=False).graph
    shapes = {each.name: tuple(each.dims) for each in graph.initializer}
    found = [shapes[node.input[1]] for node in graph.node if node.op_type == "Conv"]
    return [(each, prod(each) / 1024) for each in found]


def test_kernels_that_no_region_can_hold() -> None:
    layers = kernels("flownet_s")
    sizes = [size for _, size in layers]
    (image,) = build("flownet_s", bias=False).graph.input
    row = layers[0][0][0] * image.type.tensor_type.shape.dim[3].dim_value // 2 / 1024
    assert sum(sizes[:3]) + row > SRAM  # a row of the map of `conv1`, which has stride 2
    says(f"the kernels of `conv1`, `conv2` and `conv3` take {sum(sizes[:3]):.0f} KB")
    pairs = [one + two for one, two in pairwise(sizes[2:5])]
    says(f"the kernels of two layers in one region take {min(pairs):.0f} KB or more")
    found = dict(kernels("xception"))
    both = found[728, 256, 1, 1] + found[728, 728, 1, 1]
    whole = 256 * 37**2 / 1024
    says(f"{both:.0f} KB of kernels do not fit beside its input of {whole:.0f} KB")
    assert both + whole > SRAM
    says(f"fetch both kernels of `entry3` again, {both:.0f} KB")
