"""npu-compile --memory-map: the data from the IR, the picture, and cases without a file."""

import os
import re
import sys
import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper
from xdsl.context import Context
from xdsl.parser import Parser
from xdsl.universe import Universe

from helpers.small_models import SaveModel, model_of
from npu_tools.commands import compile
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.pictures.map_stop import MapStop
from npu_tools.pictures.memory_map import Box, MemoryMap, memory_map
from npu_tools.pictures.memory_map_labels import Area, Scale, labels, shortened, size_text, wrapped
from npu_tools.pictures.memory_map_svg import share_memory, svg

ROWS = (
    "npu-fold-batch-norm,npu-fuse-conv-relu-pool,npu-fuse-rows{when=always},npu-bufferize,"
    "npu-concat-in-place,npu-assign-sram-offsets,npu-outline-layers,npu-lower-to-loops"
)
TEXT = "{http://www.w3.org/2000/svg}text"


def map_of(path: Path, **options: Any) -> MemoryMap:
    stop = MapStop(path.name)
    compile_model(Job(path, "fe310", observers=(stop,), **options))
    assert stop.found is not None
    return stop.found


def texts(picture: str) -> list[str]:
    return ["".join(each.itertext()) for each in ET.fromstring(picture).iter(TEXT)]


def convolutions(names: tuple[str, ...]) -> ModelProto:
    """A chain of 1x1 convolutions, whose values have these names."""
    weight = np.ones((1, 1, 1, 1), np.float32)
    values = ("input", *names)
    nodes = [
        helper.make_node("Conv", [values[i], "w"], [values[i + 1]], f"layer{i}")
        for i in range(len(names))
    ]
    return model_of(nodes, {"w": weight}, (1, 1, 8, 8), names[-1])


def test_map_of_a_chain(small: Path) -> None:
    found = map_of(small)
    assert (found.model, found.machine, found.sram) == ("net.onnx", "fe310", 16384)
    assert (found.arena, found.bound, found.peak) == (276, 276, 0)
    assert found.steps == ("conv1", "dense2", "dense3")
    spans = {(box.name, box.role): (box.size, box.first, box.last) for box in found.boxes}
    assert spans == {
        ("input", "input"): (256, 0, 0),
        ("p1", "map"): (108, 0, 1),
        ("r2", "map"): (32, 1, 2),
        ("scores", "output"): (16, 2, 2),
    }


def test_buffers_of_a_map_are_apart(small: Path) -> None:
    for strategy in ("greedy", "ping-pong", "none"):
        found = map_of(small, strategy=strategy, pipeline="unlu2020")
        for one, two in combinations(found.boxes, 2):
            together = one.first <= two.last and two.first <= one.last
            apart = one.offset + one.size <= two.offset or two.offset + two.size <= one.offset
            assert apart or not together, (strategy, one, two)


def test_an_output_lies_over_what_was_read_of_its_input(small: Path) -> None:
    boxes = {box.name: box for box in map_of(small).boxes}
    source, target = boxes["input"], boxes["p1"]
    assert source.last == target.first
    assert target.offset < source.offset < target.offset + target.size


def test_layers_by_rows_are_one_step(save: SaveModel) -> None:
    weight = np.ones((1, 1, 3, 3), np.float32)
    nodes = [
        helper.make_node("Conv", ["input", "w"], ["a"], "first"),
        helper.make_node("Conv", ["a", "w"], ["b"], "second"),
        helper.make_node("Softmax", ["b"], ["c"], "last", axis=2),
    ]
    found = map_of(save(model_of(nodes, {"w": weight}, (1, 1, 12, 12), "c")), pipeline=ROWS)
    assert found.steps == ("first .. second", "last")
    window = next(box for box in found.boxes if box.name == "a")
    assert (window.size, window.first, window.last) == (3 * 10 * 4, 0, 0)


def test_map_without_layers() -> None:
    context = Context()
    for name, factory in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, factory)
    kind = "memref<8xf32, #npu.sram>"
    text = f"""func.func @f() attributes {{sram.arena = 96 : i64}} {{
      %a = sram.alloc at 0 : {kind}
      %b = sram.alloc at 32 : {kind}
      %unused = sram.alloc at 64 : {kind}
      "memref.copy"(%a, %b) : ({kind}, {kind}) -> ()
      func.return
    }}"""
    found = memory_map(Parser(context, text).parse_module())
    assert found is not None
    assert (found.steps, found.sram, found.machine) == (("memref.copy",), None, None)
    assert [(box.name, box.role, box.offset) for box in found.boxes] == [
        ("a", "scratch", 0),
        ("b", "scratch", 32),
        ("unused", "scratch", 64),
    ]
    assert "unused 32 B" in " ".join(texts(svg(found)))
    assert memory_map(Parser(context, "func.func @f() { func.return }").parse_module()) is None


def test_every_buffer_is_labelled(small: Path) -> None:
    found = map_of(small)
    said = texts(svg(found))
    for name in (*found.steps, *(box.name for box in found.boxes)):
        assert any(name in text for text in said), name
    assert "net.onnx on fe310" in said
    assert "arena = bound 276 B" in said
    assert "SRAM 16 KiB ↑" in said


def test_lines_for_sram_and_bound() -> None:
    found = MemoryMap("m", "chip", 1500, 1200, 1000, 0, ("a",), (Box("x", "map", 0, 1000, 0, 0),))
    said = texts(svg(found))
    assert {"SRAM 1500 B", "arena 1200 B", "bound 1000 B"} <= set(said)


def test_labels_of_thin_buffers_do_not_overlap() -> None:
    boxes = tuple(Box(f"buffer{i}", "map", 10 * i, 10, i, i) for i in range(20))
    found = MemoryMap("m", None, None, 4000, 4000, 0, tuple(map(str, range(20))), boxes)
    placed = [label for _, label in labels(found, Scale(720, 330, 20, 4600))]
    assert len(placed) == 20
    assert all(label.beside for label in placed)
    assert not any(a.area.overlaps(b.area) for a, b in combinations(placed, 2))


def test_label_of_a_buffer_that_others_cover() -> None:
    outer, inner = Box("outer", "map", 0, 1000, 0, 9), Box("inner", "map", 400, 200, 4, 5)
    found = MemoryMap("m", None, None, 1000, 1000, 0, tuple(map(str, range(10))), (outer, inner))
    scale = Scale(500, 300, 10, 1000)
    first, second = (label.area for _, label in labels(found, scale))
    assert not first.overlaps(scale.area(inner))
    assert not first.overlaps(second)
    assert "one buffer over another" in " ".join(texts(svg(found)))


def test_names_that_are_no_plain_text(save: SaveModel) -> None:
    names = ("$a_1$", "<b&c>", "\N{CJK UNIFIED IDEOGRAPH-5C42}", "tab\there", "d" * 300)
    found = map_of(save(convolutions(names)))
    svg(found)
    odd = tuple(Box(name, "map", 300 * i, 300, i, i) for i, name in enumerate(names))
    said = texts(svg(MemoryMap("m\x00", None, None, 1500, 300, 0, names, odd)))
    for name in ("$a_1$", "<b&c>", "\N{CJK UNIFIED IDEOGRAPH-5C42}", "tab?here", "m?"):
        assert name in said
    assert max(map(len, said)) < 120


def test_names_are_thinned_where_there_are_many() -> None:
    steps = tuple(f"layer{i}" for i in range(150))
    said = texts(svg(MemoryMap("m", None, None, 10, 10, 149, steps, ())))
    assert [text for text in said if text.startswith("layer")] == list(steps[::3])


def test_file_is_written_and_is_the_same_again(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures: list[bytes] = []
    for out in (small.parent / "one", small.parent / "two"):
        path = out / "map.svg"  # the folder does not exist yet
        run = [str(small), "--target", "fe310", "-o", str(out), "--memory-map", str(path)]
        monkeypatch.setenv("MPLBACKEND", "agg")
        assert compile.main(run) == 0
        assert f", {path}\n" in capsys.readouterr().out
        pictures.append(path.read_bytes())
    assert pictures[0] == pictures[1]
    assert b"<dc:date>" not in pictures[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--strategy", "none", "--target", "tiny.toml"], "bytes of SRAM needed"),
        (["--target", "fe310", "--memory-map", "missing/map.svg"], "no such folder"),
        (["--target", "fe310", "--memory-map", "pipe"], "expected a file"),
        (["--target", "fe310", "--memory-map", "."], "expected a file"),
        (["--target", "exynos-npu", "--plan-as", "i8", "--pipeline", "kim2019"], "no buffer has"),
    ],
)
def test_failure_writes_nothing(
    small: Path,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(small.parent)
    Path("tiny.toml").write_text('name = "tiny"\nsram_bytes = 300\nflash_bytes = 99999\n')
    os.mkfifo("pipe")  # not a real device, which a failing test would replace
    before = sorted(small.parent.rglob("*"))
    assert compile.main([str(small), "-o", "out", "--memory-map", "map.svg", *options]) == 1
    assert re.search(message, capsys.readouterr().err)
    assert sorted(small.parent.rglob("*")) == before
    assert Path("pipe").is_fifo()


def test_without_matplotlib(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("npu_tools.commands.compile.find_spec", lambda _: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert compile.main([str(small), "--target", "fe310", "--memory-map", "map.svg"]) == 1
    assert "pip install 'npu-dialect[plot]'" in capsys.readouterr().err


def test_texts() -> None:
    assert [size_text(size) for size in (0, 10239, 10240, 3 * 2**20, 2**30)] == [
        "0 B",
        "10239 B",
        "10 KiB",
        "3 MiB",
        "1 GiB",
    ]
    assert shortened("a" * 28) == "a" * 28
    assert shortened("begin" + "-" * 40 + "the end") == "begin---…------------the end"
    assert wrapped("fire2/squeeze_relu") == "fire2/\nsqueeze_relu"
    assert wrapped("plain") == "plain"
    assert Area(0, 0, 1, 1).overlaps(Area(0.5, 0.5, 1, 1))
    assert not Area(0, 0, 1, 1).overlaps(Area(1, 0, 1, 1))


@pytest.mark.parametrize(
    ("offset", "first", "shared"),
    [(0, 2, True), (15, 2, True), (16, 2, False), (0, 3, False), (8, 1, True)],
)
def test_buffers_that_share_memory(offset: int, first: int, shared: bool) -> None:
    one, two = Box("a", "map", 8, 8, 0, 2), Box("b", "map", offset, 9, first, 4)
    assert share_memory(one, two) is shared
    assert share_memory(two, one) is shared
