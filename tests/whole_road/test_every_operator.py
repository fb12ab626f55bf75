"""Random networks of every operator: what becomes of them is what onnxruntime computes.

By hand, thousands of them: `python scripts/random_networks.py --count 10000`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.every_operator.draw import MAKERS, draw
from helpers.every_operator.judge import in_c, interpreted
from npu_tools.importers.onnx.rules import ON_BYTES, RULES
from npu_tools.importers.onnx.rules.activation import MICROSOFT_FUNCTIONS

COUNT = 300
PARTS = 10
IN_C = range(300, 306)
REJECTED = frozenset(("DynamicQuantizeLinear",))
"""Operators whose rule rejects them, as it says in docs/operators.md."""


pytestmark = pytest.mark.usefixtures("no_warnings")


def test_every_operator_can_be_drawn() -> None:
    drawn = {name for names in MAKERS for name in names.split(", ")}
    assert {*RULES, *ON_BYTES, *MICROSOFT_FUNCTIONS} - drawn == REJECTED


@pytest.mark.parametrize("part", range(PARTS))
def test_layers(part: int) -> None:
    for seed in range(part, COUNT, PARTS):
        assert interpreted(draw(seed)) == "", f"seed {seed}"


@pytest.mark.parametrize("seed", IN_C)
def test_in_c(seed: int, tmp_path: Path) -> None:
    assert in_c(draw(seed), seed, tmp_path) == ""
