"""`npu.prune_zero_blocks` in the interpreter, in loops and in tiles, against blocks by hand."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import Float64Type, FloatAttr, IntegerAttr, ModuleOp, i64
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException, VerifyException

from helpers.c_harness import run_c
from npu_dialect import dsp
from npu_dialect.interpreters import run_function
from npu_dialect.npu import PruneZeroBlocksOp
from npu_passes.emit.c import emit
from npu_passes.lowering.lower_to_loops import LowerToLoopsPass
from npu_passes.zero_blocks.prune_zero_blocks import PruneZeroBlocksPass
from npu_tools.shared.installed import context

Array = npt.NDArray[Any]
SHAPES = st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 11), st.integers(1, 11))
BLOCKS = st.sampled_from([1, 2, 3, 4, 8])


WORDS = (
    'builtin.module attributes {npu.target = #npu.target<"words", {sram_bytes = 65536 : i64, '
    'flash_bytes = 65536 : i64, features = ["dsp"]}>} '
)
"""A machine whose loops read bytes four at a time."""


def program(
    shape: tuple[int, ...], element: str, clauses: str, *, in_place: bool, target: str = ""
) -> ModuleOp:
    """A function with the op on buffers, for a machine."""
    kind = f"memref<{'x'.join(map(str, shape))}x{element}, #npu.sram>"
    out = "%x" if in_place else "%y"
    text = (
        f"{target or 'builtin.module '}{{\n"
        f"func.func @f(%x: {kind}, %y: {kind}) {{\n"
        f"  npu.prune_zero_blocks ins(%x : {kind}) outs({out} : {kind}) {clauses}\n"
        "  func.return\n}\n}\n"
    )
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def by_hand(array: Array, block: int, kept: Any, zero: int) -> Array:
    """Prune blocks one by one; `kept` says whether an element is large enough."""
    result = array.copy()
    for n, c in np.ndindex(*array.shape[:2]):
        for y in range(0, array.shape[2], block):
            for x in range(0, array.shape[3], block):
                part = result[n, c, y : y + block, x : x + block]
                if not any(kept(value) for value in part.flat):
                    part[...] = zero
    return result


def results(module: ModuleOp, array: Array, *, in_place: bool) -> list[Array]:
    """The result of the op, and that of its loops."""
    found: list[Array] = []
    for _ in range(2):
        poison = np.full_like(array, 77)
        outputs = run_function(module, None, [array.copy(), poison])
        found.append(outputs[0 if in_place else 1])
        LowerToLoopsPass().apply(context(), module)
    return found


@settings(max_examples=30, deadline=None)
@given(shape=SHAPES, block=BLOCKS, threshold=st.sampled_from([0.0, 0.5, 1.5]), place=st.booleans())
def test_floats(shape: tuple[int, ...], block: int, threshold: float, place: bool) -> None:
    array = np.random.default_rng(block).standard_normal(shape).astype(np.float32)
    array.flat[0] = np.nan
    module = program(shape, "f32", f"block {block} threshold {threshold}", in_place=place)

    def kept(value: Any) -> bool:
        return not value < np.float32(threshold)

    expected = by_hand(array, block, kept, 0)
    for found in results(module, array, in_place=place):
        np.testing.assert_array_equal(found, expected)


@settings(max_examples=30, deadline=None)
@given(
    shape=SHAPES,
    block=BLOCKS,
    threshold=st.sampled_from([0.0, 0.3, 0.5, 1e9]),
    quantised=st.sampled_from([("i8", -128), ("i8", 3), ("ui8", 0), ("ui8", 128)]),
)
def test_bytes(
    shape: tuple[int, ...], block: int, threshold: float, quantised: tuple[str, int]
) -> None:
    """The threshold is a real number, and dropped elements become the zero point."""
    element, zero = quantised
    dtype = {"i8": np.int8, "ui8": np.uint8}[element]
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(block)
    array = np.clip(zero + rng.integers(-2, 4, shape), limits.min, limits.max).astype(dtype)
    clauses = f"block {block} threshold {threshold} scale 0.25 zero_point {zero}"

    def kept(value: Any) -> bool:
        return bool(np.float32(int(value) - zero) * np.float32(0.25) >= np.float32(threshold))

    expected = by_hand(array, block, kept, zero)
    for found in results(program(shape, element, clauses, in_place=False), array, in_place=False):
        np.testing.assert_array_equal(found, expected)


@settings(max_examples=60, deadline=None)
@given(
    shape=SHAPES,
    block=st.sampled_from([2, 4, 8, 12]),
    element=st.sampled_from(["i8", "ui8"]),
    zero=st.integers(0, 255),
    threshold=st.integers(0, 260),
    share=st.sampled_from([0.0, 0.02, 0.2]),
)
def test_bytes_in_words(
    shape: tuple[int, ...], block: int, element: str, zero: int, threshold: int, share: float
) -> None:
    """Any bound and zero point; few elements are not below the bound, and many are close to it."""
    limits = np.iinfo(np.int8 if element == "i8" else np.uint8)
    zero += int(limits.min)
    rng = np.random.default_rng(block)
    bound = min(zero + threshold, int(limits.max) + 1)
    edge = rng.random(shape) < 0.5
    low = np.where(edge, bound - 1, rng.integers(limits.min, max(bound, limits.min + 1), shape))
    high = np.where(edge, bound, rng.integers(min(bound, limits.max), limits.max + 1, shape))
    chosen = np.where(rng.random(shape) < share, high, low)
    array = np.clip(chosen, limits.min, limits.max).astype(limits.dtype)
    clauses = f"block {block} threshold {threshold}.0 scale 1.0 zero_point {zero}"
    module = program(shape, element, clauses, in_place=True, target=WORDS)

    def kept(value: Any) -> bool:
        return int(value) - zero >= threshold

    expected = by_hand(array, block, kept, zero)
    for found in results(module, array, in_place=True):
        np.testing.assert_array_equal(found, expected)
    words = any(isinstance(op, dsp.LoadWordOp) for op in module.walk())
    divides = limits.min < threshold + zero <= limits.max
    assert words == (divides and block % 4 == 0 and shape[3] >= 4)


def at_least(bound: int, value: Any) -> bool:
    """Whether an element keeps its block."""
    return int(value) >= bound


def test_words_of_emitted_c() -> None:
    """Whole and narrow blocks, of four rows and of eight."""
    rng = np.random.default_rng(3)
    for block, element, zero in ((4, "i8", -128), (8, "ui8", 3)):
        dtype = np.int8 if element == "i8" else np.uint8
        array = (zero + rng.choice([0, 1, 9], (1, 2, 14, 22), p=[0.8, 0.17, 0.03])).astype(dtype)
        clauses = f"block {block} threshold 2.0 scale 1.0 zero_point {zero}"
        text = str(program(array.shape, element, clauses, in_place=True, target=WORDS))
        kind = f"memref<1x2x14x22x{element}, #npu.sram>"
        copied = text.replace(
            "func.return", f'"memref.copy"(%x, %y) : ({kind}, {kind}) -> ()\nfunc.return'
        )
        module = Parser(context(), copied).parse_module()
        LowerToLoopsPass().apply(context(), module)
        (found,) = run_c(emit(module), "f", [array], [array.shape], output_types=[dtype.__name__])
        expected = by_hand(array, block, partial(at_least, zero + 2), zero)
        np.testing.assert_array_equal(found, expected)


def test_another_block_size_is_noticed() -> None:
    """The comparison notices a wrong block size."""
    array = np.zeros((1, 1, 4, 4), np.float32)
    array[0, 0, 0, 0], array[0, 0, 3, 3] = 1, 0.25
    pruned = [
        results(
            program(array.shape, "f32", f"block {block} threshold 0.5", in_place=False),
            array,
            in_place=False,
        )
        for block in (2, 4)
    ]
    assert pruned[0][0][0, 0, 3, 3] == pruned[0][1][0, 0, 3, 3] == 0
    assert pruned[1][0][0, 0, 3, 3] == pruned[1][1][0, 0, 3, 3] == np.float32(0.25)
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(pruned[0], pruned[1])


def test_bytes_count_in_float32() -> None:
    """In float32, 3 steps of 0.1 are not below 0.3."""
    array = np.array([[[[3, 2]]]], np.int8)
    module = program(array.shape, "i8", "block 1 threshold 0.3 scale 0.1", in_place=False)
    assert np.float32(3) * np.float32(0.1) == np.float32(0.3)
    for found in results(module, array, in_place=False):
        np.testing.assert_array_equal(found, [[[[3, 0]]]])


@pytest.mark.parametrize(
    ("block", "threshold", "message"),
    [
        (0, 0.1, "expected a block of at least 1 element, got 0"),
        (4, float("nan"), "expected a threshold of at least 0, got nan"),
        (4, -0.5, "expected a threshold of at least 0, got -0.5"),
    ],
)
def test_bad_numbers(block: int, threshold: float, message: str) -> None:
    """These include numbers that IR text cannot express."""
    module = program((1, 1, 4, 4), "f32", "block 4 threshold 0.1", in_place=False)
    (op,) = (each for each in module.walk() if isinstance(each, PruneZeroBlocksOp))
    op.block, op.threshold = IntegerAttr(block, i64), FloatAttr(threshold, Float64Type())
    with pytest.raises(VerifyException, match=message):
        module.verify()


@pytest.mark.parametrize(
    ("block", "threshold", "message"),
    [
        (0, 0.1, "expected a block-size of at least 1, got 0"),
        (5, 0.1, "expected a block-size of at most 4, rows or columns of the largest map, got 5"),
        (4, float("nan"), "expected a threshold of at least 0, got nan"),
    ],
)
def test_bad_options(block: int, threshold: float, message: str) -> None:
    """One message, with the name of the pass."""
    kind = "tensor<1x1x4x4xf32>"
    text = (
        f"func.func @f(%x: {kind}) -> {kind} {{\n  %y = npu.relu %x : {kind} -> {kind}\n"
        f"  %z = npu.add %y, %y : ({kind}, {kind}) -> {kind}\n  func.return %z : {kind}\n}}"
    )
    module = Parser(context(), text).parse_module()
    with pytest.raises(PassFailedException, match=f"npu-prune-zero-blocks: {message}"):
        PruneZeroBlocksPass(block, threshold, "all").apply(context(), module)
