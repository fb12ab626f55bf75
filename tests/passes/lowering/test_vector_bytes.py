"""Sums and other scales of maps of bytes on a vector unit: the bits of the layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from helpers.kernel_roads import VECTORS, lowered
from helpers.pipeline import context, parse
from npu_dialect.interpreters import run_function

Arrays = list[NDArray[Any]]
ELEMENTS = st.sampled_from(("i8", "ui8"))
LIMITS = {"i8": (-128, 127), "ui8": (0, 255)}
KINDS = {"i8": np.int8, "ui8": np.uint8, "i16": np.int16}
LAYOUTS = ("planes", "pixels", "slice of planes", "slice of pixels")
GAPS = "rows with gaps"


@dataclass(frozen=True)
class Map:
    """A map [1, C, H, W]: its element type and where its elements lie."""

    element: str
    layout: str

    def type(self, channels: int, height: int, width: int) -> str:
        """The type of the map; slices have three channels more in their buffer, gaps a pixel."""
        whole = channels + 3 * self.layout.startswith("slice")
        planes = [whole * height * width, height * width, width, 1]
        line = whole * (width + (self.layout == GAPS))
        pixels = [line * height, 1, line, whole]
        steps = planes if self.layout.endswith("planes") else pixels
        layout = f", strided<[{', '.join(map(str, steps))}]>"
        return f"memref<1x{channels}x{height}x{width}x{self.element}{layout}>"


def run(layer: str, types: list[str], clauses: str) -> tuple[ModuleOp, Arrays, Arrays]:
    """A layer on vectors, what its loops compute of random bytes, and what it means."""
    *inputs, out = [f"%m{number} : {type_}" for number, type_ in enumerate(types)]
    names = ", ".join(each.split(" ")[0] for each in inputs)
    module = parse(
        context(),
        f"func.func @f({', '.join((*inputs, out))}) {{\n"
        f"  {layer} ins({names} : {', '.join(types[:-1])}) "
        f"outs({out}) {clauses}\n  func.return\n}}",
    )
    random = np.random.default_rng(len(clauses))
    arrays: Arrays = []
    for type_ in types:
        shape = tuple(map(int, type_[7:].split("x")[:4]))
        kind = next(KINDS[each] for each in KINDS if f"x{each}" in type_)
        limits = np.iinfo(kind)
        arrays.append(random.integers(limits.min, limits.max + 1, shape).astype(kind))
    wanted = list(run_function(module.clone(), None, [each.copy() for each in arrays]))
    loops = lowered(module, VECTORS)
    return loops, list(run_function(loops, None, [each.copy() for each in arrays])), wanted


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_sums(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 19), st.integers(1, 3), st.integers(1, 5)))
    layouts = data.draw(
        st.sampled_from((LAYOUTS[:1], LAYOUTS[:3:2], LAYOUTS[1::2], (*LAYOUTS, GAPS)))
    )
    maps = [Map(data.draw(ELEMENTS), data.draw(st.sampled_from(layouts))) for _ in range(3)]
    scales = [data.draw(st.floats(2.0**-8, 0.5, width=32)) for _ in maps]
    points = [data.draw(st.integers(*LIMITS[each.element])) for each in maps]
    mode = data.draw(st.sampled_from(("float", "float", "qlinear", "fixed")))
    clauses = f"scales {scales} zero_points {points} mode {mode}"
    _, found, wanted = run("npu.quantized_add", [each.type(*shape) for each in maps], clauses)
    np.testing.assert_array_equal(found[-1], wanted[-1])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_other_scales(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 19), st.integers(1, 3), st.integers(1, 5)))
    layouts = data.draw(st.sampled_from((LAYOUTS[:1], LAYOUTS[1::2], (LAYOUTS[1], GAPS), LAYOUTS)))
    maps = [Map(data.draw(ELEMENTS), data.draw(st.sampled_from(layouts))) for _ in range(2)]
    points = [data.draw(st.integers(*LIMITS[each.element])) for each in maps]
    scale = data.draw(st.floats(2.0**-6, 8.0, width=32))
    divisor = data.draw(st.sampled_from(("", " divisor 0.7")))
    clauses = f"scales [{scale}]{divisor} zero_points {points} mode float"
    _, found, wanted = run("npu.requantize", [each.type(*shape) for each in maps], clauses)
    np.testing.assert_array_equal(found[-1], wanted[-1])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", ["float", "qlinear"])
def test_eight_bytes_at_a_time(layout: str, mode: str) -> None:
    """All layouts of maps that lie alike have vectors, also of runs that 8 does not divide."""
    types = [Map("i8", layout).type(11, 2, 3)] * 3
    clauses = f"scales [0.11, 0.23, 0.31] zero_points [3, -5, 7] mode {mode}"
    loops, found, wanted = run("npu.quantized_add", types, clauses)
    assert "mve.fma_scalar" in str(loops)
    assert "arith.divf" not in str(loops)
    np.testing.assert_array_equal(found[-1], wanted[-1])


def test_what_has_no_vectors() -> None:
    """Halves, maps that lie otherwise, broadcasting, and modes of integers have general loops."""
    clauses = "scales [0.11, 0.23, 0.31] zero_points [0, 0, 0] mode {}"
    planes, pixels = (Map("i8", layout).type(8, 2, 3) for layout in LAYOUTS[:2])
    gaps, halves, row = (
        Map("i8", GAPS).type(8, 2, 3),
        planes.replace("xi8", "xi16"),
        Map("i8", "planes").type(8, 1, 1),
    )
    for types, mode in (
        ([planes, pixels, planes], "float"),
        ([pixels, pixels, gaps], "float"),
        ([halves] * 3, "float"),
        ([planes, row, planes], "float"),
        ([planes] * 3, "fixed"),
    ):
        loops, found, wanted = run("npu.quantized_add", types, clauses.format(mode))
        assert "mve.load" not in str(loops)
        np.testing.assert_array_equal(found[-1], wanted[-1])


def table(element: str, seed: int) -> str:
    """The clause of a table of random entries."""
    entries = np.random.default_rng(seed).integers(0, 256, 256).astype(np.uint8)
    sign = "signed" if element == "i8" else "unsigned"
    return f'with lookup {sign} "{entries.tobytes().hex()}"'


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_tables(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 35), st.integers(1, 3), st.integers(1, 5)))
    layouts = data.draw(st.sampled_from((LAYOUTS[:1], LAYOUTS[1::2], (LAYOUTS[1], GAPS), LAYOUTS)))
    element = data.draw(ELEMENTS)
    maps = [Map(element, data.draw(st.sampled_from(layouts))).type(*shape) for _ in range(2)]
    _, found, wanted = run("npu.lookup", maps, table(element, data.draw(st.integers(0, 99))))
    np.testing.assert_array_equal(found[-1], wanted[-1])


@pytest.mark.parametrize("element", ["i8", "ui8"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sixteen_bytes_are_looked_up_at_once(layout: str, element: str) -> None:
    types = [Map(element, layout).type(19, 2, 3)] * 2
    loops, found, wanted = run("npu.lookup", types, table(element, 1))
    assert "mve.gather_bytes %lookup" in str(loops)
    assert "memref.load" not in str(loops)
    np.testing.assert_array_equal(found[-1], wanted[-1])


def test_maps_that_lie_otherwise_are_looked_up_byte_by_byte() -> None:
    types = [Map("i8", layout).type(19, 2, 3) for layout in LAYOUTS[:2]]
    loops, found, wanted = run("npu.lookup", types, table("i8", 2))
    assert "mve." not in str(loops)
    np.testing.assert_array_equal(found[-1], wanted[-1])
