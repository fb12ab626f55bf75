"""npu-quantize turns float networks into quantised ones that npu-compile accepts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper, numpy_helper

import npu_tools.quantizing.quantize_model
from helpers.paths import LENET5_FOLDER
from helpers.quantized.build import onnxruntime_says
from helpers.quantized.float_networks import SHAPE, resnet
from helpers.quantized.tool import inputs, quantised_small, rejected, save
from helpers.small_models import model_of, small_net
from npu_tools.commands.compile import main as compile_main
from npu_tools.commands.quantize import main

Array: TypeAlias = NDArray[Any]
EXAMPLE = LENET5_FOLDER
CUT = 100
"""Grey values below this count as 0 for the example's network."""


def digits() -> tuple[Array, Array]:
    """Pictures of digits that the example's network was not trained on, and their labels."""
    held = np.load(EXAMPLE / "heldout.npz")
    images = np.where(held["images"] < CUT, 0, held["images"]).astype(np.float32) / 255
    return images[:, None], held["labels"]


def top(proto: ModelProto, name: str, images: Array) -> list[int]:
    """The class that onnxruntime finds for each image."""
    return [int(onnxruntime_says(proto, {name: image[None]}).argmax()) for image in images]


def verified(capsys: pytest.CaptureFixture[str], name: str, images: Array) -> None:
    """Check that the C of a quantised network agrees with onnxruntime."""
    np.savez("verify.npz", allow_pickle=True, **{name: images})
    arguments = ["int8.onnx", "--target", "host", "-o", "out", "--verify=verify.npz"]
    code = compile_main(arguments)
    assert code == 0, capsys.readouterr().err


@pytest.mark.parametrize(("form", "activations"), [("qdq", "int8"), ("operators", "uint8")])
def test_lenet5(
    activations: str, form: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images, labels = digits()
    proto = ModelProto.FromString((EXAMPLE / "lenet5.onnx").read_bytes())
    arguments = save(folder, proto, image=images[:64])
    assert main([*arguments, "--format", form, "--activations", activations]) == 0
    result = ModelProto.FromString(Path("int8.onnx").read_bytes())
    found = top(result, "image", images[64:])
    assert np.mean(np.equal(found, top(proto, "image", images[64:]))) >= 0.98
    assert np.mean(np.equal(found, labels[64:])) >= 0.95
    verified(capsys, "image", images[64:72])


@pytest.mark.slow
def test_residual_network(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images = np.random.default_rng(1).standard_normal((96, *SHAPE[1:])).astype(np.float32)
    assert main(save(folder, resnet(), x=images[:32])) == 0
    result = ModelProto.FromString(Path("int8.onnx").read_bytes())
    same = np.equal(top(result, "x", images[32:]), top(resnet(), "x", images[32:]))
    assert same.mean() >= 0.9
    verified(capsys, "x", images[32:40])


def squeeze_and_excite() -> ModelProto:
    """A convolution whose channels get gates from their own means, and another convolution."""
    rng = np.random.default_rng(1)
    shapes = {"w": (8, 1, 3, 3), "squeeze": (2, 8, 1, 1), "excite": (8, 2, 1, 1), "v": (4, 8, 1, 1)}
    weights = {name: rng.normal(0, 0.4, shape).astype(np.float32) for name, shape in shapes.items()}
    steps = (
        *("c = Conv input w", "r = Relu c", "m = GlobalAveragePool r", "s = Conv m squeeze"),
        *("t = Relu s", "e = Conv t excite", "g = HardSigmoid e", "p = Mul r g", "y = Conv p v"),
    )
    nodes: list[NodeProto] = []
    for step in steps:
        result, _, op, *operands = step.split()
        nodes.append(helper.make_node(op, operands, [result], result))
    return model_of(nodes, weights, (1, 1, 8, 8), "y")


@pytest.mark.parametrize(("form", "activations"), [("qdq", "int8"), ("operators", "uint8")])
def test_gates_are_integers(
    activations: str, form: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The map of a squeeze-and-excite block stays in bytes, also where its gate multiplies it."""
    arguments = save(folder, squeeze_and_excite(), input=inputs())
    quantised_small(arguments, "--format", form, "--activations", activations)
    verified(capsys, "input", inputs(2))
    report = json.loads(Path("out/report.json").read_text())
    first, *inner, last = [layer["op"] for layer in report["layers"]]
    assert (first, last) == ("npu.quantize", "npu.dequantize")
    assert "npu.quantized_binary" in inner
    assert not {"npu.quantize", "npu.dequantize"} & set(inner)


def operators(proto: ModelProto) -> set[str]:
    """The set of operators in a model."""
    return {node.op_type for node in proto.graph.node}


def test_options(folder: Path) -> None:
    arguments = save(folder, small_net(), input=inputs())
    plain = quantised_small(arguments)
    assert {"QuantizeLinear", "DequantizeLinear", "Conv"} <= operators(plain)
    assert {opset.domain for opset in plain.opset_import} == {""}
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in plain.graph.initializer}
    assert weights["w1_scale"].shape == (3,)
    assert weights["input_zero_point"].dtype == np.int8
    assert quantised_small(arguments, "--per-channel") == plain
    weights = {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in quantised_small(arguments, "--per-tensor").graph.initializer
    }
    assert weights["w1_scale"].size == 1
    weights = {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in quantised_small(arguments, "--activations", "uint8").graph.initializer
    }
    assert weights["input_zero_point"].dtype == np.uint8
    found = operators(quantised_small(arguments, "--format", "operators"))
    assert {"QLinearConv", "QGemm"} <= found


def scales(proto: ModelProto) -> dict[str, float]:
    """The scales of maps by name."""
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
    return {
        name: float(array.reshape(-1)[0])
        for name, array in arrays.items()
        if name.endswith("_scale") and not name.startswith(("w", "b"))
    }


@pytest.mark.parametrize("method", ["mse", "percentile"])
def test_methods(method: str, folder: Path) -> None:
    samples = inputs(4000, (1, 8, 8))
    samples[0, 0, 0, 0], samples[-1, 0, 3, 3] = 5.0, -20.0
    arguments = [*save(folder, small_net("n"), input=samples), "--input-dim", "n=500"]
    plain = scales(quantised_small(arguments))
    assert plain["input_scale"] == pytest.approx(25 / 255)
    other = scales(quantised_small(arguments, "--method", method))
    assert plain.keys() == other.keys()
    assert all(other[name] <= 1.01 * plain[name] for name in plain)
    assert other["input_scale"] < 0.9 * plain["input_scale"]


@pytest.mark.slow
def test_the_same_bytes_each_time(folder: Path) -> None:
    arguments = save(folder, resnet(), x=inputs(4, SHAPE[1:]))
    quantised_small(arguments)
    first = Path("int8.onnx").read_bytes()
    for seed in "12":
        command = [sys.executable, "-m", "npu_tools.commands.quantize", *arguments]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        assert Path("int8.onnx").read_bytes() == first


def test_nothing_is_left_behind(folder: Path) -> None:
    arguments = save(folder, small_net(), input=inputs())
    quantised_small(arguments, "--method", "mse")
    assert sorted(os.listdir(folder)) == ["data.npz", "int8.onnx", "net.onnx"]
    assert os.listdir(tempfile.gettempdir()) == []


def test_nodes_in_float_are_named(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    quantised_small(save(folder, resnet(), x=inputs(4, SHAPE[1:])))
    assert [message.split(" of a")[0] for message in caplog.messages] == [
        "node 'the_softmax21' (Softmax)"
    ]


@pytest.mark.parametrize(
    "samples",
    [
        inputs(1, (1, 1, 8, 8))[0],
        inputs(5, (1, 1, 8, 8)),
        inputs(5).astype(np.float64),
        np.abs(9 * inputs(5)).astype(np.uint8),
    ],
)
def test_samples(samples: Array, folder: Path) -> None:
    quantised_small(save(folder, small_net(), input=samples, labels=np.zeros(3)))


def test_old_opsets_and_dynamic_batches(folder: Path) -> None:
    proto = small_net("batch")
    proto.opset_import[0].version = 11
    result = quantised_small(save(folder, proto, input=inputs(6)), "--input-dim", "batch=2")
    assert result.opset_import[0].version >= 13
    assert result.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 2


NAN = inputs()
NAN[3, 0, 2, 2] = np.nan
BAD_DATA: Mapping[str, tuple[dict[str, Any], str]] = {
    "name": ({"image": inputs()}, "no array 'input'; expected input, found image"),
    "none": ({}, "no array 'input'; expected input, found none"),
    "shape": (
        {"input": inputs(8, (1, 8, 9))},
        "array 'input' has shape [8, 1, 8, 9]; expected samples of shape [1, 1, 8, 8]",
    ),
    "rank": ({"input": inputs(8, (8, 8))}, "array 'input' has shape [8, 8, 8]; expected samples"),
    "empty": ({"input": inputs(0)}, "array 'input' has shape [0, 1, 8, 8]; expected samples"),
    "constant": ({"input": inputs() * 0 + 3}, "array 'input' holds 3.0 only; expected typical"),
    "nan": ({"input": NAN}, "array 'input' holds nan in sample 3; expected finite"),
    "large": ({"input": inputs().astype(np.float64) * 1e300}, "in sample 0; expected finite"),
    "text": ({"input": np.full((1, 1, 8, 8), "a")}, "holds <U1 elements; expected float32"),
    "complex": ({"input": inputs() * 1j}, "holds complex64 elements; expected float32"),
    "object": ({"input": np.array([None])}, "expected an .npz file of numbers"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data(case: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrays, part = BAD_DATA[case]
    rejected(folder, capsys, save(folder, small_net(), **arrays), "data.npz: ", part)


def test_bad_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = save(folder, small_net(), input=inputs())
    rejected(folder, capsys, ["none.onnx", *arguments[1:]], "none.onnx: ")
    rejected(folder, capsys, ["data.npz", *arguments[1:]], "unknown file extension")
    rejected(folder, capsys, [*arguments[:3], "-o", "."], "expected a name that ends with .onnx")
    rejected(folder, capsys, [*arguments[:3], "-o", "no/where.onnx"], "no such folder")
    rejected(folder, capsys, [*arguments[:3], "-o", "net.onnx"], "expected another file")
    rejected(folder, capsys, [arguments[0], "--calibrate", "none.npz", "-o", "y.onnx"], "none.npz")
    for wrong in ("net.onnx", "torn.npz"):
        (folder / "torn.npz").write_bytes((folder / "data.npz").read_bytes()[:300])
        changed = [arguments[0], "--calibrate", wrong, *arguments[3:]]
        rejected(folder, capsys, changed, f"{wrong}: expected an .npz file")
    (folder / "net.onnx").write_bytes(b"nothing")
    rejected(folder, capsys, arguments, "net.onnx: not an ONNX model")


def test_bad_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = save(folder, small_net(), input=inputs())
    rejected(folder, capsys, [], "required: model, --calibrate, -o")
    rejected(folder, capsys, [*arguments, "--per-channel", "--per-tensor"], "not allowed with")
    for option in ("--format", "--activations", "--method"):
        rejected(folder, capsys, [*arguments, option, "other"], f"{option}: invalid choice")
    rejected(folder, capsys, [*arguments, "--input-dim", "x"], "--input-dim x: expected name=N")


def test_bad_models(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = save(folder, small_net("batch"), input=inputs())
    rejected(folder, capsys, arguments, "net.onnx: input 'input' has the dynamic dim 'batch'")
    only = model_of([helper.make_node("Relu", ["input"], ["y"], "r")], {}, (1, 4), "y")
    arguments = save(folder, only, input=inputs(2, (4,)))
    rejected(
        folder, capsys, arguments, "net.onnx: nothing to quantise; expected Conv, Gemm, MatMul"
    )
    unknown = model_of([helper.make_node("Det", ["input"], ["y"], "r")], {}, (1, 4), "y")
    assert main(save(folder, unknown, input=inputs(2, (4,)))) == 1
    assert "net.onnx: node 'r' (Det): the operator is not supported" in capsys.readouterr().err
    arguments = save(folder, small_net(), input=inputs())
    (folder / "net.onnx").write_bytes(quantised_small(arguments).SerializeToString())
    (folder / "int8.onnx").unlink()
    capsys.readouterr()
    rejected(folder, capsys, arguments, "Linear): the model is quantised already")


def test_numbers_that_are_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for value, part in (
        (np.nan, "node 'conv1' (Conv): tensor 'w1' holds infinite numbers, or what is none"),
        (1e38, "is not finite on the calibration data; expected finite numbers"),
    ):
        proto = small_net()
        weight = np.full((3, 1, 3, 3), value, np.float32)
        proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(weight, "w1"))
        arguments = save(folder, proto, input=inputs() + 9)
        rejected(folder, capsys, arguments, "net.onnx: ", part)


def masked() -> ModelProto:
    """A dense layer whose scores, bounded by 0 and infinity, get a mask of minus infinity."""
    mask = np.triu(np.full((4, 4), -np.inf, np.float32), 1)
    weight = np.random.default_rng(2).standard_normal((4, 4), np.float32)
    bounds = {"zero": np.zeros((), np.float32), "most": np.array(np.inf, np.float32)}
    nodes = [
        helper.make_node("MatMul", ["input", "w"], ["scores"], "dense"),
        helper.make_node("Clip", ["scores", "zero", "most"], ["bounded"], "bounds"),
        helper.make_node("Add", ["bounded", "mask"], ["masked"]),
        helper.make_node("Transpose", ["masked"], ["turned"], perm=[0, 2, 1]),
        helper.make_node("Softmax", ["turned"], ["shares"], "shares"),
        helper.make_node("MatMul", ["shares", "w"], ["mixed"], "mix"),
    ]
    weights: dict[str, Array] = {"w": weight, "mask": mask, **bounds}
    return model_of(nodes, weights, (1, 4, 4), "mixed")


@pytest.mark.parametrize(("form", "kept"), [("qdq", "MatMul"), ("operators", "QLinearMatMul")])
def test_infinite_constants(
    form: str, kept: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = save(folder, masked(), input=inputs(8, (4, 4)))
    result = quantised_small(arguments, "--format", form, "--json")
    report = json.loads(capsys.readouterr().out)
    assert report["warnings"] == []
    assert report["calibration"]["outputs"][0]["snr_db"] > 30
    assert {each["name"]: each["snr_db"] for each in report["layers"]}["masked"] > 30
    by_output = {node.output[0]: node for node in result.graph.node}
    assert by_output["masked"].input[1] == "mask"
    assert by_output["turned"].input[0] == "masked"
    assert [node.op_type for node in result.graph.node].count(kept) == 2
    capsys.readouterr()
    verified(capsys, "input", inputs(2, (4, 4)))


def test_infinite_maps_have_no_percentile(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*save(folder, masked(), input=inputs(8, (4, 4))), "--method", "percentile"]
    part = "constants make map 'masked' infinite, which has no percentile; expected --method minmax"
    rejected(folder, capsys, arguments, part)


@pytest.mark.parametrize("form", ["qdq", "operators"])
def test_names_that_the_quantiser_gives(form: str, folder: Path) -> None:
    quantised_small(save(folder, small_net(), input=inputs()), "--format", form)
    expected = Path("int8.onnx").read_bytes()
    proto = small_net()
    for tensor, name in zip(proto.graph.initializer, ("r1_scale", "c1_zero_point"), strict=False):
        for node in proto.graph.node:
            for index, read in enumerate(node.input):
                node.input[index] = name if read == tensor.name else read
        tensor.name = name
    result = quantised_small(save(folder, proto, input=inputs()), "--format", form)
    feeds = {"input": inputs()[:1]}
    np.testing.assert_array_equal(
        onnxruntime_says(result, feeds),
        onnxruntime_says(ModelProto.FromString(expected), feeds),
    )


@pytest.mark.parametrize("form", ["qdq", "operators"])
def test_operands_that_are_left_out(form: str, folder: Path) -> None:
    proto = small_net()
    proto.graph.node[0].input[2] = ""
    quantised_small(save(folder, proto, input=inputs()), "--format", form)


def test_what_onnxruntime_refuses(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        (Path(tempfile.mkdtemp(dir=folder / ".." / "temporary")) / "half").touch()
        raise AssertionError

    arguments = save(folder, small_net(), input=inputs())
    monkeypatch.setattr("onnxruntime.quantization.QDQQuantizer.quantize_model", refuse)
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert said == (
        "npu-quantize: error: net.onnx: onnxruntime cannot quantise it: AssertionError\n"
    )
    assert not (folder / "int8.onnx").exists()


def test_without_onnxruntime(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_: str) -> None:
        return None

    monkeypatch.setattr(npu_tools.quantizing.quantize_model, "find_spec", missing)
    arguments = save(folder, small_net(), input=inputs())
    rejected(folder, capsys, arguments, "needs onnxruntime: pip install 'npu-dialect[quantize]'")
