"""Max pools of bytes on a vector unit: the bits of the layers, in any layout."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.kernel_roads import VECTORS, lowered
from helpers.pipeline import context, parse
from helpers.pools import PADS, PAIR, map_type
from npu_dialect.interpreters import run_function
from npu_dialect.windows import Axis


@settings(max_examples=80, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 2), st.integers(1, 37), st.integers(1, 7), st.integers(1, 7)),
    kernel=PAIR,
    strides=PAIR,
    dilations=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    pads=PADS,
    element=st.sampled_from(("i8", "i8", "ui8")),
    gaps=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    planes=st.sampled_from((False, False, True)),
)
def test_pools(
    shape: tuple[int, int, int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    pads: tuple[int, int, int, int],
    element: str,
    gaps: tuple[int, int],
    planes: bool,
) -> None:
    images, channels, *sizes = shape
    rows, columns = (
        Axis(size, kernel[k], strides[k], pads[k], pads[k + 2], dilations[k])
        for k, size in enumerate(sizes)
    )
    extents = [rows.outputs, columns.outputs]
    if min(extents) < 1 or not (rows.meets_input and columns.meets_input):
        return
    source = map_type(shape, element, gaps[0], planes=planes)
    target = map_type((images, channels, *extents), element, gaps[1], planes=False)
    module = parse(
        context(),
        f"func.func @f(%x: {source}, %y: {target}) {{\n"
        f"  npu.max_pool2d ins(%x : {source}) outs(%y : {target}) kernel {list(kernel)} "
        f"strides {list(strides)} pads {list(pads)} dilations {list(dilations)}\n"
        "  func.return\n}",
    )
    kind = np.uint8 if element == "ui8" else np.int8
    limits, random = np.iinfo(kind), np.random.default_rng(channels)
    arrays = [
        random.integers(limits.min, limits.max + 1, each).astype(kind)
        for each in (shape, (images, channels, *extents))
    ]
    wanted = run_function(module.clone(), None, [each.copy() for each in arrays])[-1]
    loops = lowered(module, VECTORS)
    last = not planes or sizes == [1, 1]
    assert ("mve.load" in str(loops)) == (element == "i8" and last and channels >= 4)
    found = run_function(loops, None, [each.copy() for each in arrays])[-1]
    np.testing.assert_array_equal(found, wanted)
