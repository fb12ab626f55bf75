"""Zero blocks of maps as the grids of a page."""

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from helpers.small_models import SaveModel, model_of
from npu_tools.compiling.driver import Job
from npu_tools.pages.zero_maps import rows_of, zero_maps
from npu_tools.reports.zero_block_maps import BlockMap


def test_grid_is_the_share_of_channels() -> None:
    kept = np.array([[[[True, False]], [[True, True]]], [[[True, False]], [[False, False]]]])
    each = BlockMap("c", "npu.conv2d", None, (1, 2, 4, 8), 4, 4, True, False, kept)
    [row] = rows_of([each])
    assert row["grid"] == [[25, 75]]
    assert row["sparsity"] == 0.5
    small = BlockMap(
        "d", "npu.conv2d", None, (1, 2, 3, 3), 4, 4, relu=True, pruned=False, kept=kept
    )
    assert rows_of([small]) == []


def test_zeros_of_the_input_stay_where_they_are(save: SaveModel, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["input", "w"], ["a"], "copy"),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
    ]
    weight = np.ones((2, 1, 1, 1), np.float32)
    model = save(model_of(nodes, {"w": weight}, (1, 1, 8, 8), "b"))
    image = np.ones((2, 1, 8, 8), np.float32)
    image[:, :, :4, 4:] = 0
    image[0, :, 4:, :4] = 0
    np.savez(tmp_path / "data.npz", input=image)
    [row] = zero_maps(Job(model, "fe310"), tmp_path / "data.npz")
    assert (row["layer"], row["grid"]) == ("copy", [[0, 100], [50, 0]])
    assert row["sparsity"] == pytest.approx(3 / 8)
