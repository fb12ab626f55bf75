"""Transfers in blocks: interpreter, emitted C and formula move the same bytes, the same data."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from emit.harness import run_c
from npu_dialect.interpreters import Counters, run_function
from npu_passes.emit.c import emit
from npu_passes.zero_blocks.model import index_bytes, moved_bytes
from npu_tools.driver import context

Array = npt.NDArray[Any]
DTYPES = {"f32": np.float32, "i8": np.int8, "ui8": np.uint8}
Box = tuple[int, int, int, int]
"""First row and column, rows and columns."""


def program(shape: tuple[int, ...], element: str, block: int, zero: int, box: Box) -> ModuleOp:
    """%x goes to a map in blocks as a whole, comes back as a whole to %y, and a box of it to %z."""
    n, c, height, width = shape
    top, left, rows, columns = box
    far, near = (f"memref<{n}x{c}x{height}x{width}x{element}, #npu.{s}>" for s in ("dram", "sram"))
    index = f"memref<{index_bytes(shape, block)}xi8, #npu.dram>"
    small = f"{n}x{c}x{rows}x{columns}x{element}"
    strides = f"[{c * height * width}, {height * width}, {width}, 1]"
    part = f"memref<{small}, strided<{strides}, offset: {top * width + left}>, #npu.dram>"
    size = np.dtype(DTYPES[element]).itemsize * n * c * height * width
    text = f"""
    func.func @k(%x: {far} {{dram.input}}, %y: {far} {{dram.output}},
        %z: memref<{small}, #npu.dram> {{dram.output}})
        attributes {{sram.arena = {3 * size} : i64, dram.bytes = {size + 4096} : i64}} {{
      %index = dram.alloc at 0 : {index}
      %map = dram.alloc at 4096 : {far}
      %a = sram.alloc at 0 : {near}
      %b = sram.alloc at {size} : {near}
      %d = sram.alloc at {2 * size} : memref<{small}, #npu.sram>
      %s = dma.start %x to %a channel 1 : {far} to {near}
      dma.wait %s
      %t = dma.start %a to %map channel 3 blocks {block} zero {zero} of %map, %index
        : {near} to {far} of {far}, {index}
      dma.wait %t
      %u = dma.start %map to %b channel 1 blocks {block} zero {zero} of %map, %index
        : {far} to {near} of {far}, {index}
      dma.wait %u
      %v = dma.start %b to %y channel 3 : {near} to {far}
      dma.wait %v
      %part = memref.subview %map[0, 0, {top}, {left}] [{n}, {c}, {rows}, {columns}] [1, 1, 1, 1]
        : {far} to {part}
      %w = dma.start %part to %d channel 1 blocks {block} zero {zero} of %map, %index
        : {part} to memref<{small}, #npu.sram> of {far}, {index}
      dma.wait %w
      %q = dma.start %d to %z channel 3 : memref<{small}, #npu.sram> to memref<{small}, #npu.dram>
      dma.wait %q
      func.return
    }}"""
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def sparse(shape: tuple[int, ...], element: str, block: int, zero: int, share: float) -> Array:
    """A map of which about a share of the blocks is zero."""
    rng = np.random.default_rng(7)
    array = rng.integers(-100, 100, shape).astype(DTYPES[element])
    for n, c in np.ndindex(*shape[:2]):
        for y in range(0, shape[2], block):
            for x in range(0, shape[3], block):
                if rng.random() < share:
                    array[n, c, y : y + block, x : x + block] = zero
    return array


def kept(array: Array, block: int, zero: int, box: Box) -> int:
    """Elements of a box that lie in blocks with an element other than zero."""
    top, left, rows, columns = box
    count = 0
    for n, c, y, x in np.ndindex(*array.shape):
        if top <= y < top + rows and left <= x < left + columns:
            by, bx = y // block * block, x // block * block
            count += bool((array[n, c, by : by + block, bx : bx + block] != zero).any())
    return count


def index_met(shape: tuple[int, ...], block: int, box: Box) -> int:
    """Bytes of the index with a bit of a block that a box meets."""
    top, left, rows, columns = box
    high, wide = -(-shape[2] // block), -(-shape[3] // block)
    found = {
        (((n * shape[1] + c) * high + y // block) * wide + x // block) // 8
        for n, c in np.ndindex(*shape[:2])
        for y in range(top, top + rows)
        for x in range(left, left + columns)
    }
    return len(found)


def expected(array: Array, block: int, zero: int, box: Box) -> Counters:
    """The formula."""
    whole = kept(array, block, zero, (0, 0, *array.shape[2:]))
    size, shape = array.itemsize, array.shape
    once = moved_bytes(shape, block, size, whole)
    part = index_met(shape, block, box) + size * kept(array, block, zero, box)
    small = shape[0] * shape[1] * box[2] * box[3] * size
    return Counters(0, array.nbytes + once + part, once + array.nbytes + small, 0, 0, 6)


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, ...], str, int, int, float, Box]:
    """Shape, elements, block, zero, sparsity, and a box."""
    height, width = draw(st.integers(1, 33)), draw(st.integers(1, 47))
    shape = (draw(st.integers(1, 2)), draw(st.integers(1, 3)), height, width)
    element = draw(st.sampled_from(["f32", "i8", "ui8"]))
    zero = {"f32": 0, "i8": draw(st.sampled_from([0, -128, 5])), "ui8": 128}[element]
    top, left = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
    box = (top, left, draw(st.integers(1, height - top)), draw(st.integers(1, width - left)))
    share = draw(st.sampled_from([0.0, 0.3, 0.9, 1.0]))
    return shape, element, draw(st.sampled_from([1, 2, 4, 8])), zero, share, box


@settings(max_examples=25, deadline=None)
@given(cases())
def test_interpreter(case: tuple[tuple[int, ...], str, int, int, float, Box]) -> None:
    shape, element, block, zero, share, box = case
    array = sparse(shape, element, block, zero, share)
    counters = Counters()
    whole, part = run_function(program(shape, element, block, zero, box), None, [array], counters)
    np.testing.assert_array_equal(whole, array)
    top, left, rows, columns = box
    np.testing.assert_array_equal(part, array[:, :, top : top + rows, left : left + columns])
    assert counters == expected(array, block, zero, box)


def test_minus_zero_is_moved() -> None:
    """Lossless is to the bit."""
    array = np.full((1, 1, 4, 4), -0.0, np.float32)
    module = program(array.shape, "f32", 2, 0, (0, 0, 1, 1))
    whole, _ = run_function(module, None, [array])
    assert np.signbit(whole).all()


@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(cases(), st.sampled_from(["c", "c++"]))
def test_emitted_c(case: tuple[tuple[int, ...], str, int, int, float, Box], language: str) -> None:
    """The strict engine: poison until the wait, and no mistake; counters equal the formula."""
    shape, element, block, zero, share, box = case
    array = sparse(shape, element, block, zero, share)
    ran, dtype = Counters(), np.dtype(DTYPES[element]).name
    outputs = [shape, (*shape[:2], *box[2:])]
    module = program(shape, element, block, zero, box)
    types = [dtype, dtype]
    files = emit(module)
    whole, part = run_c(
        files, "k", [array], outputs, output_types=types, counters=ran, language=language
    )
    np.testing.assert_array_equal(whole, array)
    top, left, rows, columns = box
    np.testing.assert_array_equal(part, array[:, :, top : top + rows, left : left + columns])
    assert ran == expected(array, block, zero, box)
