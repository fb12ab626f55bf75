"""With the default pipeline, a Cortex-M4, an FE310 and vectors give the bits of onnxruntime.

Weights are small: without VNNI, onnxruntime's kernels for x86 saturate sums of two products.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from onnx import ModelProto

from helpers.pipeline import context, run_passes
from helpers.quantized.build import Array, Graph, imported, integers, onnxruntime_says, rng
from npu_dialect.interpreters import run_function
from npu_passes.pipelines import PIPELINES


def network(seed: int, multiplier: int = 1) -> tuple[ModelProto, dict[str, Array]]:
    """Three convolutions: of an image, depthwise, and dense.

    A channel has `multiplier` filters in the depthwise one. With several the maps are of int8.
    """
    random, kind = Random(seed), ("uint8", "int8")[seed % 2 or multiplier > 1]
    graph = Graph()
    before = graph.params("in", 0.01, random.randint(0, 99), kind)
    source, channels = "x", random.choice((1, 3))
    feeds = {"x": integers(seed, kind, 1, channels, 7, random.randint(7, 9))}
    for index, groups in enumerate((1, 8, 1)):
        filters = (8, 8 * multiplier, 5)[index]
        side = random.choice((1, 3))
        shape = (filters, channels // groups, side, side)
        weights = rng(seed + index).integers(-63, 64, shape).astype(np.int8)
        scales = [0.004 * (filter + 1) for filter in range(filters)]
        names = [
            *(source, *before),
            graph.constant(f"w{index}", weights),
            *graph.params(f"w{index}", scales, [0] * filters, "int8"),
        ]
        before = graph.params(f"{index}_out", 0.5, random.randint(0, 99), kind)
        bias = graph.constant(f"b{index}", rng(seed).integers(-900, 900, filters), np.int32)
        pads = [random.randint(0, side // 2) for _ in range(4)]
        names += [*before, bias]
        stride = random.choice((1, 2))
        source = graph.add(
            "QLinearConv", names, f"y{index}", pads=pads, strides=[stride] * 2, group=groups
        )
        channels = filters
    return graph.model(feeds, source, kind, 13), feeds


@pytest.mark.parametrize("target", ["cortex-m4", "fe310"])
@pytest.mark.parametrize("seed", range(4))
def test_convolutions(seed: int, target: str) -> None:
    assert check(target, *network(seed)).count("_taps") >= 3


@pytest.mark.parametrize(("seed", "multiplier"), [(0, 2), (1, 3), (2, 4)])
def test_filters_that_share_a_channel_on_vectors(seed: int, multiplier: int) -> None:
    assert "mve.scatter" in check("cortex-m55", *network(seed, multiplier))


def check(target: str, proto: ModelProto, feeds: dict[str, Array]) -> str:
    """Check the results of the loops for a machine; returns their text."""
    wanted = onnxruntime_says(proto, feeds)
    passes = f"npu-attach-target{{target={target}}},{PIPELINES['default'].text}"
    loops = run_passes(context(), imported(proto), passes)
    np.testing.assert_array_equal(run_function(loops, None, list(feeds.values()))[0], wanted)
    return str(loops)
