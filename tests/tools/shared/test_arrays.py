"""Bad files of arrays give one message, in npu-run and in npu-compile --verify."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from npu_tools.commands import compile, run
from npu_tools.shared.arrays import read_npy, read_npz
from npu_tools.shared.errors import UserError

NUMBERS = np.arange(4096, dtype=np.float32)


def archive(**arrays: Any) -> bytes:
    """An .npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def single(array: Any) -> bytes:
    """An .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def flipped(data: bytes) -> bytes:
    """The bytes with one byte in the middle changed."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


GOOD = archive(input=NUMBERS)
BAD_ARCHIVES = {
    "empty": b"",
    "text": b"hello, I am no archive",
    "truncated": GOOD[: len(GOOD) // 2],
    "a flipped byte": flipped(GOOD),
    "objects": archive(input=np.array([{}], dtype=object)),
    "an .npy file": single(NUMBERS),
}
BAD_ARRAYS = {
    "empty": b"",
    "text": b"hello, I am no array",
    "truncated": single(NUMBERS)[:1000],
    "objects": single(np.array([{}], dtype=object)),
    "an .npz file": GOOD,
}


def test_arrays_come_back(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(GOOD)
    assert np.array_equal(read_npz(path)["input"], NUMBERS)
    path.write_bytes(single(NUMBERS))
    assert np.array_equal(read_npy(path), NUMBERS)


@pytest.mark.parametrize("what", BAD_ARCHIVES)
def test_bad_archives(
    what: str, small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.npz"
    path.write_bytes(BAD_ARCHIVES[what])
    with pytest.raises(UserError, match=r"in\.npz: expected an \.npz file"):
        read_npz(path)
    out = ["-o", str(tmp_path / "out")]
    assert run.main([str(small), "--inputs", str(path)]) == 1
    assert compile.main([str(small), "--target", "host", f"--verify={path}", *out]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("in.npz: expected an .npz file") == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("what", BAD_ARRAYS)
def test_bad_arrays(what: str, tmp_path: Path) -> None:
    path = tmp_path / "in.npy"
    path.write_bytes(BAD_ARRAYS[what])
    with pytest.raises(UserError, match=r"in\.npy: expected an \.npy file"):
        read_npy(path)


def test_verify_of_a_scalar(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], "relu1")],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    options = ["--target", "host", "-o", str(tmp_path / "out"), "--verify"]
    assert compile.main([str(path), *options]) == 0, capsys.readouterr().err
