"""Emitted C, compiled and run, computes what numpy computes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.c_harness import build, execute, run_c, visible_symbols, write_files
from helpers.parsing import elementwise, emit_text, kernel
from helpers.paths import ROOT

NETWORK = (ROOT / "lit-tests/emit/c/network.mlir").read_text()
FINITE = NETWORK.replace('dense<"0x0000803F0000C07F000080FF">', "dense<[1.0, -2.0, 3.5]>")
X = np.array([0.0, -0.0, 1.5, -2.25, np.nan, np.inf, -np.inf, 1e-30], np.float32)


def network(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """The result of lit-tests/emit/c/network.mlir, in numpy."""
    windows = np.lib.stride_tricks.sliding_window_view(image[0, 0], (3, 3))
    sums = windows.sum((2, 3)) * np.float32(0.5)
    hidden = np.maximum(np.stack([sums + np.float32(0.1), sums]), 0)
    return hidden.sum() * np.float32(0.25) + np.array([[1.0, -2.0, 3.5]], np.float32)


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("weights", ["c", "bin"])
@pytest.mark.parametrize("in_arena", [False, True])
def test_network(language: str, weights: str, in_arena: bool) -> None:
    files = emit_text(FINITE, "tiny", "bin" if weights == "bin" else "c")
    image = np.linspace(-1, 2, 16, dtype=np.float32).reshape(1, 1, 4, 4)
    (scores,) = run_c(files, "tiny", [image], [(1, 3)], language=language, in_arena=in_arena)
    np.testing.assert_allclose(scores, network(image), rtol=1e-6)


def test_fences_without_sanitizers() -> None:
    image = np.ones((1, 1, 4, 4), np.float32)
    (scores,) = run_c(emit_text(FINITE), "net", [image], [(1, 3)], sanitize=False)
    np.testing.assert_allclose(scores, network(image), rtol=1e-6)


def test_return_codes_and_hook(tmp_path: Path) -> None:
    write_files(tmp_path, emit_text(FINITE), "net")
    (tmp_path / "main.c").write_text(
        """
        #include <stdio.h>
        #define NET_ON_LAYER(index, name) printf("%d %s\\n", index, name)
        #include "net.c"
        int main(void)
        {
            static double arena[NET_ARENA_BYTES / 8 + 2];
            static float image[NET_IMAGE_1_ELEMENTS], scores[NET_SCORES_ELEMENTS];
            char *aligned = (char *)arena;
            aligned += (uintptr_t)aligned % 16u;
            printf("%d%d%d ", net_run(NULL, scores, aligned), net_run(image, NULL, aligned),
                   net_run(image, scores, NULL));
            printf("%d ", net_run(image, scores, aligned + 4));
            return net_run(image, scores, aligned);
        }
        """
    )
    build(tmp_path, ["main.c"], "c")
    assert execute(tmp_path) == "111 2 0 conv 1\n1 fc?\n"


def test_only_run_is_visible_and_nothing_is_writable(tmp_path: Path) -> None:
    write_files(tmp_path, emit_text(FINITE), "net")
    build(tmp_path, ["net.c"], "c", ["-c"])
    assert visible_symbols(tmp_path / "program") == ["net_run"]
    command = ["size", "program"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1].split()[1:3] == ["0", "0"]  # data and bss


def swapped(values: NDArray[np.float32]) -> tuple[np.float32, np.float32]:
    """Fibonacci numbers by parallel assignment, one step for each element."""
    a, b = np.float32(0), np.float32(1)
    for value in values:
        a, b = b, a + b * value
    return a, b


def test_parallel_assignment() -> None:
    text = kernel(
        """
        %zero = arith.constant 0.0 : f32
        %one = arith.constant 1.0 : f32
        %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %zero, %b = %one) -> (f32, f32) {
          %v = memref.load %x[%i] : memref<8xf32>
          %p = arith.mulf %b, %v : f32
          %s = arith.addf %a, %p : f32
          scf.yield %b, %s : f32, f32
        }
        %q:3 = scf.for %i = %c0 to %c2 step %c1
            iter_args(%d = %r#0, %e = %r#1, %f = %one) -> (f32, f32, f32) {
          scf.yield %e, %f, %d : f32, f32, f32
        }
        memref.store %r#0, %y[%c0] : memref<8xf32>
        memref.store %r#1, %y[%c1] : memref<8xf32>
        memref.store %q#0, %y[%c2] : memref<8xf32>
        memref.store %q#1, %y[%c3] : memref<8xf32>
        memref.store %q#2, %y[%c4] : memref<8xf32>
        """
    )
    values = np.linspace(0.25, 2, 8, dtype=np.float32)
    (y,) = run_c(emit_text(text), "k", [values], [(8,)])
    a, b = swapped(values)
    np.testing.assert_array_equal(y[:5], np.array([a, b, 1, a, b], np.float32))


def test_reads_stay_in_front_of_writes() -> None:
    text = kernel(
        """
        %u = memref.load %x[%c0] : memref<8xf32>
        %v = memref.load %x[%c1] : memref<8xf32>
        memref.store %u, %y[%c0] : memref<8xf32>
        %old = memref.load %y[%c0] : memref<8xf32>
        memref.store %v, %y[%c0] : memref<8xf32>
        memref.store %old, %y[%c1] : memref<8xf32>
        %sum = memref.load %y[%c0] : memref<8xf32>
        %twice = arith.addf %sum, %v : f32
        scf.for %i = %c0 to %c3 step %c2 {
          memref.store %u, %y[%i] : memref<8xf32>
        }
        memref.store %twice, %y[%c3] : memref<8xf32>
        """
    )
    (y,) = run_c(emit_text(text), "k", [np.arange(5, 13, dtype=np.float32)], [(8,)])
    np.testing.assert_array_equal(y[:4], np.array([5, 5, 5, 12], np.float32))


def test_a_carried_value_that_is_read_later_keeps_its_variable() -> None:
    """Neither the branch nor the select may overwrite `a`, which is read after them."""
    text = kernel(
        """
        %zero = arith.constant 0.0 : f32
        %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %zero, %b = %zero) -> (f32, f32) {
          %v = memref.load %x[%i] : memref<8xf32>
          %greater = arith.cmpf ogt, %v, %a : f32
          %best = arith.select %greater, %v, %a : f32
          %before = arith.addf %b, %a : f32
          scf.yield %best, %before : f32, f32
        }
        %q:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %zero, %b = %zero) -> (f32, f32) {
          %v = memref.load %x[%i] : memref<8xf32>
          %greater = arith.cmpf ogt, %v, %a : f32
          %best = scf.if %greater -> (f32) {
            scf.yield %v : f32
          } else {
            scf.yield %a : f32
          }
          %before = arith.addf %b, %a : f32
          scf.yield %best, %before : f32, f32
        }
        memref.store %r#0, %y[%c0] : memref<8xf32>
        memref.store %r#1, %y[%c1] : memref<8xf32>
        memref.store %q#0, %y[%c2] : memref<8xf32>
        memref.store %q#1, %y[%c3] : memref<8xf32>
        """
    )
    values = np.array([1, 3, 2, 5, 4, 9, 8, 10], np.float32)
    (y,) = run_c(emit_text(text), "k", [values], [(8,)])
    best = np.maximum.accumulate(values)
    expected = [best[-1], best[:-1].sum()] * 2
    np.testing.assert_array_equal(y[:4], np.array(expected, np.float32))


BRANCHES = """
%zero = arith.constant 0.0 : f32
%total = scf.for %i = %c0 to %c8 step %c1 iter_args(%acc = %zero) -> (f32) {
  %v = memref.load %x[%i] : memref<8xf32>
  %positive = arith.cmpf ogt, %v, %zero : f32
  %next = scf.if %positive -> (f32) {
    %sum = scf.for %j = %c0 to %c3 step %c1 iter_args(%inner = %acc) -> (f32) {
      %more = arith.addf %inner, %v : f32
      scf.yield %more : f32
    }
    scf.yield %sum : f32
  } else {
    scf.yield %acc : f32
  }
  %kept = arith.subf %next, %v : f32
  %half = scf.if %positive -> (f32) {
    %t = arith.mulf %v, %v : f32
    scf.yield %t : f32
  } else {
    %t = arith.negf %v : f32
    scf.yield %t : f32
  }
  memref.store %half, %y[%i] : memref<8xf32>
  scf.yield %kept : f32
}
memref.store %total, %y[%c0] : memref<8xf32>
"""


def test_branches_share_a_variable() -> None:
    files = emit_text(kernel(BRANCHES))
    values = np.array([1, -2, 3, -4, 5, -6, 7, 8], np.float32)
    (y,) = run_c(files, "k", [values], [(8,)])
    expected = np.where(values > 0, values * values, -values)
    expected[0] = sum(2 * v if v > 0 else -v for v in values)
    np.testing.assert_array_equal(y, expected)
    assert files.source.count("float ") - files.source.count("const float ") <= 4
    assert "total += v;" in files.source


VIEWS = """
"memref.global"() <{
  sym_name = "g", sym_visibility = "private", type = memref<2x4xf32>, constant,
  initial_value = dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
}> : () -> ()
func.func @k(%out: memref<2x4xf32, #npu.sram> {sram.output, sram.offset = 0 : i64})
    attributes {sram.arena = 64 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %g = memref.get_global @g : memref<2x4xf32>
  %t = memref.alloc() {sram.offset = 32 : i64} : memref<2x4xf32, #npu.sram>
  "memref.copy"(%g, %t) : (memref<2x4xf32>, memref<2x4xf32, #npu.sram>) -> ()
  %left = memref.subview %t[0, 0] [2, 2] [1, 1]
    : memref<2x4xf32, #npu.sram> to memref<2x2xf32, strided<[4, 1]>, #npu.sram>
  %right = memref.subview %out[0, 2] [2, 2] [1, 1]
    : memref<2x4xf32, #npu.sram> to memref<2x2xf32, strided<[4, 1], offset: 2>, #npu.sram>
  "memref.copy"(%left, %right) : (memref<2x2xf32, strided<[4, 1]>, #npu.sram>,
    memref<2x2xf32, strided<[4, 1], offset: 2>, #npu.sram>) -> ()
  scf.for %i = %c0 to %c2 step %c1 {
    %row = memref.subview %t[%i, 2] [1, 2] [1, 1]
      : memref<2x4xf32, #npu.sram> to memref<1x2xf32, strided<[4, 1], offset: ?>, #npu.sram>
    %flat = memref.collapse_shape %row [[0, 1]]
      : memref<1x2xf32, strided<[4, 1], offset: ?>, #npu.sram>
      into memref<2xf32, strided<[1], offset: ?>, #npu.sram>
    scf.for %j = %c0 to %c2 step %c1 {
      %v = memref.load %flat[%j] : memref<2xf32, strided<[1], offset: ?>, #npu.sram>
      memref.store %v, %out[%i, %j] : memref<2x4xf32, #npu.sram>
    }
  }
  memref.dealloc %t : memref<2x4xf32, #npu.sram>
  func.return
}
"""


def test_views_and_copies() -> None:
    (y,) = run_c(emit_text(VIEWS), "k", [], [(2, 4)])
    np.testing.assert_array_equal(y, np.array([[3, 4, 1, 2], [7, 8, 5, 6]], np.float32))


FLOATS = {
    "%c = arith.constant 0.0 : f32\n%r = arith.maximumf %v, %c : f32": np.maximum(X, 0.0),
    "%c = arith.constant -0.0 : f32\n%r = arith.minimumf %v, %c : f32": np.minimum(X, -0.0),
    "%c = arith.constant 1.0 : f32\n%r = arith.maxnumf %c, %v : f32": np.fmax(X, 1),
    "%w = arith.negf %v : f32\n%r = arith.maximumf %v, %w : f32": np.abs(X),
    "%w = arith.negf %v : f32\n%r = arith.minimumf %v, %w : f32": -np.abs(X),
    "%w = arith.negf %v : f32\n%r = arith.maxnumf %v, %w : f32": np.abs(X),
    "%a = math.absf %v : f32\n%r = math.sqrt %a : f32": np.sqrt(np.abs(X)),
    "%w = arith.negf %v : f32\n%r = arith.negf %w : f32": X,
    "%w = arith.extf %v : f32 to f64\n%r = arith.truncf %w : f64 to f32": X,
}


@pytest.mark.parametrize("body", FLOATS)
def test_floats(body: str) -> None:
    (y,) = run_c(emit_text(elementwise(body)), "k", [X], [(8,)], sanitize=False)
    np.testing.assert_array_equal(y, FLOATS[body])
    if "negf %w" in body or "maximumf %v, %c" in body:
        assert np.array_equal(np.signbit(y)[:2], np.signbit(FLOATS[body])[:2] & ("negf" in body))


COMPARE = np.array([1, 2, 3, np.nan], np.float32)
PREDICATES = {
    "oeq": [0, 1, 0, 0], "ogt": [0, 0, 1, 0], "oge": [0, 1, 1, 0], "olt": [1, 0, 0, 0],
    "ole": [1, 1, 0, 0], "one": [1, 0, 1, 0], "ord": [1, 1, 1, 0], "ueq": [0, 1, 0, 1],
    "ugt": [0, 0, 1, 1], "uge": [0, 1, 1, 1], "ult": [1, 0, 0, 1], "ule": [1, 1, 0, 1],
    "une": [1, 0, 1, 1], "uno": [0, 0, 0, 1], "true": [1, 1, 1, 1], "false": [0, 0, 0, 0],
}  # fmt: skip


def test_float_predicates() -> None:
    body = ["%two = arith.constant 2.0 : f32"]
    for column, name in enumerate(PREDICATES):
        body.append(f"%p{column} = arith.cmpf {name}, %v, %two : f32")
        body.append(f"%n{column} = arith.constant {column} : index")
        body.append(f"memref.store %p{column}, %y[%i, %n{column}] : memref<4x16xi1>")
    loop = f"""scf.for %i = %c0 to %c4 step %c1 {{
      %v = memref.load %x[%i] : memref<4xf32>
      {chr(10).join(body)}
    }}"""
    text = kernel(loop, "%x: memref<4xf32>, %y: memref<4x16xi1>")
    (y,) = run_c(emit_text(text), "k", [COMPARE], [(4, 16)], output_types=["bool"])
    np.testing.assert_array_equal(y, np.array(list(PREDICATES.values()), bool).T)


NUMBERS = np.array([0, 1, -1, 7, -7, 2**31 - 1, -(2**31), 100], np.int32)
INTEGERS = {
    "%r = arith.addi %v, %v : i32": NUMBERS + NUMBERS,
    "%r = arith.muli %v, %v : i32": NUMBERS * NUMBERS,
    "%c = arith.constant -2147483648 : i32\n%r = arith.subi %c, %v : i32": np.int32(-(2**31))
    - NUMBERS,
    "%c = arith.constant 3 : i32\n%r = arith.floordivsi %v, %c : i32": NUMBERS // 3,
    "%c = arith.constant 3 : i32\n%r = arith.ceildivsi %v, %c : i32": -(
        -NUMBERS.astype(np.int64) // 3
    ),
    "%c = arith.constant 3 : i32\n%r = arith.divsi %v, %c : i32": np.trunc(NUMBERS / 3),
    "%c = arith.constant 3 : i32\n%r = arith.remui %v, %c : i32": NUMBERS.view(np.uint32) % 3,
    "%c = arith.constant 3 : i32\n%r = arith.divui %v, %c : i32": NUMBERS.view(np.uint32) // 3,
    "%c = arith.constant 3 : i32\n%r = arith.maxsi %v, %c : i32": np.maximum(NUMBERS, 3),
    "%c = arith.constant 3 : i32\n%r = arith.minui %v, %c : i32": np.minimum(
        NUMBERS.view(np.uint32), 3
    ),
    "%c = arith.constant 3 : i32\n%r = arith.shrsi %v, %c : i32": NUMBERS >> 3,
    "%c = arith.constant 3 : i32\n%r = arith.shrui %v, %c : i32": NUMBERS.view(np.uint32) >> 3,
    "%c = arith.constant 3 : i32\n%r = arith.shli %v, %c : i32": NUMBERS << 3,
    "%t = arith.trunci %v : i32 to i8\n%r = arith.extsi %t : i8 to i32": NUMBERS.astype(np.int8),
    "%t = arith.trunci %v : i32 to i8\n%r = arith.extui %t : i8 to i32": NUMBERS.astype(np.uint8),
    "%t = arith.trunci %v : i32 to i1\n%r = arith.extsi %t : i1 to i32": -(NUMBERS & 1),
    "%t = arith.index_cast %i : index to i32\n%r = arith.xori %v, %t : i32": NUMBERS ^ np.arange(8),
}


@pytest.mark.parametrize("language", ["c", "c++"])
def test_integers(language: str) -> None:
    loops: list[str] = []
    for row, body in enumerate(INTEGERS):
        loops.append(
            f"""%row{row} = arith.constant {row} : index
            scf.for %i = %c0 to %c8 step %c1 {{
              %v = memref.load %x[%i] : memref<8xi32>
              {body}
              memref.store %r, %y[%row{row}, %i] : memref<{len(INTEGERS)}x8xi32>
            }}"""
        )
    text = kernel("\n".join(loops), f"%x: memref<8xi32>, %y: memref<{len(INTEGERS)}x8xi32>")
    (y,) = run_c(
        emit_text(text),
        "k",
        [NUMBERS],
        [(len(INTEGERS), 8)],
        output_types=["int32"],
        language=language,
    )
    for row, (body, expected) in enumerate(INTEGERS.items()):
        np.testing.assert_array_equal(y[row], np.asarray(expected).astype(np.int32), body)


def test_axes_of_one_element_need_no_index() -> None:
    text = kernel(
        """
        scf.for %i = %c0 to %c1 step %c1 {
          scf.for %j = %c0 to %c8 step %c1 {
            %row = arith.muli %i, %c2 : index
            %plane = arith.subi %row, %i : index
            %v = memref.load %x[%row, %j] : memref<1x8xf32>
            %part = memref.subview %y[%plane, %j] [1, 1] [1, 1]
              : memref<1x8xf32> to memref<1x1xf32, strided<[8, 1], offset: ?>>
            memref.store %v, %part[%row, %i] : memref<1x1xf32, strided<[8, 1], offset: ?>>
          }
        }
        """,
        "%x: memref<1x8xf32>, %y: memref<1x8xf32>",
    )
    values = np.arange(8, dtype=np.float32).reshape(1, 8)
    (y,) = run_c(emit_text(text), "k", [values], [(1, 8)])
    np.testing.assert_array_equal(y, values)
