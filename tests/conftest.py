"""Leaves the slow tests out of `make test`, and prints their names.

The workers of pytest-xdist select the tests, so they send the names to the process that prints.

Without the slow tests, Hypothesis also tries fewer examples of each property. `-m ""` runs all
tests with all examples. The tests of `slow.txt` get the mark `slow`, and those of `long.txt` the
mark `long`, which continuous integration leaves out.
"""

from __future__ import annotations

import gc
import logging
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

LEFT_OUT = pytest.StashKey[set[str]]()
SEEN = pytest.StashKey[set[int]]()
"""Ids of the test functions whose settings are final. Several tests may share one function."""
OUTPUT_KEY = "left_out"


def ids_in(name: str) -> frozenset[str]:
    """The ids of the tests that a file of this folder names, and its comments."""
    return frozenset(Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines())


SLOW, LONG = ids_in("slow.txt"), ids_in("long.txt")


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "run one of so many shares of the tests; which one a test is in, its id says"
    parser.addoption("--share", metavar="K/N", help=text)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    share: str | None = config.getoption("--share")
    if share is not None:
        chosen, shares = map(int, share.split("/"))
        items[:] = [
            item for item in items if zlib.crc32(item.nodeid.encode()) % shares == chosen % shares
        ]


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = set()
    config.stash[SEEN] = set()


@pytest.fixture
def no_warnings() -> Iterator[None]:
    """Keep warnings about nodes in float32 out of the log."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


LEFT_OUT_MARKS = "not slow"
"""The value of option -m in pyproject.toml."""
QUICK = 9
"""Without the slow tests, the number of examples of a property is divided by this."""
LEAST = 2
SETTINGS = "_hypothesis_internal_use_settings"
"""The attribute with the Hypothesis settings of a test. Without it, all examples are tried."""


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.nodeid in SLOW:
        item.add_marker(pytest.mark.slow)
    if item.nodeid in LONG:
        item.add_marker(pytest.mark.long)
    function: Any = getattr(item, "obj", None)
    function = getattr(function, "__func__", function)
    found: settings | None = getattr(function, SETTINGS, None)
    if found is None or id(function) in item.config.stash[SEEN]:
        return
    item.config.stash[SEEN].add(id(function))
    if item.config.option.markexpr == LEFT_OUT_MARKS:
        fewer = settings(found, max_examples=max(LEAST, found.max_examples // QUICK))
        setattr(function, SETTINGS, fewer)


def pytest_collection_finish() -> None:
    """Let Python look for cycles less often: a tenth of the time of the tests went there.

    What the tests have imported stays to the end, and the graphs of ops that they make are large.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


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
