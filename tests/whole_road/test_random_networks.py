"""Random ONNX networks: the C that they become computes what onnxruntime computes.

By hand, 1000 of them: `NETWORKS=1000 pytest -n auto tests/whole_road/test_random_networks.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from helpers.random_onnx import random_model
from helpers.road import Road, travel


@pytest.mark.parametrize("seed", range(int(os.environ.get("NETWORKS", "12"))))
def test_random_network(seed: int, tmp_path: Path) -> None:
    model, feeds = random_model(seed)
    travel(tmp_path, model, feeds, Road.of(seed))
