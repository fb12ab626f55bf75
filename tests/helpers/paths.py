"""Where the files of the checkout lie, for tests in any folder."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The root of the checkout."""
LENET5_FOLDER = ROOT / "examples" / "lenet5"
LENET5 = LENET5_FOLDER / "lenet5.onnx"
