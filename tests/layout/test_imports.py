"""Imports never run up, neither rooms nor files import each other in a circle, plans know no IR.

A room is a folder (or a file) directly below a package. All imports count: at the top of a file,
inside functions, and under TYPE_CHECKING.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from helpers.paths import ROOT

SOURCES = ("src", "passes", "tools")
FLOORS = ("npu_dialect", "npu_plans", "npu_passes", "npu_tools", "npu_train")
"""The packages, the lowest first."""
PLAIN = (
    "npu_dialect.windows",
    "npu_dialect.machine",
    "npu_dialect.row_times",
    "npu_dialect.fixed_point",
    "npu_dialect.interpreters.fused",
)
"""All of `npu_dialect` that `npu_plans` may import: these files know no xDSL."""
ROOMS = {
    "npu_passes": (
        *("support", "analysis", "graph", "conversion", "pl330", "buffers", "modules", "rows"),
        *("placing", "tiling", "lowering", "overlap", "spilling", "zero_blocks", "emit"),
        "pipelines",
    ),
    "npu_tools": (
        *("shared", "shadow", "importers", "quantizing", "reports", "compiling", "verifying"),
        *("pictures", "integration", "advice", "pages", "exploring", "universe", "commands"),
    ),
}
"""The rooms of a package, the lowest first."""


@dataclass(frozen=True)
class Arrow:
    """One import: the importing module, the imported module, and the names."""

    source: str
    target: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.source} -> {self.target} ({', '.join(self.names)})"


@cache
def modules() -> Mapping[str, Path]:
    """All modules of the product by their dotted name."""
    found: dict[str, Path] = {}
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*.py")):
            parts = path.relative_to(ROOT / source).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(module: str, text: str) -> Iterator[Arrow]:
    """All imports of our modules in a file, wherever they stand."""
    known = modules()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in known:
                    yield Arrow(module, alias.name, (alias.name,))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: expected absolute imports"
            base = node.module or ""
            if base not in known:
                continue
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield Arrow(module, inner if inner in known else base, (alias.name,))


@cache
def arrows() -> tuple[Arrow, ...]:
    """All imports between modules of the product."""
    return tuple(
        arrow
        for name, path in modules().items()
        for arrow in imports_of(name, path.read_text(encoding="utf-8"))
        if arrow.target != name
    )


def room_of(module: str) -> str:
    """The room of a module: its package, and the folder or file below it."""
    return ".".join(module.split(".")[:2])


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """The circles of a graph: groups of nodes that reach each other."""
    reach: dict[str, set[str]] = {}
    for start in edges:
        seen: set[str] = set()
        pending = [start]
        while pending:
            for target in edges.get(pending.pop(), set()) - seen:
                seen.add(target)
                pending.append(target)
        reach[start] = seen
    groups = {
        frozenset(other for other in reach[node] if node in reach.get(other, set()))
        for node in edges
        if node in reach[node]
    }
    return sorted(sorted(group) for group in groups)


def runs_up(arrow: Arrow) -> bool:
    """Whether an import goes to a higher floor, or to a higher room of its floor."""
    source, target = arrow.source.split("."), arrow.target.split(".")
    if source[0] != target[0]:
        return FLOORS.index(target[0]) > FLOORS.index(source[0])
    order = ROOMS.get(source[0])
    if order is None or len(source) < 2 or len(target) < 2:
        return False
    return order.index(target[1]) > order.index(source[1])


def test_no_import_runs_up() -> None:
    assert [str(arrow) for arrow in arrows() if runs_up(arrow)] == []


def test_every_room_has_a_place_in_the_order() -> None:
    for package, rooms in ROOMS.items():
        found = {name.split(".")[1] for name in modules() if name.startswith(f"{package}.")}
        assert found == set(rooms)


@pytest.mark.parametrize("level", ["files", "rooms"])
def test_nothing_is_in_a_circle(level: str) -> None:
    edges: dict[str, set[str]] = {}
    named: dict[tuple[str, str], list[str]] = {}
    for arrow in arrows():
        source, target = arrow.source, arrow.target
        if level == "rooms":
            source, target = room_of(source), room_of(target)
        if source != target:
            edges.setdefault(source, set()).add(target)
            named.setdefault((source, target), []).append(str(arrow))
    found = [
        each
        for group in circles(edges)
        for pair, each in named.items()
        if pair[0] in group and pair[1] in group
    ]
    assert found == []


def test_plans_know_no_ir() -> None:
    for name, path in modules().items():
        if name.startswith("npu_plans") or name in PLAIN:
            assert "xdsl" not in path.read_text(encoding="utf-8").replace("xDSL", ""), name
    wrong = [
        str(arrow)
        for arrow in arrows()
        if arrow.source.startswith("npu_plans")
        and not arrow.target.startswith("npu_plans")
        and arrow.target not in PLAIN
    ]
    assert wrong == []


def test_plans_are_imported_without_xdsl() -> None:
    names = [name for name in modules() if name.startswith("npu_plans")]
    code = f"import sys; sys.modules['xdsl'] = None\nfor n in {names}: __import__(n)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_arrows_inside_functions_are_seen() -> None:
    text = "def f():\n    from npu_passes.pipelines import PIPELINES\n"
    (arrow,) = imports_of("npu_plans.arena.greedy", text)
    assert str(arrow) == "npu_plans.arena.greedy -> npu_passes.pipelines (PIPELINES)"
    assert runs_up(arrow)
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
