"""Files that are no models, wrong models, and damaged files."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, SparseTensorProto, TensorProto, helper, numpy_helper

from helpers.onnx_models import Array, int64, model, node, numbers, rejected
from npu_tools.importers.onnx import import_file, import_model
from npu_tools.shared.errors import UserError


@pytest.mark.parametrize("data", [b"", b"hello, world", b"\x00" * 64, b"\x89PNG\r\n\x1a\n" * 9])
def test_other_files(data: bytes) -> None:
    rejected(data, "ONNX model")


def test_versions() -> None:
    def with_opset(version: int) -> ModelProto:
        proto = model([node("Relu", "x")], {"x": (2,)})
        proto.opset_import[0].version = version
        return proto

    rejected(with_opset(0), "opset 0; expected 1 to ")
    rejected(with_opset(999), "opset 999; expected 1 to ")
    proto = with_opset(13)
    proto.ir_version = 99
    rejected(proto, "IR version 99; expected 3 to ")
    proto = with_opset(13)
    proto.opset_import.append(helper.make_opsetid("ai.onnx", 12))
    rejected(proto, "the model imports 2 versions of the ai.onnx operators; expected one")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (TensorProto.FLOAT16, "float16"),
        (TensorProto.DOUBLE, "float64"),
        (TensorProto.STRING, "string"),
        (TensorProto.INT16, "int16"),
        (TensorProto.BFLOAT16, "bfloat16"),
    ],
)
def test_element_types_of_inputs(kind: int, name: str) -> None:
    proto = model([node("Relu", "x")], {"x": (2,)}, kind=kind)
    rejected(proto, f"input 'x' holds {name} elements; expected float32")


@pytest.mark.parametrize("kind", ["float16", "float64", "int8", "uint8", "int32"])
def test_element_types_of_weights(kind: str) -> None:
    weights: dict[str, Array] = {"w": np.ones((2, 3), kind)}
    proto = model([node("MatMul", "x w")], {"x": (1, 2)}, weights=weights)
    rejected(proto, "node 'the_MatMul' (MatMul)", f"'w' holds {kind} elements; expected float32")


def test_names_that_are_no_text() -> None:
    proto = model([node("Relu", "x", name="the_name")], {"x": (2,)})
    rejected(proto.SerializeToString().replace(b"the_name", b"\xffhe_name"), "is no UTF-8")


def test_element_types_without_numpy() -> None:
    proto = model([node("Add", "x w")], {"x": (2,)})
    texts = TensorProto(name="w", data_type=TensorProto.STRING, dims=[2], string_data=[b"a", b"b"])
    proto.graph.initializer.append(texts)
    rejected(proto, "tensor 'w' holds string elements; expected float32")
    proto.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(numbers(2), "w"))
    rejected(proto, "output 'y' holds int64 elements; expected float32")


def test_types_of_inputs() -> None:
    proto = model([node("Relu", "x")], {"x": (2,)})
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    rejected(proto, "input 'x' has no shape; expected one of known rank")
    proto.graph.input[0].ClearField("type")
    rejected(proto, "input 'x' is a value without a type; expected a float32 tensor")
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, [2]))
    proto.graph.input[0].type.CopyFrom(kind)
    rejected(proto, "input 'x' is a sequence_type; expected a float32 tensor")


@pytest.mark.parametrize("extent", [0, -1])
def test_dims_below_one(extent: int) -> None:
    proto = model([node("Relu", "x")], {"x": (2, extent)})
    rejected(proto, f"input 'x' has {extent} elements along dim 1; expected at least 1")


def test_absurd_dims() -> None:
    proto = model([node("Relu", "x")], {"x": (2**20, 2**20)})
    rejected(proto, "input 'x' has more than 2147483647 elements")
    rejected(
        model([node("Relu", "x")], {"x": (1,) * 99}), "input 'x' has 99 dims; expected at most"
    )
    proto = model([node("Add", "x z")], {"x": (2**20, 1), "z": (1, 2**20)})
    rejected(proto, "node 'the_Add' (Add): a map of shape [1048576, 1048576] has more than")


def test_graphs() -> None:
    shapes = {"x": (2,)}
    rejected(model([], shapes, ()), "the graph is empty")
    rejected(model([], shapes), "output 'y' is not defined")
    proto = model([node("Add", "x b", "a"), node("Relu", "a", "b")], shapes, ("b",))
    rejected(proto, "the graph has a cycle: 'the_Add' -> 'the_Relu' -> 'the_Add'")
    rejected(model([node("Relu", "z")], shapes), "node 'the_Relu' (Relu) reads 'z', which is not")
    proto = model([node("Relu", "x"), node("Exp", "x")], shapes)
    rejected(proto, "node 'the_Exp' (Exp) defines 'y' a second time")
    proto = model([node("Relu", "x", "x")], shapes, ("x",))
    rejected(proto, "defines 'x' a second time")
    proto = model([node("Relu", "x")], shapes)
    proto.graph.output.append(proto.graph.output[0])
    rejected(proto, "output 'y' is listed twice")
    proto = model([node("Relu", "x")], shapes)
    proto.graph.input.append(proto.graph.input[0])
    rejected(proto, "input 'x' is listed twice")
    proto = model([node("Add", "x w")], shapes, weights={"w": numbers(2)})
    proto.graph.initializer.append(proto.graph.initializer[0])
    rejected(proto, "initialiser 'w' is listed twice")


def test_declared_shapes() -> None:
    proto = model([node("Relu", "x")], {"x": (2, 3)}, {"y": (2, 4)})
    rejected(proto, "output 'y' is declared with shape [2, 4]; its node gives [2, 3]")
    proto = model([node("Relu", "x")], {"x": (2, 3)}, {"y": ("n", 3, 1)})
    rejected(proto, "output 'y' is declared with shape ['n', 3, 1]")


def test_nodes_that_break_the_schema() -> None:
    rejected(model([node("Relu", "x x")], {"x": (2,)}), "node 'the_Relu' (Relu): ", "input")
    rejected(model([node("Relu", "x", alpha=1)], {"x": (2,)}), "alpha")
    rejected(model([node("Flatten", "x", axis=1.5)], {"x": (2, 2)}), "axis")
    rejected(model([node("Relu", "")], {"x": (2,)}), "node 'the_Relu' (Relu): ")


def test_weights_of_wrong_size() -> None:
    proto = model([node("Add", "x w")], {"x": (2,)}, weights={"w": numbers(2)})
    weight = proto.graph.initializer[0]
    weight.raw_data = b"\0" * 7
    rejected(proto, "tensor 'w' of shape [2] holds 7 bytes of data; expected 8")
    weight.ClearField("raw_data")
    weight.float_data.extend([1.0, 2.0, 3.0])
    rejected(proto, "tensor 'w' of shape [2] holds 3 elements; expected 2")
    weight.dims[0] = 2**62
    rejected(proto, "tensor 'w' of shape [4611686018427387904] holds 3 elements")
    weight.dims[0] = -1
    rejected(proto, "tensor 'w' has dims [-1]; expected none below zero")
    weight.dims[0] = 0
    weight.ClearField("float_data")
    rejected(proto, "tensor 'w' has shape [0]; expected at least one element")


def test_sparse_initialisers() -> None:
    proto = model([node("Add", "x w")], {"x": (2,)})
    values, indices = (
        numpy_helper.from_array(numbers(1), "w"),
        numpy_helper.from_array(int64(1), "i"),
    )
    proto.graph.sparse_initializer.append(
        SparseTensorProto(values=values, indices=indices, dims=[2])
    )
    rejected(proto, "initialiser 'w' is sparse; expected dense initialisers")


def external(location: str, **fields: int) -> ModelProto:
    """A model whose weight of 8 bytes lies in a file."""
    proto = model([node("Add", "x w")], {"x": (2,)}, weights={"w": numbers(2)})
    weight = proto.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **fields}.items():
        weight.external_data.add(key=key, value=str(value))
    return proto


def import_in(folder: Path, proto: ModelProto) -> str:
    """Import a model that lies in a folder; the message if that fails."""
    path = folder / "net.onnx"
    path.write_bytes(proto.SerializeToString())
    try:
        import_file(path)
    except UserError as error:
        return str(error).removeprefix(f"{path}: ")
    return ""


def test_external_data(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "w.bin").write_bytes(b"\1" * 20)
    (tmp_path / "secret.bin").write_bytes(b"\1" * 20)
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "loop").symlink_to(folder / "loop")
    assert import_in(folder, external("data/w.bin")) == ""
    assert import_in(folder, external("data/w.bin", offset=12, length=8)) == ""
    for location, part in (
        ("data/none.bin", "external file 'data/none.bin' does not exist"),
        ("../secret.bin", "expected a path inside the folder of the model"),
        ("data/../../secret.bin", "expected a path inside the folder of the model"),
        (str(tmp_path / "secret.bin"), "expected a path inside the folder of the model"),
        ("C:\\secret.bin", "expected a path inside the folder of the model"),
        ("..\\secret.bin", "expected a path inside the folder of the model"),
        ("", "expected a path inside the folder of the model"),
        ("a\0b", "expected a path inside the folder of the model"),
        ("link.bin", "leads outside the folder of the model"),
        ("loop", "does not exist"),
        ("x" * 5000, "does not exist"),
        ("data", "is not a regular file"),
    ):
        message = import_in(folder, external(location))
        assert message.startswith("tensor 'w': external file '")
        assert part in message
    assert "too short: expected 8 bytes at offset 16, got 4" in import_in(
        folder, external("data/w.bin", offset=16)
    )
    assert "has 12 bytes of external data; expected 8" in import_in(
        folder, external("data/w.bin", length=12)
    )
    assert "external file 'data/w.bin' cannot be read" in import_in(
        folder, external("data/w.bin", offset=2**63)
    )
    assert "external offset '-1'; expected a number" in import_in(
        folder, external("data/w.bin", offset=-1)
    )
    rejected(external("w.bin"), "tensor 'w': external file 'w.bin' has no folder to lie in")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.onnx: cannot be read: No such file"):
        import_file(tmp_path / "none.onnx")


def network() -> ModelProto:
    """A network with weights, constants, shape arithmetic and windows."""
    nodes = [
        node("Conv", "x w b", "c", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("BatchNormalization", "c b b b v", "n"),
        node("Clip", "n low high", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2], ceil_mode=1),
        node("Shape", "p", "s"),
        node("Gather", "s zero", "g"),
        node("Concat", "g rest", "t", axis=0),
        node("Reshape", "p t", "f"),
        node("Gemm", "f m", "z", transB=1),
        node("Softmax", "z", "y"),
    ]
    weights: dict[str, Array] = {
        "w": numbers(2, 1, 3, 3),
        "b": numbers(2),
        "v": np.ones(2, np.float32),
        "low": np.array(0, np.float32),
        "high": np.array(6, np.float32),
        "zero": int64(0),
        "rest": int64(-1),
        "m": numbers(3, 18),
    }
    return model(nodes, {"x": (1, 1, 7, 7)}, {"y": (1, 3)}, weights)


def survives(data: bytes) -> bool:
    """Whether damaged bytes are still a model. Any exception but UserError fails the test."""
    try:
        import_model(data, name="bad", base_dir=None).verify()
    except UserError:
        return False
    return True


def test_truncated_files() -> None:
    data = network().SerializeToString()
    assert survives(data)
    for length in range(0, len(data), max(1, len(data) // 100)):
        assert not survives(data[:length])


def test_damaged_files() -> None:
    data = network().SerializeToString()
    chance = random.Random(7)
    for _ in range(400):
        damaged = bytearray(data)
        for _ in range(chance.choice([1, 1, 2, 8])):
            damaged[chance.randrange(len(data))] = chance.randrange(256)
        survives(bytes(damaged))
