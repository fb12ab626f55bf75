"""The layers of a network as a graph, read from the IR while layers are on tensors.

    %a = npu.conv2d %x, ... {npu.layer = "conv1"}         nodes: input, conv1, pool, output
    %b = npu.max_pool2d %a ... {npu.layer = "pool"}  ->   edges: (0, 1), (1, 2), (2, 3)

A node knows its module of branches, and the group of layers with which it runs row by row. Which
maps lie off chip is read later, from layers on buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from npu_dialect.attributes import PORT
from npu_dialect.module_attributes import MODULE
from npu_dialect.npu.attributes import DramSpace
from npu_dialect.npu.layer import LayerOp
from npu_dialect.npu.maps import shape_of
from npu_dialect.npu.rows import RowsOp
from npu_dialect.npu.structure import BranchedModuleOp, BranchOp
from npu_dialect.walking import walk_kind
from npu_passes.modules.inline_modules import module_name


@dataclass(frozen=True)
class Node:
    """A layer, or an input or output of the network; `op` is "input" or "output" for these.

    `module`: the module of branches around it. `rows`: the number of the group of layers that run
    row by row.
    """

    name: str
    op: str
    shape: tuple[int, ...]
    module: str | None = None
    rows: int | None = None


@dataclass(frozen=True)
class Graph:
    """Nodes in execution order, and edges as pairs of places in `nodes`."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]


@dataclass
class GraphStop:
    """An observer that keeps the graph of the last step on tensors, and the layers that spill.

    `spilled` are the names of layers whose map lies off chip; `ports` do not count.
    """

    found: Graph | None = None
    spilled: frozenset[str] = frozenset()

    def __call__(self, step: str, module: ModuleOp) -> None:
        """Read the graph, or the layers whose output is off chip."""
        layers = list(walk_kind(module, LayerOp))
        if layers and all(op.destination is None for op in layers):
            self.found = graph_of(module)
        elif layers and step != "npu-tile-loops":
            off_chip = frozenset(op.layer_name or op.name for op in layers if is_off_chip(op))
            self.spilled |= off_chip


def is_off_chip(op: LayerOp) -> bool:
    """Whether the map that a layer writes lies off chip and is no output of the network."""
    space = getattr(op.output.type, "memory_space", None)
    return isinstance(space, DramSpace) and isinstance(op.output.owner, Operation)


def graph_of(module: ModuleOp) -> Graph | None:
    """The graph of the function with layers; None if there is none."""
    functions = (op for op in module.ops if isinstance(op, FuncOp))
    function = next((op for op in functions if any(walk_kind(op, LayerOp))), None)
    if function is None or len(function.body.blocks) != 1:
        return None
    reader = Reader()
    for index, argument in enumerate(function.args):
        marks = function.arg_attrs
        name = None if marks is None else PORT.of(marks.data[index].data)
        place = reader.add(Node(name or f"input {index}", "input", shape_of(argument)), ())
        reader.sources[argument] = frozenset({place})
    reader.read(function.body.block, None, None)
    results = function.get_return_op()
    for index, value in enumerate(() if results is None else results.operands):
        marks = function.res_attrs
        name = None if marks is None else PORT.of(marks.data[index].data)
        reader.add(Node(name or f"output {index}", "output", shape_of(value)), [value])
    return Graph(tuple(reader.nodes), tuple(reader.edges))


@dataclass
class Reader:
    """Collects nodes and edges. `sources`: the nodes that a value comes from."""

    nodes: list[Node] = field(default_factory=list[Node])
    edges: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    sources: dict[SSAValue, AbstractSet[int]] = field(
        default_factory=dict[SSAValue, AbstractSet[int]]
    )
    groups: int = 0

    def add(self, node: Node, inputs: Sequence[SSAValue]) -> int:
        """Add a node and the edges to it; returns its place."""
        place = len(self.nodes)
        self.nodes.append(node)
        self.edges += [(source, place) for source in sorted(self.from_all(inputs))]
        return place

    def from_all(self, values: Sequence[SSAValue]) -> AbstractSet[int]:
        """The nodes that values come from; constants come from none."""
        return frozenset[int]().union(*(self.sources.get(value, ()) for value in values))

    def read(self, block: Block, module: str | None, rows: int | None) -> AbstractSet[int]:
        """Read the ops of a block, which is in a module of branches or runs row by row.

        Returns the nodes that it yields, and those that its branches yield.
        """
        yielded: AbstractSet[int] = frozenset()
        for op in block.ops:
            if isinstance(op, LayerOp):
                name = op.layer_name or f"layer{len(self.nodes)}"
                node = Node(name, op.name, shape_of(op.output), module or MODULE.get(op), rows)
                found: AbstractSet[int] = {self.add(node, op.operands)}
            elif op.regions:
                found = self.nested(op, module, rows)
            else:
                found = self.from_all(op.operands)
            for result in op.results:
                self.sources[result] = found
            if isinstance(op, BranchOp) or op is block.last_op:
                yielded |= found
        return yielded

    def nested(self, op: Operation, module: str | None, rows: int | None) -> AbstractSet[int]:
        """Read the blocks of an op; returns the nodes that its results come from."""
        if isinstance(op, RowsOp):
            self.groups += 1
            rows = self.groups
        if isinstance(op, BranchedModuleOp):
            module = module_name(op, len(self.nodes))
        blocks = [block for region in op.regions for block in region.blocks]
        return frozenset[int]().union(*(self.read(block, module, rows) for block in blocks))
