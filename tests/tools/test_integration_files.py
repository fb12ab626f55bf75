"""`npu-compile --emit`: files for CMake, Zephyr and Arduino, read by what they are for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from npu_tools import compile
from npu_tools.errors import UserError
from npu_tools.files import write_files
from npu_tools.integration import KINDS, integration_files, parse_kinds
from npu_tools.integration.network import Network

HEADER = """\
#include <stdint.h>
#define NET_ARENA_BYTES 64
#define NET_X_OFFSET 0
#define NET_X_ELEMENTS 4
#define NET_Y_OFFSET 16
#define NET_Y_ELEMENTS 4
#define NET_WEIGHTS_BYTES 12
#ifdef __cplusplus
extern "C" {
#endif
int net_run(const int8_t *x, int8_t *y, void *arena);
#ifdef __cplusplus
}
#endif
"""
FILES: Mapping[str, str | bytes] = {
    "net.c": '#include "net.h"\n#include <math.h>\n',
    "net.h": HEADER,
    "net_weights.bin": b"123",
}


def network_of(files: Mapping[str, str | bytes]) -> Network:
    """The network `net` of some files."""
    return Network("net", files)


def compiled(small: Path, *more: str) -> Path:
    """Compile the small network; the output folder."""
    out = small.parent / "out"
    assert compile.main([str(small), "--target", "host", "-o", str(out), *more]) == 0
    return out


def run(*command: object, **more: Any) -> str:
    """Run a program that has to succeed; what it says."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **more
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-1500:]
    return done.stdout


def paths(folder: Path) -> list[str]:
    """All files below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


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
    # Again, over what is there: the same bytes.
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


# CMake


def needs(tool: str) -> str:
    """The path of a tool; without it the test is skipped, or fails if CI=true."""
    path = shutil.which(tool)
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{tool} is not installed", pytrace=False)
        pytest.skip(f"{tool} is not installed")
    return path


MAIN = """\
#include "net.h"
#include "test.h"
#ifdef __cplusplus
#define ALIGNED alignas(16)
#else
#define ALIGNED _Alignas(16)
#endif
int main(void) {
  ALIGNED static unsigned char a[NET_ARENA_BYTES], b[TEST_ARENA_BYTES];
  float *const x = (float *)(void *)a, *const y = (float *)(void *)b;
  return net_run(x, x, a) + test_run(y, y, b);
}
"""


@pytest.mark.parametrize("language", ["C", "CXX"])
def test_cmake_builds_two_networks(small: Path, language: str) -> None:
    cmake, top = needs("cmake"), small.parent
    compiled(small, "--emit=cmake")
    # A network with the name of a target of CMake's own.
    other = [str(small), "--target", "host", "--prefix", "test", "-o", str(top / "other")]
    assert compile.main([*other, "--emit=cmake"]) == 0
    main = f"main.{'c' if language == 'C' else 'cc'}"
    (top / main).write_text(MAIN)
    (top / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\n"
        f"project(app {language})\n"
        "enable_testing()\n"
        "add_subdirectory(out)\n"
        "add_subdirectory(other)\n"
        f"add_executable(app {main})\n"
        "set_property(TARGET app PROPERTY CXX_STANDARD 17)\n"
        "target_link_libraries(app PRIVATE npu::net test_network -Wl,--fatal-warnings)\n"
    )
    said = run(cmake, "-S", top, "-B", top / "build", "-Werror=dev", "-DCMAKE_C_FLAGS=-Werror")
    assert "Warning" not in said
    said = run(cmake, "--build", top / "build", "--verbose")
    assert "-std=c99" in said
    run(top / "build/app")


def test_cmake_builds_a_network_by_itself(small: Path) -> None:
    cmake = needs("cmake")
    out = compiled(small, "--emit=cmake", "--prefix=alone", "--weights=bin")
    run(cmake, "-S", out, "-B", out / "build")
    run(cmake, "--build", out / "build")
    assert (out / "build/libalone.a").exists()
    assert f"={out}/alone_weights.bin\n" in (out / "build/CMakeCache.txt").read_text()


# Zephyr


def test_zephyr_module() -> None:
    yaml: Any = pytest.importorskip("yaml")
    files = KINDS["zephyr"](network_of(FILES))
    module = yaml.safe_load(files["zephyr/module.yml"])
    # The keys that Zephyr's schema of module.yml knows, and paths below the module.
    assert module == {"name": "net", "build": {"cmake": "zephyr", "kconfig": "zephyr/Kconfig"}}
    assert f"{module['build']['cmake']}/CMakeLists.txt" in files
    assert module["build"]["kconfig"] in files


def test_zephyr_kconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kconfiglib: Any = pytest.importorskip("kconfiglib")
    write_files(tmp_path, KINDS["zephyr"](network_of(FILES)))
    (tmp_path / "Kconfig").write_text('mainmenu "app"\nsource "zephyr/Kconfig"\n')
    monkeypatch.setenv("srctree", str(tmp_path))
    config = kconfiglib.Kconfig("Kconfig", warn_to_stderr=False)
    assert config.warnings == []
    symbol = config.syms["NPU_NET"]
    assert symbol.str_value == "n"
    symbol.set_value("y")
    assert symbol.str_value == "y"
    text = symbol.nodes[0].help
    assert "arena of 64 bytes" in text
    assert "file of 12 bytes" in text


ZEPHYR = """\
cmake_minimum_required(VERSION 3.13)
project(app C)
function(zephyr_library_named name)
  add_library(${name} STATIC)
  set(ZEPHYR_CURRENT_LIBRARY ${name} PARENT_SCOPE)
endfunction()
function(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()
add_library(zephyr_interface INTERFACE)
function(zephyr_include_directories)
  target_include_directories(zephyr_interface INTERFACE ${ARGN})
endfunction()
set(CONFIG_NPU_NET @)
add_subdirectory(out/zephyr)
add_executable(app main.c)
target_link_libraries(app PRIVATE npu_net zephyr_interface m)
"""


@pytest.mark.parametrize("set_to", ["y", '""'])
def test_zephyr_cmake(small: Path, set_to: str) -> None:
    """What Zephyr's functions do, in a few lines; the library is there if it is asked for."""
    cmake, top = needs("cmake"), small.parent
    compiled(small, "--emit=zephyr")
    (top / "CMakeLists.txt").write_text(ZEPHYR.replace("@", set_to))
    (top / "main.c").write_text(
        '#include "net.h"\nint main(void) { return net_run(0, 0, 0) == 1 ? 0 : 1; }\n'
    )
    run(cmake, "-S", top, "-B", top / "build")
    if set_to == "y":
        run(cmake, "--build", top / "build")
        run(top / "build/app")
    else:
        assert "npu_net" not in run(cmake, "--build", top / "build", "--target", "help")


# Arduino

ARDUINO = """\
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
struct Printer {
  void begin(long) {}
  void print(const char *text) { printf("%s", text); }
  void print(int value) { printf("%d", value); }
  void println(double value) { printf("%g\\n", value); }
};
extern Printer Serial;
unsigned long micros();
"""


def properties(text: str) -> dict[str, str]:
    """Read a library.properties as Arduino's specification says: `#` comments, `key=value`."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert all("=" in line and line == line.strip() for line in lines)
    found = dict(line.split("=", 1) for line in lines)
    assert len(found) == len(lines)
    return found


def test_arduino_library(small: Path) -> None:
    """The rules of Arduino's library specification, version 1.5 and newer."""
    root = compiled(small, "--emit=arduino") / "arduino/net"
    found = properties((root / "library.properties").read_text())
    required = "name version author maintainer sentence paragraph category url architectures"
    assert found.keys() == {*required.split(), "includes"}
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}", found["name"])
    assert root.name == found["name"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", found["version"])
    assert found["category"] == "Data Processing"
    assert (root / "src" / found["includes"]).is_file()
    assert found["architectures"] == "*"
    for line in (root / "keywords.txt").read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"\w+\t(KEYWORD[123]|LITERAL[12])", line)
    for sketch in (root / "examples").iterdir():
        assert (sketch / f"{sketch.name}.ino").is_file()


def test_arduino_sketch_compiles_and_runs(small: Path, tmp_path: Path) -> None:
    """As Arduino does it: the library as C, the sketch as C++ behind Arduino.h."""
    compiler = needs("g++")
    root = compiled(small, "--emit=arduino") / "arduino/net"
    (tmp_path / "Arduino.h").write_text(ARDUINO)
    sketch = (root / "examples/net_once/net_once.ino").read_text()
    (tmp_path / "sketch.cpp").write_text(
        f"#include <Arduino.h>\n{sketch}\nPrinter Serial;\n"
        "unsigned long micros() { return 5; }\nint main() { setup(); loop(); }\n"
    )
    include = ("-I", tmp_path, "-I", root / "src")
    warnings = ("-Wall", "-Wextra", "-Werror", "-pedantic")
    run("gcc", "-std=gnu11", "-c", *include, root / "src/net.c", "-o", tmp_path / "net.o")
    command = (compiler, "-std=gnu++17", "-fno-exceptions", *warnings, *include)
    run(*command, tmp_path / "sketch.cpp", tmp_path / "net.o", "-lm", "-o", tmp_path / "sketch")
    said = run(tmp_path / "sketch").splitlines()
    assert said[0] == "net_run: 0 (0 is good), microseconds: 0"
    assert len(said) == 1 + 4


def test_sketches_only_where_all_is_in_the_arena() -> None:
    def sketches(header: str) -> list[str]:
        files = KINDS["arduino"](network_of({**FILES, "net.h": header}))
        return [path for path in files if path.endswith(".ino")]

    assert len(sketches(HEADER)) == 1
    for old, new in (
        ("void *arena)", "void *arena, const void *weights)"),
        ("#define NET_Y_OFFSET 16\n", ""),
        ("int8_t *y", "int8_t y"),
    ):
        assert sketches(HEADER.replace(old, new)) == []


def test_names_that_are_reserved_to_arduino(tmp_path: Path) -> None:
    header = HEADER.replace("NET", "ARDUINO_NET").replace("net_run", "arduino_net_run")
    files: dict[str, str | bytes] = {"arduino_net.c": "", "arduino_net.h": header}
    found = integration_files(("arduino",), "arduino_net", files, tmp_path)
    properties = found["arduino/npu_arduino_net/library.properties"]
    assert "\nname=npu_arduino_net\n" in properties
    assert "\nincludes=arduino_net.h\n" in properties


def test_long_names(tmp_path: Path) -> None:
    name = "n" * 100
    header = HEADER.replace("NET", name.upper()).replace("net_run", f"{name}_run")
    files: dict[str, str | bytes] = {f"{name}.c": "", f"{name}.h": header}
    for path in integration_files(tuple(KINDS), name, files, tmp_path):
        parts = path.split("/")
        if "arduino" in path and "src" not in parts:
            assert all(len(part.removesuffix(".ino")) <= 63 for part in parts)
