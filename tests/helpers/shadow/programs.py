"""Small lowered programs with memory plans that are right."""

from __future__ import annotations

LAYERS = """
!map = memref<8x8xi8, #npu.sram>
!flat = memref<64xi8, #npu.sram>
!out = memref<4x4xf32, #npu.sram>
!window = memref<2x2xi8, strided<[8, 1], offset: ?>, #npu.sram>
func.func @net(%x : !map {sram.input, sram.offset = 0 : i64},
               %y : !out {sram.output, sram.offset = 64 : i64})
    attributes {sram.arena = 192 : i64} {
  %a = sram.alloc at 64 : !map
  %b = sram.alloc at 128 : !map
  %c = sram.alloc at 0 : !map
  func.call @words(%x, %a) : (!map, !map) -> ()
  func.call @sums(%a, %b) : (!map, !map) -> ()
  func.call @flipped(%a, %b, %c) : (!map, !map, !map) -> ()
  func.call @pool(%c, %y) : (!map, !out) -> ()
  func.return
}
func.func private @words(%x : !map, %y : !map) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %end = arith.constant 64 : index
  %from = memref.collapse_shape %x [[0, 1]] : !map into !flat
  %to = memref.collapse_shape %y [[0, 1]] : !map into !flat
  scf.for %i = %c0 to %end step %c4 {
    %v = dsp.load_word %from[%i] : !flat -> i32
    dsp.store_word %v, %to[%i] : i32, !flat
  }
  func.return
}
func.func private @sums(%x : !map, %y : !map) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i8
  scf.for %i = %c0 to %c8 step %c1 {
    %last = arith.addi %i, %c1 : index
    %end = arith.minsi %last, %c8 : index
    scf.for %j = %c0 to %c8 step %c1 {
      %sum = scf.for %k = %c0 to %end step %c1 iter_args(%before = %zero) -> (i8) {
        %v = memref.load %x[%k, %j] : !map
        %after = arith.addi %before, %v : i8
        scf.yield %after : i8
      }
      memref.store %sum, %y[%i, %j] : !map
    }
  }
  func.return
}
func.func private @flipped(%x : !map, %y : !map, %z : !map) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %other = arith.subi %c7, %i : index
    scf.for %j = %c0 to %c8 step %c1 {
      %v = memref.load %x[%other, %j] : !map
      %w = memref.load %y[%i, %j] : !map
      %sum = arith.addi %v, %w : i8
      memref.store %sum, %z[%i, %j] : !map
    }
  }
  func.return
}
func.func private @pool(%x : !map, %y : !out) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %top = arith.muli %i, %c2 : index
      %left = arith.muli %j, %c2 : index
      %window = memref.subview %x[%top, %left] [2, 2] [1, 1] : !map to !window
      %v = memref.load %window[%c0, %c0] : !window
      %w = memref.load %window[%c1, %c1] : !window
      %most = arith.maxsi %v, %w : i8
      %real = arith.sitofp %most : i8 to f32
      memref.store %real, %y[%i, %j] : !out
    }
  }
  func.return
}
"""
"""Layers of bytes: a copy by words, sums of columns, a sum with a flipped map, and a pool."""

TILES = """
!off_chip = memref<4x16xi8, #npu.dram>
!line = memref<1x16xi8, #npu.dram>
!halves = memref<2x16xi8, #npu.sram>
!tile = memref<1x16xi8, #npu.sram>
!half = memref<1x16xi8, strided<[16, 1], offset: ?>, #npu.sram>
!part = memref<1x16xi8, strided<[16, 1], offset: ?>, #npu.dram>
func.func @net(%x : !off_chip {dram.input},
               %y : !off_chip {dram.output})
    attributes {sram.arena = 48 : i64, dram.bytes = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %tile = sram.alloc at 0 : !halves
  %out = sram.alloc at 32 : !tile
  %map = dram.alloc at 0 : !off_chip
  %other = dram.alloc at 64 : !line
  %half0 = memref.subview %tile[%c0, 0] [1, 16] [1, 1] : !halves to !half
  %row0 = memref.subview %x[%c0, 0] [1, 16] [1, 1] : !off_chip to !part
  %first = dma.start %row0 to %half0 channel 0 : !part to !half
  dma.wait %first
  scf.for %r = %c0 to %c3 step %c1 {
    %next = arith.addi %r, %c1 : index
    %filled = arith.remui %next, %c2 : index
    %used = arith.remui %r, %c2 : index
    %to = memref.subview %tile[%filled, 0] [1, 16] [1, 1] : !halves to !half
    %from = memref.subview %x[%next, 0] [1, 16] [1, 1] : !off_chip to !part
    %ahead = dma.start %from to %to channel 0 : !part to !half
    %in = memref.subview %tile[%used, 0] [1, 16] [1, 1] : !halves to !half
    func.call @layer(%in, %out) : (!half, !tile) -> ()
    %place = memref.subview %map[%r, 0] [1, 16] [1, 1] : !off_chip to !part
    %back = dma.start %out to %place channel 1 : !tile to !part
    dma.wait %back
    dma.wait %ahead
  }
  %half1 = memref.subview %tile[%c1, 0] [1, 16] [1, 1] : !halves to !half
  func.call @layer(%half1, %out) : (!half, !tile) -> ()
  %away = dma.start %out to %other channel 1 : !tile to !line
  dma.wait %away
  %last = memref.subview %map[%c3, 0] [1, 16] [1, 1] : !off_chip to !part
  %end = dma.start %out to %last channel 1 : !tile to !part
  dma.wait %end
  %whole = sram.alloc at 0 : !tile
  scf.for %r = %c0 to %c3 step %c1 {
    %row = memref.subview %map[%r, 0] [1, 16] [1, 1] : !off_chip to !part
    %in = dma.start %row to %whole channel 0 : !part to !tile
    dma.wait %in
    %place = memref.subview %y[%r, 0] [1, 16] [1, 1] : !off_chip to !part
    %sent = dma.start %whole to %place channel 0 : !tile to !part
    dma.wait %sent
  }
  %place = memref.subview %y[%c3, 0] [1, 16] [1, 1] : !off_chip to !part
  %sent = dma.start %out to %place channel 0 : !tile to !part
  dma.wait %sent
  func.return
}
func.func private @layer(%x : !half, %y : !tile) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %v = memref.load %x[%c0, %i] : !half
    memref.store %v, %y[%c0, %i] : !tile
  }
  func.return
}
"""
"""A layer in tiles with a double buffer for its input; its map leaves the chip and comes back."""

RUNS = """
!image = memref<64xi8, #npu.sram>
!result = memref<12xi8, #npu.sram>
!table = memref<8xi32, #npu.flash>
"memref.global"() <{sym_name = "w", type = !table, sym_visibility = "private", constant,
    initial_value = dense<[66051, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>}> : () -> ()
func.func @net(%x : !image {sram.input, sram.offset = 0 : i64},
               %y : !result {sram.output, sram.offset = 64 : i64})
    attributes {sram.arena = 80 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %w = memref.get_global @w : !table
  scf.for %r = %c0 to %c3 step %c1 {
    %from = arith.muli %r, %c16 : index
    %to = arith.muli %r, %c4 : index
    %sums = mve.mul_runs %x[%from] by %w[%c0] rows %c2 run 16 apart 0 pitch 16 step 4 filters 1
      : !image, !table -> vector<4xi32>
    mve.store %sums, %y[%to] : vector<4xi32>, !result
  }
  func.return
}
"""
"""Each row of the output is made of two rows of 16 bytes."""

ROWS = """
!image = memref<10x4xi8, #npu.sram>
!result = memref<6x4xi8, #npu.sram>
!ring = memref<3x4xi8, #npu.sram>
!rows = memref<3x4xi8, strided<[4, 1], offset: ?>, #npu.sram>
!row = memref<1x4xi8, strided<[4, 1], offset: ?>, #npu.sram>
func.func @net(%x : !image {sram.input, sram.offset = 0 : i64},
               %y : !result {sram.output, sram.offset = 0 : i64})
    attributes {sram.arena = 52 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %ring = sram.alloc at 40 : !ring
  scf.for %r = %c0 to %c6 step %c1 {
    %begins = arith.cmpi eq, %r, %c0 : index
    scf.if %begins {
    } else {
      scf.for %k = %c0 to %c2 step %c1 {
        scf.for %j = %c0 to %c4 step %c1 {
          %below = arith.addi %k, %c1 : index
          %v = memref.load %ring[%below, %j] : !ring
          memref.store %v, %ring[%k, %j] : !ring
        }
      }
    }
    %later = arith.addi %r, %c2 : index
    %from = arith.select %begins, %r, %later : index
    %to = arith.addi %r, %c3 : index
    scf.for %s = %from to %to step %c1 {
      %slot = arith.subi %s, %r : index
      %row = memref.subview %ring[%slot, 0] [1, 4] [1, 1] : !ring to !row
      %window = memref.subview %x[%s, 0] [3, 4] [1, 1] : !image to !rows
      func.call @sum(%window, %row) : (!rows, !row) -> ()
    }
    %all = memref.subview %ring[%c0, 0] [3, 4] [1, 1] : !ring to !rows
    %out = memref.subview %y[%r, 0] [1, 4] [1, 1] : !result to !row
    func.call @sum(%all, %out) : (!rows, !row) -> ()
  }
  func.return
}
func.func private @sum(%x : !rows, %y : !row) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i8
  scf.for %j = %c0 to %c4 step %c1 {
    %sum = scf.for %k = %c0 to %c3 step %c1 iter_args(%before = %zero) -> (i8) {
      %v = memref.load %x[%k, %j] : !rows
      %after = arith.addi %before, %v : i8
      scf.yield %after : i8
    }
    memref.store %sum, %y[%c0, %j] : !row
  }
  func.return
}
"""
"""Two sums of three rows, row by row, with three rows between them; the output is where the input
was, row r over row r, which nobody reads again."""


def pointwise(order: str, filters: int, channels: int = 3, pixels: int = 5) -> str:
    """A layer that sums the channels of each pixel, once for each filter; one loop nest.

    `order` has the loops over filters and pixels, the outer one first: "fp" or "pf".
    """
    bounds = {"f": filters, "p": pixels}
    outer, inner = order
    return f"""
!x = memref<{channels}x{pixels}xi8, #npu.sram>
!y = memref<{filters}x{pixels}xi8, #npu.sram>
func.func @net(%x : !x {{sram.input, sram.offset = 0 : i64}},
               %y : !y {{sram.output, sram.offset = 16 : i64}})
    attributes {{sram.arena = 32 : i64}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i8
  %outer = arith.constant {bounds[outer]} : index
  %inner = arith.constant {bounds[inner]} : index
  %channels = arith.constant {channels} : index
  scf.for %{outer} = %c0 to %outer step %c1 {{
    scf.for %{inner} = %c0 to %inner step %c1 {{
      %sum = scf.for %c = %c0 to %channels step %c1 iter_args(%before = %zero) -> (i8) {{
        %v = memref.load %x[%c, %p] : !x
        %after = arith.addi %before, %v : i8
        scf.yield %after : i8
      }}
      memref.store %sum, %y[%f, %p] : !y
    }}
  }}
  func.return
}}
"""


BLOCKS = """
!map = memref<1x2x4x4xi8, #npu.dram>
!bits = memref<1xi8, #npu.dram>
!half_map = memref<1x1x4x4xi8, strided<[32, 16, 4, 1], offset: ?>, #npu.dram>
!tile = memref<1x2x4x4xi8, #npu.sram>
!half = memref<1x1x4x4xi8, strided<[32, 16, 4, 1], offset: ?>, #npu.sram>
func.func @net(%x : !map {dram.input}, %y : !map {dram.output})
    attributes {sram.arena = 64 : i64, dram.bytes = 64 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = sram.alloc at 0 : !tile
  %again = sram.alloc at 32 : !tile
  %old = dram.alloc at 0 : !map
  %map = dram.alloc at 32 : !map
  %index = dram.alloc at 0 : !bits
  %loaded = dma.start %x to %tile channel 0 : !map to !tile
  dma.wait %loaded
  %stored = dma.start %tile to %old channel 0 : !tile to !map
  dma.wait %stored
  %half0 = memref.subview %tile[0, %c0, 0, 0] [1, 1, 4, 4] [1, 1, 1, 1] : !tile to !half
  %half1 = memref.subview %tile[0, %c1, 0, 0] [1, 1, 4, 4] [1, 1, 1, 1] : !tile to !half
  %to0 = memref.subview %map[0, %c0, 0, 0] [1, 1, 4, 4] [1, 1, 1, 1] : !map to !half_map
  %to1 = memref.subview %map[0, %c1, 0, 0] [1, 1, 4, 4] [1, 1, 1, 1] : !map to !half_map
  %first = dma.start %half0 to %to0 channel 0 blocks 4 zero 0 of %map, %index
    : !half to !half_map of !map, !bits
  dma.wait %first
  %second = dma.start %half1 to %to1 channel 0 blocks 4 zero 0 of %map, %index
    : !half to !half_map of !map, !bits
  dma.wait %second
  %back = dma.start %map to %again channel 0 blocks 4 zero 0 of %map, %index
    : !map to !tile of !map, !bits
  dma.wait %back
  %left = dma.start %again to %y channel 0 : !tile to !map
  dma.wait %left
  func.return
}
"""
"""A map that is stored in two blocks. Its index lies where another map was, which is dead by then:
the first store finds old bytes in it, and the second one keeps the bit of the first.
"""
