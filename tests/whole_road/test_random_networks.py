"""Random ONNX networks: their C computes what onnxruntime computes.

By hand, 1000 of them:
`NETWORKS=1000 pytest -m "" -n auto tests/whole_road/test_random_networks.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from helpers.random_onnx import random_model
from helpers.road import Road, travel

SEEDS = range(int(os.environ.get("NETWORKS", "8")))
SLOW = (0, 1, 8)
"""Seeds of large networks."""


@pytest.mark.parametrize(
    "seed", [pytest.param(each, marks=pytest.mark.slow) if each in SLOW else each for each in SEEDS]
)
def test_random_network(seed: int, tmp_path: Path) -> None:
    model, feeds = random_model(seed)
    travel(tmp_path, model, feeds, Road.of(seed))
