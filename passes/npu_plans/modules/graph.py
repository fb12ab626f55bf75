"""Finds the modules of a network (paper 001, Algorithm 2), on a plain graph: no IR in here.

Nodes are numbered in file order, which is an order of execution. A node is a layer with the value
that it computes, or a value from outside the network (no inputs). A merge is a concatenation or a
sum of several maps:

    0 ──> 1 ──────────> 4: merge of 1, 3        start 0, branches (1) and (2, 3)
     └──> 2 ──> 3 ─────^

1.  An edge into a merge is a long skip-connection if another path from its source to the merge is
    more than `max_depth` layers long. The edge is cut: the merge reads this map from off-chip
    memory. The other operands of a concatenation can still form a module if there are at least two
    and they are adjacent; they are concatenated first. A sum has only two operands, so it cannot.
2.  SearchStartLayer: the start of a merge is the nearest common dominator of its operands, that is,
    the nearest value that lies on every path to each of them.
3.  A merge and its start make a module if every branch is a chain of layers and smaller modules, no
    two branches share a layer, no branch reads a long skip-connection, no layer outside the module
    reads a value in a branch, and no branch is longer than `max_depth`. Otherwise the merge ends no
    module, and a remark says why.

The length of a path is the sum of its layers' `weight`s. The caller gives layers such as in-place
activations a weight of 0, so that fusing layers does not change the modules.

Dominators are found in one pass, as every input has a smaller number (Cooper, Harvey, Kennedy, "A
Simple, Fast Dominance Algorithm", 2001). Inner modules are found first. Modules are disjoint or
nested, since a branch can be left only through its merge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

OUTSIDE = -1
"""The root of the dominator tree: the source of all values that no layer computes."""


@dataclass(frozen=True)
class Node:
    """A layer with the value that it computes; or a value from outside, if it has no `inputs`.

    `inputs` are the numbers of the feature maps that it reads, in operand order; an operand that
    comes twice is there twice. `weight`: what it adds to the length of a branch. `merge`: whether a
    module may end with it. `joins`: whether some of its operands may be merged first. `escapes`:
    whether something that is no node reads its value, such as a return.
    """

    inputs: tuple[int, ...] = ()
    weight: int = 1
    merge: bool = False
    escapes: bool = False
    joins: bool = False


@dataclass(frozen=True)
class Branch:
    """The path from a module's start to one operand of its merge.

    `part`: the position of the operand among those of the module. `chain`: node numbers in
    execution order; a merge in it stands for its whole module. The chain is empty if the merge
    reads the start itself.
    """

    part: int
    chain: tuple[int, ...]


@dataclass(frozen=True)
class Module:
    """A merge and the branches that lead to it from the value `start`.

    `branches` are in the order of the operands; `members` are all nodes of the branches and of the
    modules in them; `length` is that of the longest branch. `first` is the place of the first
    operand that a branch leads to: 0, or more if long skip-connections come before it.
    """

    merge: int
    start: int
    branches: tuple[Branch, ...]
    members: frozenset[int]
    length: int
    first: int = 0


@dataclass(frozen=True)
class Remark:
    """Why a merge ends no module, or one without all its operands.

    `{}` in the text stands for the name of `node`.
    """

    text: str
    node: int = OUTSIDE

    def named(self, name: Callable[[int], str]) -> str:
        """The text with the name of the node filled in; `name` gives the name of a node."""
        return self.text if self.node == OUTSIDE else self.text.format(name(self.node))


class NoModuleError(Exception):
    """A merge ends no module; `remark` says why."""

    def __init__(self, text: str, node: int = OUTSIDE) -> None:
        """The arguments are those of `Remark`."""
        super().__init__(text)
        self.remark = Remark(text, node)


@dataclass(frozen=True)
class Modules:
    """The modules of a network, by the number of their merge, inner ones first.

    `remarks`: by the number of a merge, why it ends no module or why its module leaves out
    operands. `long_skips`: by the number of a merge, the places of the operands that come from
    off-chip memory.
    """

    modules: dict[int, Module]
    remarks: dict[int, Remark]
    long_skips: dict[int, tuple[int, ...]]


def detect(nodes: Sequence[Node], max_depth: int) -> Modules:
    """The modules of a network (Algorithm 2).

    Every input of a node must have a smaller number than the node. A node with several inputs that
    is no merge gets a remark too.
    """
    search = Search(nodes, max_depth)
    modules: dict[int, Module] = {}
    remarks: dict[int, Remark] = {}
    for number, node in enumerate(nodes):
        if len(set(node.inputs)) < 2 and not node.merge:
            continue
        try:
            modules[number] = search.module(number, modules)
            if number in search.cut:
                remarks[number] = search.long_skip(number).remark
        except NoModuleError as reason:
            remarks[number] = reason.remark
    return Modules(modules, remarks, search.cut)


class Search:
    """A network with its users, long skip-connections and dominators, from which modules follow."""

    def __init__(self, nodes: Sequence[Node], max_depth: int) -> None:
        """Find users, long skip-connections and dominators."""
        self.nodes = nodes
        self.max_depth = max_depth
        self.users = users_of(nodes)
        self.cut = {
            number: skips
            for number, node in enumerate(nodes)
            if node.merge and (skips := self.long_skips(number))
        }
        self.tree = DominatorTree([node.inputs for node in nodes])

    def long_skips(self, merge: int) -> tuple[int, ...]:
        """The places of a merge's operands that are long skip-connections.

        Those are the operands from which another path to the merge is longer than `max_depth`.
        """
        inputs = self.nodes[merge].inputs
        longest = {merge: 0}
        for number in range(merge - 1, min(inputs) - 1, -1):
            ways = [
                longest[user] + (self.nodes[user].weight if user != merge else 0)
                for user in self.users[number]
                if user in longest
            ]
            if ways:
                longest[number] = max(ways)
        return tuple(place for place, value in enumerate(inputs) if longest[value] > self.max_depth)

    def module(self, merge: int, known: dict[int, Module]) -> Module:
        """The module that ends with a merge.

        Raises: NoModuleError if the merge ends no module; it says why.
        """
        first, operands = self.operands(merge)
        start = self.tree.nearest_common(operands)
        if start == OUTSIDE:
            raise NoModuleError("its operands have no common start")
        branches: list[Branch] = []
        members: set[int] = set()
        lengths: list[int] = []
        for part, operand in enumerate(operands):
            chain = self.chain(start, operand, known)
            inside = self.inside(chain, known)
            if shared := members.intersection(chain):
                raise NoModuleError("its operands share {}", min(shared))
            members |= inside
            lengths.append(self.length(chain, known))
            branches.append(Branch(part, chain))
        if not members:
            raise NoModuleError("its branches have no layers")
        self.expect_closed(merge, members)
        return Module(merge, start, tuple(branches), frozenset(members), max(lengths), first)

    def operands(self, merge: int) -> tuple[int, tuple[int, ...]]:
        """The operands of a merge that branches may lead to, and the place of the first one.

        Raises: NoModuleError if the node is no merge, if long skip-connections leave fewer than two
            operands or lie between them, or if the merge does not allow to merge some of its
            operands first.
        """
        node = self.nodes[merge]
        if not node.merge:
            raise NoModuleError("it is neither a concatenation nor a sum of maps of one shape")
        skips = self.cut.get(merge, ())
        near = [place for place in range(len(node.inputs)) if place not in skips]
        if not skips:
            return 0, node.inputs
        if not node.joins or len(near) < 2 or near[-1] - near[0] >= len(near):
            raise self.long_skip(merge)
        return near[0], node.inputs[near[0] : near[-1] + 1]

    def long_skip(self, merge: int) -> NoModuleError:
        """The error for a merge with a long skip-connection; it names the source."""
        source = self.nodes[merge].inputs[self.cut[merge][0]]
        return NoModuleError("{} comes over a long skip-connection", source)

    def chain(self, start: int, operand: int, known: dict[int, Module]) -> tuple[int, ...]:
        """The layers and modules that lead from the start of a module to an operand of its merge.

        Raises: NoModuleError if they are longer than `max_depth`, are no chain of layers and
            modules, or read a long skip-connection.
        """
        chain: list[int] = []
        length, number = 0, operand
        while number != start:
            node = self.nodes[number]
            if number in self.cut:
                raise NoModuleError("{} in a branch reads a long skip-connection", number)
            if (module := known.get(number)) is None and len(set(node.inputs)) > 1:
                raise NoModuleError("{} in a branch ends no module", number)
            chain.append(number)
            length += self.weight(number, known)
            if length > self.max_depth:
                raise NoModuleError(f"a branch is longer than max-depth = {self.max_depth}")
            number = node.inputs[0] if module is None else module.start
        return tuple(reversed(chain))

    def weight(self, number: int, known: dict[int, Module]) -> int:
        """The length of the longest path through a layer or a whole module, its merge included."""
        module = known.get(number)
        return self.nodes[number].weight + (0 if module is None else module.length)

    def length(self, chain: Sequence[int], known: dict[int, Module]) -> int:
        """The length of a branch."""
        return sum(self.weight(number, known) for number in chain)

    def inside(self, chain: Sequence[int], known: dict[int, Module]) -> frozenset[int]:
        """All nodes of a branch, including those of its nested modules."""
        nested = (known[number].members for number in chain if number in known)
        return frozenset(chain).union(*nested)

    def expect_closed(self, merge: int, members: set[int]) -> None:
        """Check that no node outside a module reads a value in it.

        Raises: NoModuleError for the first value that such a node reads.
        """
        inside = members | {merge}
        for number in sorted(members):
            if self.nodes[number].escapes or not inside.issuperset(self.users[number]):
                raise NoModuleError("{} is read outside its branches too", number)


class DominatorTree:
    """For each value its immediate dominator: the nearest other value on every path to it."""

    def __init__(self, inputs: Sequence[Sequence[int]]) -> None:
        """Build the tree from the inputs of each node, all of smaller numbers."""
        self.parent: list[int] = []
        for sources in inputs:
            self.parent.append(self.nearest_common(sources) if sources else OUTSIDE)

    def nearest_common(self, values: Sequence[int]) -> int:
        """The nearest common dominator of at least one value; a value dominates itself.

        `OUTSIDE` if no value of the network dominates all of them.
        """
        nearest = values[0]
        for other in values[1:]:
            while nearest != other:
                # A dominator has a smaller number, so the greater of the two cannot be common.
                if nearest < other:
                    nearest, other = other, nearest
                nearest = self.parent[nearest]
        return nearest


def users_of(nodes: Sequence[Node]) -> list[list[int]]:
    """For each node the nodes that read its value, ascending, each once."""
    users: list[list[int]] = [[] for _ in nodes]
    for user, node in enumerate(nodes):
        for source in dict.fromkeys(node.inputs):
            users[source].append(user)
    return users
