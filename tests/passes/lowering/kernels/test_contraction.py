"""Products are rounded before they are added, even if the C compiler may contract them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.parser import Parser

from helpers.kernel_roads import DSP, SMALL, VECTORS, Road, lowered, placed
from helpers.pipeline import context
from helpers.program_runs import check_board
from npu_dialect.interpreters import run_function

ADDITION = """
func.func @f(%a: tensor<1x4x64x64xi8>, %b: tensor<1x4x64x64xi8>) -> tensor<1x4x64x64xi8> {
  %y = npu.quantized_add %a, %b scales [0.072, 0.08, 0.048] zero_points [0, 0, 0] mode float
      : (tensor<1x4x64x64xi8>, tensor<1x4x64x64xi8>) -> tensor<1x4x64x64xi8>
  func.return %y : tensor<1x4x64x64xi8>
}
"""

STEPS = ADDITION.replace("[0.072, 0.08, 0.048]", "[0.037, 0.051, 0.022]").replace(
    "[0, 0, 0]", "[11, -5, -4]"
)
"""No fused multiply-adds give its bytes on vectors; its quotients need a correction."""

AVERAGE = """
func.func @f(%a: tensor<1x2048x2x5xi8>) -> tensor<1x2048x1x1xi8> {
  %y = npu.quantized_avg_pool2d %a kernel [2, 5] strides [2, 5] scales [0.072, 0.048]
      zero_points [0, 0] mode float : tensor<1x2048x2x5xi8> -> tensor<1x2048x1x1xi8>
  func.return %y : tensor<1x2048x1x1xi8>
}
"""


def every_pair() -> list[NDArray[Any]]:
    """All pairs of bytes. Some hundred of their sums are close to a tie."""
    values = np.arange(-128, 128, dtype=np.int8)
    shape = (1, 4, 64, 64)
    return [array.reshape(shape) for array in np.meshgrid(values, values[::4])]


def random_map() -> list[NDArray[Any]]:
    """A random map."""
    random = np.random.default_rng(1)
    return [random.integers(-128, 128, (1, 2048, 2, 5)).astype(np.int8)]


@pytest.mark.parametrize(
    ("text", "inputs", "road"),
    [
        (ADDITION, every_pair(), DSP),
        (STEPS, every_pair(), VECTORS),
        (AVERAGE, random_map(), DSP),
        (AVERAGE, random_map(), SMALL),
    ],
    ids=["addition", "addition-vectors", "average", "average-small"],
)
def test_same_bits(text: str, inputs: list[NDArray[Any]], road: Road, tmp_path: Path) -> None:
    """The C gives the bits of the interpreter even if fused multiply-adds are allowed."""
    module = Parser(context(), text).parse_module()
    (wanted,) = run_function(module, None, inputs)
    check_board(road.machine, lowered(placed(module), road), inputs, [wanted], tmp_path)
