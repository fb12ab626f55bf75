"""A small network whose maps leave the chip in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from npu_dialect.interpreters import Counters, run_function
from npu_tools.compiling.pass_text import parse_passes
from npu_tools.shared.installed import available_passes, context

Array = npt.NDArray[Any]


SHAPE = (1, 8, 20, 22)


MAP = "tensor<1x8x20x22xf32>"


CONV = "strides [1, 1] pads [1, 1, 1, 1] then relu"


TEXT = f"""
builtin.module attributes {{npu.target = #npu.target<"small",
    {{sram_bytes = 12288 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64}}>}} {{
  func.func @net(%image: tensor<1x2x20x22xf32> {{npu.name = "image"}},
      %w1: tensor<8x2x3x3xf32>, %w2: tensor<8x8x3x3xf32>) -> ({MAP} {{npu.name = "y"}}) {{
    %a = npu.conv2d %image, %w1 {CONV} {{npu.layer = "c1", npu.value = "a"}}
      : (tensor<1x2x20x22xf32>, tensor<8x2x3x3xf32>) -> {MAP}
    %b = npu.conv2d %a, %w2 {CONV} {{npu.layer = "c2", npu.value = "b"}}
      : ({MAP}, tensor<8x8x3x3xf32>) -> {MAP}
    %c = npu.add %a, %b {{npu.layer = "s", npu.value = "y"}} : ({MAP}, {MAP}) -> {MAP}
    func.return %c : {MAP}
  }}
}}"""


TILES = "npu-bufferize,npu-spill-maps,npu-tile-loops{block-size=4}"


OFFSETS = "npu-assign-sram-offsets{strategy=greedy},npu-assign-dram-offsets"


LOOPS = "npu-outline-layers,npu-lower-to-loops"

PRUNE = "npu-prune-zero-blocks{block-size=4 threshold=9.5}"


def lowered(*passes: str, text: str = TEXT) -> ModuleOp:
    """The network after some passes."""
    module = Parser(context(), text).parse_module()
    for each in parse_passes(available_passes(), ",".join(passes)):
        each.apply(context(), module)
        module.verify()
    return module


def inputs() -> list[Array]:
    """Inputs with which half of the first layer's channels are all zero, and the others partly."""
    rng = np.random.default_rng(5)
    image = np.abs(rng.integers(-3, 4, (1, 2, 20, 22))).astype(np.float32)
    image[:, :, :, 12:] = 0
    first = rng.integers(-2, 3, (8, 2, 3, 3)).astype(np.float32)
    first[::2] = -np.abs(first[::2])
    return [image, first, rng.integers(-2, 3, (8, 8, 3, 3)).astype(np.float32)]


def interpreted(module: ModuleOp) -> tuple[Array, Counters]:
    counters = Counters()
    return run_function(module, None, inputs(), counters)[-1], counters


def moved(counters: Counters) -> int:
    return counters.feature_map_read_bytes + counters.feature_map_write_bytes
