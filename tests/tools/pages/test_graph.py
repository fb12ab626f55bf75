"""The graph of a page and its layout."""

from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, helper

from helpers.small_models import SaveModel, model_of
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.pages.graph import Graph, GraphStop, Node
from npu_tools.pages.layout import HEIGHT, WIDTH, layout_of


def branches() -> ModelProto:
    """A module of two branches between two convolutions."""
    weight = np.ones((4, 4, 1, 1), np.float32)
    nodes = [
        helper.make_node("Conv", ["input", "w"], ["stem"], "stem"),
        helper.make_node("Conv", ["stem", "w"], ["left"], "left"),
        helper.make_node("Conv", ["stem", "v"], ["right"], "right"),
        helper.make_node("Conv", ["right", "w"], ["more"], "more"),
        helper.make_node("Concat", ["left", "more"], ["both"], "join", axis=1),
        helper.make_node("Softmax", ["both"], ["end"], "last", axis=1),
    ]
    return model_of(nodes, {"w": weight, "v": 2 * weight}, (1, 4, 8, 8), "end")


def graph(path: Path, target: str, **options: Any) -> GraphStop:
    stop = GraphStop()
    compile_model(Job(path, target, observers=(stop,), **options))
    assert stop.found is not None
    return stop


def names(found: Graph) -> set[tuple[str, str]]:
    """The edges by the names of their nodes."""
    return {(found.nodes[a].name, found.nodes[b].name) for a, b in found.edges}


def test_branches_are_edges_and_a_module(save: SaveModel) -> None:
    found = graph(save(branches()), "exynos-npu").found
    assert found is not None
    assert {
        ("input", "stem"),
        ("stem", "left"),
        ("stem", "right"),
        ("right", "more"),
        ("left", "join"),
        ("more", "join"),
        ("join", "last"),
        ("last", "end"),
    } == names(found)
    inside = {node.name for node in found.nodes if node.module is not None}
    assert {"left", "right", "more"} <= inside
    assert "stem" not in inside


def test_planned_modules_that_stay_in_the_ir(save: SaveModel) -> None:
    found = graph(save(branches()), "exynos-npu", pipeline="kim2019", plan_as="i8").found
    assert found is not None
    assert ("stem", "left") in names(found)
    assert {("left", "last"), ("more", "last")} <= names(found)


def test_rows_are_one_group(small: Path) -> None:
    rows = (
        "npu-fold-batch-norm,npu-fuse-rows{when=always},npu-bufferize,npu-concat-in-place,"
        "npu-assign-sram-offsets"
    )
    found = graph(small, "fe310", pipeline=rows, plan_as="i8").found
    assert found is not None
    assert [node.name for node in found.nodes if node.rows == 1] == ["conv1", "relu1", "pool1"]
    assert ("relu1", "pool1") in names(found)


def test_spilled_maps_are_named(save: SaveModel) -> None:
    weight = np.ones((8, 8, 1, 1), np.float32)
    nodes = [
        helper.make_node("Conv", ["input", "w"], ["a"], "first"),
        helper.make_node("Conv", ["a", "w"], ["b"], "second"),
    ]
    path = save(model_of(nodes, {"w": weight}, (1, 8, 8, 8), "b"))
    passes = "npu-fuse-conv-relu-pool,npu-bufferize,npu-spill-maps{maps=a},npu-tile-loops"
    pipeline = f"{passes},npu-assign-sram-offsets"
    assert graph(path, "exynos-npu", pipeline=pipeline, plan_as="i8").spilled == {"first"}


def test_nodes_of_a_layout_do_not_overlap(save: SaveModel) -> None:
    found = graph(save(branches()), "exynos-npu").found
    assert found is not None
    layout = layout_of(found)
    corners = layout.corners
    for place, (x, y) in enumerate(corners):
        assert 0 <= x <= layout.width - WIDTH
        assert 0 <= y <= layout.height - HEIGHT
        for u, v in corners[:place]:
            assert abs(x - u) >= WIDTH or abs(y - v) >= HEIGHT
    for start, end in found.edges:
        assert corners[start][1] < corners[end][1]
    assert len(layout.paths) == len(found.edges)
    assert [frame.kind for frame in layout.frames] == ["module"]


def test_parts_without_an_edge_stand_side_by_side() -> None:
    two = Graph((Node("a", "input", (1,)), Node("b", "input", (1,))), ())
    (x, _), (u, _) = layout_of(two).corners
    assert abs(x - u) >= WIDTH
