"""Checks and changes on the graph of a model: names, node order, cycles, local functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto
from onnx.inliner import inline_local_functions

from npu_tools.importers.onnx.errors import ModelError, first_line

MOST_INLINED_NODES = 100_000
"""Most nodes after local functions are inlined; functions that call functions can multiply them."""

MOST_NAMES = 10
"""Most nodes of a cycle that a message names."""


def node_label(node: NodeProto) -> str:
    """A node's name in messages and `npu.layer`: its own, else that of its first output."""
    return node.name or next((name for name in node.output if name), node.op_type)


def weight_names(graph: GraphProto) -> set[str]:
    """The names of the initialisers, which old models also list among the inputs."""
    return {tensor.name for tensor in graph.initializer}


def check_names(graph: GraphProto) -> None:
    """Check that no value is defined twice, and that every value that is read is defined.

    Raises: ModelError if that is not so, if a name is no UTF-8, or if the graph has no outputs.
    """
    for name in all_names(graph):
        if not is_text(name):
            raise ModelError(f"name {name!r} is no UTF-8; expected text")
    for what, names in (
        ("initialiser", [tensor.name for tensor in graph.initializer]),
        ("input", [value.name for value in graph.input]),
        ("output", [value.name for value in graph.output]),
    ):
        if (repeated := first_repeated(names)) is not None:
            raise ModelError(f"{what} '{repeated}' is listed twice; expected different names")
    defined = weight_names(graph) | {value.name for value in graph.input}
    for node in graph.node:
        check_definitions(node, defined)
    for node in graph.node:
        for name in node.input:
            if name and name not in defined:
                raise ModelError(
                    f"node '{node_label(node)}' ({node.op_type}) reads '{name}', which is not "
                    "defined; expected an input, an initialiser or the output of a node"
                )
    check_outputs(graph, defined)


def all_names(graph: GraphProto) -> Iterator[str]:
    """The names of values and nodes, and of operators and their domains."""
    for named in (*graph.initializer, *graph.input, *graph.output):
        yield named.name
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)


def is_text(name: object) -> bool:
    """Whether protobuf gives a name as text; it gives bytes for what is no UTF-8."""
    return isinstance(name, str)


def check_definitions(node: NodeProto, defined: set[str]) -> None:
    """Add the outputs of a node to the defined names.

    Raises: ModelError if one is defined already.
    """
    for name in node.output:
        if name and name in defined:
            raise ModelError(
                f"node '{node_label(node)}' ({node.op_type}) defines '{name}' a second time; "
                "expected one definition of each value"
            )
        defined.add(name)


def check_outputs(graph: GraphProto, defined: set[str]) -> None:
    """Check that the graph has outputs, and that each is defined.

    Raises: ModelError if not.
    """
    if not graph.output:
        raise ModelError("the graph is empty: it has no outputs; expected at least one")
    for value in graph.output:
        if not value.name or value.name not in defined:
            raise ModelError(
                f"output '{value.name}' is not defined; expected a node that computes it"
            )


def first_repeated(names: Iterable[str]) -> str | None:
    """The first name that occurs a second time; None if all differ."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def sort_nodes(graph: GraphProto) -> None:
    """Sort the nodes topologically. Nodes that are sorted already keep their order.

    Raises: ModelError if there is a cycle; it names the nodes.
    """
    nodes = list(graph.node)
    producer = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    needs = [{producer[name] for name in inputs_of(node) if name in producer} for node in nodes]
    order = topological_order(needs)
    if len(order) < len(nodes):
        names = [f"'{node_label(nodes[i])}'" for i in cycle(needs, set(order))]
        if len(names) > MOST_NAMES:
            names[MOST_NAMES // 2 : -MOST_NAMES // 2] = ["..."]
        raise ModelError(
            f"the graph has a cycle: {' -> '.join(names)}; expected a graph without cycles"
        )
    if order != list(range(len(nodes))):
        copies = [NodeProto.FromString(nodes[i].SerializeToString()) for i in order]
        del graph.node[:]
        graph.node.extend(copies)


def drop_dead_nodes(graph: GraphProto) -> None:
    """Remove the nodes that no output of the graph depends on; nodes must be sorted."""
    needed = {value.name for value in graph.output}
    live = [False] * len(graph.node)
    for index, node in reversed(list(enumerate(graph.node))):
        if any(name in needed for name in node.output if name):
            live[index] = True
            needed.update(inputs_of(node))
    for index in reversed(range(len(live))):
        if not live[index]:
            del graph.node[index]


def inputs_of(node: NodeProto) -> Iterator[str]:
    """The names that a node and the nodes in its sub-graphs read."""
    for inner in nested_nodes([node]):
        yield from inner.input


def topological_order(needs: Sequence[set[int]]) -> list[int]:
    """The indices in topological order: each after all in its `needs`, smaller ones first.

    Indices in a cycle, and those that need them, are missing.
    """
    users: list[list[int]] = [[] for _ in needs]
    for index, sources in enumerate(needs):
        for source in sources:
            users[source].append(index)
    missing = [len(sources) for sources in needs]
    ready = [index for index, count in enumerate(missing) if count == 0]
    heapify(ready)
    order: list[int] = []
    while ready:
        order.append(index := heappop(ready))
        for user in users[index]:
            missing[user] -= 1
            if missing[user] == 0:
                heappush(ready, user)
    return order


def cycle(needs: Sequence[set[int]], done: set[int]) -> list[int]:
    """One cycle among the nodes that are not in `done`, in the direction of the data.

    The first node is listed again at the end.
    """
    index = next(i for i in range(len(needs)) if i not in done)
    path: dict[int, None] = {}
    while index not in path:
        path[index] = None
        index = min(needs[index] - done)
    steps = list(path)
    return [index, *reversed(steps[steps.index(index) :])]


def inline_functions(model: ModelProto) -> ModelProto:
    """The model with its local functions inlined; the same object if it has none.

    Raises: ModelError for recursive functions, if the result has too many nodes, or if ONNX cannot
    inline a function.
    """
    if not model.functions:
        return model
    nodes = sum(1 for _ in nested_nodes(model.graph.node)) + inlined_nodes(model)
    if nodes > MOST_INLINED_NODES:
        raise ModelError(f"the local functions become {nodes} nodes; expected a smaller model")
    try:
        inlined = inline_local_functions(model)
    except Exception as error:  # the inliner is C++ and raises exceptions of many types
        raise ModelError(f"the local functions cannot be inlined: {first_line(error)}") from error
    return inlined


def inlined_nodes(model: ModelProto) -> int:
    """How many nodes the calls of local functions in the main graph become.

    Raises: ModelError for recursive functions.
    """
    functions = {function_key(function): function for function in model.functions}
    sizes: dict[tuple[str, str, str], int] = {}
    needs = {
        key: [call for call in map(call_key, nested_nodes(function.node)) if call in functions]
        for key, function in functions.items()
    }
    keys = list(functions)
    position = {key: index for index, key in enumerate(keys)}
    order = topological_order([{position[call] for call in needs[key]} for key in keys])
    if len(order) < len(keys):
        rest = keys[min(set(range(len(keys))) - set(order))]
        raise ModelError(f"function '{rest[1]}' calls itself; expected functions without recursion")
    for key in (keys[i] for i in order):
        own = sum(1 for _ in nested_nodes(functions[key].node))
        sizes[key] = own + sum(sizes[call] for call in needs[key])
    return sum(sizes.get(call_key(node), 0) for node in nested_nodes(model.graph.node))


def function_key(function: FunctionProto) -> tuple[str, str, str]:
    """What a call of the function must match: domain, name, overload."""
    return function.domain, function.name, function.overload


def call_key(node: NodeProto) -> tuple[str, str, str]:
    """The key of the local function that a node calls, if one has this key."""
    return node.domain, node.op_type, node.overload


def reads(nodes: Sequence[NodeProto], graph: GraphProto) -> Counter[str]:
    """How often nodes and those in their sub-graphs read each value.

    Being an output of the graph, or of a sub-graph, counts as one read.
    """
    counts = Counter(value.name for value in graph.output)
    for node in nested_nodes(nodes):
        counts.update(node.input)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                counts.update(value.name for value in inner.output)
    return counts


def readers(nodes: Iterable[NodeProto]) -> dict[str, list[NodeProto]]:
    """The nodes, among these and those in their sub-graphs, that read each value."""
    found: dict[str, list[NodeProto]] = {}
    for node in nested_nodes(nodes):
        for name in node.input:
            found.setdefault(name, []).append(node)
    return found


def nested_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """The nodes, each followed by those of its sub-graphs."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from nested_nodes(graph.node)
