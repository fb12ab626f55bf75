"""Networks of linalg on tensors get buffers, leave the chip, run in tiles, and compute the same."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.transforms.convert_linalg_to_loops import ConvertLinalgToLoopsPass
from xdsl.transforms.lower_affine import LowerAffinePass

from helpers.pipeline import context, parse, run_passes
from npu_dialect.interpreters import run_function
from npu_dialect.interpreters.dma import Counters

NETWORK = """
builtin.module TARGET {
func.func @network(%x: tensor<1x2x9x9xf32>) -> tensor<1x3x7x7xf32> {
  %w = arith.constant dense<WEIGHTS> : tensor<3x2x3x3xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x3x7x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x3x7x7xf32>) -> tensor<1x3x7x7xf32>
  %c = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>,
    strides = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<1x2x9x9xf32>, tensor<3x2x3x3xf32>)
    outs(%z : tensor<1x3x7x7xf32>) -> tensor<1x3x7x7xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, c, y, x) -> (n, c, y, x)>,
    affine_map<(n, c, y, x) -> (n, c, y, x)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%c : tensor<1x3x7x7xf32>) outs(%e : tensor<1x3x7x7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maximumf %in, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x3x7x7xf32>
  %s = linalg.add ins(%r, %c : tensor<1x3x7x7xf32>, tensor<1x3x7x7xf32>)
    outs(%e : tensor<1x3x7x7xf32>) -> tensor<1x3x7x7xf32>
  func.return %s : tensor<1x3x7x7xf32>
}
}
"""
TARGET = (
    'attributes {npu.target = #npu.target<"m", {sram_bytes = SRAM : i64, flash_bytes = 0 : i64, '
    "dma_channels = 4 : i64}>}"
)
DMA = "npu-spill-maps,npu-tile-loops,npu-double-buffer,npu-assign-sram-offsets"


@pytest.mark.parametrize(
    ("sram_bytes", "passes"),
    [
        (0, "npu-assign-sram-offsets"),
        (0, "npu-assign-sram-offsets,npu-outline-layers"),
        (1 << 16, DMA),
        (1200, DMA + ",npu-outline-layers"),
        (600, DMA),
    ],
)
def test_a_network_of_linalg(sram_bytes: int, passes: str) -> None:
    random = np.random.default_rng(2)
    weights = random.integers(-3, 4, (3, 2, 3, 3)).astype(np.float32)
    image = random.integers(-4, 5, (1, 2, 9, 9)).astype(np.float32)
    text = NETWORK.replace("WEIGHTS", str(weights.tolist()))
    text = text.replace("TARGET", TARGET.replace("SRAM", str(sram_bytes)) if sram_bytes else "")
    module = parse(context(), text)
    module = run_passes(context(), module, f"npu-bufferize,{passes}")
    ConvertLinalgToLoopsPass().apply(context(), module)
    LowerAffinePass().apply(context(), module)
    module.verify()
    counters = Counters()
    result = run_function(module, None, [image], counters=counters)[-1]
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (2, 3))
    sums = np.einsum("ncyxij,fcij->nfyx", windows, weights)
    np.testing.assert_array_equal(result, np.maximum(sums, 0) + sums)
    assert bool(counters.transfers) == bool(sram_bytes)
    spilled = sram_bytes == 600
    assert spilled == (counters.feature_map_read_bytes > 2 * image.nbytes)


TWO = """
builtin.module TARGET {
func.func @network(%x: tensor<1x2x9x9xf32>, %start: tensor<1x3x7x7xf32>) -> tensor<1x2x4x5xf32> {
  %w = arith.constant dense<WEIGHTS> : tensor<3x2x3x3xf32>
  %v = arith.constant dense<MORE> : tensor<2x3x2x3xf32>
  %z = arith.constant dense<1.0> : tensor<1x2x4x5xf32>
  %e = tensor.empty() : tensor<1x3x7x7xf32>
  %c = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>,
    strides = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<1x2x9x9xf32>, tensor<3x2x3x3xf32>)
    outs(%start : tensor<1x3x7x7xf32>) -> tensor<1x3x7x7xf32>
  %r = linalg.add ins(%c, %c : tensor<1x3x7x7xf32>, tensor<1x3x7x7xf32>)
    outs(%e : tensor<1x3x7x7xf32>) -> tensor<1x3x7x7xf32>
  %m = npu.relu %r : tensor<1x3x7x7xf32> -> tensor<1x3x7x7xf32>
  %d = linalg.conv_2d_nchw_fchw {dilations = dense<[3, 1]> : tensor<2xi64>,
    strides = dense<1> : tensor<2xi64>} ins(%m, %v : tensor<1x3x7x7xf32>, tensor<2x3x2x3xf32>)
    outs(%z : tensor<1x2x4x5xf32>) -> tensor<1x2x4x5xf32>
  func.return %d : tensor<1x2x4x5xf32>
}
}
"""


def windows(x: np.ndarray, rows: int, dilation: int) -> np.ndarray:
    """The windows [n, c, y, x, i, j] of a convolution with 3 columns."""
    reach = (rows - 1) * dilation + 1
    found = np.lib.stride_tricks.sliding_window_view(x, (reach, 3), (2, 3))
    return found[..., ::dilation, :]


@pytest.mark.parametrize(
    ("sram_bytes", "passes"),
    [(0, "npu-assign-sram-offsets"), (1 << 13, DMA), (2200, DMA + ",npu-outline-layers")],
)
def test_rows_of_linalg(sram_bytes: int, passes: str) -> None:
    """Two convolutions, a sum and a layer of ours run row by row."""
    random = np.random.default_rng(2)
    weights, more, image, start = (
        random.integers(-3, 4, shape).astype(np.float32)
        for shape in ((3, 2, 3, 3), (2, 3, 2, 3), (1, 2, 9, 9), (1, 3, 7, 7))
    )
    text = TWO.replace("WEIGHTS", str(weights.tolist())).replace("MORE", str(more.tolist()))
    text = text.replace("TARGET", TARGET.replace("SRAM", str(sram_bytes)) if sram_bytes else "")
    module = run_passes(context(), parse(context(), text), "npu-fuse-rows{when=always}")
    assert "npu.rows" in str(module)
    module = run_passes(context(), module, f"npu-bufferize,{passes}")
    ConvertLinalgToLoopsPass().apply(context(), module)
    LowerAffinePass().apply(context(), module)
    result = run_function(module, None, [image, start])[-1]
    sums = np.einsum("ncyxij,fcij->nfyx", windows(image, 3, 1), weights) + start
    expected = np.einsum("ncyxij,fcij->nfyx", windows(np.maximum(sums * 2, 0), 2, 3), more) + 1
    np.testing.assert_array_equal(result, expected)


SQUARE = """linalg.generic {indexing_maps = [affine_map<(n, c, y, x) -> (n, c, y, x)>,
    affine_map<(n, c, y, x) -> (n, c, y, x)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%c : tensor<1x3x7x7xf32>) outs(%e : tensor<1x3x7x7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = arith.mulf %in, %in : f32
    linalg.yield %p : f32
  } -> tensor<1x3x7x7xf32>"""
START = "  %start = arith.constant dense<START> : tensor<1x3x7x7xf32>"
BLOCK = (
    TWO.replace("linalg.add ins(%c, %c :", f"{SQUARE}\n  %t = linalg.add ins(%r, %c :")
    .replace("npu.relu %r", "npu.relu %t")
    .replace(", %start: tensor<1x3x7x7xf32>", "")
    .replace("  %e = tensor", f"{START}\n  %e = tensor")
)
"""A block whose first map is squared and added to itself."""


@pytest.mark.parametrize(
    ("sram_bytes", "passes"),
    [(0, "npu-assign-sram-offsets"), (1 << 13, DMA), (2200, DMA + ",npu-outline-layers")],
)
def test_a_region_of_linalg(sram_bytes: int, passes: str) -> None:
    """A map with two readers runs row by row, and so does the sum of both."""
    random = np.random.default_rng(2)
    weights, more, image, start = (
        random.integers(-3, 4, shape).astype(np.float32)
        for shape in ((3, 2, 3, 3), (2, 3, 2, 3), (1, 2, 9, 9), (1, 3, 7, 7))
    )
    text = BLOCK.replace("WEIGHTS", str(weights.tolist())).replace("MORE", str(more.tolist()))
    text = text.replace("START", str(start.tolist()))
    text = text.replace("TARGET", TARGET.replace("SRAM", str(sram_bytes)) if sram_bytes else "")
    module = run_passes(context(), parse(context(), text), "npu-fuse-regions{when=always}")
    fetched = bool(sram_bytes)
    assert str(module).count("npu.row_time") == 5 + fetched
    module = run_passes(context(), module, f"npu-bufferize,{passes}")
    ConvertLinalgToLoopsPass().apply(context(), module)
    LowerAffinePass().apply(context(), module)
    result = run_function(module, None, [image])[-1]
    sums = np.einsum("ncyxij,fcij->nfyx", windows(image, 3, 1), weights) + start
    block = np.maximum(sums * sums + sums, 0)
    expected = np.einsum("ncyxij,fcij->nfyx", windows(block, 2, 3), more) + 1
    np.testing.assert_array_equal(result, expected)
