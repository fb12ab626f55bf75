"""`npu-compile --emit`: files for CMake, Zephyr and Arduino, read by their tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.builds import HEADER, compiled, paths
from npu_tools.commands import compile
from npu_tools.integration import KINDS, integration_files, parse_kinds
from npu_tools.shared.errors import UserError
from npu_tools.shared.files import write_files


def test_default_is_the_c_and_the_report(small: Path) -> None:
    assert paths(compiled(small)) == ["net.c", "net.h", "report.json"]


def test_all_of_them(small: Path) -> None:
    out = compiled(small, "--emit=cmake,zephyr,arduino")
    assert paths(out) == [
        "CMakeLists.txt",
        "arduino/net/examples/net_once/net_once.ino",
        "arduino/net/keywords.txt",
        "arduino/net/library.properties",
        "arduino/net/src/net.c",
        "arduino/net/src/net.h",
        "net.c",
        "net.h",
        "report.json",
        "zephyr/CMakeLists.txt",
        "zephyr/Kconfig",
        "zephyr/module.yml",
    ]
    for name in ("net.c", "net.h"):
        assert (out / "arduino/net/src" / name).read_bytes() == (out / name).read_bytes()
    first = {path: (out / path).read_bytes() for path in paths(out)}
    assert all(content.isascii() for content in first.values())
    assert all(content.endswith(b"\n") for content in first.values())
    # A second run over the existing files writes the same bytes.
    assert paths(compiled(small, "--emit", "arduino,cmake", "--emit=zephyr,cmake,arduino"))
    assert {path: (out / path).read_bytes() for path in paths(out)} == first


def test_files_of_others_stay(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = small.parent / "out"
    out.mkdir()
    mine = out / "CMakeLists.txt"
    mine.write_text("project(mine)\n")
    arguments = [str(small), "--target", "host", "-o", str(out), "--emit=cmake,zephyr"]
    assert compile.main(arguments) == 1
    assert "CMakeLists.txt: --emit would write over" in capsys.readouterr().err
    assert paths(out) == ["CMakeLists.txt"]
    assert mine.read_text() == "project(mine)\n"


def test_what_does_not_exist() -> None:
    assert parse_kinds("zephyr, cmake,zephyr") == ("cmake", "zephyr")
    for text in ("make", "cmake,", ""):
        with pytest.raises(UserError, match="expected some of cmake, zephyr, arduino"):
            parse_kinds(text)


def test_a_plan_has_no_c(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = [str(small), "--target", "host", "-o", str(small.parent / "out")]
    assert compile.main([*run, "--plan-as", "i8", "--emit=cmake"]) == 1
    assert "there is no C" in capsys.readouterr().err
    assert not (small.parent / "out").exists()


def test_a_failure_leaves_no_folders(tmp_path: Path) -> None:
    (tmp_path / "out/b").mkdir(parents=True)
    with pytest.raises(UserError, match="cannot write"):
        write_files(tmp_path / "out", {"a/x/1": "1", "b": "2"})
    assert paths(tmp_path) == []
    assert not (tmp_path / "out/a").exists()


def test_long_names(tmp_path: Path) -> None:
    name = "n" * 100
    header = HEADER.replace("NET", name.upper()).replace("net_run", f"{name}_run")
    files: dict[str, str | bytes] = {f"{name}.c": "", f"{name}.h": header}
    for path in integration_files(tuple(KINDS), name, files, tmp_path):
        parts = path.split("/")
        if "arduino" in path and "src" not in parts:
            assert all(len(part.removesuffix(".ino")) <= 63 for part in parts)


def test_nothing_is_asked_of_a_plan() -> None:
    assert integration_files((), "net", {}, Path()) == {}
