"""`--check-passes` names the pass after which a plan is wrong."""

from __future__ import annotations

import pytest

from helpers.pipeline import context, parse
from helpers.shadow.planted import PLANTED
from helpers.shadow.programs import LAYERS
from npu_tools.compiling.plan_check import PlanCheck
from npu_tools.shared.errors import UserError


def test_right_and_wrong() -> None:
    check = PlanCheck()
    check("npu-lower-to-loops", parse(context(), LAYERS))
    check("import", parse(context(), LAYERS.replace("sram.arena = 192", "npu.other = 192")))
    with pytest.raises(UserError, match=r"after a-pass is wrong:\n  read by .* %a at byte 63"):
        check("a-pass", parse(context(), PLANTED["offset-into-the-buffer-before"].text()))


def test_data_decide_a_place() -> None:
    text = LAYERS.replace("%top = arith.muli %i, %c2", "%top = arith.muli %k, %c2")
    text = text.replace("%top =", TABLE + "%top =")
    with pytest.raises(UserError, match="after a-pass cannot be checked: expected a view whose"):
        PlanCheck()("a-pass", parse(context(), text))


TABLE = """%b = memref.load %x[%i, %j] : !map
      %k = arith.index_cast %b : i8 to index
      """
