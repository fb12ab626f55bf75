"""Which channels of a network's maps say nothing: the analysis of `npu_train.shrink`.

Level: a PyTorch network in its evaluation form, seen through `torch.fx`. Decision: which channels
can go without a change of any result.

Values whose channels go one by one into the other's (through batch norms, activations, pools,
depthwise convolutions and sums) are a group: what is removed is removed from all of them. A channel
of a group can go if each convolution and fully connected layer that reads one of its values

- sees the same number c everywhere in it, and c times the weights can become part of the bias:
  c is 0, or there is no padding, which would put zeros between the c;
- or has only zero weights for it.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx, nn

from npu_train.constants import (
    SAME,
    activated,
    bias_of,
    contributions,
    is_dense,
    is_depthwise,
    is_plain_flatten,
    normed,
)
from npu_train.models.parts import Activation

SUMS: tuple[object, ...] = (operator.add, torch.add)


@dataclass(frozen=True)
class Channels:
    """What `find_channels` found; values are nodes of the graph, by name.

    `groups`: the group of a value; `keep`: which channels of a group stay, [C] of bool;
    `constants`: for each channel of a value the number that all its elements are, or NaN, [C];
    `ranks`: the number of axes of a value.
    """

    groups: Mapping[str, int]
    keep: Mapping[int, Tensor]
    constants: Mapping[str, Tensor]
    ranks: Mapping[str, int]

    def kept(self, node: fx.Node) -> Tensor:
        """Which channels of a value stay, [C] of bool."""
        return self.keep[self.groups[node.name]]


class Layers(fx.Tracer):
    """Takes activations as one layer."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether a module is one node of the graph."""
        return isinstance(m, Activation) or super().is_leaf_module(m, module_qualified_name)


class Shapes(fx.Interpreter):
    """Runs a network and notes the shape of each value."""

    def __init__(self, model: nn.Module, graph: fx.Graph) -> None:
        super().__init__(fx.GraphModule(model, graph))
        self.shapes: dict[str, tuple[int, ...]] = {}

    def run_node(self, n: fx.Node) -> Any:
        """Run one node."""
        result: Any = super().run_node(n)
        if isinstance(result, Tensor):
            self.shapes[n.name] = tuple(result.shape)
        return result


def find_channels(model: nn.Module, graph: fx.Graph, example: Tensor) -> Channels:
    """Find the channels that stay, in a graph of `Layers`; `example` [N, C, H, W] is an input."""
    runner = Shapes(model, graph)
    with torch.no_grad():
        runner.run(example)
    analysis = Analysis(model, graph, runner.shapes)
    with torch.no_grad():
        for node in graph.nodes:
            analysis.visit(node)
    groups = {name: analysis.root(group) for name, group in analysis.groups.items()}
    keep: dict[int, Tensor] = {}
    for group in sorted(set(groups.values())):
        keep[group] = analysis.needs[group].clone()
        if not keep[group].any():  # a layer without channels cannot be
            keep[group][:1] = True
    ranks = {name: len(shape) for name, shape in runner.shapes.items()}
    return Channels(groups, keep, analysis.constants, ranks)


class Analysis:
    """What is known of the values of a graph while its nodes are visited in order."""

    def __init__(
        self, model: nn.Module, graph: fx.Graph, shapes: Mapping[str, tuple[int, ...]]
    ) -> None:
        self.shapes = shapes
        self.model = model
        self.calls = Counter(node.target for node in graph.nodes if node.op == "call_module")
        self.parents: list[int] = []
        self.needs: list[Tensor] = []
        self.groups: dict[str, int] = {}
        self.constants: dict[str, Tensor] = {}

    def root(self, group: int) -> int:
        """The group that a group has become part of."""
        while self.parents[group] != group:
            group = self.parents[group]
        return group

    def new(self, node: fx.Node, constants: Tensor | None = None) -> int:
        """A group of its own for a value. Its number."""
        shape = self.shapes.get(node.name, ())
        channels = shape[1] if len(shape) > 1 else 0
        group = len(self.parents)
        self.parents.append(group)
        self.needs.append(torch.zeros(channels, dtype=torch.bool))
        self.groups[node.name] = group
        self.constants[node.name] = (
            torch.full((channels,), torch.nan).double() if constants is None else constants
        )
        return group

    def join(self, node: fx.Node, sources: list[fx.Node], constants: Tensor) -> None:
        """Put a value into the groups of others, which become one."""
        first, *others = [self.root(self.groups[source.name]) for source in sources]
        for other in others:
            if other != first:
                self.parents[other] = first
                self.needs[first] = self.needs[first] | self.needs[other]
        self.groups[node.name] = first
        self.constants[node.name] = constants

    def need(self, node: fx.Node, channels: Tensor | bool) -> None:
        """Some channels of a value have to stay."""
        group = self.root(self.groups[node.name])
        self.needs[group] = self.needs[group] | channels

    def visit(self, node: fx.Node) -> None:
        """Take one more node into account."""
        sources = node.all_input_nodes
        if node.op == "call_module" and self.calls[node.target] == 1 and len(sources) == 1:
            layer = self.model.get_submodule(str(node.target))
            done = self.visit_layer(node, sources[0], layer)
        else:
            done = self.visit_sum(node, sources)
        if not done:  # nothing is known about it: all that it reads and gives stays as it is
            for source in sources:
                self.need(source, True)
            self.new(node)
            self.need(node, True)

    def visit_sum(self, node: fx.Node, sources: list[fx.Node]) -> bool:
        """A sum of maps of one shape. Whether it is one."""
        shapes = {self.shapes.get(value.name) for value in (node, *sources)}
        if node.target not in SUMS or len(node.args) != 2 or node.kwargs or len(shapes) != 1:
            return False
        if not all(isinstance(operand, fx.Node) for operand in node.args):
            return False
        terms = [self.constants[str(operand)] for operand in node.args]
        self.join(node, sources, torch.stack(terms).sum(0))
        return True

    def visit_layer(self, node: fx.Node, source: fx.Node, layer: nn.Module) -> bool:
        """A layer that is called once. Whether its channels are understood."""
        c = self.constants[source.name]
        if is_dense(layer, len(self.shapes.get(source.name, ()))):
            parts = contributions(layer, c)
            self.need(source, parts.isnan().any(0))
            self.new(node, parts.sum(1) + bias_of(layer))
        elif is_depthwise(layer):
            parts = contributions(layer, c[:, None])[:, 0]
            self.join(node, [source], parts + bias_of(layer))
        elif isinstance(layer, nn.BatchNorm2d) and layer.affine and layer.track_running_stats:
            self.join(node, [source], normed(layer, c))
        elif isinstance(layer, Activation | nn.ReLU):
            self.join(node, [source], activated(layer, c))
        elif isinstance(layer, SAME) or is_plain_flatten(layer):
            self.join(node, [source], c)
        else:
            return False
        return True
