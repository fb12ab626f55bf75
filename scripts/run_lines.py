"""Runs RUN lines of lit tests in this process, which is many times faster than starting the tools.

A line may consist of npu-opt, filecheck and not, joined by pipes, as in most tests. Any other line
raises `NotPlain`: lit has to run that test.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

TOOLS = {"npu-opt": "npu_tools.commands.opt", "filecheck": "filecheck.main"}
RUN = re.compile(r"RUN: *(.*)")
BOTH = "\x01"
"""Stands for `2>&1`."""


class NotPlain(Exception):
    """A RUN line needs a shell, or a tool that cannot run in this process."""


def run_lines(path: Path, config: Path) -> list[list[list[str]]]:
    """The commands of each RUN line of a test, with the substitutions of lit's configuration.

    Raises: NotPlain if a line cannot run in this process.
    """
    found = SimpleNamespace(environment={"PATH": ""}, substitutions=[])
    scope: dict[str, Any] = {"__file__": str(config), "config": found}
    scope["lit_config"] = SimpleNamespace(params={})
    exec(compile(config.read_text(encoding="utf-8"), str(config), "exec"), scope)
    lines: list[list[list[str]]] = []
    for line in RUN.findall(path.read_text(encoding="utf-8")):
        for word, text in found.substitutions:
            line = line.replace(word, text)
        line = line.replace('"%S/%{s:basename}"', shlex.quote(str(path)))
        if "%" in line or line.endswith("\\"):
            raise NotPlain(line)
        lines.append(commands(line))
    return lines


def commands(line: str) -> list[list[str]]:
    """The words of each command of a RUN line, which are joined by pipes.

    Raises: NotPlain if the line has other shell syntax or tools.
    """
    lexer = shlex.shlex(line.replace("2>&1", BOTH), posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    for word in lexer:
        if word == "|":
            found.append([])
        elif set(word) <= set("|&;<>"):
            raise NotPlain(line)
        else:
            found[-1].append(word)
    for command in found:
        if not TOOLS.keys() & set(command[:1] if command[:1] != ["not"] else command[1:2]):
            raise NotPlain(line)
    return found


def passes(pipeline: Sequence[Sequence[str]]) -> bool:
    """Run the commands of a pipeline; returns whether all succeed."""
    text, success = "", True
    for command in pipeline:
        negated = command[0] == "not"
        words = [word for word in command[negated:] if word != BOTH]
        code, text, errors = run(words, text)
        success = success and (code == 0) != negated
        if BOTH in command:
            text += errors
        elif errors:
            print(errors, file=sys.stderr)
    if not success:
        print(" | ".join(map(shlex.join, pipeline)), text, sep="\n", file=sys.stderr)
    return success


def run(words: Sequence[str], text: str) -> tuple[int, str, str]:
    """Run a tool with `text` as standard input; returns exit code, output and errors."""
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    given = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    output, errors = io.StringIO(), io.StringIO()
    sys.argv, sys.stdin, sys.stdout, sys.stderr = list(words), given, output, errors
    try:
        code = import_module(TOOLS[words[0]]).main()
    except SystemExit as end:
        code = end.code
    except Exception:
        errors.write(traceback.format_exc())
        code = 1
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = before
    return int(code or 0), output.getvalue(), errors.getvalue()
