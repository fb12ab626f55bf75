"""Text that would hang a tool or fill the memory gives one diagnostic, soon.

This file is also the program that runs the texts, many in one process: see `main` below.
"""

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path

import pytest

from npu_tools.commands import opt

SECONDS = 2.0
MEMORY = 2**30
MANY = 10**6
DEEP = 5000
HUGE = 2**40


def attribute(text: str) -> str:
    """A module with one attribute."""
    return f"builtin.module attributes {{a = {text}}} {{}}"


def aliases(first: str, next_one: str, count: int) -> str:
    """Aliases #0, #1, ...; `next_one` is a format: `%` stands for the alias before it."""
    lines = [f"#a{n} = {next_one.replace('%', f'#a{n - 1}')}" for n in range(1, count)]
    return "\n".join([f"#a0 = {first}", *lines, attribute(f"#a{count - 1}")])


def blocks(count: int) -> str:
    """A function with this number of blocks."""
    body = "".join(f"^b{n}:\n cf.br ^b{n + 1}\n" for n in range(count))
    return f"func.func @f() {{\n{body}^b{count}:\n func.return }}"


OPEN_STRING = "End of file reached before closing string literal"
TOO_DEEP = "nested too deep"

MLIR: dict[str, tuple[Callable[[], str], str]] = {
    "open string": (lambda: attribute('"' + "a" * 40), "x.mlir:1:32"),
    "open string of a million": (lambda: attribute('"' + "a" * MANY), OPEN_STRING),
    "open string of escapes": (lambda: attribute('"' + r"\n" * MANY), OPEN_STRING),
    "bad escape": (lambda: attribute('"' + "a" * 40 + r"\q") + '"', OPEN_STRING),
    "open symbol": (lambda: 'func.func @"' + "a" * 40, OPEN_STRING),
    "open name": (lambda: '"' + "a" * 40, OPEN_STRING),
    "open resource": (lambda: '{-# dialect_resources: {builtin: {a: "0x' + "0" * 40, OPEN_STRING),
    "lines of comments": (lambda: "//\n" * (2 * MANY), "Could not parse entire input"),
    "modules": (lambda: "builtin.module {\n" * DEEP, TOO_DEEP),
    "conditions": (lambda: "func.func @f(%c: i1) {\n" + "scf.if %c {\n" * DEEP, TOO_DEEP),
    "regions": (lambda: '"scf.execute_region"() ({\n' * DEEP, TOO_DEEP),
    "lists": (lambda: attribute("[" * DEEP + "]" * DEEP), TOO_DEEP),
    "dictionaries": (lambda: attribute("{a = " * DEEP + "1" + "}" * DEEP), TOO_DEEP),
    "tuples": (lambda: attribute("tuple<" * DEEP + "i32" + ">" * DEEP), TOO_DEEP),
    "encodings": (lambda: attribute("tensor<1xi32, " * DEEP + "i32" + ">" * DEEP), TOO_DEEP),
    "functions": (lambda: attribute("(i32) -> (" * DEEP + "i32" + ")" * DEEP), TOO_DEEP),
    "brackets of a constant": (lambda: attribute("dense<" + "[" * MANY), TOO_DEEP),
    "brackets of a map": (lambda: attribute("affine_map<(d0) -> (" + "(" * DEEP), TOO_DEEP),
    "a long sum": (lambda: attribute(f"affine_map<(d0) -> ({'d0 + ' * DEEP}d0)>"), TOO_DEEP),
    "locations": (lambda: attribute("loc(" + '"a"(' * DEEP), TOO_DEEP),
    "a chain of aliases": (lambda: "//" + "/" * MANY + "\n" + aliases("[1]", "[%]", 999), TOO_DEEP),
    "aliases that double": (lambda: aliases("[1]", "[%, %]", 40), "x.mlir:"),
    "dictionaries that double": (lambda: aliases("{}", "{a = %, b = %}", 40), "aliases stand for"),
    "digits": (lambda: attribute("9" * MANY), "a number of 1000000 digits"),
    "hex digits": (lambda: attribute("0x" + "f" * MANY + " : index"), "digits"),
    "digits of a float": (lambda: attribute("0." + "9" * MANY), "digits"),
    "digits of a size": (lambda: attribute(f"tensor<{'9' * MANY}xf32>"), "digits"),
    "digits of a width": (lambda: attribute("i" + "9" * MANY), "x.mlir"),
    "digits of an index": (lambda: "%a:" + "9" * MANY, "digits"),
    "a wide integer": (lambda: attribute("1 : i9999999999"), "at most 16777215 bits"),
    "a wide constant": (lambda: attribute("dense<1> : tensor<2xi9999999999>"), "16777215 bits"),
    "wide elements": (lambda: attribute("array<i9999999999: 1>"), "16777215 bits"),
    "many axes": (lambda: attribute(f"tensor<{'1x' * 10**5}f32>"), "a shape of at most"),
    "many axes of a vector": (lambda: attribute(f"vector<{'1x' * 10**5}f32>"), "a shape of"),
    "a splat": (lambda: attribute(f"dense<1> : tensor<{HUGE}xi8>"), "a constant of at most"),
    "a splat of floats": (lambda: attribute("dense<1.0> : tensor<268435456xf32>"), "at most"),
    "a splat of bytes": (lambda: attribute(f'dense<"0x00"> : tensor<{HUGE}xi8>'), "at most"),
    "an empty constant": (lambda: attribute(f"dense<> : tensor<{HUGE}xi8>"), "at most"),
    "a short constant": (lambda: attribute(f"dense<[1, 2]> : tensor<{HUGE}xi8>"), "at most"),
    "a map of many names": (
        lambda: attribute(f"affine_map<({', '.join(f'd{n}' for n in range(20000))}) -> (d0)>"),
        "an affine map of at most",
    ),
    "a map of long products": (
        lambda: attribute(f"affine_map<(d0) -> ({' * '.join(['9' * 4000] * 2000)})>"),
        "an affine map of at most",
    ),
    "operands": (lambda: '"func.return"(' + "%a, " * MANY, "at most 16384 operands"),
    "blocks": (lambda: blocks(DEEP), "at most 1024 blocks"),
    "a long name": (lambda: "a" * MANY, "is not registered"),
}
"""What the file says, and a part of the one message."""

OPTIONS: dict[str, tuple[str, str]] = {
    "letters": ("a" * 10**5, "unknown pass"),
    "blanks": ("a" + " " * 10**5 + "b", "Expected a comma"),
    "quotes": ('"' + r"\"" * (5 * 10**4) + "\\", "Unknown token"),
    "brackets": ("[" * 10**5, "Unknown token"),
    "digits": ("npu-assign-sram-offsets{alignment=" + "9" * 10**5 + "}", "digits"),
    "an open string": ('npu-assign-sram-offsets{space="\\"' + "a" * 40 + '"}', "an attribute like"),
    "a splat": (
        'npu-assign-sram-offsets{space="dense<1> : tensor<268435456xi32>"}',
        "an attribute like",
    ),
    "a deep type": ('npu-assign-sram-offsets{space="' + "tuple<" * DEEP + '"}', TOO_DEEP),
}
"""What `-p` says, and a part of the one message."""

PL330: dict[str, tuple[bytes, str]] = {
    "hex": (b"18 " * MANY, "expected a program of at most"),
    "hex, then something else": (b"18 " * (4 * MANY) + b"x", "expected [name:] bytes in hex"),
    "bytes": (b"\x18" * MANY, "expected a program of at most"),
    "loops": (b"\x20\x00" * DEEP, "three counted loops"),
}
"""What the file holds, and a part of the one message."""

NUMBERS = 'name = "m"\nflash_bytes = 4096\nsram_bytes = '
TOML: dict[str, tuple[str, str]] = {
    "a dotted key": (NUMBERS + "1\na" + ".a" * 10**5 + " = 1", "expected at most 32768 characters"),
    "a long file": (NUMBERS + "1\n" + "#" * MANY, "expected at most 32768 characters"),
    "lists": (NUMBERS + "1\na = " + "[" * DEEP, "x.toml: not a TOML file: nested too deep"),
    "digits": (NUMBERS + "9" * 30000, "not a TOML file"),
    "hex digits": (NUMBERS + "0x" + "f" * 30000, "expected sram_bytes to be an integer"),
}
"""What the machine's file says, and a part of the one message."""

RUN: dict[str, tuple[str, str]] = {
    "a string": (attribute('"' + "a" * 40), OPEN_STRING),
    "a splat": (attribute(f"dense<1> : tensor<{HUGE}xi8>"), "a constant of at most"),
    "a large buffer": (
        f"func.func @f() {{\n%a = memref.alloc() : memref<{HUGE}xi8>\nfunc.return }}",
        "x.mlir: MemoryError",
    ),
    "recursion": ("func.func @f() {\nfunc.call @f() : () -> ()\nfunc.return }", TOO_DEEP),
}
"""A program for npu-run, and a part of the one message."""

Case = tuple[str, str, list[str]]
"""A name, a tool, its arguments."""


def cases(group: str, folder: Path) -> Iterator[tuple[Case, str]]:
    """Write the files of a group; yields each case and a part of its message."""
    good, place = folder / "good.mlir", folder / group
    good.write_text("func.func @f() {\n  func.return\n}\n")
    contents: Mapping[str, tuple[str | bytes, str]] = {
        "mlir": {name: (text(), part) for name, (text, part) in MLIR.items()},
        "options": OPTIONS,
        "pl330": PL330,
        "toml": TOML,
        "run": RUN,
    }[group]
    for name, (content, part) in contents.items():
        where = place / name
        where.mkdir(parents=True)
        suffix = {"run": "mlir", "options": "txt"}.get(group, group)
        file = where / f"x.{suffix}"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        line = {
            "options": [str(good), "-p", str(content)],
            "toml": ["none.onnx", "--target", str(file)],
        }.get(group, [str(file)])
        yield (name, {"run": "run", "toml": "compile"}.get(group, "opt"), line), part


def outcomes(todo: Sequence[Case]) -> dict[str, tuple[int, str]]:
    """Exit code and message of each case. A case that takes too long ends its process."""
    found: dict[str, tuple[int, str]] = {}
    while rest := [case for case in todo if case[0] not in found]:
        done = subprocess.run(
            [sys.executable, __file__],
            input=json.dumps(rest),
            capture_output=True,
            text=True,
            timeout=300,
            env={"OPENBLAS_NUM_THREADS": "1"},
        )
        for line in done.stdout.splitlines():
            name, code, said = json.loads(line)
            found[name] = code, said
        for name, _, _ in rest:
            if name not in found:
                found[name] = done.returncode, f"ended by a signal? {done.stderr[-300:]}"
                break
    return found


def complaint(code: int, said: str, part: str) -> str | None:
    """A text on what is wrong with the outcome of a case, or None."""
    if code != 1:
        return f"exit code {code}, expected 1: {said[:300]}"
    if said.count("error:") != 1 or "Traceback" in said or len(said) > 3000:
        return f"expected one diagnostic, got {said[:300]!r}"
    return None if part in said else f"expected {part!r}, got {said[:300]!r}"


@pytest.mark.parametrize("group", ["mlir", "options", "pl330", "toml", "run"])
def test_one_diagnostic(group: str, tmp_path: Path) -> None:
    parts = {case[0]: (case, part) for case, part in cases(group, tmp_path)}
    found = outcomes([case for case, _ in parts.values()])
    wrong = {
        name: why for name, (_, part) in parts.items() if (why := complaint(*found[name], part))
    }
    assert not wrong, "\n".join(f"{name}: {why}" for name, why in wrong.items())


def test_ordinary_mistakes_show_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.mlir"
    file.write_text(attribute('"an open string'))
    assert opt.main([str(file)]) == 1
    place, line, mark, message = capsys.readouterr().err.splitlines()
    assert place == f"npu-opt: error: {file}:1:32"
    assert line == file.read_text()
    assert mark.index("^") == 31
    assert message.strip() == OPEN_STRING + "."


def main() -> None:
    """Run cases and print their outcomes, with one limit of memory and a limit of time for each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for name, tool, arguments in json.load(sys.stdin):
        run = import_module(f"npu_tools.commands.{tool}").main
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # nobody handles it: the process ends
        with redirect_stderr(StringIO()) as said, redirect_stdout(StringIO()):
            code = run(arguments)
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps([name, code, said.getvalue()]), flush=True)


if __name__ == "__main__":
    main()
