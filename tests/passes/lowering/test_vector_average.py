"""Global averages of bytes on a vector unit: the bits of the layers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.kernel_roads import VECTORS, lowered
from helpers.pipeline import context, parse
from npu_dialect.interpreters import run_function


@settings(max_examples=60, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 2), st.integers(1, 11), st.integers(1, 7), st.integers(1, 7)),
    gap=st.integers(0, 3),
    unsigned=st.booleans(),
    scales=st.tuples(*[st.floats(2.0**-10, 1.0, width=32)] * 2),
    points=st.tuples(st.integers(0, 255), st.integers(0, 255)),
    planes=st.sampled_from((False, False, False, True)),
    kind=st.sampled_from(("float", "float", "fixed")),
)
def test_averages(
    shape: tuple[int, int, int, int],
    gap: int,
    unsigned: bool,
    scales: tuple[float, float],
    points: tuple[int, int],
    planes: bool,
    kind: str,
) -> None:
    images, channels, height, width = shape
    pitch, element = channels + gap, "ui8" if unsigned else "i8"
    steps = [height * width * pitch, 1, width * pitch, pitch]
    if planes:
        steps = [channels * height * width, height * width, width, 1]
    source = f"memref<{images}x{channels}x{height}x{width}x{element}, strided<{steps}>>"
    target = f"memref<{images}x{channels}x1x1x{element}>"
    numbers = [point - 128 * (not unsigned) for point in points]
    module = parse(
        context(),
        f"func.func @f(%x: {source}, %y: {target}) {{\n"
        f"  npu.quantized_avg_pool2d ins(%x : {source}) outs(%y : {target}) "
        f"kernel [{height}, {width}] strides [1, 1] "
        f"scales {list(scales)} zero_points {numbers} mode {kind}\n"
        "  func.return\n}",
    )
    dtype = np.uint8 if unsigned else np.int8
    limits, random = np.iinfo(dtype), np.random.default_rng(channels)
    x = random.integers(limits.min, limits.max + 1, shape).astype(dtype)
    y = np.zeros((images, channels, 1, 1), dtype)
    wanted = run_function(module.clone(), None, [x.copy(), y.copy()])[-1]
    loops = lowered(module, VECTORS)
    last = not planes or channels == 1 or height * width == 1
    if kind == "float" and not planes and not gap:
        assert "mve.load" in str(loops)
    if not last or kind != "float":
        assert "mve.load" not in str(loops)
    np.testing.assert_array_equal(run_function(loops, None, [x, y])[-1], wanted)
