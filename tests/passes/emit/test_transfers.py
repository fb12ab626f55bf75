"""Transfers in C: the same data and counters as in the interpreter; mistakes are noticed."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.utils.hints import isa

from helpers.c_harness import LANGUAGES, build, execute, run_c, write_files
from helpers.parsing import emit_text, parse
from helpers.tiles.loops_of_tiles import Case
from npu_dialect.dma import StartOp
from npu_dialect.interpreters import Counters, run_function
from npu_passes.emit.c import CFiles, emit
from npu_passes.support.transfer_runs import transfer_runs
from npu_tools.compiling.driver import run_passes
from npu_tools.compiling.pass_text import parse_passes
from npu_tools.shared.installed import available_passes

DTYPES = {"f32": "float32", "f64": "float64", "i8": "int8", "i16": "int16"}


@dataclass(frozen=True)
class Layout:
    """A shape, and strides with which no two elements share a place."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def reach(self) -> int:
        """The distance from the first element to the end of the last one, in elements."""
        steps = zip(self.shape, self.strides, strict=True)
        return self.offset + 1 + sum((extent - 1) * step for extent, step in steps)

    def type(self, element: str, space: str, offset: int = 0) -> str:
        """The memref type of a view at an offset."""
        shape = "x".join(map(str, self.shape))
        where = f", offset: {offset}" if offset else ""
        return f"memref<{shape}x{element}, strided<{list(self.strides)}{where}>, #npu.{space}>"

    def view(self, flat: NDArray[np.generic], offset: int) -> NDArray[np.generic]:
        """The elements in numpy."""
        steps = [stride * flat.itemsize for stride in self.strides]
        return as_strided(flat[offset:], self.shape, steps)


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...]) -> Layout:
    """A layout of a shape: axes in any order, some with gaps."""
    strides = [0] * len(shape)
    step = draw(st.sampled_from([1, 1, 1, 2]))
    inner_first = draw(st.sampled_from([True, True, False]))
    for axis in sorted(range(len(shape)), reverse=inner_first):
        strides[axis] = step
        step = step * shape[axis] + draw(st.sampled_from([0, 0, 0, 3]))
    return Layout(shape, tuple(strides))


@st.composite
def moves(draw: st.DrawFn) -> tuple[Layout, Layout, Layout]:
    """Three layouts of one shape: at the source, on chip, and at the destination."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)))
    return draw(layouts(shape)), draw(layouts(shape)), draw(layouts(shape))


def program(element: str, plan: list[tuple[Layout, Layout, Layout]], weights: bool) -> str:
    """A program that copies each block through its own on-chip buffer to its own destination."""
    lines: list[str] = []
    start = [0, 0, 0]
    size = np.dtype(DTYPES[element]).itemsize
    for index, sides in enumerate(plan):
        kinds = [
            layout.type(element, space, offset if space == "dram" else 0)
            for layout, space, offset in zip(sides, ("dram", "sram", "dram"), start, strict=True)
        ]
        lines += [
            reinterpreted(name, index, element, sides[side], start[side], kinds[side])
            for name, side in (("x", 0), ("y", 2))
        ]
        lines += [
            f"%b{index} = sram.alloc at {start[1] * size} : {kinds[1]}",
            f"%s{index} = dma.start {'weights' if weights else ''} %x{index} to %b{index} "
            f"channel 1 : {kinds[0]} to {kinds[1]}",
            f"dma.wait %s{index}",
            f"dma.writes %y{index} : {kinds[2]}",
            f"%t{index} = dma.start %b{index} to %y{index} channel 3 : {kinds[1]} to {kinds[2]}",
            f"dma.wait %t{index}",
        ]
        reaches = (side.reach for side in sides)
        start = [at + reach for at, reach in zip(start, reaches, strict=True)]
        start[1] += max(0, sides[1].shape[0] * sides[1].strides[0] - sides[1].reach)
    body = "\n".join(lines)
    for name, length in (("x", start[0]), ("y", start[2])):
        body = body.replace(f"LENGTH_{name}", str(length))
    arguments = ", ".join(
        f"%{name}: memref<{length}x{element}, #npu.dram> {{dram.{mark}}}"
        for name, length, mark in (("x", start[0], "input"), ("y", start[2], "output"))
    )
    return (
        f"func.func @k({arguments}) attributes {{sram.arena = {start[1] * size} : i64, "
        f"dram.bytes = 0 : i64}} {{\n{body}\nfunc.return\n}}"
    )


def reinterpreted(
    name: str, index: int, element: str, layout: Layout, offset: int, kind: str
) -> str:
    """The text of a view of an argument. The length of the argument is filled in later."""
    sizes, strides = (str(list(each))[1:-1] for each in (layout.shape, layout.strides))
    return (
        f'%{name}{index} = "memref.reinterpret_cast"(%{name}) <{{'
        f"static_offsets = array<i64: {offset}>, static_sizes = array<i64: {sizes}>, "
        f"static_strides = array<i64: {strides}>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}}> "
        f": (memref<LENGTH_{name}x{element}, #npu.dram>) -> {kind}"
    )


def length(module: ModuleOp, argument: int) -> int:
    """The number of elements of an argument of the only function."""
    (function,) = module.ops
    kind = function.regions[0].blocks[0].args[argument].type
    assert isa(kind, MemRefType)
    return prod(kind.get_shape())


@pytest.mark.slow
@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    st.sampled_from(sorted(DTYPES)),
    st.lists(moves(), min_size=6, max_size=10),
    st.booleans(),
    st.sampled_from(["c", "c++"]),
)
def test_random_layouts(
    element: str, plan: list[tuple[Layout, Layout, Layout]], weights: bool, language: str
) -> None:
    module = parse(program(element, plan, weights))
    dtype = DTYPES[element]
    x = np.arange(length(module, 0)).astype(dtype)
    counted, ran = Counters(), Counters()
    (want,) = run_function(module, None, [x], counted)
    shape = (length(module, 1),)
    (got,) = run_c(
        emit(module), "k", [x], [shape], output_types=[dtype], counters=ran, language=language
    )
    assert got.tobytes() == want.tobytes()
    assert ran == counted
    moved = sum(prod(source.shape) for source, _, _ in plan) * x.itemsize
    assert counted == Counters(
        moved * weights, moved * (not weights), moved, 0, len(plan), 2 * len(plan)
    )
    at = [0, 0]
    for source, _, target in plan:
        assert np.array_equal(source.view(x, at[0]), target.view(got, at[1]))
        at = [at[0] + source.reach, at[1] + target.reach]


@settings(max_examples=50, deadline=None)
@given(st.lists(moves(), min_size=1, max_size=1))
def test_runs_cover_what_moves(plan: list[tuple[Layout, Layout, Layout]]) -> None:
    module = parse(program("f32", plan, False))
    start = next(op for op in module.walk() if isinstance(op, StartOp))
    source, target, _ = plan[0]
    runs = transfer_runs(start, 4)
    x = np.arange(source.reach, dtype=np.float32)
    y = np.zeros(target.reach, np.float32)
    from_bytes, to_bytes = x.view(np.uint8), y.view(np.uint8)
    for at in np.ndindex(*(axis.count for axis in runs.axes)):
        begin = sum(n * axis.source for n, axis in zip(at, runs.axes, strict=True))
        place = sum(n * axis.target for n, axis in zip(at, runs.axes, strict=True))
        to_bytes[place : place + runs.bytes] = from_bytes[begin : begin + runs.bytes]
    assert np.array_equal(target.view(y, 0), source.view(x, 0))
    assert runs.total == prod(source.shape) * 4
    assert all(axis.count > 1 for axis in runs.axes)


MEMORIES = ("dram", "sram")
DOUBLE_BUFFER = """
func.func @k(%x: memref<4x8xf32, #npu.dram> {dram.input},
             %y: memref<4x8xf32, #npu.dram> {dram.output}) attributes {sram.arena = 64 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %two = arith.constant 2.0 : f32
  %c8 = arith.constant 8 : index
  %halves = sram.alloc at 0 : memref<2x8xf32, #npu.sram>
  %first = memref.subview %x[0, 0] [1, 8] [1, 1] : memref<4x8xf32, #npu.dram> to FAR0
  %h0 = memref.subview %halves[0, 0] [1, 8] [1, 1] : memref<2x8xf32, #npu.sram> to NEAR0
  %t0 = dma.start %first to %h0 channel 1 : FAR0 to NEAR0
  dma.wait %t0
  scf.for %i = %c0 to %c3 step %c1 {
    %next = arith.addi %i, %c1 : index
    %half = arith.remsi %i, %c2 : index
    %other = arith.remsi %next, %c2 : index
    %from = memref.subview %x[%next, 0] [1, 8] [1, 1] : memref<4x8xf32, #npu.dram> to FAR
    %into = memref.subview %halves[INTO, 0] [1, 8] [1, 1] : memref<2x8xf32, #npu.sram> to NEAR
    %t = dma.start %from to %into channel 1 : FAR to NEAR
    scf.for %j = %c0 to %c8 step %c1 {
      %v = memref.load %halves[%half, %j] : memref<2x8xf32, #npu.sram>
      %w = arith.mulf %v, %two : f32
      memref.store %w, %halves[%half, %j] : memref<2x8xf32, #npu.sram>
    }
    %out = memref.subview %halves[%half, 0] [1, 8] [1, 1] : memref<2x8xf32, #npu.sram> to NEAR
    %to = memref.subview %y[%i, 0] [1, 8] [1, 1] : memref<4x8xf32, #npu.dram> to FAR
    %s = dma.start %out to %to channel 3 : NEAR to FAR
    dma.wait %s
    WAIT
  }
  func.return
}
"""


def double_buffer(into: str = "%other", wait: str = "dma.wait %t") -> str:
    """A double-buffered loop as text. `into`: the half to fill. `wait`: the lines that wait."""
    far, near = (f"memref<1x8xf32, strided<[8, 1]{{}}>, #npu.{space}>" for space in MEMORIES)
    text = DOUBLE_BUFFER.replace("INTO", into).replace("WAIT", wait)
    text = text.replace("FAR0", far.format("")).replace("NEAR0", near.format(""))
    return text.replace("FAR", far.format(", offset: ?")).replace(
        "NEAR", near.format(", offset: ?")
    )


def test_double_buffer() -> None:
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    module = parse(double_buffer())
    counted, ran = Counters(), Counters()
    (want,) = run_function(module, None, [x], counted)
    (got,) = run_c(emit(module), "k", [x], [(4, 8)], counters=ran)
    assert got.tobytes() == want.tobytes()
    assert np.array_equal(got[:3], 2 * x[:3])
    assert ran == counted == Counters(0, 128, 96, 0, 0, 7)


def two_ahead(passes: str) -> ModuleOp:
    """Tiles of rows that are loaded two steps ahead, as loops."""
    case = Case("relu", 0, 1, 7, 2, 3, 4, True, True, False, False, ahead=True)
    module = parse(case.text())
    spec = f"{passes},npu-assign-sram-offsets,npu-assign-dram-offsets,npu-lower-to-loops"
    run_passes(module, parse_passes(available_passes(), spec), ())
    return module


def test_loads_two_steps_ahead() -> None:
    """The loop carries tokens; the strict engine finds the data where and when they should be."""
    x = np.arange(4 * 14 * 3, dtype=np.float32).reshape(1, 4, 14, 3) - 50
    kernels = np.zeros((4, 1, 1, 1), np.float32)
    module = two_ahead("npu-double-buffer")
    assert "!dma.token)" in str(module)
    (got,) = run_c(emit(module), "f", [x, kernels], [(1, 4, 14, 3)])
    np.testing.assert_array_equal(got, np.maximum(x, 0))
    assert "!dma.token)" not in str(two_ahead("npu-double-buffer{ahead=1}"))


@pytest.mark.parametrize(
    ("into", "wait"), [("%half", "dma.wait %t"), ("%other", ""), ("%other", "dma.wait %s")]
)
def test_mistakes_show(into: str, wait: str) -> None:
    """The mistakes are the wrong half, a missing wait, and a second wait for one transfer."""
    with pytest.raises(AssertionError, match=r"exit code 14: \d+ mistakes with transfers"):
        run_c(emit_text(double_buffer(into, wait)), "k", [np.zeros((4, 8), np.float32)], [(4, 8)])


FUNCTIONS = """
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<8xf32, #npu.dram>,
  initial_value = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>, constant
}> : () -> ()
func.func private @load(%x: memref<8xf32, #npu.dram>, %tile: memref<8xf32, #npu.sram>) {
  %far = dram.alloc at 32 : memref<8xf32, #npu.dram>
  %w = memref.get_global @w : memref<8xf32, #npu.dram>
  %near = sram.alloc at 32 : memref<8xf32, #npu.sram>
  %t = dma.start weights %w to %near channel 0
      : memref<8xf32, #npu.dram> to memref<8xf32, #npu.sram>
  dma.wait %t
  %u = dma.start %near to %far channel 3 : memref<8xf32, #npu.sram> to memref<8xf32, #npu.dram>
  dma.wait %u
  %v = dma.start %far to %tile channel 1 : memref<8xf32, #npu.dram> to memref<8xf32, #npu.sram>
  dma.wait %v
  func.return
}
func.func @k(%x: memref<8xf32, #npu.dram> {dram.input}, %y: memref<8xf32, #npu.dram> {dram.output})
    attributes {sram.arena = 64 : i64, dram.bytes = 64 : i64} {
  %tile = sram.alloc at 0 : memref<8xf32, #npu.sram>
  func.call @load(%x, %tile) : (memref<8xf32, #npu.dram>, memref<8xf32, #npu.sram>) -> ()
  %s = dma.start %tile to %y channel 3 : memref<8xf32, #npu.sram> to memref<8xf32, #npu.dram>
  dma.wait %s
  func.return
}
"""


@pytest.mark.parametrize("where", ["c", "bin"])
def test_functions_and_weights(where: str) -> None:
    module = parse(FUNCTIONS)
    x, counted, ran = np.zeros(8, np.float32), Counters(), Counters()
    (want,) = run_function(module, None, [x], counted)
    files = emit(module, weights="bin" if where == "bin" else "c")
    (got,) = run_c(files, "k", [x], [(8,)], counters=ran)
    assert np.array_equal(got, want)
    assert np.array_equal(got, np.arange(1, 9))
    assert ran == counted == Counters(32, 32, 64, 0, 0, 4)


def run_main(files: CFiles, main: str, language: str = "c", *flags: str) -> None:
    """Build and run a program with the given main(), which returns 0 if all is right."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        write_files(path, files, "k")
        (path / "main.c").write_text(main)
        build(path, ["k.c", "main.c"], language, flags)
        execute(path)


def test_pointers_are_checked() -> None:
    main = """
    #include "k.h"
    int main(void) {
        static npu_dma engine;
        static float x[8], y[8];
        static union { unsigned char bytes[96]; double align[2]; } arena, dram;
        unsigned char *const a = arena.bytes + (16 - (size_t)arena.bytes % 16) % 16;
        unsigned char *const d = dram.bytes + (16 - (size_t)dram.bytes % 16) % 16;
        npu_dma_init(&engine);
        return k_run(x, y, a, d, &engine) == 0 && k_run(x, y, a, NULL, &engine) == 1
            && k_run(x, y, a, d, NULL) == 1 && k_run(x, y, a, d + 8, &engine) == 2 ? 0 : 1;
    }"""
    run_main(emit_text(FUNCTIONS), main)


EXTERNAL = """
#include <string.h>
#include "k.h"
struct npu_dma { int started; int waited; int accesses; };
npu_dma_token npu_dma_start(npu_dma *dma, int channel, npu_dma_kind kind, void *to,
                            const void *from, const npu_dma_shape *shape)
{
    (void)channel;
    (void)kind;
    if (shape->axes == 0) {
        memcpy(to, from, shape->bytes);
    }
    return (npu_dma_token)++dma->started;
}
void npu_dma_wait(npu_dma *dma, npu_dma_token token) { dma->waited += token != 0; }
void npu_dma_reads(npu_dma *dma) { ++dma->accesses; }
void npu_dma_writes(npu_dma *dma) { ++dma->accesses; }
int main(void)
{
    npu_dma engine = {0, 0, 0};
    static float x[8], y[8];
    static double arena[10], dram[10];
    unsigned char *const a = (unsigned char *)arena + (16 - (size_t)arena % 16) % 16;
    unsigned char *const d = (unsigned char *)dram + (16 - (size_t)dram % 16) % 16;
    const int status = k_run(x, y, a, d, &engine);
    return status == 0 && engine.started == 4 && engine.waited == 4 && y[7] > 7.5f ? 0 : 1;
}
"""


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_engine_of_ones_own(language: str) -> None:
    run_main(emit_text(FUNCTIONS), EXTERNAL, language, "-DNPU_DMA_EXTERNAL")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_plain_engine_copies(language: str) -> None:
    """Without NPU_DMA_STRICT the engine copies at once; it compiles with all warnings."""
    main = """
    #include "k.h"
    int main(void) {
        static npu_dma engine;
        static float x[8], y[8];
        static double arena[10], dram[10];
        unsigned char *const a = (unsigned char *)arena + (16 - (size_t)arena % 16) % 16;
        unsigned char *const d = (unsigned char *)dram + (16 - (size_t)dram % 16) % 16;
        npu_dma_init(&engine);
        return k_run(x, y, a, d, &engine) == 0 && y[7] > 7.5f && engine.counters.transfers == 4
            && engine.counters.weight_bytes == 32 && npu_dma_mistakes(&engine) == 0 ? 0 : 1;
    }"""
    run_main(emit_text(FUNCTIONS), main, language)
