"""`npu-compile --emit=arduino`: the library specification, arduino-builder, and g++."""

from __future__ import annotations

import re
from pathlib import Path

from helpers.builds import FILES, HEADER, compiled, needs, network_of, run
from npu_tools.integration import KINDS, integration_files

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
    """Read a library.properties by Arduino's specification: `#` comments, `key=value`."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert all("=" in line and line == line.strip() for line in lines)
    found = dict(line.split("=", 1) for line in lines)
    assert len(found) == len(lines)
    return found


def test_arduino_library(small: Path) -> None:
    """The library follows Arduino's library specification, version 1.5 and newer."""
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
    """Built as Arduino does: the library as C, the sketch as C++ behind Arduino.h."""
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


def test_copies_are_made_first() -> None:
    header = HEADER.replace(
        "#define NET_WEIGHTS", "int net_init(void *arena);\n#define NET_WEIGHTS"
    )
    files = KINDS["arduino"](network_of({**FILES, "net.h": header}))
    sketch = files["arduino/net/examples/net_once/net_once.ino"]
    assert sketch.index("net_init(arena);") < sketch.index("net_run(input_0, output_1, arena);")
    assert "net_init\tKEYWORD2" in files["arduino/net/keywords.txt"]
    assert "copies of constants are kept" in files["arduino/net/library.properties"]


def test_states_are_reset_first() -> None:
    state = "#define NET_H_OFFSET 32\n#define NET_H_ELEMENTS 4\nvoid net_reset(void *arena);\n"
    header = HEADER.replace("#define NET_WEIGHTS", state + "#define NET_WEIGHTS")
    files = KINDS["arduino"](network_of({**FILES, "net.h": header}))
    sketch = files["arduino/net/examples/net_once/net_once.ino"]
    assert sketch.index("net_reset(arena);") < sketch.index("net_run(input_0, output_1, arena);")
    assert "net_reset\tKEYWORD2" in files["arduino/net/keywords.txt"]
    assert "states are kept" in files["arduino/net/library.properties"]


def test_names_that_are_reserved_to_arduino(tmp_path: Path) -> None:
    header = HEADER.replace("NET", "ARDUINO_NET").replace("net_run", "arduino_net_run")
    files: dict[str, str | bytes] = {"arduino_net.c": "", "arduino_net.h": header}
    found = integration_files(("arduino",), "arduino_net", files, tmp_path)
    properties = found["arduino/npu_arduino_net/library.properties"]
    assert "\nname=npu_arduino_net\n" in properties
    assert "\nincludes=arduino_net.h\n" in properties


PLATFORM = """\
name=host
version=1.0.0
tools.ctags.cmd.path={ctags}
tools.ctags.pattern="{{cmd.path}}" -u --language-force=c++ -f - --c++-kinds=svpf \
--fields=KSTtzns --line-directives "{{source_file}}"
recipe.preproc.macros=g++ -E -x c++ -w {{includes}} "{{source_file}}" \
-o "{{preprocessed_file_path}}"
recipe.c.o.pattern=gcc -std=gnu11 -Wall -Werror -c {{includes}} "{{source_file}}" \
-o "{{object_file}}"
recipe.cpp.o.pattern=g++ -Wall -Werror -c {{includes}} "{{source_file}}" -o "{{object_file}}"
recipe.ar.pattern=ar rcs "{{archive_file_path}}" "{{object_file}}"
recipe.c.combine.pattern=g++ {{object_files}} "{{archive_file_path}}" -lm \
-o "{{build.path}}/program"
recipe.size.pattern=size "{{build.path}}/program"
recipe.size.regex=^\\s*([0-9]+)\\s+
"""
BOARDS = "pc.name=PC\npc.build.core=host\npc.build.board=PC\npc.build.variant=none\n"
CORE = """\
#include <Arduino.h>
Printer Serial;
unsigned long micros() { return 5; }
int main() { setup(); loop(); }
"""


def test_arduino_builder_finds_the_library(small: Path, tmp_path: Path) -> None:
    """The real tool reads library.properties, adds prototypes to the sketch, and builds `src/`."""
    builder, ctags = needs("arduino-builder"), needs("arduino-ctags")
    libraries = compiled(small, "--emit=arduino") / "arduino"
    board = tmp_path / "hardware/npu/host"
    core = board / "cores/host"
    core.mkdir(parents=True)
    for name in ("build", "tools", "hardware/npu/host/variants/none"):
        (tmp_path / name).mkdir(parents=True)
    (board / "boards.txt").write_text(BOARDS)
    (board / "platform.txt").write_text(PLATFORM.format(ctags=ctags))
    guarded = f"#ifdef __cplusplus\n{ARDUINO}void setup();\nvoid loop();\n#endif\n"
    (core / "Arduino.h").write_text(guarded)
    (core / "main.cpp").write_text(CORE)
    command = [builder, "-compile", "-fqbn=npu:host:pc", f"-build-path={tmp_path / 'build'}"]
    command += [f"-{name}={tmp_path / name}" for name in ("hardware", "tools")]
    command += [f"-libraries={libraries}"]
    run(*command, "-warnings=all", libraries / "net/examples/net_once/net_once.ino")
    assert (tmp_path / "build/libraries/net/net.c.o").is_file()
    assert run(tmp_path / "build/program").startswith("net_run: 0 (0 is good)")
