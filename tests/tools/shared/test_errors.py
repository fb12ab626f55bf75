"""Every failure is one message: exceptions of foreign passes, interrupts, closed streams."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from npu_tools.commands import opt
from npu_tools.shared import files
from npu_tools.shared.errors import TRACEBACK, UserError, describe, guarded
from npu_tools.shared.installed import context

MLIR = "func.func @f() {\n  func.return\n}\n"


def raising(error: BaseException) -> Callable[[], NoReturn]:
    """The body of a tool that fails."""

    def body() -> NoReturn:
        raise error

    return body


def test_unforeseen_exceptions(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert guarded("tool", raising(ValueError("wrong\nand more")), lambda: "net.onnx") == 1
    said = capsys.readouterr().err
    assert said.startswith("tool: error: net.onnx: ValueError: wrong (shared/test_errors.py:")
    assert said.count("\n") == 1
    monkeypatch.setenv(TRACEBACK, "1")
    with pytest.raises(ValueError, match="wrong"):
        guarded("tool", raising(ValueError("wrong")))


def test_what_a_terminal_would_obey(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded("tool", raising(UserError("a\x1b[31mred\x07\n\tb é"))) == 1
    assert capsys.readouterr().err == "tool: error: a\\x1b[31mred\\x07\n\tb é\n"


def test_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded("tool", raising(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "tool: interrupted\n"


def test_somebody_elses_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "in.mlir", tmp_path / "out"
    path.write_text(MLIR)
    # xDSL lists this target, but has not implemented it.
    assert opt.main([str(path), "-t", "mps", "-o", str(out)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"npu-opt: error: {path}: NotImplementedError: ")
    assert said.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize("redirection", ["<&-", ">&-", "<&- >&-"])
def test_closed_streams(redirection: str, tmp_path: Path) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(MLIR)
    for arguments, code in (([str(path)], 0), (["-f", "onnx"], 1)):
        command = [sys.executable, "-m", "npu_tools.commands.opt", *arguments]
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {redirection}', "sh", *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env={key: value for key, value in os.environ.items() if key != TRACEBACK},
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        assert done.stderr.count("\n") == code


def test_interrupted_writing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_files(tmp_path / "a" / "b", {"one": "1", "two": "2"})
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match=r"file: expected a folder, this is a file"):
        files.write_files(tmp_path / "file", {"one": "1"})
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_folder_where_a_file_should_be(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match=r"cannot write .*folder: expected a file"):
        files.replaceable(tmp_path / "folder")


def test_a_diagnostic_names_its_layer_or_function() -> None:
    text = """
        func.func @f(%x: tensor<4xf32>) {
          %y = npu.relu %x {npu.layer = "r1"} : tensor<4xf32> -> tensor<4xf32>
          func.return
        }"""
    function = next(iter(Parser(context(), text).parse_module().ops))
    said: list[str] = []
    for op in list(function.walk())[:2]:
        with pytest.raises(PassFailedException) as caught:
            op.emit_error("too large", PassFailedException("too large"))
        said.append(describe(caught.value))
    assert said == ["func.func f: too large", 'npu.relu "r1": too large']
