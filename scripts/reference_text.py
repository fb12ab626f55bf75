"""Markdown for scripts/reference.py: pages, tables, docstrings."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

NOTE = "<!-- written by `make reference` from the code: change the code, not this page -->"


def page(title: str, *parts: str) -> str:
    """The text of a page with a title and parts: paragraphs, tables and sections."""
    return "\n\n".join((f"# {title}", NOTE, *parts)) + "\n"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", r"\|").replace("\n", " ") for cell in line) + " |"
        for line in lines
    )


def sentence(text: str) -> str:
    """The text with a capital at its start; names such as xDSL stay as they are."""
    return text if text[1:2].isupper() else f"{text[:1].upper()}{text[1:]}"


def markdown(text: str) -> str:
    """A docstring as Markdown; its indented lines become code blocks."""
    lines: list[str] = []
    code: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("    ") or (code and not line and code[-1]):
            code.append(line)
            continue
        if code:
            shown = textwrap.dedent("\n".join(code)).strip("\n")
            lines += ["", "```mlir", shown, "```", ""]
            code = []
        lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
