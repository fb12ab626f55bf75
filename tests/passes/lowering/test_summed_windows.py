"""Windows of averages of bytes by integer sums on a scalar core: the bits of the layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from helpers.kernel_roads import DSP, lowered
from helpers.pipeline import context, parse
from helpers.plain_c import computes
from helpers.pools import map_type
from npu_dialect.interpreters import run_function
from npu_dialect.npu import QuantizedAvgPool2dOp
from npu_passes.lowering.kernels.byte_stores import Ends
from npu_passes.lowering.real_lanes import Average
from npu_passes.lowering.window_sums import chain_of


@dataclass(frozen=True)
class Pool:
    """An average pool of a map [N, C, H, W] with channels last, or plane by plane."""

    shape: tuple[int, int, int, int] = (1, 3, 7, 8)
    kernel: tuple[int, int] = (3, 3)
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    dilations: tuple[int, int] = (1, 1)
    counts_pads: bool = False
    unsigned: bool = False
    scales: tuple[float, float] = (0.03, 0.03)
    points: tuple[int, int] = (-128, -128)
    mode: str = "float"
    planes: bool = False

    @property
    def outputs(self) -> tuple[int, int, int, int]:
        """The shape of the output."""
        sizes = [
            (size + before + after - dilation * (kernel - 1) - 1) // stride + 1
            for size, kernel, stride, dilation, before, after in zip(
                self.shape[2:],
                self.kernel,
                self.strides,
                self.dilations,
                self.pads[:2],
                self.pads[2:],
                strict=True,
            )
        ]
        return self.shape[0], self.shape[1], sizes[0], sizes[1]

    def type(self, shape: tuple[int, int, int, int]) -> str:
        """The type of a map."""
        element = "ui8" if self.unsigned else "i8"
        return map_type(shape, element, 0, planes=self.planes, space=", #npu.sram")

    @property
    def module(self) -> ModuleOp:
        """A function with the layer."""
        source, target = self.type(self.shape), self.type(self.outputs)
        size = int(np.prod(self.shape))
        moved = [point + 128 * self.unsigned for point in self.points]
        return parse(
            context(),
            f'func.func @f(%x: {source} {{sram.input, npu.name = "x", sram.offset = 0 : i64}}, '
            f'%y: {target} {{sram.output, npu.name = "y", sram.offset = {size} : i64}}) '
            f"attributes {{sram.arena = {size + int(np.prod(self.outputs))} : i64}} {{\n"
            f"  npu.quantized_avg_pool2d ins(%x : {source}) outs(%y : {target}) "
            f"kernel {list(self.kernel)} strides {list(self.strides)} pads {list(self.pads)} "
            f"dilations {list(self.dilations)}{' count_include_pad' * self.counts_pads} "
            f"scales {list(self.scales)} zero_points {moved} mode {self.mode}\n"
            "  func.return\n}",
        )

    @property
    def input(self) -> NDArray[np.generic]:
        """Random bytes."""
        dtype = np.uint8 if self.unsigned else np.int8
        limits, random = np.iinfo(dtype), np.random.default_rng(self.shape[1])
        return random.integers(limits.min, limits.max + 1, self.shape).astype(dtype)


def check(pool: Pool) -> str:
    """The loops of a pool, which compute what the layer means."""
    module, x = pool.module, pool.input
    (wanted,) = run_function(module.clone(), None, [x.copy()])
    loops = lowered(module, DSP)
    np.testing.assert_array_equal(run_function(loops, None, [x])[0], wanted)
    return str(loops)


PAIRS = st.tuples(st.integers(1, 3), st.integers(1, 3))


@settings(max_examples=80, deadline=None)
@given(
    st.builds(
        Pool,
        st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(3, 8), st.integers(3, 8)),
        PAIRS,
        PAIRS,
        st.tuples(*[st.integers(0, 1)] * 4),
        st.sampled_from(((1, 1), (1, 1), (2, 1))),
        st.booleans(),
        st.booleans(),
        st.tuples(*[st.floats(2.0**-8, 0.5, width=32)] * 2)
        | st.floats(2.0**-8, 0.5, width=32).map(lambda scale: (scale, scale)),
        st.tuples(*[st.integers(-128, 127)] * 2),
        st.sampled_from(("float", "float", "qlinear")),
        st.booleans(),
    ).filter(
        lambda pool: (
            min(pool.outputs) > 0
            and all(a < b for a, b in zip(pool.pads[:2], pool.kernel))
            and all(a < b for a, b in zip(pool.pads[2:], pool.kernel))
        )
    )
)
def test_averages(pool: Pool) -> None:
    check(pool)


@pytest.mark.parametrize(("mode", "roundings"), [("float", 1 + 2 + 3), ("qlinear", 5 + 3)])
def test_roundings_of_the_chain(mode: str, roundings: int) -> None:
    """Of two rows and three columns: an element goes through a product, additions and quotients.

    Columns are added up first, then their sums; mode qlinear adds up all elements in turn.
    """
    module = Pool(kernel=(2, 3), mode=mode).module
    (op,) = (each for each in module.walk() if isinstance(each, QuantizedAvgPool2dOp))
    average = Average(-128, 0.03, 0.03, Ends(-128, (-128, 127)))
    chain = chain_of(op, average, op.window().axes(7, 8))
    assert chain.roundings == roundings
    assert (chain.low, chain.high) == (0, 255)


def test_sums_are_integers_where_no_order_matters() -> None:
    """Windows on the map are straight code; a table has the factors of those at the border."""
    text = check(Pool(scales=(0.03, 0.02001)))
    assert "arith.divf" not in text
    assert text.count("memref.global") == 1
    for pool in (Pool(counts_pads=True), Pool(pads=(0, 0, 0, 0))):
        text = check(pool)
        assert "arith.divf" not in text
        assert "factors" not in text


def test_borders_may_need_the_order_of_the_mode() -> None:
    """Equal scales, and four or six taps at the border: windows on the map have nine."""
    text = check(Pool())
    assert "arith.sitofp" in text.partition("} else {")[0]
    assert "arith.divf" in text


def test_ties_keep_the_order_of_the_mode() -> None:
    """Equal scales and four taps: a sum may lie between two bytes."""
    assert "arith.divf" in check(Pool(kernel=(2, 2), pads=(0, 0, 0, 0)))


def test_large_windows_have_loops() -> None:
    large, small = (
        check(Pool(kernel=(size, size), shape=(1, 2, 8, 8), pads=(0, 0, 0, 0))) for size in (7, 5)
    )
    assert (large.count("memref.load"), small.count("memref.load")) == (1, 25)


@pytest.mark.parametrize(
    "pool",
    [
        Pool(planes=True),
        Pool(counts_pads=True, unsigned=True, points=(3, 7), planes=True),
        Pool((2, 5, 9, 6), strides=(2, 3), scales=(0.04, 0.031), points=(5, -9), planes=True),
    ],
)
def test_host(pool: Pool) -> None:
    """Plain C gives the same bytes."""
    x = pool.input
    (wanted,) = run_function(pool.module, None, [x.copy()])
    computes(str(lowered(pool.module, DSP)), "f", [x], [wanted], "c")
