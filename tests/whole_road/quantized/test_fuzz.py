"""A damaged quantised model is imported or rejected with a message; nothing else happens."""

from __future__ import annotations

import logging
import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from helpers.quantized.mutations import damaged, originals
from npu_dialect.interpreters import run_function
from npu_tools.compiling.check import random_inputs
from npu_tools.importers.onnx import import_model
from npu_tools.shared.errors import UserError

SEEDS = 300
PARTS = 4
LONGEST = 20
"""Seconds that one model may take."""


@contextmanager
def at_most(seconds: int) -> Generator[None]:
    """Interrupt the block if it takes longer."""

    def late(_: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {seconds} seconds, at {frame}")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def survives(data: bytes) -> bool:
    """Whether a model is imported; if so, check that it runs."""
    try:
        module = import_model(data, name="bad", base_dir=None)
    except UserError as error:
        message = str(error)
    else:
        runs(module)
        return True
    assert message.startswith("bad: ")
    lines = message.splitlines()
    assert len(lines) == 1 or "supported: " in lines[-1] or "nodes cannot" in lines[0]
    return False


def runs(module: ModuleOp) -> None:
    """Verify a module, and interpret it if it is not too large."""
    module.verify()
    feeds = random_inputs(module, 1)
    if sum(feed.size for feed in feeds) < 10_000:
        with np.errstate(all="ignore"):
            run_function(module, None, feeds)


@pytest.mark.parametrize("part", range(PARTS))
def test_damaged_models(part: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    good = 0
    for seed in range(part, SEEDS, PARTS):
        data = damaged(seed).SerializeToString()
        with at_most(LONGEST):
            good += survives(data)
    assert 0 < good < SEEDS // PARTS


def test_the_models_are_good_before() -> None:
    assert all(survives(data) for data in originals())
