"""Finds the channels that can be removed from a network without a change of any result.

This is the analysis of `npu_train.shrink`. It reads a PyTorch network in evaluation mode through
`torch.fx`.

Values whose channels correspond one to one form a group: those connected by batch norms,
activations, pools, depthwise convolutions and sums. A channel is removed from all values of a group
or from none. It can be removed if for each convolution and fully connected layer that reads it

- all its elements are the same number c, and c times the weights can be added to the bias. That
  needs c = 0 or a layer without padding, as padding puts zeros beside the c;
- or all its weights are zero.
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
    """The result of `find_channels`. Values are nodes of the graph, by name.

    `groups`: the group of each value. `keep`: for each group, which channels stay, [C] of bool.
    `constants`: for each value, the number that all elements of a channel are, or NaN if they
    differ or are not known, [C]. `ranks`: the number of axes of each value.
    """

    groups: Mapping[str, int]
    keep: Mapping[int, Tensor]
    constants: Mapping[str, Tensor]
    ranks: Mapping[str, int]

    def kept(self, node: fx.Node) -> Tensor:
        """Which channels of a value stay, [C] of bool."""
        return self.keep[self.groups[node.name]]


class Shapes(fx.Interpreter):
    """Runs a network and stores the shape of each value in `shapes`, by node name."""

    def __init__(self, model: nn.Module, graph: fx.Graph) -> None:
        super().__init__(fx.GraphModule(model, graph))
        self.shapes: dict[str, tuple[int, ...]] = {}

    def run_node(self, n: fx.Node) -> Any:
        """Run one node and store the shape of its result."""
        result: Any = super().run_node(n)
        if isinstance(result, Tensor):
            self.shapes[n.name] = tuple(result.shape)
        return result


def find_channels(model: nn.Module, graph: fx.Graph, example: Tensor) -> Channels:
    """Find the channels that stay, in a graph traced by `Layers`; `example` is an input."""
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
        if not keep[group].any():  # a layer needs at least one channel
            keep[group][:1] = True
    ranks = {name: len(shape) for name, shape in runner.shapes.items()}
    return Channels(groups, keep, analysis.constants, ranks)


class Analysis:
    """The state of the analysis; the nodes of the graph are visited in order.

    `needs` says for each group which channels must stay, [C] of bool. `parents` joins groups as in
    a union-find structure. `groups` and `constants` are as in `Channels`.
    """

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
        """The group that a group now belongs to, after all joins."""
        while self.parents[group] != group:
            group = self.parents[group]
        return group

    def new(self, node: fx.Node, constants: Tensor | None = None) -> int:
        """Give a value a group of its own; returns the group's number.

        `constants` are those of the value; without them, none of its channels is constant.
        """
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
        """Join the groups of `sources`, and add the value `node` with its constants."""
        first, *others = [self.root(self.groups[source.name]) for source in sources]
        for other in others:
            if other != first:
                self.parents[other] = first
                self.needs[first] = self.needs[first] | self.needs[other]
        self.groups[node.name] = first
        self.constants[node.name] = constants

    def need(self, node: fx.Node, channels: Tensor | bool) -> None:
        """Mark channels of a value that must stay: [C] of bool, or True for all."""
        group = self.root(self.groups[node.name])
        self.needs[group] = self.needs[group] | channels

    def visit(self, node: fx.Node) -> None:
        """Analyse one node."""
        sources = node.all_input_nodes
        if node.op == "call_module" and self.calls[node.target] == 1 and len(sources) == 1:
            layer = self.model.get_submodule(str(node.target))
            done = self.visit_layer(node, sources[0], layer)
        else:
            done = self.visit_sum(node, sources)
        if not done:  # an unknown operation: all channels that it reads and gives must stay
            for source in sources:
                self.need(source, True)
            self.new(node)
            self.need(node, True)

    def visit_sum(self, node: fx.Node, sources: list[fx.Node]) -> bool:
        """Analyse a sum of two values of one shape; returns False if the node is none."""
        shapes = {self.shapes.get(value.name) for value in (node, *sources)}
        if node.target not in SUMS or len(node.args) != 2 or node.kwargs or len(shapes) != 1:
            return False
        if not all(isinstance(operand, fx.Node) for operand in node.args):
            return False
        terms = [self.constants[str(operand)] for operand in node.args]
        self.join(node, sources, torch.stack(terms).sum(0))
        return True

    def visit_layer(self, node: fx.Node, source: fx.Node, layer: nn.Module) -> bool:
        """Analyse a layer that is called once; returns False if the analysis does not know it."""
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
