"""Operators that move elements: slices, picked elements, repetitions, blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from helpers.onnx_models import Array, check, int64, layers, model, node, rejected
from helpers.quantized.build import Graph, compare, integers
from npu_tools.commands.compile import main

SHAPE = (2, 3, 6, 5)


def build(op: str, lists: dict[str, Array], opset: int = 17, **attributes: Any) -> ModelProto:
    """A model of one node, whose operands after the first are constants."""
    shape = attributes.pop("shape", SHAPE)
    return model(
        [node(op, " ".join(("x", *lists)), **attributes)], {"x": shape}, weights=lists, opset=opset
    )


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps", "found"),
    [
        ([1], [4], [2], [1], ["npu.slice"]),
        ([0, -9], [9, 2], [0, -1], [1, 1], ["npu.slice"]),
        ([1, 0], [2**62, -1], [3, 2], [2, 2], ["npu.slice"]),
        ([0], [2**31 - 1], [1], [1], []),
        ([-1], [-(2**62)], [2], [-1], ["npu.pick"]),
        ([9, 1], [0, 3], [2, 1], [-2, 1], ["npu.pick"]),
        ([-9], [-9], [3], [-1], ["npu.slice"]),
    ],
)
def test_slice(
    starts: list[int], ends: list[int], axes: list[int], steps: list[int], found: list[str]
) -> None:
    lists = {"s": int64(*starts), "e": int64(*ends), "a": int64(*axes), "t": int64(*steps)}
    if starts == ends:
        lists["e"] = int64(-(2**62))
    for opset in (10, 13):
        assert layers(check(build("Slice", lists, opset))) == found


def test_slice_of_old_opsets() -> None:
    check(build("Slice", {}, 7, starts=[1, -4], ends=[2, 9], axes=[0, 2]))
    check(build("Slice", {}, 9, starts=[1], ends=[2]))


def test_wrong_slices() -> None:
    lists = {"s": int64(0), "e": int64(2), "a": int64(2), "t": int64(0)}
    rejected(build("Slice", lists), "node 'the_Slice' (Slice): step 0 along axis 2")
    rejected(build("Slice", {**lists, "t": int64(1), "e": int64(0)}), "elements 0 to 0 by 1 of")
    rejected(build("Slice", {**lists, "t": int64(1), "a": int64(4)}), "axis 4 of a map of rank 4")
    twice = {"s": int64(0, 0), "e": int64(2, 2), "a": int64(2, -2)}
    rejected(build("Slice", twice), "expected one of each for each axis")


@pytest.mark.parametrize("opset", [7, 11, 13, 18])
@pytest.mark.parametrize("sizes", [None, [1, 5], [2, 1, 3]])
def test_split(sizes: list[int] | None, opset: int) -> None:
    names = ["a", "b", "c"][: 3 if sizes is None else len(sizes)]
    attributes: dict[str, Any] = {"axis": 2}
    weights: dict[str, Array] = {}
    if sizes is not None and opset < 13:
        attributes["split"] = sizes
    elif sizes is not None:
        weights["sizes"] = int64(*sizes)
    elif opset >= 18:
        attributes["num_outputs"] = 3
    split = node("Split", " ".join(["x", *weights]), " ".join(names), **attributes)
    found = check(model([split], {"x": SHAPE}, names, weights, opset))
    assert layers(found) == ["npu.slice"] * len(names)
    check(model([split, node("Relu", "b")], {"x": SHAPE}, ("y",), weights, opset))


def test_split_with_a_smaller_last_part() -> None:
    split = node("Split", "x", "a b", axis=-1, num_outputs=2)
    check(model([split], {"x": SHAPE}, ("a", "b"), opset=18))


def test_wrong_splits() -> None:
    for sizes, part in (([1, 2], "expected 6 elements in all"), ([6, 0], "part 1 has 0 elements")):
        split = node("Split", "x n", "a b", axis=2)
        proto = model([split], {"x": SHAPE}, ("a", "b"), {"n": int64(*sizes)})
        rejected(proto, "node 'the_Split' (Split): ", part)
    split = node("Split", "x", "a b", axis=-1)
    rejected(model([split], {"x": SHAPE}, ("a", "b"), opset=13), "5 elements in 2 parts")


@pytest.mark.parametrize("indices", [2, [-1], [0, 0, 2, 1], [[0, 1], [2, -3]], [1, 2]])
@pytest.mark.parametrize("axis", [1, -1])
def test_gather(indices: Any, axis: int) -> None:
    check(build("Gather", {"i": np.array(indices, np.int64)}, axis=axis))
    check(build("Gather", {"i": np.array(indices, np.int32)}, axis=axis))


def test_wrong_gathers() -> None:
    for indices in ([3], [-4]):
        rejected(build("Gather", {"i": int64(*indices)}, axis=1), "expected integers in [-3, 3)")
    rejected(build("Gather", {"i": np.zeros(0, np.int64)}), "no elements along axis 0")
    rejected(build("Gather", {"i": np.zeros(2**20 + 1, np.int64)}), "expected at most 1048576")


@pytest.mark.parametrize("shape", [SHAPE, (1, 4), (5,)])
def test_tile_and_expand(shape: tuple[int, ...]) -> None:
    check(build("Tile", {"r": int64(*range(1, len(shape) + 1))}, shape=shape))
    check(build("Expand", {"r": int64(3, *[1] * len(shape))}, shape=shape))
    ones = tuple(1 if axis % 2 else extent for axis, extent in enumerate(shape))
    wanted = [extent if axis % 2 else 1 for axis, extent in enumerate(shape)]
    check(build("Expand", {"r": int64(*wanted)}, shape=ones))


def test_wrong_tiles_and_expansions() -> None:
    rejected(build("Tile", {"r": int64(1, 2)}), "expected 4 numbers of at least 1")
    rejected(build("Tile", {"r": int64(1, 2, 0, 1)}), "expected 4 numbers of at least 1")
    rejected(build("Tile", {"r": int64(2**40, 1, 1, 1)}), "has more than 2147483647 elements")
    rejected(build("Expand", {"r": int64(4)}), "cannot be expanded to [4]")
    rejected(build("Expand", {"r": int64(2**62, 1, 1, 1, 1)}), "more than 2147483647 elements")


def test_blocks() -> None:
    for mode in ("DCR", "CRD"):
        check(build("DepthToSpace", {}, shape=(2, 12, 3, 2), blocksize=2, mode=mode))
    check(build("DepthToSpace", {}, 7, shape=(1, 9, 1, 2), blocksize=3))
    check(build("SpaceToDepth", {}, shape=(2, 3, 6, 4), blocksize=2))
    rejected(build("SpaceToDepth", {}, blocksize=2), "a map of 6 x 5; expected multiples of 2")
    rejected(build("DepthToSpace", {}, blocksize=2), "3 channels; expected a multiple of 4")
    rejected(build("DepthToSpace", {}, blocksize=0), "blocks of 0 of a map of rank 4")
    rejected(build("DepthToSpace", {}, blocksize=1, mode="ABC"), "expected DCR or CRD")


PADS = {"pads": int64(1, 0, 2, 1, 0, 2, 3, 0)}


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pads(mode: str) -> None:
    assert layers(check(build("Pad", PADS, 19, mode=mode))) == ["npu.pick"]
    axes = {"pads": int64(1, 2), "fill": np.array([1.5], np.float32), "axes": int64(-2)}
    assert layers(check(build("Pad", axes, 19, mode=mode))) == ["npu.pick"]
    if mode != "wrap":
        check(build("Pad", {}, 7, mode=mode, pads=[0, 1, 0, 0, 0, 0, 1, 2]))


def test_pads_that_cut_off() -> None:
    cut = {"pads": int64(-1, 0, 2, -1, 0, -2, -3, 0), "fill": np.array(7, np.float32)}
    assert layers(check(build("Pad", cut))) == ["npu.pick"]
    inside = {"pads": int64(0, 0, -2, 0, 0, 0, -1, -1)}
    assert layers(check(build("Pad", inside))) == ["npu.slice"]


def test_wrong_pads() -> None:
    rejected(build("Pad", {"pads": int64(1, 2)}), "pads [1, 2] of axes [0, 1, 2, 3]")
    rejected(build("Pad", PADS, mode="other"), "mode other; expected constant, edge")
    gone = {"pads": int64(0, 0, -4, 0, 0, 0, -2, 0)}
    rejected(build("Pad", gone), "pads -4 and -2 of axis 2, which has 6 elements")
    nan = {**PADS, "fill": np.array([np.nan], np.float32)}
    rejected(build("Pad", nan), "pads of value nan")
    several = {**PADS, "fill": np.zeros(2, np.float32)}
    rejected(build("Pad", several), "'fill' holds 2 values of pads; expected one")
    huge = {"pads": int64(0, 0, 0, 2**40, 0, 0, 0, 0)}
    rejected(build("Pad", huge), "more than 2147483647 elements")
    rejected(build("Pad", huge, mode="edge"), "expected at most 1048576")


def test_single_elements() -> None:
    """Operators whose constants say for each element where it comes from."""
    places = np.array([[[[4, -5, 0]] * 6] * 3] * 2, np.int64)
    assert layers(check(build("GatherElements", {"i": places}, axis=-1)))[1] == "npu.pick"
    check(build("GatherND", {"i": np.array([[[0, 2], [1, -1]]], np.int64)}))
    check(build("GatherND", {"i": np.array([[[2, 1]], [[0, 3]]], np.int64)}, batch_dims=1))
    more: dict[str, Any] = {"batch_axis": 0, "time_axis": 1}
    check(build("ReverseSequence", {"n": int64(3, 2)}, **more))
    for lower in (0, 1):
        check(build("Trilu", {"k": np.array(-1, np.int64)}, upper=lower))
        check(build("Trilu", {}, upper=lower))


def test_chosen_elements() -> None:
    condition = np.array([False, True, False, True, True])
    assert layers(check(build("Compress", {"c": condition}, axis=2))) == ["npu.pick"]
    assert layers(check(build("Compress", {"c": condition[:3]}, axis=1))) == ["npu.slice"]
    check(build("Compress", {"c": condition}))
    rejected(build("Compress", {"c": condition}, axis=1), "element 4 of axis 1, which has 3")
    rejected(build("Compress", {"c": condition[:1]}, axis=1), "no elements along axis 1")


def test_centred_maps() -> None:
    check(build("CenterCropPad", {"s": int64(3, 2, 9, 2)}, 18))
    check(build("CenterCropPad", {"s": int64(8, 3)}, 18, axes=[-1, 2]))
    rejected(build("CenterCropPad", {"s": int64(8)}, 18), "expected an extent for each axis")


def test_wrong_places() -> None:
    places = np.full((2, 3, 6, 1), 5, np.int64)
    rejected(build("GatherElements", {"i": places}, axis=3), "node 'the_GatherElements'")
    rejected(build("GatherND", {"i": int64(2)}), "node 'the_GatherND' (GatherND)")
    wide = np.zeros((2**20, 1), np.int64)
    rejected(build("GatherND", {"i": wide}), "expected at most 1048576")


LISTS: dict[str, dict[str, Array]] = {
    "Slice": {"s": int64(1, 0), "e": int64(5, 9), "a": int64(2, 3), "t": int64(1, 2)},
    "Gather": {"i": int64(2, 0, 0)},
    "GatherElements": {"i": np.zeros((1, 3, 2, 4), np.int64)},
    "Compress": {"c": np.array([True, False, True])},
    "Tile": {"r": int64(1, 2, 1, 3)},
    "Expand": {"r": int64(2, 1, 1, 1, 1)},
    "SpaceToDepth": {},
    "Pad": {"p": int64(0, 1, 0, 2, 0, 0, 1, 1)},
}
MORE: dict[str, dict[str, Any]] = {
    "Gather": {"axis": 1},
    "GatherElements": {"axis": 2},
    "Compress": {"axis": 1},
    "SpaceToDepth": {"blocksize": 2},
    "Pad": {"mode": "edge"},
}


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("op", LISTS)
@pytest.mark.parametrize("real", [False, True])
def test_integers(op: str, kind: str, real: bool) -> None:
    """Maps of integers, and those between DequantizeLinear and QuantizeLinear of one scale."""
    x, graph = integers(1, kind, 1, 3, 6, 4), Graph()
    lists = [graph.constant(name, value) for name, value in LISTS[op].items()]
    source = graph.dequantize("x", 0.1, 7, kind) if real else "x"
    y = graph.add(op, [source, *lists], "y", **MORE.get(op, {}))
    out = graph.quantize(y, 0.1, 7, kind) if real else y
    found = compare(graph, {"x": x}, out, kind)
    assert not {"dequantize", "quantize", "requantize"} & set(found)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(
    ("mode", "fill", "found"),
    [
        ("constant", 0.0, ["pick"]),
        ("constant", 0.3, ["dequantize", "pick", "quantize"]),
        ("reflect", 0.0, ["pick"]),
    ],
)
def test_quantised_pads_of_channels(mode: str, fill: float, found: list[str], kind: str) -> None:
    x, graph = integers(1, kind, 1, 3, 6, 4), Graph()
    pads = graph.constant("pads", int64(0, 1, 0, -1, 0, 0, 2, 0))
    if mode == "reflect":
        pads = graph.constant("pads", int64(0, 1, 0, 0, 0, 0, 2, 0))
    real = graph.dequantize("x", 0.25, 7, kind)
    number = graph.constant("fill", fill, np.float32)
    y = graph.add("Pad", [real, pads, number], "y", mode=mode)
    assert compare(graph, {"x": x}, graph.quantize(y, 0.25, 7, kind), kind) == found


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_quantised_split(kind: str) -> None:
    x, graph = integers(1, kind, 1, 4, 6, 4), Graph()
    graph.dequantize("x", 0.1, 7, kind)
    graph.add("Split", ["x_real"], "a", axis=1)
    graph.nodes[-1].output.append("b")
    y = graph.add("Concat", ["b", "a"], "y", axis=1)
    found = compare(graph, {"x": x}, graph.quantize(y, 0.1, 7, kind), kind)
    assert found == ["slice", "slice", "concat"]


@pytest.mark.parametrize("io", ["model", "int8"])
@pytest.mark.parametrize("target", ["host", pytest.param("zynq7020", marks=pytest.mark.slow)])
def test_in_c(io: str, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Quantised moves around a convolution, on machines without and with DMA."""
    graph = Graph()

    def again(source: str) -> str:
        return graph.dequantize(graph.quantize(source, 0.1, -3, "int8"), 0.1, -3, "int8")

    real = again("x")
    graph.add("Split", [real], "a", axis=1)
    graph.nodes[-1].output.append("b")
    graph.constant("w", integers(2, "int8", 4, 4, 3, 3))
    weight = graph.dequantize("w", np.full(4, 0.01), np.zeros(4), "int8", axis=0)
    y = again(graph.add("Conv", ["a", weight], "c", pads=[1, 1, 1, 1]))
    y = graph.add("Concat", ["b", y], "d", axis=1)
    y = graph.add("Resize", [y, "", graph.constant("s", np.array([1, 1, 2, 2], np.float32))], "e")
    y = graph.add("Pad", [y, graph.constant("p", int64(0, 1, 0, 2, 0, 0, 1, 1))], "f", mode="edge")
    y = graph.add("Slice", [y, *(graph.constant(f"l{n}", int64(n)) for n in (1, 5, 2))], "y")
    proto = graph.model({"x": np.zeros((1, 8, 6, 5), np.float32)}, again(y), np.float32, 13)
    (tmp_path / "net.onnx").write_bytes(proto.SerializeToString())
    more = ["--target", target, "-o", str(tmp_path / "out"), "--verify", "--io", io]
    assert main([str(tmp_path / "net.onnx"), *more]) == 0, capsys.readouterr().err
