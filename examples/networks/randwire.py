"""RandWire WS(4, 0.75) for 224x224 images: three stages of 32 randomly wired nodes.

    python examples/networks/randwire.py -o randwire.onnx [--seed 1] [--no-bias] [--width 0.5]

The seed chooses weights and wiring. A node sums its inputs, and has a ReLU and a separable
convolution behind the sum. Nodes without inputs read the stage's input with stride 2; the maps that
no other node reads are summed. Batch normalisation is folded; the weights of edges are 1. Nodes are
called `stage3/n0` ... `stage5/n31`.

Source: Xie et al., "Exploring Randomly Wired Neural Networks for Image Recognition", 2019, small
regime. The graphs are those of Watts and Strogatz: a ring in which every node has an edge to two
neighbours on each side; an edge gets another random end with probability 0.75.
"""

from __future__ import annotations

from common import Map, Network, Options, main
from numpy.random import PCG64, Generator
from onnx import ModelProto

OWN = Options()
NODES = 32
NEIGHBOURS = 4
REWIRED = 0.75
FILTERS = 78


def watts_strogatz(random: Generator) -> list[list[int]]:
    """For each node the nodes before it that it reads, ascending.

    An edge of the undirected graph goes from the smaller to the larger number.
    """
    near: list[set[int]] = [set() for _ in range(NODES)]
    for distance in range(1, NEIGHBOURS // 2 + 1):
        for node in range(NODES):
            other = (node + distance) % NODES
            near[node].add(other)
            near[other].add(node)
    for distance in range(1, NEIGHBOURS // 2 + 1):
        for node in range(NODES):
            other = (node + distance) % NODES
            free = [each for each in range(NODES) if each != node and each not in near[node]]
            if random.random() >= REWIRED or other not in near[node] or not free:
                continue
            new = free[int(random.random() * len(free))]
            near[node].remove(other)
            near[other].remove(node)
            near[node].add(new)
            near[new].add(node)
    return [sorted(each for each in near[node] if each < node) for node in range(NODES)]


def summed(net: Network, name: str, maps: list[Map]) -> Map:
    """The sum of maps, added one after the other."""
    total = maps[0]
    for index, each in enumerate(maps[1:], 1):
        total = net.add(f"{name}_{index}", total, each)
    return total


def stage(net: Network, name: str, x: Map, filters: int, random: Generator) -> Map:
    """Nodes with random wires."""
    graph = watts_strogatz(random)
    maps: list[Map] = []
    for node, sources in enumerate(graph):
        layer = f"{name}/n{node}"
        read = summed(net, f"{layer}/sum", [maps[each] for each in sources]) if sources else x
        stride = 1 if sources else 2
        maps.append(net.separable(layer, net.relu(layer, read), filters, 3, stride=stride))
    read = {each for sources in graph for each in sources}
    return summed(net, f"{name}/sum", [maps[node] for node in range(NODES) if node not in read])


def build(options: Options = OWN) -> ModelProto:
    """The whole network: image [1, 3, 224, 224] to scores [1, 1000]."""
    net = Network("randwire", options)
    random = Generator(PCG64(options.seed))
    x = net.conv("conv1", net.image, FILTERS // 2, 3, stride=2)
    x = net.conv("conv2", net.relu("conv2", x), FILTERS, 3, stride=2)
    for index in range(3):
        x = stage(net, f"stage{index + 3}", x, FILTERS * 2**index, random)
    x = net.relu("conv_last", net.conv("conv_last", net.relu("stage5", x), 1280, 1))
    return net.model(net.classifier("fc", x))


if __name__ == "__main__":
    main(build, __doc__ or "", "randwire.onnx", OWN)
