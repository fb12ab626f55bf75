"""npu-run: inputs from files or at random, printed and written outputs, clear errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from npu_tools.commands.run import main

MODULE = """
func.func @f(%a: tensor<2xf32> {npu.name = "file"}, %b: tensor<2xf32>)
    -> (tensor<2xf32> {npu.name = "sum/out"}) {
  %0 = npu.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""
A, B = np.array([1, 2], np.float32), np.array([3, 4.5], np.float32)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "f.mlir"
    path.write_text(MODULE)
    np.save(tmp_path / "a.npy", A)
    np.save(tmp_path / "b.npy", B)
    (tmp_path / "junk.npy").write_text("junk")
    functions = ("@f", "@g", "private @h")
    many = "\n".join(f"func.func {name}() {{\n func.return\n}}" for name in functions)
    (tmp_path / "many.mlir").write_text(many)
    (tmp_path / "bad.mlir").write_text("func.func @f(")
    np.savez(tmp_path / "ab.npz", input1=B, other=A)
    return path


def test_inputs_from_npy(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = module.parent
    args = [str(module), "--input", str(folder / "a.npy"), "--input", str(folder / "b.npy")]
    assert main([*args, "-o", str(folder / "out.npz")]) == 0
    assert capsys.readouterr().out == "sum/out: float32 [2]\n[4.  6.5]\n"
    with np.load(folder / "out.npz") as archive:
        np.testing.assert_array_equal(archive["sum/out"], A + B)
    assert main([str(module), "--function", "f", "--seed", "1"]) == 0
    first = capsys.readouterr().out
    assert main([str(module), "--seed", "1"]) == 0
    assert capsys.readouterr().out == first
    assert main([str(module), "--seed", "2"]) == 0
    assert capsys.readouterr().out != first


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["f.mlir", "--input", "a.npy"], "f: expected 2 inputs, got 1"),
        (["f.mlir", "--inputs", "ab.npz"], "file missing, the file has input1, other"),
        (["f.mlir", "--inputs", "a.npy"], "a.npy: expected an .npz file"),
        (["f.mlir", "--input", "ab.npz"], "ab.npz: expected an .npy file"),
        (["f.mlir", "--input", "junk.npy"], "junk.npy: expected an .npy file"),
        (["f.mlir", "--input", "a.npy", "--inputs", "ab.npz"], "expected --input or --inputs"),
        (["f.mlir", "--function", "g"], "expected a function @g, the module has @f"),
        (["many.mlir"], "expected one public function, the module has @f, @g\n"),
        (["many.mlir", "--function", "i"], "a function @i, the module has @f, @g, @h\n"),
        (["f.mlir", "--seed", "x"], "expected an integer of at least 0, got 'x'"),
        (["a.npy"], "a.npy: not MLIR text: byte 0 is not UTF-8"),
        (["bad.mlir"], "bad.mlir:1:14"),
        (["none.mlir"], "none.mlir: No such file or directory"),
    ],
)
def test_errors(
    module: Path, args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = module.parent
    paths = [str(folder / arg) if "." in arg else arg for arg in args]
    assert main(paths) == 1
    error = capsys.readouterr().err
    assert error.startswith("npu-run: error: ")
    assert message in error
