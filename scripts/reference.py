"""Writes `docs/reference/` from the docstrings and options of passes, commands and machines.

    python scripts/reference.py           write the pages
    python scripts/reference.py --check   fail if a page differs from what would be written

To add a page, write a function without arguments that returns its text, and add it to PAGES. The
pages depend on the code only, not on the terminal or the version of Python.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from importlib import import_module
from importlib.metadata import entry_points
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from reference_text import markdown, page, sentence, table

from npu_dialect.contract import TABLES
from npu_dialect.keys import Key
from npu_dialect.machine import Machine
from npu_dialect.memories import Memory
from npu_passes.pipelines import MICROCODE, OFF_CHIP, PIPELINES
from npu_tools.universe import PASSES, TARGETS, lazy

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
LEVELS = ("tensors", "buffers", "memrefs")


# Passes


def summary_of(module: Any) -> tuple[str, str]:
    """The summary in the first line of a pass's module, and the level of IR, or "" if none."""
    docs = inspect.cleandoc(module.__doc__ or "")
    line = docs.partition("\n")[0]
    text = line.partition("`: ")[2] or line
    match = re.fullmatch(r"(.*?) \((?:.*, )?(?:on )?(\w+)(?:, .*)?\)\.", text)
    if match and match[2] in LEVELS:
        return f"{match[1]}.", match[2]
    said = re.search(r"Level of IR: ([^.]*)", docs)
    words = re.findall(r"\w+", said[1]) if said else []
    return text, next((word for word in words if word in LEVELS), "")


def field_docs(cls: type) -> Mapping[str, str]:
    """The docstrings below the fields of a dataclass, by field name."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef)).body
    found: dict[str, str] = {}
    for field, text in pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            found[field.target.id] = inspect.cleandoc(str(text.value.value))
    return found


def type_text(hint: Any) -> str:
    """The values that an option of a type takes, as text."""
    if get_origin(hint) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(hint))
    if get_origin(hint) is tuple:
        return f"{type_text(get_args(hint)[0])}, several with commas"
    parts = [part for part in get_args(hint) if part is not type(None)]
    if parts:
        return ", ".join(type_text(part) for part in parts)
    return {"str": "text", "bool": "`true`, `false`", "int": "integer", "float": "number"}.get(
        hint.__name__, str(hint.__name__)
    )


def default_text(value: Any) -> str:
    """The default of an option, as text."""
    if value is MISSING:
        return "required"
    if value is None or value == ():
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def options_of(cls: Any) -> list[tuple[str, str, str, str]]:
    """A row for each option of a pass: name, values, default, meaning.

    Raises: LookupError for an option without a docstring below it.
    """
    hints, docs = get_type_hints(cls), field_docs(cls)
    rows: list[tuple[str, str, str, str]] = []
    for field in fields(cls):
        if field.name not in docs:
            raise LookupError(f"{cls.name}: option {field.name}: expected a string below it")
        name = field.name.replace("_", "-")
        values, default = type_text(hints[field.name]), default_text(field.default)
        rows.append((f"`{name}`", values, default, docs[field.name]))
    return rows


def pass_section(name: str) -> str:
    """The section of one pass."""
    cls: Any = lazy(PASSES[name])()
    module = sys.modules[cls.__module__]
    path = Path(inspect.getfile(cls)).relative_to(ROOT).as_posix()
    summary, level = summary_of(module)
    body = inspect.cleandoc(module.__doc__ or "").partition("\n")[2]
    what = inspect.cleandoc(cls.__doc__ or "").replace("; see the module.", ".")
    where = f"{f'On {level}. ' if level else ''}In `{path}`."
    parts = [f"## {name}", sentence(summary), where, markdown(what)]
    if rows := options_of(cls):
        parts.append(table(("option", "values", "default", "meaning"), rows))
    return "\n\n".join(part for part in (*parts, markdown(body)) if part)


def passes() -> str:
    """The page of all passes."""
    rows = [
        (f"[`{name}`](#{name})", *summary_of(import_module(PASSES[name].partition(":")[0])))
        for name in sorted(PASSES)
    ]
    return page(
        "Passes",
        "`npu-opt FILE -p 'NAME{option=value other=value}'` runs a pass; with `xdsl-opt` it works "
        "alike. [Pipelines](pipelines.md) are the orders in which they make sense.",
        table(("pass", "what it does", "on"), rows),
        *(pass_section(name) for name in sorted(PASSES)),
    )


# Commands


def option_row(action: Any, prog: str) -> tuple[str, str]:
    """The row of one option or argument: how it is typed, and its help."""
    names = action.option_strings or [action.metavar or action.dest]
    value = ""
    if action.option_strings and action.nargs != 0:
        choices = action.choices and "|".join(map(str, action.choices))
        value = f" {action.metavar or choices or action.dest.upper()}"
    text = (action.help or "") % {**vars(action), "prog": prog}
    return f"`{', '.join(names)}{value}`", text


def option_table(parser: argparse.ArgumentParser, without: Sequence[str] = ()) -> str:
    """The table of a parser's options, without those whose `dest` is in `without`."""
    actions: list[Any] = vars(parser)["_actions"]
    rows = [
        option_row(action, parser.prog)
        for action in actions
        if action.dest not in ("help", "version", *without) and not isinstance(action.choices, dict)
    ]
    return table(("option", "meaning"), rows)


def subcommands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The parsers of a command's subcommands, each after its name."""
    actions: list[Any] = vars(parser)["_actions"]
    for action in actions:
        inner: Any = action.choices
        if isinstance(inner, dict):
            yield from cast("dict[str, argparse.ArgumentParser]", inner).items()


def command_section(name: str, place: str) -> str:
    """The section of one command: its docstring, and its options."""
    module = import_module(place.partition(":")[0])
    docs = markdown(inspect.cleandoc(module.__doc__ or "").partition(": ")[2])
    docs = sentence(docs).replace("```mlir", "```sh")
    if name == "npu-opt":
        return "\n\n".join((f"## {name}", docs, *npu_opt_options()))
    parser: argparse.ArgumentParser = module.argument_parser()
    tables = [
        f"### {name} {sub}\n\n{option_table(inner)}" for sub, inner in subcommands(parser)
    ] or [option_table(parser)]
    return "\n\n".join((f"## {name}", docs, *tables))


def npu_opt_options() -> Iterator[str]:
    """The parts on options that npu-opt adds to those of xdsl-opt, and on the targets of `-t`."""
    from xdsl.xdsl_opt_main import xDSLOptMain

    from npu_tools.commands.opt import NpuOptMain

    theirs, ours = (bare_parser(kind) for kind in (xDSLOptMain, NpuOptMain))
    known = [action.dest for action in vars(theirs)["_actions"]]
    yield "All options of `xdsl-opt`, and these:"
    yield option_table(ours, without=known)
    yield "Targets, beside those of xDSL:"
    rows: list[tuple[str, str]] = []
    for name, place in TARGETS.items():
        text = inspect.cleandoc(import_module(place.partition(":")[0]).__doc__ or "")
        first = text.partition("\n")[0].partition(": ")[2]
        rows.append((f"`-t {name}`", sentence(first)))
    yield table(("target", "what it prints"), rows)


def bare_parser(kind: Any) -> argparse.ArgumentParser:
    """The argument parser of an xDSL driver, without its passes, targets and front ends."""
    tool: Any = object.__new__(kind)
    tool.available_frontends, tool.available_targets = {}, {}
    tool.available_passes = {}
    parser = argparse.ArgumentParser()
    tool.register_all_arguments(parser)
    return parser


def commands() -> str:
    """The page of all commands."""
    ours = {
        point.name: point.value
        for point in entry_points(group="console_scripts")
        if point.dist is not None and point.dist.name == "npu-dialect"
    }
    return page(
        "Commands",
        "Every command has `--help` and `--version`. Bad input gives one message and exit code 1.",
        *(command_section(name, ours[name]) for name in sorted(ours)),
    )


# Pipelines


def steps(text: str) -> list[str]:
    """The passes of a pipeline's text, with their options."""
    return re.findall(r"[^,{]+(?:\{[^}]*\})?", text)


def pipeline_section(name: str) -> str:
    """The section of one pipeline: its passes as a list."""
    pipeline = PIPELINES[name]
    lines = [
        f"{number}. [`{step}`](passes.md#{step.partition('{')[0]})"
        for number, step in enumerate(steps(pipeline.text), 1)
    ]
    summary = f"{sentence(pipeline.summary)}."
    return "\n\n".join((f"## {name}", summary, "\n".join(lines)))


def pipelines() -> str:
    """The page of the named pipelines."""
    after = " and ".join(
        f"[`{step}`](passes.md#{step.partition('{')[0]})" for step in steps(MICROCODE)
    )
    return page(
        "Pipelines",
        "`npu-compile --pipeline NAME` and `npu-opt -p NAME` run these; each is a text that can be "
        "copied and changed (`npu-compile --list-pipelines`).",
        f"On a machine with a DMA engine `default` means [`{OFF_CHIP}`](#{OFF_CHIP}). If the "
        f"engine is a PL-330, {after} follow each of these pipelines that has transfers.",
        *(pipeline_section(name) for name in PIPELINES),
    )


# Machines

MACHINE_FILE = r"((?:#.*\n)*)name = .*\n((?:.*\n)*?)((?:#.*\n)*\[toolchain\](?:.*\n)*)"
"""The parts of a machine's file: comments, the name, the numbers, and the table [toolchain]."""


def machine_rows(lines: Sequence[str]) -> list[list[str]]:
    """Key, value and comment of each line; comment lines below it are joined to its comment."""
    rows: list[list[str]] = []
    for line in lines:
        key, _, comment = line.partition("#")
        comment = comment.rstrip()
        goes_on = comment.startswith("  ")
        if rows and (goes_on or (line.startswith(" ") and comment)):
            said = next(row for row in reversed(rows) if row[2] != "as above")
            said[2] += f" {comment.strip()}"
            comment = "as above"
        if match := re.fullmatch(r"(\w+) *= *(.*?) *", key):
            rows.append([f"`{match[1]}`", f"`{match[2]}`", comment.strip()])
        elif key.strip() == "[[memory]]":
            rows.append(["`[[memory]]`", "", ""])
        elif comment and comment != "as above":
            rows.append(["", "", comment.strip()])
    return rows


def machine_section(name: str, text: str) -> str:
    """The section of one machine: its numbers, each with the comment that names its source."""
    match = re.fullmatch(MACHINE_FILE, text)
    if match is None:
        raise ValueError(f"{name}.toml: expected comments, name, keys, [toolchain]")
    head = " ".join(line.strip("# ") for line in match[1].splitlines())
    rows = machine_rows(match[2].splitlines())
    parts = (f"## {name}", head, table(("key", "value", "from"), rows))
    return "\n\n".join([*parts, f"```toml\n{match[3].strip()}\n```"])


def targets() -> str:
    """The page of the machines."""
    folder = files("npu_dialect.targets")
    return page(
        "Machines",
        "`npu-compile --target NAME` takes these, or the path of a file like them: copy one, "
        "change it, name it. `npu-compile --list-targets` prints their memories.",
        "## Keys",
        markdown(inspect.cleandoc(Machine.__doc__ or "")),
        "A table `[[memory]]` has these keys:",
        markdown(inspect.cleandoc(Memory.__doc__ or "")),
        *(
            machine_section(name, (folder / f"{name}.toml").read_text(encoding="utf-8"))
            for name in Machine.known()
        ),
    )


def keys() -> Iterator[Key[Any]]:
    """The keys of all discardable attributes."""
    for module in TABLES:
        yield from (each for each in vars(module).values() if isinstance(each, Key))


def attributes() -> str:
    """The page of discardable attributes."""
    rows = [
        (
            f"`{key.name}`",
            " or ".join(key.places),
            key.kind.expected,
            sentence(key.meaning),
            key.writers,
            key.readers,
            sentence(key.absent),
            "yes" if key.droppable else "no",
        )
        for key in sorted(keys(), key=lambda each: each.name)
    ]
    heads = ("attribute", "on", "type", "meaning", "writers", "readers", "if absent", "droppable")
    return page(
        "Attributes",
        "Discardable attributes by which passes tell each other something. The code has a typed "
        "key for each (`src/npu_dialect/attributes.py`, `module_attributes.py`, "
        "`stream_attributes.py`, `time_attributes.py`). `npu-opt` and `npu-compile` reject a "
        "misspelt name, a wrong type and a wrong op after every pass; "
        "`npu-verify-attributes` does so in other drivers.",
        table(heads, rows),
    )


PAGES: Mapping[str, Callable[[], str]] = {
    "attributes.md": attributes,
    "passes.md": passes,
    "commands.md": commands,
    "pipelines.md": pipelines,
    "targets.md": targets,
}
"""The pages of docs/reference/, with the functions that return their texts."""


def main() -> int:
    """Write or check the pages; returns the exit code."""
    parser = argparse.ArgumentParser(description="write docs/reference/ from the code")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if one differs")
    check: bool = parser.parse_args().check
    stale: list[str] = []
    for name, make in PAGES.items():
        path, text = FOLDER / name, make()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"docs/reference/{name}: {'stale: run `make reference`' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
