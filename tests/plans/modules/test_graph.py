"""Module detection as mathematics: dominators, long skip-connections, what is a module."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_plans.modules.graph import OUTSIDE, DominatorTree, Module, Node, Remark, detect
from npu_plans.modules.module_names import common_name, module_names

Inputs = list[tuple[int, ...]]


def layers(*inputs: Sequence[int], weights: Sequence[int] = ()) -> list[Node]:
    """Nodes with these inputs, of weight 1 unless given. A node with several inputs is a merge."""
    return [
        Node(
            tuple(sources),
            weights[number] if weights else 1,
            merge=len(sources) > 1,
        )
        for number, sources in enumerate(inputs)
    ]


@st.composite
def dags(draw: st.DrawFn, most: int = 12, local: bool = False) -> Inputs:
    """Random inputs for each node; most nodes read one or two of the values before them."""
    inputs: Inputs = [()]
    for number in range(1, draw(st.integers(2, most))):
        first = max(0, number - 4) if local else 0
        count = draw(st.sampled_from([1, 1, 1, 2, 2, 3] if local else [0, 1, 1, 2, 3]))
        inputs.append(tuple(draw(st.integers(first, number - 1)) for _ in range(count)))
    return inputs


def reachable(inputs: Inputs, target: int, without: int) -> bool:
    """Whether a path leads from the input to a value without passing another value."""
    if target == without:
        return False
    return not inputs[target] or any(reachable(inputs, v, without) for v in inputs[target])


def longest_way(nodes: Sequence[Node], source: int, merge: int) -> int:
    """The most layers on a path between two nodes, by trying all paths; -1 if there is none."""
    ways = [0] if source in nodes[merge].inputs else []
    for value in nodes[merge].inputs:
        if value > source and (way := longest_way(nodes, source, value)) >= 0:
            ways.append(nodes[value].weight + way)
    return max(ways, default=-1)


@settings(max_examples=50, deadline=None)
@given(inputs=dags())
def test_dominators_by_brute_force(inputs: Inputs) -> None:
    """The nearest common dominator is the greatest value without which no operand is reached."""
    tree = DominatorTree(inputs)
    for sources in inputs:
        if not sources:
            continue
        common = [
            value
            for value in range(len(inputs))
            if not any(reachable(inputs, source, value) for source in sources)
        ]
        assert tree.nearest_common(sources) == max(common, default=OUTSIDE)


@settings(max_examples=50, deadline=None)
@given(inputs=dags(), data=st.data(), depth=st.integers(1, 4))
def test_long_skips_by_brute_force(inputs: Inputs, data: st.DataObject, depth: int) -> None:
    weights = [data.draw(st.integers(0, 2)) for _ in inputs]
    nodes = layers(*inputs, weights=weights)
    skips = detect(nodes, depth).long_skips
    for merge, node in enumerate(nodes):
        expected = tuple(
            place
            for place, source in enumerate(node.inputs)
            if node.merge and longest_way(nodes, source, merge) > depth
        )
        assert skips.get(merge, ()) == expected


@settings(max_examples=50, deadline=None)
@given(inputs=dags(20, local=True), depth=st.integers(1, 6))
def test_what_a_module_is(inputs: Inputs, depth: int) -> None:
    """Each condition of a module is checked by its definition, not by the search."""
    nodes = layers(*inputs)
    found = detect(nodes, depth)
    merges = {number for number, node in enumerate(nodes) if node.merge}
    assert set(found.modules) | set(found.remarks) == merges
    assert not set(found.modules) & set(found.remarks)
    for merge, module in found.modules.items():
        assert merge not in found.long_skips
        assert module.members
        check_branches(nodes, module, found.modules)
        for member in module.members:
            users = [user for user, node in enumerate(nodes) if member in node.inputs]
            assert module.members | {merge} >= set(users)
            assert module.members | {module.start} >= set(nodes[member].inputs)
        assert module.length <= depth
        assert module.length == longest_way(nodes, module.start, merge)
        for other, inner in found.modules.items():
            if other != merge and inner.members & module.members:
                nested = inner.members | {other} <= module.members
                assert nested or module.members | {merge} <= inner.members


def check_branches(nodes: Sequence[Node], module: Module, modules: dict[int, Module]) -> None:
    """Check that branches are chains from the start to the operands, and share nothing."""
    seen: list[int] = []
    for branch, operand in zip(module.branches, nodes[module.merge].inputs, strict=True):
        value = module.start
        for number in branch.chain:
            inner = modules.get(number)
            assert inner.start == value if inner else set(nodes[number].inputs) == {value}
            seen += [number, *(inner.members if inner else ())]
            value = number
        assert value == operand
    assert len(seen) == len(set(seen))
    assert set(seen) == module.members


def test_inner_modules_first() -> None:
    """Inception-C: 0 -> 1 -> (2 | 3) -> 4; 0 -> 5; all of it -> 6."""
    found = detect(layers((), (0,), (1,), (1,), (2, 3), (0,), (4, 5)), 8)
    assert list(found.modules) == [4, 6]
    assert found.modules[4].start == 1
    outer = found.modules[6]
    assert outer.start == 0
    assert [branch.chain for branch in outer.branches] == [(1, 4), (5,)]
    assert outer.members == {1, 2, 3, 4, 5}
    assert outer.length == 3


U_NET = layers((), (0,), (1,), (2,), (3,), (4,), (3, 5), (6,), (7,), (1, 8))
"""A U-Net of two levels: 1 -> 9 is the long skip-connection, 3 -> 6 the short one."""


@pytest.mark.parametrize(
    ("depth", "modules", "skips"),
    [(1, [], {6: (0,), 9: (0,)}), (2, [6], {9: (0,)}), (6, [6], {9: (0,)}), (7, [6, 9], {})],
)
def test_u_net(depth: int, modules: list[int], skips: dict[int, tuple[int, ...]]) -> None:
    found = detect(U_NET, depth)
    assert list(found.modules) == modules
    assert found.long_skips == skips
    reason = "{} comes over a long skip-connection"
    assert found.remarks == {merge: Remark(reason, U_NET[merge].inputs[0]) for merge in skips}


@pytest.mark.parametrize(
    ("operands", "first"),
    [((1, 5, 6), 1), ((5, 6, 1), 0), ((1, 5, 6, 1), 1), ((5, 1, 6), None), ((1, 5), None)],
)
def test_branches_beside_a_long_skip(operands: tuple[int, ...], first: int | None) -> None:
    """The others are a module if they are adjacent operands of a concatenation, not of a sum."""
    nodes = layers((), (0,), (1,), (2,), (3,), (4,), (4,), operands)
    joined = [replace(node, joins=True) for node in nodes]
    assert list(detect(nodes, 2).modules) == []
    found = detect(joined, 2)
    skips = tuple(place for place, value in enumerate(operands) if value == 1)
    assert found.long_skips == {7: skips}
    assert found.remarks == {7: Remark("{} comes over a long skip-connection", 1)}
    if first is None:
        assert not found.modules
    else:
        assert (found.modules[7].first, found.modules[7].start) == (first, 4)
        assert [branch.chain for branch in found.modules[7].branches] == [(5,), (6,)]


def test_a_long_skip_in_a_branch() -> None:
    """If a long skip keeps a merge from being a module, it is in no larger module either."""
    nodes = layers((), (0,), (1,), (2,), (1, 3), (4,), (0,), (5, 6))
    assert list(detect(nodes, 5).modules) == [4, 7]
    assert list(detect(nodes, 2).modules) == [4]
    found = detect(nodes, 1)
    assert found.long_skips == {4: (0,)}
    assert found.remarks[7].named("n{}".format) == "n4 in a branch reads a long skip-connection"


def resnet(blocks: int) -> list[Node]:
    """Residual blocks: three layers and a sum each."""
    nodes: Inputs = [()]
    for _ in range(blocks):
        start = len(nodes) - 1
        nodes += [(start,), (start + 1,), (start + 2,), (start, start + 3)]
    return layers(*nodes)


def densenet(sizes: Sequence[int], flat: bool) -> list[Node]:
    """DenseNet: six layers a step, concatenations of two maps or (`flat`) of all of a block."""
    nodes: Inputs = [()]
    for size in sizes:
        maps = [len(nodes) - 1]
        for _ in range(size):
            nodes += [(len(nodes) + step - 1,) for step in range(6)]
            maps.append(len(nodes) - 1)
            nodes.append(tuple(maps) if flat else (maps[0], maps[-1]))
            if not flat:
                maps = [len(nodes) - 1]
        nodes += [(len(nodes) - 1,)]
    return layers(*nodes)


@pytest.mark.parametrize(
    ("nodes", "modules"),
    [
        (resnet(250), 250),
        (densenet((6, 12, 24, 16), flat=False), 58),
        (densenet((6, 12, 24, 16), flat=True), 0),
        (layers((), *((n,) for n in range(1000)), tuple(range(1000))), 0),
        (layers((), *(((n, n // 2) if n else (0,)) for n in range(1000))), 0),
    ],
    ids=["resnet", "densenet", "flat densenet", "one wide merge", "skips everywhere"],
)
def test_large_networks(nodes: list[Node], modules: int) -> None:
    before = time.process_time()
    found = detect(nodes, 8)
    assert time.process_time() - before < 2
    assert len(found.modules) == modules


def test_names() -> None:
    assert common_name(["a1/branch1x1", "a1/branch5x5_1", "a1/concat"]) == "a1"
    assert common_name(["c/b3x3_2a", "c/b3x3_2b", "c/b3x3_concat"]) == "c/b3x3"
    assert common_name(["block", "block/conv"]) == "block"
    assert common_name(["Conv_1", "Concat_2"]) is None
    assert common_name(["/a", "/b"]) is None


def test_names_are_unique() -> None:
    """An inner module leaves the name to the outer one. If two could have a name, none gets it."""
    layer_names = {
        4: ["a/x", "a/y"],
        6: ["a/x", "a/y", "a/z"],
        9: ["n/1", "n/2"],
        12: ["n/3", "n/4"],
        15: ["b/1", "b/2"],
        20: ["c/1", "c/2"],
        21: ["c"],
    }
    members = {merge: frozenset({merge - 1}) for merge in layer_names} | {6: frozenset({3, 4, 5})}
    assert module_names(layer_names, members) == {6: "a", 15: "b"}
