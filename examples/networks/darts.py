"""A network of eight DARTS cells (`DARTS_V2`) for 32x32 images.

    python examples/networks/darts.py -o darts.onnx [--no-bias] [--width 0.5] [--size 64]

Cells are called `cell1_1` ... `cell3_2` and `reduction1`, `reduction2`; their nodes `n2` ... `n5`,
after the authors' numbers. Batch normalisation is folded.

Source: Liu et al., "DARTS: Differentiable Architecture Search", 2019, and the genotype `DARTS_V2`
of the authors' program.
"""

from __future__ import annotations

from cells import Recipe, inputs, network, separable
from common import Map, Network, Options, main
from onnx import ModelProto

OWN = Options(size=(32, 32), classes=10)


def normal(net: Network, name: str, before: Map, last: Map, filters: int) -> Map:
    """Four sums, concatenated."""
    n0, n1 = inputs(net, name, before, last, filters)
    n2, n3 = (
        net.add(
            f"{name}/{node}",
            separable(net, f"{name}/{node}_first", n0, filters, 3),
            separable(net, f"{name}/{node}_second", n1, filters, 3),
        )
        for node in ("n2", "n3")
    )
    n4 = net.add(f"{name}/n4", separable(net, f"{name}/n4_first", n1, filters, 3), n0)
    dilated = net.relu(f"{name}/n5_second", n2)
    n5 = net.add(
        f"{name}/n5",
        n0,
        net.separable(f"{name}/n5_second", dilated, filters, 3, dilation=2),
    )
    return net.concat(f"{name}/concat", [n2, n3, n4, n5])


def reduction(net: Network, name: str, before: Map, last: Map, filters: int) -> Map:
    """Four sums of max pools and of the first sum, concatenated.

    Max pools have large means, so the maps that they read are scaled down.
    """
    n0, n1 = inputs(net, name, before, last, filters, variance=1 / 4)

    def pool(node: str, x: Map) -> Map:
        return net.max_pool(f"{name}/{node}", x, padded=True)

    n2 = net.add(f"{name}/n2", pool("n2_pool0", n0), pool("n2_pool1", n1))
    n3 = net.add(f"{name}/n3", n2, pool("n3_pool1", n1))
    n4 = net.add(f"{name}/n4", pool("n4_pool0", n0), n2)
    n5 = net.add(f"{name}/n5", n2, pool("n5_pool1", n1))
    return net.concat(f"{name}/concat", [n2, n3, n4, n5])


RECIPE = Recipe(normal, reduction, stem=48, filters=16, groups=(2, 2, 2))


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 3, 32, 32] to scores [1, 10]."""
    return network("darts", options, RECIPE)


if __name__ == "__main__":
    main(build, __doc__ or "", "darts.onnx", OWN)
