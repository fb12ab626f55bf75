"""Which layers of a network make modules, as plain data: no IR, only a graph.

Paper 001, Algorithm 2. Nodes are numbered in file order, which is an order of execution; a node is
a layer with the value that it computes, or a value that comes from outside (no inputs). A merge is
a concatenation or a sum of several maps:

    0 ──> 1 ──────────> 4: merge of 1, 3        start 0, branches (1) and (2, 3)
     └──> 2 ──> 3 ─────^

1.  An edge into a merge is a long skip-connection if another way from its source to the merge is
    more than `max_depth` layers long. It is cut: its map comes from off-chip memory. Of a
    concatenation the other operands may still be a module, if there are several in a row; they are
    concatenated first. A sum has two operands.
2.  SearchStartLayer: the start of a merge is the nearest value that every way to one of its
    operands passes, their nearest common dominator.
3.  A merge and its start make a module if every branch is a chain of layers and smaller modules,
    no two branches share a layer, no long skip-connection leads into them, nothing in them is read
    from outside, none is longer than `max_depth`. Otherwise the merge is left alone, with a reason.

The length of a way is the sum of its layers' `weight`s. Whoever builds the graph decides what
weighs nothing (activations in place), so that fusing layers does not change what a module is.

Dominators are found in one pass, as every input has a smaller number (Cooper, Harvey, Kennedy, "A
Simple, Fast Dominance Algorithm", 2001). Modules are found inner first: modules are disjoint or
nested, since a branch may be left through its merge only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

OUTSIDE = -1
"""The root of the dominator tree: where values come from that no layer computes."""


@dataclass(frozen=True)
class Node:
    """A layer with the value that it computes; or a value from outside, if it has no `inputs`.

    `inputs` are the numbers of the feature maps that it reads, in operand order, repeated where an
    operand is. `merge`: whether a module may end with it; `joins`: whether some of its operands may
    be merged first. `escapes`: whether something reads its value that is no node, as a return does.
    """

    inputs: tuple[int, ...] = ()
    weight: int = 1
    merge: bool = False
    escapes: bool = False
    joins: bool = False


@dataclass(frozen=True)
class Branch:
    """What leads from a module's start to one operand of its merge.

    `chain`: numbers in execution order; a merge in it stands for its whole module. Empty where the
    merge reads the start itself.
    """

    part: int
    chain: tuple[int, ...]


@dataclass(frozen=True)
class Module:
    """A merge and what leads to it from the value `start`.

    `branches` are in the order of the operands; `members` are all nodes of the branches and of the
    modules in them; `length` is that of the longest branch. The branches lead to the operands from
    `first` on: all of them, or those between long skip-connections.
    """

    merge: int
    start: int
    branches: tuple[Branch, ...]
    members: frozenset[int]
    length: int
    first: int = 0


@dataclass(frozen=True)
class Remark:
    """Why a merge is left alone; `{}` in the text stands for the name of a node."""

    text: str
    node: int = OUTSIDE

    def named(self, name: Callable[[int], str]) -> str:
        """The whole text, if `name` says what to call a node."""
        return self.text if self.node == OUTSIDE else self.text.format(name(self.node))


class NoModuleError(Exception):
    """A merge is left alone."""

    def __init__(self, text: str, node: int = OUTSIDE) -> None:
        """Say why; see `Remark`."""
        super().__init__(text)
        self.remark = Remark(text, node)


@dataclass(frozen=True)
class Modules:
    """The modules of a network, inner ones first, and the merges that are left alone.

    `remarks`: why, by the number of the merge, or why a module has not all of its operands.
    `long_skips`: the places of the operands that come from off-chip memory, by the number of the
    node that reads them.
    """

    modules: dict[int, Module]
    remarks: dict[int, Remark]
    long_skips: dict[int, tuple[int, ...]]


def detect(nodes: Sequence[Node], max_depth: int) -> Modules:
    """The modules of a network (Algorithm 2).

    Every input of a node has a smaller number than the node. A node with several inputs that is no
    merge has its remark too.
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
    """What is known of a network before its modules are."""

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
        """The places of a merge's operands from which another way to the merge is too long."""
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

        Raises: NoModuleError, with what is in the way.
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

        Raises: NoModuleError if there are none, or a long skip-connection is between them.
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
        """What is to be said of a merge with a long skip-connection."""
        source = self.nodes[merge].inputs[self.cut[merge][0]]
        return NoModuleError("{} comes over a long skip-connection", source)

    def chain(self, start: int, operand: int, known: dict[int, Module]) -> tuple[int, ...]:
        """The layers and modules that lead from the start of a module to an operand of its merge.

        Raises: NoModuleError if they are too many, or no chain.
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
        """The length of the longest way through a layer or a whole module, its merge included."""
        module = known.get(number)
        return self.nodes[number].weight + (0 if module is None else module.length)

    def length(self, chain: Sequence[int], known: dict[int, Module]) -> int:
        """The length of a branch."""
        return sum(self.weight(number, known) for number in chain)

    def inside(self, chain: Sequence[int], known: dict[int, Module]) -> frozenset[int]:
        """All nodes of a branch, those of its modules included."""
        nested = (known[number].members for number in chain if number in known)
        return frozenset(chain).union(*nested)

    def expect_closed(self, merge: int, members: set[int]) -> None:
        """Check that the values in a module are read in the module only.

        Raises: NoModuleError, with the first value that is not.
        """
        inside = members | {merge}
        for number in sorted(members):
            if self.nodes[number].escapes or not inside.issuperset(self.users[number]):
                raise NoModuleError("{} is read outside its branches too", number)


class DominatorTree:
    """For each value, the nearest other one that every way to it from outside passes."""

    def __init__(self, inputs: Sequence[Sequence[int]]) -> None:
        """Build the tree from the inputs of each node, all of smaller numbers."""
        self.parent: list[int] = []
        for sources in inputs:
            self.parent.append(self.nearest_common(sources) if sources else OUTSIDE)

    def nearest_common(self, values: Sequence[int]) -> int:
        """The nearest value that dominates, or is, each of some values (at least one).

        `OUTSIDE` if only their being in one network does.
        """
        nearest = values[0]
        for other in values[1:]:
            while nearest != other:
                # A dominator has a smaller number: the greater one of two is not common.
                if nearest < other:
                    nearest, other = other, nearest
                nearest = self.parent[nearest]
        return nearest


def users_of(nodes: Sequence[Node]) -> list[list[int]]:
    """The nodes that read each node's value, ascending, each once."""
    users: list[list[int]] = [[] for _ in nodes]
    for user, node in enumerate(nodes):
        for source in dict.fromkeys(node.inputs):
            users[source].append(user)
    return users
