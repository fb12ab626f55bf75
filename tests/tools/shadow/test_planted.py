"""The checker accepts plans that are right, and finds each planted fault."""

from __future__ import annotations

import pytest

from helpers.pipeline import context, parse
from helpers.shadow.planted import PLANTED
from helpers.shadow.programs import LAYERS, ROWS, TILES
from npu_tools.shadow import check


@pytest.mark.parametrize("program", [LAYERS, TILES, ROWS], ids=["layers", "tiles", "rows"])
def test_right_plans(program: str) -> None:
    assert not check(parse(context(), program))


@pytest.mark.parametrize("name", PLANTED)
def test_planted(name: str) -> None:
    planted = PLANTED[name]
    messages = "\n".join(map(str, check(parse(context(), planted.text()))))
    assert planted.found in messages
