"""Checks what a tool prints when it fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def expect_failure(
    capsys: pytest.CaptureFixture[str], run: Callable[[], int], words: tuple[str, ...]
) -> None:
    """Check that a tool returns 1 and prints one message, which holds all `words`."""
    assert run() == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("error:") == 1
    assert "Traceback" not in said.err
    for word in words:
        assert word in said.err, said.err
