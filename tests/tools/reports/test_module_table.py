"""The table that npu-compile prints of the traffic of a whole network."""

from pathlib import Path

import pytest

from helpers.paths import LENET5
from npu_plans.modules.traffic import Traffic
from npu_tools.commands.compile import main
from npu_tools.reports.module_table import whole_network

NAIVE = Traffic(weight_bytes=1024, feature_map_read_bytes=2048, feature_map_write_bytes=1024)
PLANNED = Traffic(weight_bytes=1024, feature_map_read_bytes=512)


def test_each_row_is_a_share_of_layer_by_layer() -> None:
    title, *lines = whole_network(NAIVE, PLANNED, placed=True)
    assert title.split() == "whole network off chip, KB layer by layer planned %".split()
    assert [line.split() for line in lines] == [
        ["maps", "3.0", "0.5", "16.7"],
        ["weights", "1.0", "1.0", "100.0"],
        ["all", "4.0", "1.5", "37.5"],
    ]


def test_a_plan_of_modules_says_what_it_leaves_out() -> None:
    assert "outside modules" in list(whole_network(NAIVE, PLANNED, placed=False))[-1]


def test_nothing_to_move_has_no_share() -> None:
    assert list(whole_network(Traffic(), Traffic(), placed=True))[-1].split()[-1] == "-"


@pytest.mark.parametrize(("target", "printed"), [("exynos-npu", True), ("fe310", False)])
def test_npu_compile_prints_it_for_machines_with_dma(
    target: str, printed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(LENET5), "--target", target, "--plan-as", "i8", "-o", str(tmp_path)]) == 0
    assert ("whole network off chip, KB" in capsys.readouterr().out) == printed
