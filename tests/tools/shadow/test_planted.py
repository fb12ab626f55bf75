"""The checker accepts plans that are right, and finds each planted fault."""

from __future__ import annotations

import pytest
from xdsl.context import Context

from helpers.pipeline import context, parse
from helpers.shadow.planted import PLANTED
from helpers.shadow.programs import BLOCKS, LAYERS, ROWS, TILES
from npu_tools.shadow import check


@pytest.fixture(scope="module")
def ctx() -> Context:
    return context()


@pytest.mark.parametrize(
    "program", [LAYERS, TILES, ROWS, BLOCKS], ids=["layers", "tiles", "rows", "blocks"]
)
def test_right_plans(program: str, ctx: Context) -> None:
    assert not check(parse(ctx, program))


@pytest.mark.parametrize("name", PLANTED)
def test_planted(name: str, ctx: Context) -> None:
    planted = PLANTED[name]
    messages = "\n".join(map(str, check(parse(ctx, planted.text()))))
    assert planted.found in messages
