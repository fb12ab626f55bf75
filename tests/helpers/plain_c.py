"""Runs the plain C of ops that are single instructions on some cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.c_harness import run_c
from helpers.parsing import emit_text


def computes(
    text: str,
    name: str,
    arrays: Sequence[NDArray[Any]],
    wanted: Sequence[NDArray[Any]],
    language: str,
) -> None:
    """Check that the C of a function gives what is wanted of some arrays."""
    found = run_c(
        emit_text(text, name),
        name,
        arrays,
        [array.shape for array in wanted],
        output_types=[array.dtype.name for array in wanted],
        language=language,
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
