"""Cells of NASNet-A for 32x32 images: two normal cells between reductions.

    python examples/networks/nasnet_a.py -o nasnet_a.onnx [--no-bias] [--width 0.5] [--size 64]

Cells are called `cell1_1` ... `cell3_2` and `reduction1`, `reduction2`; their blocks `a` ... `e`.
Batch normalisation is folded. The published networks have more cells of the same kind.

Source: Zoph et al., "Learning Transferable Architectures for Scalable Image Recognition", 2018,
Figure 4; average pools count their padding here.
"""

from __future__ import annotations

from cells import Recipe, inputs, network, separable
from common import Map, Network, Options, main
from onnx import ModelProto

OWN = Options(size=(32, 32), classes=10)


def normal(net: Network, name: str, before: Map, last: Map, filters: int) -> Map:
    """Five sums, concatenated with the map of the cell before the last one."""
    old, new = inputs(net, name, before, last, filters)
    sums = [
        net.add(f"{name}/a", separable(net, f"{name}/a_3x3", new, filters, 3), new),
        net.add(
            f"{name}/b",
            separable(net, f"{name}/b_3x3", old, filters, 3),
            separable(net, f"{name}/b_5x5", new, filters, 5),
        ),
        net.add(f"{name}/c", net.average_pool(f"{name}/c_pool", new), old),
        net.add(
            f"{name}/d",
            net.average_pool(f"{name}/d_pool1", old),
            net.average_pool(f"{name}/d_pool2", old),
        ),
        net.add(
            f"{name}/e",
            separable(net, f"{name}/e_5x5", old, filters, 5),
            separable(net, f"{name}/e_3x3", old, filters, 3),
        ),
    ]
    return net.concat(f"{name}/concat", [old, *sums])


def reduction(net: Network, name: str, before: Map, last: Map, filters: int) -> Map:
    """Three sums of stride 2, and two that read the first one."""
    old, new = inputs(net, name, before, last, filters)
    first = net.add(
        f"{name}/a",
        separable(net, f"{name}/a_5x5", new, filters, 5, stride=2),
        separable(net, f"{name}/a_7x7", old, filters, 7, stride=2),
    )
    second = net.add(
        f"{name}/b",
        net.max_pool(f"{name}/b_pool", new, padded=True),
        separable(net, f"{name}/b_7x7", old, filters, 7, stride=2),
    )
    third = net.add(
        f"{name}/c",
        net.average_pool(f"{name}/c_pool", new, stride=2),
        separable(net, f"{name}/c_5x5", old, filters, 5, stride=2),
    )
    fourth = net.add(f"{name}/d", net.average_pool(f"{name}/d_pool", first), second)
    fifth = net.add(
        f"{name}/e",
        separable(net, f"{name}/e_3x3", first, filters, 3),
        net.max_pool(f"{name}/e_pool", new, padded=True),
    )
    return net.concat(f"{name}/concat", [second, third, fourth, fifth])


RECIPE = Recipe(normal, reduction, stem=32, filters=32, groups=(2, 2, 2))


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 3, 32, 32] to scores [1, 10]."""
    return network("nasnet_a", options, RECIPE)


if __name__ == "__main__":
    main(build, __doc__ or "", "nasnet_a.onnx", OWN)
