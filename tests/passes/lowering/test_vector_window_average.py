"""Windows of averages of bytes on a vector unit: the bits of the layers, in any layout."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from helpers import program_runs
from helpers.kernel_roads import VECTORS, lowered, placed
from helpers.pipeline import context, parse
from helpers.pools import PADS, PAIR, map_type
from npu_dialect.interpreters import run_function
from npu_dialect.windows import Axis
from npu_tools.compiling.check import random_inputs

SCALES = st.one_of(
    st.tuples(*[st.floats(2.0**-10, 1.0, width=32)] * 2),
    st.sampled_from(((0.1, 0.1), (0.25, 0.25), (0.02, 0.03), (1.0, 0.5))),
)


@settings(max_examples=150, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 2), st.integers(1, 21), st.integers(1, 7), st.integers(1, 7)),
    kernel=PAIR,
    strides=PAIR,
    dilations=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    pads=PADS,
    flags=st.tuples(st.booleans(), st.booleans()),
    unsigned=st.booleans(),
    gaps=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    scales=SCALES,
    points=st.tuples(st.integers(0, 255), st.integers(0, 255)),
    planes=st.sampled_from((False, False, False, True)),
    mode=st.sampled_from(("float", "float", "qlinear", "fixed")),
)
def test_averages(
    shape: tuple[int, int, int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    pads: tuple[int, int, int, int],
    flags: tuple[bool, bool],
    unsigned: bool,
    gaps: tuple[int, int],
    scales: tuple[float, float],
    points: tuple[int, int],
    planes: bool,
    mode: str,
) -> None:
    images, channels, *sizes = shape
    ceil, whole = flags
    rows, columns = (
        Axis(size, kernel[k], strides[k], pads[k], pads[k + 2], dilations[k], ceil)
        for k, size in enumerate(sizes)
    )
    extents = [rows.outputs, columns.outputs]
    if min(extents) < 1 or not (rows.meets_input and columns.meets_input):
        return
    element = "ui8" if unsigned else "i8"
    source = map_type(shape, element, gaps[0], planes=planes)
    target = map_type((images, channels, *extents), element, gaps[1], planes=False)
    numbers = [point - 128 * (not unsigned) for point in points]
    module = parse(
        context(),
        f"func.func @f(%x: {source}, %y: {target}) {{\n"
        f"  npu.quantized_avg_pool2d ins(%x : {source}) outs(%y : {target}) "
        f"kernel {list(kernel)} strides {list(strides)} pads {list(pads)} "
        f"dilations {list(dilations)} {'ceil_mode ' * ceil}{'count_include_pad ' * whole}"
        f"scales {list(scales)} zero_points {numbers} mode {mode}\n"
        "  func.return\n}",
    )
    dtype = np.uint8 if unsigned else np.int8
    limits, random = np.iinfo(dtype), np.random.default_rng(channels)
    arrays = [
        random.integers(limits.min, limits.max + 1, each).astype(dtype)
        for each in (shape, (images, channels, *extents))
    ]
    wanted = run_function(module.clone(), None, [each.copy() for each in arrays])[-1]
    loops = lowered(module, VECTORS)
    if channels == 1 or (planes and sizes != [1, 1]):
        assert list(kernel) == sizes or "mve.load" not in str(loops)
    elif mode != "fixed" and not planes and list(kernel) != sizes:
        assert "mve.load" in str(loops)
    found = run_function(loops, None, [each.copy() for each in arrays])[-1]
    np.testing.assert_array_equal(found, wanted)


class Pool(NamedTuple):
    """Maps of a pool as they lie in memory, [N, H, W, C], and its clauses."""

    source: tuple[int, int, int, int]
    target: tuple[int, int, int, int]
    clauses: str
    unsigned: bool = False

    def network(self) -> ModuleOp:
        """A network whose maps have channels last."""
        element = "ui8" if self.unsigned else "i8"
        types: list[str] = []
        for each in (self.source, self.target):
            images, height, width, channels = each
            for sizes in (each, (images, channels, height, width)):
                types.append(f"tensor<{'x'.join(map(str, sizes))}x{element}>")
        source, before, target, after = types
        return parse(
            context(),
            f"func.func @f(%x: {source}) -> {target} {{\n"
            f"  %a = npu.transpose %x perm [0, 3, 1, 2] : {source} -> {before}\n"
            f"  %b = npu.quantized_avg_pool2d %a {self.clauses} : {before} -> {after}\n"
            f"  %c = npu.transpose %b perm [0, 2, 3, 1] : {after} -> {target}\n"
            f"  func.return %c : {target}\n}}",
        )


SAME = "pads [1, 1, 1, 1]"
POOLS = {
    "integers": Pool(
        (1, 5, 6, 11),
        (1, 5, 6, 11),
        f"kernel [3, 3] strides [1, 1] {SAME} count_include_pad "
        "scales [0.02137, 0.01831] zero_points [-128, -128] mode float",
    ),
    "integers, several counts": Pool(
        (2, 5, 7, 9),
        (2, 3, 4, 9),
        f"kernel [3, 3] strides [2, 2] {SAME} "
        "scales [0.02137, 0.01831] zero_points [130, 7] mode float",
        unsigned=True,
    ),
    "integers, and the point before rounding": Pool(
        (1, 5, 5, 5),
        (1, 3, 4, 5),
        "kernel [3, 2] strides [1, 1] scales [0.02137, 0.01831] zero_points [3, 5] mode qlinear",
    ),
    "real numbers": Pool(
        (1, 5, 6, 7),
        (1, 2, 3, 7),
        "kernel [2, 2] strides [2, 2] scales [0.1, 0.1] zero_points [5, 5] mode float",
    ),
    "real numbers, more taps than straight-line code has": Pool(
        (1, 24, 24, 5),
        (1, 2, 2, 5),
        "kernel [23, 23] strides [1, 1] scales [0.1, 0.01] zero_points [5, 5] mode float",
    ),
    "real numbers, several counts": Pool(
        (2, 6, 5, 6),
        (2, 4, 3, 6),
        "kernel [4, 4] strides [2, 2] pads [2, 1, 1, 1] ceil_mode count_include_pad "
        "scales [0.1, 0.1] zero_points [5, 9] mode qlinear",
    ),
}
"""Each way to average windows, with channels that are left."""


def check(name: str) -> tuple[ModuleOp, list[np.ndarray], list[np.ndarray]]:
    """The loops of a pool, inputs, and what the network gives for them."""
    module = POOLS[name].network()
    inputs = random_inputs(module, 3)
    wanted = list(run_function(module, None, inputs))
    loops = lowered(placed(module), VECTORS)
    assert ("mve.widen" in str(loops)) == name.startswith("integers")
    assert ("mve.fma_scalar" in str(loops)) == name.startswith("real numbers")
    return loops, inputs, wanted


@pytest.mark.slow
@pytest.mark.parametrize("name", POOLS)
def test_host(name: str) -> None:
    """C with sanitizers, in a poisoned arena between fences."""
    loops, inputs, wanted = check(name)
    program_runs.check_host(loops, inputs, wanted, name)


@pytest.mark.parametrize("name", POOLS)
def test_helium(name: str, tmp_path: Path) -> None:
    """The instructions on the emulated Cortex-M55."""
    loops, inputs, wanted = check(name)
    program_runs.check_board(VECTORS.machine, loops, inputs, wanted, tmp_path, ["-O2"])
