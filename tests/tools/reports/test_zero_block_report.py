"""npu-report zero-blocks: its numbers are those of the emitted C; its pictures."""

from __future__ import annotations

import io
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto
from xdsl.dialects.builtin import AnyFloat, IntegerType, ModuleOp, TensorType, f32

from helpers.onnx_models import model, node, numbers
from helpers.quantized.build import Graph, integers
from npu_dialect.interpreters import Counters, Port
from npu_dialect.npu.quantization import ui8
from npu_tools.commands import report as report_command
from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.importers.frontends import load
from npu_tools.pictures.zero_block_picture import HIDDEN, SKIPPED, TINTED, cover, kept_share
from npu_tools.reports.zero_block_input import picture
from npu_tools.reports.zero_block_maps import BlockMap, is_zero, measure, prepare
from npu_tools.verifying.harness import built

Image: Any = pytest.importorskip("PIL.Image")
pytest.importorskip("matplotlib")

Array = NDArray[Any]

MACHINE = """\
name = "roomy"
sram_bytes = 1048576
flash_bytes = 1048576
dma_channels = 4
"""
SPILLED = (
    "npu-fold-batch-norm,npu-fuse-conv-relu-pool{{overlap=line-buffer}},npu-fold-zero-points,"
    'npu-bufferize,npu-spill-maps{{maps="a","b"}},npu-tile-loops{{block-size={block}}},{prune}'
    "npu-compress-spills{{block-size={block}}},npu-double-buffer,"
    "npu-assign-sram-offsets{{strategy=greedy}},npu-assign-dram-offsets,npu-outline-layers,"
    "npu-lower-to-loops"
)
"""Passes with which two maps leave the chip and come back, each as a whole."""


def floats(height: int, width: int) -> ModelProto:
    """A float32 network of three layers, with the maps a and b between them."""
    weights = {"v": numbers(6, 3, 3, 3), "w": numbers(6, 6, 3, 3), "u": numbers(2, 6, 1, 1)}
    nodes = [
        node("Conv", "x v", "p", pads=[1, 1, 1, 1], name="c1"),
        node("Relu", "p", "a", name="r1"),
        node("Conv", "a w", "q", pads=[1, 1, 1, 1], name="c2"),
        node("Relu", "q", "b", name="r2"),
        node("Conv", "b u", "y", name="c3"),
    ]
    return model(nodes, {"x": (1, 3, height, width)}, weights=weights)


def bytes_(height: int, width: int) -> ModelProto:
    """The same network in int8: elements below the zero point become the zero point."""
    graph, source = Graph(), "x"
    for place, (target, shape) in enumerate(
        [("a", (6, 3, 3, 3)), ("b", (6, 6, 3, 3)), ("y", (2, 6, 1, 1))]
    ):
        kernels = graph.constant(f"w{place}", integers(place, "int8", *shape))
        scales = [
            *graph.params(f"x{place}", 0.05, -128 if place else 3, "int8"),
            kernels,
            *graph.params(f"w{place}", 0.01, 0, "int8"),
            *graph.params(f"y{place}", 0.05 if place else 0.5, -128, "int8"),
        ]
        pads = [1, 1, 1, 1] if place < 2 else [0, 0, 0, 0]
        graph.add("QLinearConv", [source, *scales], target, pads=pads)
        source = target
    return graph.model({"x": np.zeros((1, 3, height, width), np.int8)}, "y", np.int8, 13)


def image(height: int, width: int, kind: type[np.generic] = np.float32) -> Array:
    """An image with large numbers in one corner and small ones elsewhere."""
    found = np.zeros((1, 3, height, width), np.float32)
    corner = found[:, :, : height // 2, : -(-width // 3)]
    corner[...] = np.random.default_rng(7).standard_normal(corner.shape)
    return found if kind is np.float32 else (3 + np.rint(20 * found)).astype(kind)


def saved(folder: Path, proto: ModelProto) -> Path:
    (folder / "net.onnx").write_bytes(proto.SerializeToString())
    (folder / "roomy.toml").write_text(MACHINE)
    return folder / "net.onnx"


def counted(path: Path, sample: Array, block: int, prune: str = "") -> tuple[Counters, Compiled]:
    """The counters of the emitted C, and the compilation."""
    pipeline = SPILLED.format(block=block, prune=prune)
    found = compile_model(Job(path, str(path.parent / "roomy.toml"), pipeline=pipeline))
    with built(found.name, found.files, found.report) as harness:
        _, counters = harness.run_and_count([sample[np.newaxis]])
    assert counters is not None
    return counters, found


def maps_of(path: Path, sample: Array, block: int, threshold: float | None) -> list[BlockMap]:
    module: ModuleOp = load(path, {}).module
    prepare(module, block, threshold)
    return measure(module, [[sample]], block)


CASES = [
    (np.float32, 15, 22, 4, None),
    (np.float32, 15, 22, 1, None),
    (np.float32, 16, 24, 8, 0.4),
    (np.float32, 13, 9, 4, 1.5),
    (np.int8, 15, 22, 4, None),
    (np.int8, 33, 47, 2, None),
    (np.int8, 15, 22, 4, 0.6),
]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")
@pytest.mark.parametrize(("kind", "height", "width", "block", "threshold"), CASES)
def test_numbers_are_those_of_the_emitted_c(
    kind: type[np.generic],
    height: int,
    width: int,
    block: int,
    threshold: float | None,
    tmp_path: Path,
) -> None:
    path = saved(tmp_path, (floats if kind is np.float32 else bytes_)(height, width))
    sample = image(height, width, kind)
    a, b, y = maps_of(path, sample, block, threshold)
    prune = f"npu-prune-zero-blocks{{block-size={block} threshold={threshold}}},"
    counters, found = counted(path, sample, block, prune if threshold else "")
    assert counters.feature_map_write_bytes == a.bytes_after + b.bytes_after + y.bytes_before
    assert counters.feature_map_read_bytes == sample.nbytes + a.bytes_after + b.bytes_after
    worst = asdict(found.report.off_chip)["feature_map_write_bytes"]
    indices = a.index_bytes + b.index_bytes
    assert worst == a.bytes_before + b.bytes_before + y.bytes_before + indices
    assert 0 < a.zero_blocks < a.blocks
    assert (a.pruned, b.pruned, y.pruned) == (threshold is not None,) * 2 + (False,)
    assert (a.relu, b.relu, y.relu) == (True, True, kind is np.int8)


def reported(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert report_command.main(["zero-blocks", *options, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_and_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON adds up the samples, and the table has the same numbers."""
    path = saved(tmp_path, floats(15, 22))
    np.savez(tmp_path / "one.npz", x=image(15, 22))
    np.savez(tmp_path / "two.npz", x=np.concatenate([image(15, 22), np.zeros_like(image(15, 22))]))
    data = [str(path), "--input", str(tmp_path / "one.npz")]
    one = reported(capsys, *data)
    two = reported(capsys, str(path), "--input", str(tmp_path / "two.npz"))
    assert [each["layer"] for each in one["maps"]] == ["c1", "c2", "c3"]
    assert [each["value"] for each in one["maps"]] == ["a", "b", "y"]
    a = one["maps"][0]
    assert (a["bytes_before"], a["index_bytes"], a["blocks"]) == (6 * 15 * 22 * 4, 18, 6 * 4 * 6)
    assert a["sparsity"] == a["zero_blocks"] / a["blocks"]
    for key in ("bytes_before", "bytes_after", "zero_blocks"):
        behind = sum(each[key] for each in one["maps"] if each["relu"])
        assert one["behind_relu"][key] == behind
        assert one["total"][key] == behind + one["maps"][2][key]
    assert two["samples"] == 2
    assert two["total"]["bytes_before"] == 2 * one["total"]["bytes_before"]
    zeros = sum(each["index_bytes"] for each in one["maps"])
    assert two["total"]["bytes_after"] == one["total"]["bytes_after"] + zeros
    assert report_command.main(["zero-blocks", *data]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    (row,) = [words for words in lines if words[:1] == ["c1"]]
    assert row[-4:-1] == [str(a[key]) for key in ("bytes_before", "index_bytes", "bytes_after")]


def test_minus_zero_moves() -> None:
    """A transfer compares bits, so blocks of -0.0 move."""
    array = np.array([0.0, -0.0, 1.0, np.nan], np.float32)
    assert is_zero(array, 0).tolist() == [True, False, False, False]


def test_maps_of_the_same_layer() -> None:
    """A concatenation of integers rescales its parts, which are maps with the same name."""
    kept = np.ones((1, 2, 2, 2), np.bool_)
    one, two = (
        BlockMap("cat", "npu.requantize", None, (1, 2, 8, 8), 1, 4, True, False, kept)
        for _ in range(2)
    )
    other = BlockMap("c", "npu.conv2d", "y", (1, 2, 7, 8), 1, 4, True, False, kept)
    assert report_command.chosen([one, other, two], []) == [other, two]
    assert report_command.chosen([one, other, two], ["y", "cat"]) == [other, one, two]


def test_what_is_drawn() -> None:
    """Half of the channels keep one block, none keeps the next, all keep a ragged one."""
    kept = np.zeros((1, 2, 1, 3), np.bool_)
    kept[0, 0, 0, 0] = True
    kept[0, :, 0, 2] = True
    each = BlockMap("c", "npu.conv2d", None, (1, 2, 4, 10), 4, 4, True, False, kept)
    share = kept_share(each)
    assert share.shape == (4, 10)
    assert share[0].tolist() == [0.5] * 4 + [0.0] * 4 + [1.0] * 2
    colours = cover(share)
    assert colours[0, 0].tolist() == [0, 0, 0, HIDDEN / 2]
    assert colours[0, 5].tolist() == [*SKIPPED, TINTED]
    assert colours[0, 9].tolist() == [0, 0, 0, 0]


def test_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same input gives the same bytes, with a panel for the input and for each map."""
    path = saved(tmp_path, floats(16, 24))
    pixels = np.zeros((16, 24, 3), np.uint8)
    pixels[:8, :8] = np.random.default_rng(0).integers(0, 256, (8, 8, 3))
    Image.fromarray(pixels).save(tmp_path / "in.png")
    options = [str(path), "--image", str(tmp_path / "in.png"), "--threshold", "0.2"]
    sizes: list[tuple[int, int]] = []
    for name, more in {"a": [], "b": [], "c": ["--layer", "b", "--layer", "c1"]}.items():
        out = str(tmp_path / f"{name}.png")
        assert report_command.main(["zero-blocks", *options, "-o", out, *more]) == 0
        assert f"wrote {out}" in capsys.readouterr().out
        sizes.append(Image.open(out).size)
    first, second = ((tmp_path / f"{name}.png").read_bytes() for name in "ab")
    assert first == second
    assert sizes[0] == sizes[1] < sizes[2]
    assert len(np.unique(np.asarray(Image.open(io.BytesIO(first))).reshape(-1, 4), axis=0)) > 50


def test_pictures_become_inputs(tmp_path: Path) -> None:
    """Pictures in colour or grey are scaled for float32 inputs; uint8 inputs get their bytes."""
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3) * 10
    Image.fromarray(pixels).save(tmp_path / "in.png")

    def read(channels: int, element: AnyFloat | IntegerType = f32) -> Array:
        port = Port("x", TensorType(element, (1, channels, 2, 3)))
        return picture(tmp_path / "in.png", [port], [0.5], [0.25])

    wanted = (pixels.transpose(2, 0, 1)[np.newaxis] / 255 - 0.5) / 0.25
    np.testing.assert_allclose(read(3), wanted, rtol=1e-6)
    assert read(3).dtype == np.float32
    np.testing.assert_array_equal(read(3, ui8)[0], pixels.transpose(2, 0, 1))
    assert read(1).shape == (1, 1, 2, 3)
