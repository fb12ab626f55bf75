"""npu-opt as a program: start-up, standard input, output files, flags of xdsl-opt."""

import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from npu_tools.commands import opt
from npu_tools.universe import PASSES

BAD = (
    "func.func @f(%x: tensor<4xf32>) {\n"
    "  %y = npu.relu %x : tensor<4xf32> -> tensor<5xf32>\n  func.return\n}\n"
)


def npu_opt(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run npu-opt in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "npu_tools.commands.opt", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
    )


def test_onnx_on_standard_input(small: Path) -> None:
    done = npu_opt("-f", "onnx", "--elide-weights", stdin=small.read_bytes())
    assert done.returncode == 0, done.stderr
    assert b"npu.conv2d" in done.stdout
    assert b"dense_resource<__elided__>" in done.stdout


def test_input_dim(dynamic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.main([str(dynamic), "--input-dim", "batch=3"]) == 0
    assert "tensor<3x1x8x8xf32>" in capsys.readouterr().out


def test_output_file_is_what_is_printed(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = small.parent / "out.mlir"
    assert opt.main([str(small), "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert opt.main([str(small)]) == 0
    assert capsys.readouterr().out == out.read_text()
    assert opt.main([str(out)]) == 0
    assert capsys.readouterr().out == out.read_text()


def test_output_file_survives_a_failure(tmp_path: Path) -> None:
    (tmp_path / "bad.mlir").write_text(BAD)
    out = tmp_path / "out.mlir"
    out.write_text("what was there")
    assert opt.main([str(tmp_path / "bad.mlir"), "-o", str(out)]) == 1
    assert out.read_text() == "what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.mlir", "out.mlir"]


def test_output_to_a_device(small: Path) -> None:
    assert opt.main([str(small), "-o", "/dev/null"]) == 0
    assert Path("/dev/null").is_char_device()


def test_diagnostics_of_split_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.mlir").write_text(f"{BAD}// -----\n{BAD}// -----\nfunc.func @f( {{\n")
    flags = ["--verify-diagnostics", "--parsing-diagnostics", "--split-input-file"]
    assert opt.main([str(tmp_path / "bad.mlir"), *flags]) == 0
    said = capsys.readouterr().out
    assert said.count("Operation does not verify: expected an output of shape [4]") == 2
    assert "bad.mlir:11" in said


def test_help_lists_passes_and_pipelines(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        opt.main(["--help"])
    assert left.value.code == 0
    words = re.sub(r"\s+", "", capsys.readouterr().out)
    for name in (*PASSES, "unlu2020:", "--pass-pipeline", "--elide-weights"):
        assert name in words


def test_starts_quickly() -> None:
    text = b"func.func @f() {\n  func.return\n}\n"
    npu_opt(stdin=text)
    times: list[float] = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        npu_opt(stdin=text)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    # Processor time, as tests run in parallel. It was 0.25 s when this was written.
    assert min(times) < 0.6


def test_ops_of_xdsl_that_do_not_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "load.mlir"
    path.write_text(
        "func.func @f(%m: memref<4xf32>) -> f32 {\n"
        "  %0 = memref.load %m[] : memref<4xf32>\n  func.return %0 : f32\n}\n"
    )
    assert opt.main([str(path)]) == 1
    text = "the input does not verify: expected an index for each dimension"
    assert capsys.readouterr().err == f"npu-opt: error: {path}: {text}\n"
