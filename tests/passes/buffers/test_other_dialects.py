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
