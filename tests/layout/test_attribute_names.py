"""Only the tables of keys spell the names of our attributes, so that every access is typed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from helpers.paths import ROOT
from npu_dialect import (
    attributes,
    kept_attributes,
    module_attributes,
    stream_attributes,
    time_attributes,
)
from npu_dialect.keys import KEYS

TABLES = {
    Path(module.__file__ or "")
    for module in (
        *(attributes, kept_attributes, module_attributes),
        *(stream_attributes, time_attributes),
    )
}


def literals(tree: ast.Module) -> Iterator[ast.Constant]:
    """The string literals of a file, except values of enums and of `name` in ops and attributes."""
    fixed = {
        id(node.value)
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, ast.Assign)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in fixed:
            yield node


def spelled(folder: str) -> list[str]:
    """The places in a folder where code spells the name of an attribute."""
    return [
        f"{path.relative_to(ROOT)}: {node.value}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path not in TABLES
        for node in literals(ast.parse(path.read_text(encoding="utf-8")))
        if node.value in KEYS
    ]


def test_no_name_is_spelled_outside_of_the_tables() -> None:
    assert KEYS
    found = [line for folder in ("src", "passes", "tools") for line in spelled(folder)]
    assert found == ["src/npu_dialect/kinds.py: npu.target"]  # the name of the type #npu.target


def test_a_spelled_name_is_found() -> None:
    tree = ast.parse('class Op:\n    name = "npu.runs"\n\nop.attributes.get("npu.runs")\n')
    assert [node.lineno for node in literals(tree) if node.value in KEYS] == [4]
