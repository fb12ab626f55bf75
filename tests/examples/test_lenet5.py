"""The LeNet-5 example: the paper's network on real digits, its C compared with onnxruntime."""

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from helpers.paths import ROOT

HERE = ROOT / "examples" / "lenet5"
MODEL = HERE / "lenet5.onnx"
TOOLS = Path(sys.executable).parent
DIGITS_OF_SKLEARN = 1797

PAPER: list[tuple[str, list[list[int]]]] = [
    ("Conv", [[6, 1, 5, 5], [6]]),
    ("Relu", []),
    ("MaxPool", []),
    ("Conv", [[16, 6, 5, 5], [16]]),
    ("Relu", []),
    ("MaxPool", []),
    ("Flatten", []),
    ("Gemm", [[120, 400], [120]]),
    ("Relu", []),
    ("Gemm", [[84, 120], [84]]),
    ("Relu", []),
    ("Gemm", [[10, 84], [10]]),
]
"""Section 3 of paper 002: each layer and the shapes of its parameters."""


@dataclass(frozen=True)
class HeldOut:
    """Held-out digits: camera pictures [N, 32, 32], labels [N], onnxruntime's scores [N, 10]."""

    camera: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    scores: NDArray[np.float32]


def attribute(node: onnx.NodeProto, name: str) -> list[int]:
    return next(list(item.ints) for item in node.attribute if item.name == name)


@pytest.fixture(scope="module")
def model() -> onnx.ModelProto:
    return onnx.load_model_from_string(MODEL.read_bytes())


@pytest.fixture(scope="module")
def held() -> HeldOut:
    runtime: Any = import_module("onnxruntime")
    session = runtime.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
    with np.load(HERE / "heldout.npz") as data:
        images, labels = data["images"], data["labels"]
    cut = np.where(images < 100, 0, images).astype(np.float32) / np.float32(255)
    scores = [session.run(None, {"image": image[None, None]})[0] for image in cut]
    return HeldOut(255 - images, labels, np.concatenate(scores))


def test_layers_are_the_papers(model: onnx.ModelProto) -> None:
    shapes = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
    found = [(n.op_type, [shapes[v] for v in n.input if v in shapes]) for n in model.graph.node]
    assert found == PAPER
    for node in model.graph.node:
        if node.op_type == "Conv":
            assert attribute(node, "strides") == [1, 1]
            assert attribute(node, "pads") == [0, 0, 0, 0]
        if node.op_type == "MaxPool":
            assert attribute(node, "kernel_shape") == attribute(node, "strides") == [2, 2]
            assert attribute(node, "pads") == [0, 0, 0, 0]
    assert sum(int(np.prod(shape)) for shape in shapes.values()) == 61706


def test_one_file_with_nothing_else_in_it(model: onnx.ModelProto) -> None:
    assert not any(tensor.external_data for tensor in model.graph.initializer)
    assert not model.metadata_props
    assert not any(node.metadata_props or node.doc_string for node in model.graph.node)


def test_a_fifth_is_held_out(held: HeldOut) -> None:
    assert len(held.labels) >= DIGITS_OF_SKLEARN / 5
    assert np.bincount(held.labels).min() >= 0.9 * len(held.labels) / 10
    assert held.camera.shape == (len(held.labels), 32, 32)


def test_accuracy(held: HeldOut) -> None:
    assert np.mean(held.scores.argmax(axis=1) == held.labels) >= 0.97


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiled network and the demo's program."""
    place = tmp_path_factory.mktemp("lenet5")
    tool = [TOOLS / "npu-compile", MODEL, "--target", "fe310", "-o", place]
    subprocess.run(tool, check=True, stdout=subprocess.DEVNULL)
    sources = [HERE / "main.c", HERE / "image.c", place / "lenet5.c"]
    flags = "-std=c99 -O2 -Wall -Wextra -Werror -pedantic".split()
    subprocess.run(["cc", *flags, f"-I{place}", *sources, "-o", place / "lenet5"], check=True)
    return place


@pytest.mark.slow
def test_memory_is_at_most_the_papers(compiled: Path) -> None:
    report = json.loads((compiled / "report.json").read_text(encoding="utf-8"))
    assert report["arena_bytes"] == 5412
    memory = report["memory"]
    assert (memory["naive_bytes"], memory["fused_bytes"]) == (36472, 11256)


def test_c_agrees_with_onnxruntime_on_every_digit(compiled: Path, held: HeldOut) -> None:
    done = subprocess.run(
        compiled / "lenet5", input=held.camera.tobytes(), stdout=subprocess.PIPE, check=True
    )
    table = np.array([line.split() for line in done.stdout.splitlines()], dtype=np.float64)
    np.testing.assert_array_equal(table[:, 0], held.scores.argmax(axis=1))
    # Relative to each picture's largest score, as a score near zero is a sum that cancels out.
    error = np.abs(table[:, 1:] - held.scores).max(axis=1) / np.abs(held.scores).max(axis=1)
    assert error.max() <= 1e-5


def test_demo() -> None:
    done = subprocess.run(
        [sys.executable, HERE / "demo.py"], stdout=subprocess.PIPE, check=True, text=True
    )
    for expected in ("36472", "11256", "5412", "9118", "2814", "1353"):
        assert expected in done.stdout
    assert "then relu then max_pool [2, 2] by [2, 2]" in done.stdout
    assert "npu-compile examples/lenet5/lenet5.onnx --target fe310" in done.stdout
    assert "same answer for 360 of 360" in done.stdout
