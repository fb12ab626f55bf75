"""Random networks that move elements: their C computes what onnxruntime computes.

By hand, 1000 of them:
`NETWORKS=1000 pytest -m "" -n auto tests/whole_road/test_random_moves.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from helpers.random_moves import random_moves
from helpers.road import Road, travel

SEEDS = range(int(os.environ.get("NETWORKS", "8")))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_moves(seed: int, tmp_path: Path) -> None:
    model, feeds = random_moves(seed)
    travel(tmp_path, model, feeds, Road.of(seed))
