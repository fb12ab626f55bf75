"""Products of maps of bytes on a vector unit: the bits of the layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from helpers.c_harness import run_c, write_files
from helpers.emulated import require
from helpers.kernel_roads import VECTORS, lowered
from helpers.pipeline import context, parse
from npu_dialect.interpreters import run_function
from npu_passes.emit.c import emit
from npu_tools.verifying.emulators import run_on

KINDS = {"i8": np.int8, "ui8": np.uint8, "i16": np.int16}
BYTES = st.sampled_from(("i8", "i8", "ui8"))
GATE = (0.0451, 0.00391, 0.0397)
"""The scales of a map, of a gate from 0 to 1, and of their product."""


@dataclass(frozen=True)
class Product:
    """A layer on two maps and an output; each of them lies in a buffer of one axis.

    `gap`, `out_gap`: bytes behind the channels of a pixel of the map and of the output. `wide`: the
    map's rows have a pixel more. `planes`: channels are not last in the map and in the output.
    """

    shape: tuple[int, int, int, int]
    gated: bool = True
    elements: tuple[str, str, str] = ("i8", "i8", "i8")
    scales: tuple[float, float, float] = GATE
    points: tuple[int, int, int] = (-3, -128, 4)
    mode: str = "float"
    gap: int = 0
    out_gap: int = 0
    wide: bool = False
    planes: bool = False
    gate_first: bool = False
    in_place: bool = False

    @property
    def maps(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The shapes and the distances of both operands and of the output."""
        map = self.shape, self.steps(self.gap, wide=self.wide)
        out = map if self.in_place else (self.shape, self.steps(self.out_gap))
        images, channels, *_ = self.shape
        gate = (images, channels, 1, 1), (channels, 1, 1, 1)
        return [map, gate if self.gated else map, out]

    def steps(self, gap: int, *, wide: bool = False) -> tuple[int, ...]:
        """The distances of elements of a map."""
        _, channels, height, width = self.shape
        if self.planes:
            return channels * height * width, height * width, width, 1
        pixel = channels + gap
        line = pixel * (width + wide)
        return height * line, 1, line, pixel

    @property
    def sizes(self) -> list[int]:
        """The elements of all buffers."""
        return [max(steps[0] * shape[0], prod(shape)) for shape, steps in self.maps]

    def text(self, *, arena: bool = False) -> str:
        """The layer in a function of its buffers; in place, the output is that of the map.

        `arena`: the buffers are parts of one, so that a board can call the function.
        """
        types, lines = list[str](), list[str]()
        memory = [
            f"memref<{size}x{element}, #npu.sram>"
            for size, element in zip(self.sizes, self.elements, strict=True)
        ]
        for name, (shape, steps), element, flat in zip("abc", self.maps, self.elements, memory):
            sizes = "x".join(map(str, shape))
            types.append(f"memref<{sizes}x{element}, strided<{list(steps)}>, #npu.sram>")
            source = "ma" if name == "c" and self.in_place else f"m{name}"
            lines.append(
                f"%{name} = memref.reinterpret_cast %{source} to offset: [0], "
                f"sizes: {list(shape)}, strides: {list(steps)} : {flat} to {types[-1]}"
            )
        order = [1, 0] if self.gate_first else [0, 1]
        names = ", ".join(f"%{'ab'[each]}" for each in order)
        kinds = ", ".join(types[each] for each in order)
        scales, points = (
            [*(values[each] for each in order), values[2]] for values in (self.scales, self.points)
        )
        return (
            f"{self.head(memory, arena=arena)} {{\n"
            + "\n".join(lines)
            + f"\nnpu.quantized_binary ins({names} : {kinds}) outs(%c : {types[2]}) "
            f"with mul scales {scales} zero_points {points} mode {self.mode}\nfunc.return\n}}"
        )

    def head(self, memory: Sequence[str], *, arena: bool) -> str:
        """The function with its arguments."""
        if not arena:
            arguments = [f"%m{name} : {flat}" for name, flat in zip("abc", memory)]
            return f"func.func @f({', '.join(arguments[: 2 if self.in_place else 3])})"
        ends = np.cumsum([-(-size // 16) * 16 for size in self.sizes]).tolist()
        arguments = [
            f'%m{name} : {flat} {{sram.{way}, npu.name = "m{name}", sram.offset = {offset} : i64}}'
            for name, flat, offset, way in zip(
                "abc", memory, (0, *ends), ("input", "input", "output")
            )
        ]
        return f"func.func @f({', '.join(arguments)}) attributes {{sram.arena = {ends[-1]} : i64}}"

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """Random bytes, for the operands and for the output."""
        random, made = np.random.default_rng(sum(self.shape)), list[NDArray[Any]]()
        for size, element in zip(self.sizes, self.elements, strict=True):
            limits = np.iinfo(KINDS[element])
            numbers = random.integers(limits.min, limits.max + 1, size)
            made.append(numbers.astype(KINDS[element]))
        return made[: 2 if self.in_place else 3]

    @property
    def place(self) -> int:
        """The argument that is the output."""
        return 0 if self.in_place else 2

    @property
    def wanted(self) -> NDArray[Any]:
        """What the layer means."""
        module = parse(context(), self.text())
        return np.asarray(run_function(module, None, self.arrays)[self.place])


def check(product: Product) -> str:
    """Check what the loops of a layer compute; returns their text."""
    loops = lowered(parse(context(), product.text()), VECTORS)
    found = run_function(loops, None, product.arrays)[product.place]
    np.testing.assert_array_equal(found, product.wanted)
    return str(loops)


@st.composite
def products(draw: st.DrawFn) -> Product:
    """Layers of any kind; in place, the output has the element type of the map."""
    map, gate, out = draw(st.tuples(BYTES, BYTES, BYTES))
    in_place = draw(st.booleans())
    elements = map, gate, map if in_place else out
    limits = [np.iinfo(KINDS[each]) for each in elements]
    lhs, rhs = draw(st.tuples(*[st.floats(2.0**-9, 0.5, width=32)] * 2))
    scales = lhs, rhs, draw(st.floats(0.25, 200.0)) * lhs * rhs
    points = [draw(st.integers(int(each.min), int(each.max))) for each in limits]
    return Product(
        draw(st.tuples(st.integers(1, 2), *[st.integers(1, 21)], *[st.integers(1, 5)] * 2)),
        draw(st.booleans()),
        elements,
        (lhs, rhs, float(np.float32(scales[2]))),
        (points[0], points[1], points[2]),
        draw(st.sampled_from(("float", "float", "qlinear", "fixed"))),
        draw(st.integers(0, 3)),
        draw(st.integers(0, 3)),
        wide=draw(st.booleans()),
        planes=draw(st.sampled_from((False, False, True))),
        gate_first=draw(st.booleans()),
        in_place=in_place,
    )


@settings(max_examples=150, deadline=None)
@given(products())
def test_products(product: Product) -> None:
    check(product)


@pytest.mark.parametrize("channels", [1, 4, 7, 8, 13, 24])
@pytest.mark.parametrize("mode", ["float", "qlinear"])
def test_a_number_for_each_channel(channels: int, mode: str) -> None:
    """Of pixels with and without gaps, of single rows and columns, in place, and for images."""
    product = Product((1, channels, 3, 5), mode=mode)
    for each in (
        product,
        replace(product, gate_first=True),
        replace(product, gap=3, out_gap=5),
        replace(product, wide=True),
        replace(product, in_place=True),
        replace(product, shape=(2, channels, 3, 5), out_gap=1),
        replace(product, shape=(1, channels, 1, 5)),
        replace(product, elements=("ui8", "i8", "ui8"), points=(7, 0, 3)),
    ):
        loops = check(each)
        assert "mve.mul_long" in loops
        assert "arith.divf" not in loops


@pytest.mark.parametrize("planes", [False, True])
@pytest.mark.parametrize("width", [1, 5, 8])
def test_maps_of_one_shape(width: int, planes: bool) -> None:
    product = Product((1, 3, 2, width), gated=False, scales=(0.031, 0.022, 0.0411), planes=planes)
    for each in (product, replace(product, in_place=True)):
        assert "mve.mul_long" in check(each)
    assert "mve.mul_long" in check(replace(product, gap=2, out_gap=3, planes=False))


@pytest.mark.parametrize("gate_first", [False, True])
@pytest.mark.parametrize("divisor", [0.04, 0.5])
def test_bytes_that_no_factor_gives(divisor: float, gate_first: bool) -> None:
    """Pairs near ties are rounded in both ways for one product; the lanes divide then."""
    scales = (0.03, 0.02, divisor) if divisor == 0.04 else (0.3, 0.1, divisor)
    product = Product((1, 32, 8, 8), scales=scales, gate_first=gate_first, points=(0, -128, 3))
    for each in (product, replace(product, gated=False), replace(product, in_place=True)):
        loops = check(each)
        assert "mve.mul_long" not in loops
        assert ("mve.fma_scalar" in loops) == (divisor == 0.04)
    assert "mve.load" not in check(replace(product, mode="qlinear", scales=(1.0, 1.0, 2.0)))


def test_what_has_no_vectors() -> None:
    """Halves, gates of planes, other functions, modes of integers, and bytes without a factor."""
    product = Product((1, 8, 2, 3))
    for each in (
        replace(product, elements=("i16", "i8", "i8")),
        replace(product, planes=True),
        replace(product, mode="fixed"),
        replace(product, gated=False, wide=True),
        replace(product, scales=(2.0**-70, 0.1, 0.1)),
    ):
        assert "mve.load" not in check(each)


def cases() -> Sequence[Product]:
    """Layers for the C of machines."""
    return (
        Product((1, 13, 3, 5), out_gap=2),
        Product((2, 8, 2, 2), elements=("ui8", "ui8", "i8"), points=(9, 0, -128)),
        Product((1, 5, 3, 3), gated=False, scales=(0.02, 0.03, 0.05), points=(5, 7, 9)),
        Product((1, 4, 2, 4), gated=False, elements=("i8", "i8", "ui8"), scales=(0.5, 0.5, 0.25)),
    )


@pytest.mark.parametrize("product", cases())
def test_plain_c(product: Product) -> None:
    files = emit(lowered(parse(context(), product.text()), VECTORS), "f")
    kind = KINDS[product.elements[2]].__name__
    found = run_c(files, "f", product.arrays[:2], [(product.sizes[2],)], output_types=[kind])
    written(product, found[0])


@pytest.mark.parametrize("product", cases())
def test_helium(product: Product, tmp_path: Path) -> None:
    machine = require("cortex-m55")
    loops = lowered(parse(context(), product.text(arena=True)), VECTORS)
    write_files(tmp_path, emit(loops, "f"), "f")
    inputs = {"ma": product.arrays[0], "mb": product.arrays[1]}
    (run,) = run_on(machine, tmp_path / "f.c", [inputs], timeout=60).runs
    written(product, run.outputs["mc"])


def written(product: Product, found: NDArray[Any]) -> None:
    """Check the bytes of the output that the layer writes."""
    shape, steps = product.maps[2]
    one, other = (
        np.lib.stride_tricks.as_strided(each.ravel(), shape, steps)
        for each in (found, product.wanted)
    )
    np.testing.assert_array_equal(one, other)
