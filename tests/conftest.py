"""Slow tests are left out of `make test`; what is left out is said by name.

The workers of pytest-xdist select the tests, so they hand the names to the process that prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

LEFT_OUT = pytest.StashKey[set[str]]()
OUTPUT_KEY = "left_out"


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = set()


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
