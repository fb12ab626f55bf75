"""Tests that the importer takes, but whose C is not right: what running them found, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Known(NamedTuple):
    """The result of `programs.results` for a test, and its cause for docs/operators.md."""

    result: str
    cause: str


ALIGNED = Known(
    "wrong: Y differs from what is expected",
    "ONNX's text and onnxruntime divide by the size of the output less one; the test divides by "
    "scale times size less one, which is no integer here. Our results are those of onnxruntime.",
)

NOT_RIGHT: Mapping[str, Known] = {
    "test_resize_downsample_scales_cubic_align_corners": ALIGNED,
    "test_resize_downsample_scales_linear_align_corners": ALIGNED,
}
"""By the test's name."""
