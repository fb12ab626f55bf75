"""Slow tests are left out of `make test`; what is left out is said by name.

The workers of pytest-xdist select the tests, so they hand the names to the process that prints.

Properties are tested with fewer random examples where slow tests are left out: `-m ""` brings all
of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings

LEFT_OUT = pytest.StashKey[set[str]]()
SEEN = pytest.StashKey[set[int]]()
"""Functions whose settings are as they shall be, which several tests may share."""
OUTPUT_KEY = "left_out"


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = set()
    config.stash[SEEN] = set()


LEFT_OUT_MARKS = "not slow"
"""Option -m of pyproject.toml."""
QUICK = 4
"""One of so many examples of a property is tested where slow tests are left out."""
LEAST = 2
SETTINGS = "_hypothesis_internal_use_settings"
"""Where Hypothesis has the settings of a test; elsewhere in another version, all are tested."""


def pytest_itemcollected(item: pytest.Item) -> None:
    function: Any = getattr(item, "obj", None)
    function = getattr(function, "__func__", function)
    found: settings | None = getattr(function, SETTINGS, None)
    if found is None or id(function) in item.config.stash[SEEN]:
        return
    item.config.stash[SEEN].add(id(function))
    if item.config.option.markexpr == LEFT_OUT_MARKS:
        fewer = settings(found, max_examples=max(LEAST, found.max_examples // QUICK))
        setattr(function, SETTINGS, fewer)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow"):
            item.config.stash[LEFT_OUT].add(item.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[OUTPUT_KEY] = sorted(session.config.stash[LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output: dict[str, Any] = getattr(node, "workeroutput", {})
    node.config.stash[LEFT_OUT].update(output.get(OUTPUT_KEY, ()))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if names := sorted(config.stash[LEFT_OUT]):
        terminalreporter.section("left out: slow (make test-all)")
        terminalreporter.write_line("\n".join(names))
