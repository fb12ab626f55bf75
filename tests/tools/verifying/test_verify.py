"""--verify notices mistakes in the C, and names the first layer that differs."""

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from npu_tools.commands import compile
from npu_tools.compiling.check import RELATIVE
from npu_tools.compiling.driver import Compiled, Job, compile_model
from npu_tools.shared.errors import UserError
from npu_tools.verifying.outcome import OutputErrors, ordered
from npu_tools.verifying.samples import load_samples
from npu_tools.verifying.verify import verify

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")


@pytest.fixture
def compiled(small: Path) -> Compiled:
    """The small network, compiled, with the weights in a file."""
    return compile_model(Job(small, "host", weights="bin"))


def with_file(compiled: Compiled, name: str, content: str | bytes) -> Compiled:
    """The compilation with one file replaced."""
    files: Mapping[str, str | bytes] = {**compiled.files, name: content}
    return replace(compiled, files=files)


@needs_compiler
def test_right_code_agrees(compiled: Compiled) -> None:
    result = verify(compiled, None, 0)
    assert result.agrees
    assert result.first_layer is None
    assert [output.name for output in result.outputs] == ["scores"]
    assert 0 <= result.outputs[0].relative <= 1e-5
    assert result.as_dict()["samples"] == 1


@needs_compiler
@pytest.mark.parametrize(
    ("weight", "layer"), [("conv1", "conv1"), ("dense2", "dense2"), ("dense3", "dense3")]
)
def test_wrong_weights_name_their_layer(compiled: Compiled, weight: str, layer: str) -> None:
    order = [each.name for each in compiled.report.layers]
    header = str(compiled.files["net.h"])
    names = {"conv1": "w1", "dense2": "w2", "dense3": "w3"}
    found = re.search(rf"(\d+) +{names[weight]}\b", header)
    assert found is not None, header
    blob = bytearray(compiled.files["net_weights.bin"])  # pyright: ignore[reportArgumentType]
    at = int(found[1])
    blob[at : at + 32] = np.full(8, 77.0, np.float32).tobytes()
    result = verify(with_file(compiled, "net_weights.bin", bytes(blob)), None, 0)
    assert not result.agrees
    assert result.first_layer is not None
    assert result.first_layer.startswith(f"{layer} (")
    assert layer in order


@needs_compiler
def test_wrong_code_fails_the_tool(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(job: Job) -> Compiled:
        made = compile_model(job)
        source = str(made.files["net.c"])
        # The bias of the last layer is changed, so its sums are wrong.
        return with_file(made, "net.c", re.sub(r"(b3\[4\][^{]*\{)[^,]*", r"\1 9.0f", source))

    monkeypatch.setattr("npu_tools.advice.advised.compile_model", wrong)
    out = small.parent / "out"
    assert compile.main([str(small), "--target", "host", "-o", str(out), "--verify"]) == 1
    said = capsys.readouterr()
    assert "verify scores: largest error" in said.out
    assert said.err.startswith(f"npu-compile: error: {small}: --verify: differs")
    assert "the first layer that differs is dense3" in said.err
    assert said.err.count("\n") == 1
    assert not out.exists()


@needs_compiler
def test_wrong_code_without_layers(small: Path) -> None:
    made = compile_model(
        Job(small, "host", pipeline="npu-bufferize,npu-assign-sram-offsets,npu-lower-to-loops")
    )
    assert verify(made, None, 0).agrees
    source = re.sub(r"(b3\[4\][^{]*\{)[^,]*", r"\1 9.0f", str(made.files["net.c"]))
    result = verify(with_file(made, "net.c", source), None, 0)
    assert not result.agrees
    assert result.first_layer == "unknown, as the pipeline has no npu-outline-layers"


@needs_compiler
def test_several_inputs_and_outputs_with_odd_names(tmp_path: Path) -> None:
    first, second, total = "in/1:0", "für", "sum (a+b)"
    nodes = [
        helper.make_node("Add", [first, second], [total], "add 1"),
        helper.make_node("Relu", [total], ["int"], "relu*/1"),
    ]
    shape = [1, 3, 2]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, 1, shape) for name in (first, second)],
        [helper.make_tensor_value_info(name, 1, shape) for name in ("int", total)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path = tmp_path / "2 nets.onnx"
    path.write_bytes(model.SerializeToString())
    result = verify(compile_model(Job(path, "host")), None, 0)
    assert result.agrees
    assert [output.name for output in result.outputs] == ["int", total]


@needs_compiler
def test_samples_of_a_file(compiled: Compiled, tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((5, 1, 8, 8), dtype=np.float32)
    np.savez(tmp_path / "inputs.npz", input=values, labels=np.arange(5))
    result = verify(compiled, str(tmp_path / "inputs.npz"), 0)
    assert result.agrees
    assert result.samples == 5


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"image": np.zeros((1, 1, 8, 8), np.float32)}, "no array 'input'.*got image"),
        ({"input": np.zeros((1, 1, 8, 9), np.float32)}, r"expected .*\[1, 1, 8, 8\].*8, 9"),
        ({"input": np.zeros((0, 1, 8, 8), np.float32)}, "expected float32 of shape"),
        ({"input": np.array("text")}, "expected float32 of shape"),
    ],
)
def test_samples_that_do_not_fit(
    compiled: Compiled, tmp_path: Path, arrays: Mapping[str, np.ndarray], message: str
) -> None:
    path = tmp_path / "inputs.npz"
    np.savez(path, **arrays)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UserError, match=message):
        load_samples(compiled.report, str(path))


def test_a_file_that_is_no_npz(compiled: Compiled, tmp_path: Path) -> None:
    (tmp_path / "inputs.npz").write_text("hello")
    with pytest.raises(UserError, match=r"inputs\.npz: expected an \.npz file"):
        load_samples(compiled.report, str(tmp_path / "inputs.npz"))


def test_without_a_compiler(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O3")
    with pytest.raises(UserError, match="needs a C compiler: no no-such-compiler"):
        verify(compiled, None, 0)


def test_without_onnxruntime(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        assert name == "onnxruntime"

    monkeypatch.setattr("npu_tools.commands.compile.find_spec", missing)
    assert compile.main([str(small), "--target", "host", "--verify"]) == 1
    assert "needs onnxruntime" in capsys.readouterr().err


def test_distance_in_units_in_the_last_place() -> None:
    one = np.float32(1.0)
    values = np.array([0.0, -0.0, one, np.nextafter(one, np.float32(2.0))], np.float32)
    places = ordered(values)
    assert places[0] == places[1] == 0
    assert places[3] - places[2] == 1
    assert ordered(-values)[3] == -places[3]


@needs_compiler
def test_a_network_without_inputs(
    save: Callable[[ModelProto], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    weight = np.array([[-1.0, 2.0]], np.float32)
    graph = helper.make_graph(
        [helper.make_node("Relu", ["w"], ["y"], "relu1")],
        "net",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path = save(model)
    options = ["--target", "host", "-o", str(path.parent / "out"), "--verify"]
    assert compile.main([str(path), *options]) == 0, capsys.readouterr().err
    assert "0.000e+00 absolute" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("relative", "steps", "allowed", "close"),
    [
        (RELATIVE, None, 0, True),
        (RELATIVE * 1.01, None, 0, False),
        (1.0, 1.0, 1, True),
        (0.0, 2.0, 1, False),
        (1.0, 0.5, 0, True),
    ],
)
def test_what_is_close(relative: float, steps: float | None, allowed: int, close: bool) -> None:
    """For a quantised output the steps decide, for others the relative error."""
    assert OutputErrors("y", 0.0, relative, 0, steps, allowed).close is close
