"""What a user sees when something is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def expect_failure(
    capsys: pytest.CaptureFixture[str], run: Callable[[], int], words: tuple[str, ...]
) -> None:
    """Check the exit code and the one message."""
    assert run() == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("error:") == 1
    assert "Traceback" not in said.err
    for word in words:
        assert word in said.err, said.err
