"""Definitions that nothing reads are left out, by blocks."""

from __future__ import annotations

from npu_passes.emit.c.unread import without_unread

NAMES = {"a", "b", "c", "d"}


def test_definitions_that_only_others_read() -> None:
    lines = ["    const int a = i + 1;", "    const int b = a / 8;", "    f(i);"]
    assert without_unread(lines, NAMES) == ["    f(i);"]
    assert without_unread([*lines, "    f(b);"], NAMES) == [*lines, "    f(b);"]


def test_each_block_has_names_of_its_own() -> None:
    lines = [
        "    const int a = 1;",
        "    for (int i = 0; i < n; ++i) {",
        "        const int b = i / 2;",
        "#if defined(X)",
        "",
        "        const int c = i;",
        "        f(c, a);",
        "#endif",
        "    }",
        "    for (int i = 0; i < n; ++i) {",
        "        const int b = i;",
        "        const int c = i;",
        "        f(b);",
        "    }",
    ]
    want = [line for line in lines if line not in (lines[2], lines[11])]
    assert without_unread(lines, NAMES) == [*want[:4], lines[5], *want[4:]]


def test_others_are_kept() -> None:
    lines = ["    const int e = 1;", "    int a = 1;", "    const int b = 1; f();"]
    assert without_unread(lines, NAMES) == lines
