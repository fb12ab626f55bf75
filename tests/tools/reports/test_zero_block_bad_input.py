"""Users' mistakes with npu-report give one message, exit code 1, and no file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.onnx_models import model, node, numbers
from npu_tools.commands import report as report_command

Image: Any = pytest.importorskip("PIL.Image")
pytest.importorskip("matplotlib")

GOOD = ["--image", "in.png", "-o", "out.png"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with networks of one and of two layers, good and bad pictures and arrays."""
    monkeypatch.chdir(tmp_path)
    weights = {"w": numbers(4, 3, 3, 3), "v": numbers(2, 4, 1, 1)}
    nodes = [
        node("Conv", "x w", "a", pads=[1, 1, 1, 1], name="conv_one"),
        node("Relu", "a", "b", name="relu_one"),
        node("MaxPool", "b", "c", kernel_shape=[2, 2], strides=[2, 2], name="pool"),
        node("Conv", "c v", "y", name="conv_two"),
    ]
    save("net.onnx", model(nodes, {"x": (1, 3, 12, 10)}, weights=weights))
    save("flat.onnx", model([node("Relu", "x", "y")], {"x": (1, 30)}))
    save("six.onnx", model([node("Relu", "x", "y")], {"x": (1, 6, 12, 10)}))
    inputs = {"x": (1, 3, 12, 10), "z": (1, 3, 12, 10)}
    save("two.onnx", model([node("Add", "x z", "y")], inputs))
    picture(12, 10).save("in.png")
    picture(10, 12).save("turned.png")
    Image.fromarray(np.zeros((12, 10), np.uint16)).save("deep.png")
    Path("half.png").write_bytes(Path("in.png").read_bytes()[:60])
    Path("text.png").write_text("no picture")
    np.savez("other.npz", image=np.zeros((1, 3, 12, 10), np.float32))
    np.savez("flat.npz", x=np.zeros((1, 30), np.float32))
    np.savez("double.npz", x=np.zeros((1, 3, 12, 10)))
    Path("text.npz").write_text("no arrays")
    Path("folder").mkdir()
    return tmp_path


def save(name: str, proto: Any) -> None:
    Path(name).write_bytes(proto.SerializeToString())


def picture(height: int, width: int) -> Any:
    values = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    return Image.fromarray(values)


def fails(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """The message of a failing run; checks that nothing was written."""
    before = {path: path.stat().st_mtime_ns for path in Path.cwd().rglob("*")}
    assert report_command.main(["zero-blocks", *options]) == 1
    assert {path: path.stat().st_mtime_ns for path in Path.cwd().rglob("*")} == before
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("npu-report: error: ")
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err
    assert "Error" not in said.err
    return said.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--image", "turned.png"], "of 10 x 12 (width x height), got 12 x 10"),
        (["--image", "deep.png"], "expected a picture with 8 bits a colour, got mode I;16"),
        (["--image", "half.png"], "half.png: expected a picture"),
        (["--image", "text.png"], "text.png: expected a picture"),
        (["--image", "none.png"], "none.png: No such file"),
        (["--image", "in.png", "--mean", "0.1,0.2"], "--mean: expected 3 numbers or one, got 2"),
        (["--image", "in.png", "--mean", "red"], "expected numbers with commas in between"),
        (["--image", "in.png", "--std", "1,0,1"], "expected numbers above 0, got '1,0,1'"),
        (["--image", "in.png", "--input", "flat.npz"], "not allowed with argument"),
        ([], "one of the arguments --image --input is required"),
        (["--input", "other.npz"], "expected input 'x', found image"),
        (["--input", "flat.npz"], "of shape [1, 3, 12, 10], or samples"),
        (["--input", "double.npz"], "expected float32 of shape [1, 3, 12, 10]"),
        (["--input", "text.npz"], "text.npz: expected an .npz file of numbers"),
        (["--input", "none.npz"], "none.npz: No such file"),
        (["--input", "flat.npz", "--mean", "1"], "--mean and --std are for --image"),
        ([*GOOD, "--block-size", "0"], "expected an integer of at least 1, got '0'"),
        ([*GOOD, "--block-size", "13"], "--block-size 13: expected at most 6"),
        ([*GOOD, "--threshold", "nan"], "expected a number of at least 0, got 'nan'"),
        ([*GOOD, "--threshold=-0.5"], "expected a number of at least 0, got '-0.5'"),
        ([*GOOD, "--threshold", "inf"], "expected a number of at least 0, got 'inf'"),
        ([*GOOD, "--threshold", "much"], "expected a number of at least 0, got 'much'"),
        ([*GOOD, "--layer", "conv_onr"], "did you mean conv_one?"),
        ([*GOOD, "--layer", "relu_one"], "--layer relu_one: expected a layer with a map"),
        (["--image", "in.png", "--layer", "conv_one"], "expected -o out.png as well"),
        (["--image", "in.png", "-o", "missing/out.png"], "missing/out.png: no such folder"),
        (["--image", "in.png", "-o", "folder"], "cannot write folder: expected a file"),
        (["--image", "in.png", "--input-dim", "n=0"], "expected name=N with N of at least 1"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_options(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in fails(capsys, "net.onnx", *options)


@pytest.mark.parametrize(
    ("network", "options", "message"),
    [
        ("flat.onnx", ["--input", "flat.npz"], "expected a network with maps [N, C, H, W]"),
        ("flat.onnx", ["--image", "in.png"], "expected [1, 1, H, W] or [1, 3, H, W], got [1, 30]"),
        ("six.onnx", ["--image", "in.png"], "got [1, 6, 12, 10]: give --input"),
        ("two.onnx", ["--image", "in.png"], "expected a network with one input, got x, z"),
        ("none.onnx", ["--image", "in.png"], "none.onnx"),
        ("text.png", ["--image", "in.png"], "expected .onnx or .pt2"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_networks(
    network: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in fails(capsys, network, *options)


@pytest.mark.usefixtures("folder")
def test_no_report_and_an_unknown_one(capsys: pytest.CaptureFixture[str]) -> None:
    for options in ([], ["blocks"]):
        assert report_command.main(options) == 1
        assert "npu-report: error: " in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_block_larger_than_the_layer(capsys: pytest.CaptureFixture[str]) -> None:
    """The table is printed, as another map is larger; a picture of this map is rejected."""
    save("pools.onnx", model(
        [
            node("Conv", "x w", "a", name="conv"),
            node("Relu", "a", "b", name="relu"),
            node("MaxPool", "b", "c", kernel_shape=[3, 3], strides=[3, 3], name="pool"),
            node("Add", "b b", "d", name="add"),
            node("GlobalAveragePool", "d", "e", name="mean"),
            node("Add", "c e", "y", name="sum"),
        ],
        {"x": (1, 3, 12, 10)},
        weights={"w": numbers(4, 3, 1, 1)},
    ))  # fmt: skip
    options = ["pools.onnx", "--image", "in.png", "--block-size", "5", "-o", "out.png"]
    message = "--block-size 5: larger than the map of pool, 4 x 3"
    assert message in fails(capsys, *options, "--layer", "pool")
    assert report_command.main(["zero-blocks", *options]) == 0


@pytest.mark.usefixtures("folder")
def test_without_matplotlib(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "--image needs matplotlib: pip install 'npu-dialect[plot]'" in fails(
        capsys, "net.onnx", *GOOD
    )
    np.savez("in.npz", x=np.zeros((1, 3, 12, 10), np.float32))
    assert report_command.main(["zero-blocks", "net.onnx", "--input", "in.npz"]) == 0
