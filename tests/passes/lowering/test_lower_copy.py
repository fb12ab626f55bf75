"""Rows of maps move up, and are copied between layouts, by words or by elements."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.pipeline import context, parse, run_passes
from npu_dialect import dsp
from npu_dialect.interpreters import run_function
from npu_dialect.walking import walk_kind

DTYPES = {"i8": np.int8, "ui8": np.uint8, "i16": np.int16, "i32": np.int32, "f32": np.float32}


def strides(shape: tuple[int, ...], *, last: bool) -> list[int]:
    """The strides of a map [N, C, H, W], with its channels last or not."""
    _, channels, height, width = shape
    if last:
        return [channels * height * width, 1, width * channels, channels]
    return [prod(shape[axis + 1 :]) for axis in range(4)]


def buffer(shape: tuple[int, ...], element: str, *, last: bool, offset: str = "0") -> str:
    """A buffer type of a whole map."""
    layout = f"strided<{strides(shape, last=last)}, offset: {offset}>"
    return f"memref<{'x'.join(map(str, shape))}x{element}, {layout}, #npu.sram>"


def rows(
    source: str, shape: tuple[int, ...], first: str, count: int, element: str, last: bool
) -> tuple[str, str]:
    """The text and the type of a view of some rows of a map."""
    _, channels, _, width = shape
    size = "x".join(map(str, (1, channels, count, width)))
    layout = f"strided<{strides(shape, last=last)}, offset: ?>"
    type_ = f"memref<{size}x{element}, {layout}, #npu.sram>"
    text = (
        f"memref.subview {source}[0, 0, {first}, 0] [1, {channels}, {count}, {width}] "
        f"[1, 1, 1, 1] : {buffer(shape, element, last=last)} to {type_}"
    )
    return text, type_


def at(place: int | None) -> str:
    """The attribute that places an argument in the arena."""
    return "" if place is None else f" {{sram.offset = {place} : i64}}"


@settings(max_examples=40, deadline=None)
@given(
    shape=st.tuples(st.just(1), st.integers(1, 9), st.integers(2, 5), st.integers(1, 9)),
    stride=st.integers(1, 3),
    element=st.sampled_from(tuple(DTYPES)),
    last=st.tuples(st.booleans(), st.booleans()),
    machine=st.sampled_from(["cortex-m4", "cortex-m55", "fe310"]),
    place=st.sampled_from([None, 0, 2, 20]),
)
def test_move_up_then_copy(
    shape: tuple[int, ...],
    stride: int,
    element: str,
    last: tuple[bool, bool],
    machine: str,
    place: int | None,
) -> None:
    """The last rows of a window move up, also onto themselves; then the window is copied."""
    kept = max(1, shape[2] - stride)
    first = shape[2] - kept
    whole = shape[2]
    frm, from_type = rows("%m", shape, "%first", kept, element, last[0])
    to, to_type = rows("%m", shape, "%c0", kept, element, last[0])
    seen, seen_type = rows("%m", shape, "%c0", whole, element, last[0])
    out, out_type = rows("%y", shape, "%c0", whole, element, last[1])
    module = parse(
        context(),
        f"func.func @f(%m : {buffer(shape, element, last=last[0])}{at(place)}, "
        f"%y : {buffer(shape, element, last=last[1])}{at(place)}) {{\n"
        f"%c0 = arith.constant 0 : index\n%first = arith.constant {first} : index\n"
        f"%from = {frm}\n%to = {to}\n%seen = {seen}\n%out = {out}\n"
        f'"memref.copy"(%from, %to) : ({from_type}, {to_type}) -> ()\n'
        f'"memref.copy"(%seen, %out) : ({seen_type}, {out_type}) -> ()\n'
        "func.return\n}",
    )
    random = np.random.default_rng(prod(shape))
    image = random.integers(0, 100, shape).astype(DTYPES[element])
    wanted = image.copy()
    wanted[:, :, :kept] = image[:, :, first:]
    loops = run_passes(
        context(), module, f"npu-attach-target{{target={machine}}},npu-lower-to-loops"
    )
    text = str(loops)
    assert "memref.copy" not in text
    assert machine != "fe310" or "dsp." not in text
    if any(walk_kind(loops, dsp.CopyWordsOp)):
        assert element in ("i32", "f32") or place in (0, 20)
    found = run_function(loops, None, [image, np.zeros_like(image)])[-1]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("width", "words"), [(3, 0), (4, 1), (7, 1), (19, 4), (36, 5)])
def test_whole_words(width: int, words: int) -> None:
    """As many words as fit are copied: sixteen bytes in a turn of the loop, then the others."""
    shape = (1, 1, 2, width)
    frm, from_type = rows("%m", shape, "%r", 1, "i8", last=False)
    target = f"memref<1x1x1x{width}xi8, #npu.sram>"
    module = parse(
        context(),
        f"func.func @f(%m : {buffer(shape, 'i8', last=False)}, %y : {target}, %r : index) {{\n"
        f'%row = {frm}\n"memref.copy"(%row, %y) : ({from_type}, {target}) -> ()\nfunc.return\n}}',
    )
    loops = run_passes(context(), module, "npu-attach-target{target=cortex-m4},npu-lower-to-loops")
    assert str(loops).count("dsp.store_word") == words


@pytest.mark.parametrize(
    ("channels", "place", "machine", "copy"),
    [
        (8, 16, "cortex-m4", "dsp.copy_words"),
        (8, 16, "cortex-m55", "dsp.copy_words"),
        (8, 18, "cortex-m4", "dsp.store_word"),
        (7, 16, "cortex-m4", "dsp.store_word"),
        (7, 16, "cortex-m55", "mve.store"),
    ],
)
def test_blocks_where_rows_begin_at_words(
    channels: int, place: int, machine: str, copy: str
) -> None:
    """Neither a buffer nor one of its rows may begin between words: LDM and its like would trap."""
    shape = (1, channels, 3, 9)
    frm, from_type = rows("%m", shape, "%r", 2, "i8", last=True)
    to, to_type = rows("%m", shape, "%c0", 2, "i8", last=True)
    module = parse(
        context(),
        f"func.func @f(%r : index) attributes {{sram.arena = 999 : i64}} {{\n"
        f"%c0 = arith.constant 0 : index\n"
        f"%m = sram.alloc at {place} : {whole(shape)}\n%from = {frm}\n%to = {to}\n"
        f'"memref.copy"(%from, %to) : ({from_type}, {to_type}) -> ()\nfunc.return\n}}',
    )
    pipeline = f"npu-attach-target{{target={machine}}},npu-lower-to-loops"
    text = str(run_passes(context(), module, pipeline))
    assert copy in text
    assert ("dsp.copy_words" in text) == (copy == "dsp.copy_words")


def whole(shape: tuple[int, ...]) -> str:
    """The type of a map of bytes with its channels last."""
    return buffer(shape, "i8", last=True)


@pytest.mark.parametrize("width", [4, 11, 14, 64, 67, 79, 131])
def test_what_is_left_of_blocks(width: int) -> None:
    """Behind whole blocks come a shorter one, words, and bytes."""
    part = f"memref<1x1x1x{width}xi8, strided<[{2 * width}, {2 * width}, {width}, 1]>, #npu.sram>"
    source, target = (f"memref<1x1x{rows}x{width}xi8, #npu.sram>" for rows in (2, 1))
    module = parse(
        context(),
        f"func.func @f(%m : {source}{at(16)}, %y : {target}{at(512)}) {{\n"
        f"%row = memref.subview %m[0, 0, 0, 0] [1, 1, 1, {width}] [1, 1, 1, 1] "
        f": {source} to {part}\n"
        f'"memref.copy"(%row, %y) : ({part}, {target}) -> ()\nfunc.return\n}}',
    )
    loops = run_passes(context(), module, "npu-attach-target{target=cortex-m4},npu-lower-to-loops")
    image = np.random.default_rng(width).integers(-128, 128, (1, 1, 2, width)).astype(np.int8)
    found = run_function(loops, None, [image, np.zeros((1, 1, 1, width), np.int8)])[-1]
    np.testing.assert_array_equal(found, image[:, :, :1])
    assert ("dsp.copy_words" in str(loops)) == (width >= 12)
