"""npu-measure-zero-blocks: shares of zero blocks on calibration data, and wrong data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from npu_dialect.attributes import ZERO_BLOCKS
from npu_dialect.npu import MaxPool2dOp, ReluOp
from npu_passes.zero_blocks.measure_zero_blocks import MeasureZeroBlocksPass
from npu_tools.shared.installed import context

MAP = "tensor<1x1x4x6xf32>"
TEXT = f"""
func.func @f(%x: {MAP} {{npu.name = "x"}}) -> ({MAP} {{npu.name = "y"}}) {{
  %y = npu.relu %x : {MAP} -> {MAP}
  func.return %y : {MAP}
}}"""


def measured(path: Path, block: int = 4) -> float:
    """The share that the pass writes on the layer."""
    module: ModuleOp = Parser(context(), TEXT).parse_module()
    MeasureZeroBlocksPass(str(path), block).apply(context(), module)
    (relu,) = (op for op in module.walk() if isinstance(op, ReluOp))
    share = ZERO_BLOCKS.get(relu)
    assert share is not None
    return share


def test_share_of_elements(tmp_path: Path) -> None:
    """Blocks of 16 and 8 elements; two samples: one has the large block, one has both."""
    array = np.full((2, 1, 4, 6), -1, np.float32)
    array[0, 0, 3, 5] = 2
    np.savez(tmp_path / "data.npz", x=array)
    assert measured(tmp_path / "data.npz") == (16 + 24) / 48
    assert measured(tmp_path / "data.npz", 1) == 47 / 48
    np.savez(tmp_path / "one.npz", x=array[:1])
    assert measured(tmp_path / "one.npz") == 16 / 24


def test_bytes_say_what_zero_is(tmp_path: Path) -> None:
    """A layer that only moves integers has no zero point of its own; the importer notes it."""
    text = TEXT.replace("xf32", "xi8").replace("npu.relu %x", "npu.max_pool2d %x kernel [1, 1]")
    marked = text.replace("kernel [1, 1]", "kernel [1, 1] {npu.zero_point = -7 : i64}")
    array = np.full((1, 1, 4, 6), -7, np.int8)
    array[0, 0, 0, 0] = 0
    np.savez(tmp_path / "data.npz", x=array)
    shares: list[float | None] = []
    for each in (text, marked):
        module = Parser(context(), each).parse_module()
        MeasureZeroBlocksPass(str(tmp_path / "data.npz"), 4).apply(context(), module)
        (pool,) = (op for op in module.walk() if isinstance(op, MaxPool2dOp))
        shares.append(ZERO_BLOCKS.get(pool))
    assert shares == [0.0, 8 / 24]


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "message"),
    [
        ("z", (1, 1, 4, 6), np.float32, "expected input 'x', found z"),
        ("x", (1, 1, 6, 4), np.float32, r"of shape \[1, 1, 4, 6\].* got float32 of shape"),
        ("x", (1, 1, 4, 6), np.float64, "expected float32 of shape .* got float64"),
        ("x", (0, 1, 4, 6), np.float32, r"got float32 of shape \[0, 1, 4, 6\]"),
    ],
)
def test_data_that_does_not_fit(
    name: str, shape: tuple[int, ...], dtype: type[np.generic], message: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "data.npz", allow_pickle=False, **{name: np.zeros(shape, dtype)})
    with pytest.raises(PassFailedException, match=message):
        measured(tmp_path / "data.npz")


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(PassFailedException, match="No such file"):
        measured(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(PassFailedException, match=r"expected an \.npz file of numbers"):
        measured(tmp_path / "text.npz")
    np.save(tmp_path / "array.npy", np.zeros(3))
    with pytest.raises(PassFailedException, match=r"expected an \.npz file of numbers"):
        measured(tmp_path / "array.npy")
    with pytest.raises(PassFailedException, match="block-size of at least 1, got 0"):
        measured(tmp_path / "array.npy", 0)
