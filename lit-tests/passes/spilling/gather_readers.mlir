// RUN: npu-opt %s --allow-unregistered-dialect --pass-pipeline=npu-gather-readers | filecheck %s

// Layers that read the same map off the chip run one behind the other.
builtin.module attributes {npu.target = #npu.target<"m", {sram_bytes = 3200 : i64, flash_bytes = 0 : i64, dma_channels = 4 : i64, clock_hz = 1000 : i64, macs_per_cycle = {i8 = 4 : i64}, sram_bytes_per_cycle = 64 : i64, dma_bytes_per_cycle = 1 : i64, dma_setup_cycles = 10 : i64, dma_jump_cycles = 1 : i64}>} {
  // What the second reader needs moves with it.
  // CHECK-LABEL: func.func @result_off_chip
  // CHECK: npu.conv2d ins(%x, %v
  // CHECK-NEXT: %[[part:[a-z_0-9]+]] = memref.subview %z[0, 4, 0, 0]
  // CHECK-NEXT: npu.conv2d ins(%x, %w {{.*}} outs(%[[part]]
  // CHECK-NEXT: npu.relu ins(%y
  // CHECK: return
  func.func @result_off_chip(%x: memref<1x24x8x8xi8, #npu.dram>, %v: memref<4x24x1x1xi8, #npu.dram>, %w: memref<4x24x1x1xi8, #npu.dram>, %z: memref<1x8x8x8xi8, #npu.dram>) {
    %y = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.conv2d ins(%x, %v : memref<1x24x8x8xi8, #npu.dram>, memref<4x24x1x1xi8, #npu.dram>) outs(%y : memref<1x4x8x8xi8, #npu.sram>)
    npu.relu ins(%y : memref<1x4x8x8xi8, #npu.sram>) outs(%y : memref<1x4x8x8xi8, #npu.sram>)
    %part = memref.subview %z[0, 4, 0, 0] [1, 4, 8, 8] [1, 1, 1, 1] : memref<1x8x8x8xi8, #npu.dram> to memref<1x4x8x8xi8, strided<[512, 64, 8, 1], offset: 256>, #npu.dram>
    npu.conv2d ins(%x, %w : memref<1x24x8x8xi8, #npu.dram>, memref<4x24x1x1xi8, #npu.dram>) outs(%part : memref<1x4x8x8xi8, strided<[512, 64, 8, 1], offset: 256>, #npu.dram>)
    func.return
  }

  // A result on chip lives longer, if it fits.
  // CHECK-LABEL: func.func @result_on_chip
  // CHECK: npu.conv2d ins(%x, %v
  // CHECK-NEXT: %z = sram.alloc
  // CHECK-NEXT: npu.conv2d ins(%x, %w
  // CHECK-NEXT: npu.relu ins(%y
  // CHECK: return
  func.func @result_on_chip(%x: memref<1x24x8x8xi8, #npu.dram>, %v: memref<4x24x1x1xi8, #npu.dram>, %w: memref<4x24x1x1xi8, #npu.dram>) {
    %y = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.conv2d ins(%x, %v : memref<1x24x8x8xi8, #npu.dram>, memref<4x24x1x1xi8, #npu.dram>) outs(%y : memref<1x4x8x8xi8, #npu.sram>)
    npu.relu ins(%y : memref<1x4x8x8xi8, #npu.sram>) outs(%y : memref<1x4x8x8xi8, #npu.sram>)
    %z = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x24x8x8xi8, #npu.dram>, memref<4x24x1x1xi8, #npu.dram>) outs(%z : memref<1x4x8x8xi8, #npu.sram>)
    npu.add ins(%y, %z : memref<1x4x8x8xi8, #npu.sram>, memref<1x4x8x8xi8, #npu.sram>) outs(%y : memref<1x4x8x8xi8, #npu.sram>)
    func.return
  }

  // Left alone: %z would not fit beside %large.
  // CHECK-LABEL: func.func @no_room
  // CHECK: npu.conv2d ins(%x, %v
  // CHECK: npu.max_pool2d
  // CHECK: npu.max_pool2d
  // CHECK: npu.conv2d ins(%x, %w
  // CHECK: return
  func.func @no_room(%x: memref<1x24x8x8xi8, #npu.dram>, %v: memref<4x24x1x1xi8, #npu.dram>, %w: memref<4x24x1x1xi8, #npu.dram>, %q: memref<1x11x16x16xi8, #npu.dram>, %s: memref<1x4x2x2xi8, #npu.sram> {sram.output}) {
    %y = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.conv2d ins(%x, %v : memref<1x24x8x8xi8, #npu.dram>, memref<4x24x1x1xi8, #npu.dram>) outs(%y : memref<1x4x8x8xi8, #npu.sram>)
    npu.max_pool2d ins(%y : memref<1x4x8x8xi8, #npu.sram>) outs(%s : memref<1x4x2x2xi8, #npu.sram>) kernel [4, 4] strides [4, 4]
    %large = sram.alloc : memref<1x11x16x16xi8, #npu.sram>
    npu.max_pool2d ins(%q : memref<1x11x16x16xi8, #npu.dram>) outs(%large : memref<1x11x16x16xi8, #npu.sram>) kernel [1, 1]
    npu.relu ins(%large : memref<1x11x16x16xi8, #npu.sram>) outs(%large : memref<1x11x16x16xi8, #npu.sram>)
    %z = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x24x8x8xi8, #npu.dram>, memref<4x24x1x1xi8, #npu.dram>) outs(%z : memref<1x4x8x8xi8, #npu.sram>)
    npu.max_pool2d ins(%z : memref<1x4x8x8xi8, #npu.sram>) outs(%s : memref<1x4x2x2xi8, #npu.sram>) kernel [4, 4] strides [4, 4]
    func.return
  }

  // The same. A layer between the two reads a view that would move with the second one.
  // CHECK-LABEL: func.func @no_room_for_a_view
  // CHECK: npu.conv2d ins(%x, %v
  // CHECK-NEXT: npu.max_pool2d
  // CHECK-NEXT: %large = sram.alloc
  // CHECK-NEXT: npu.max_pool2d
  // CHECK-NEXT: %z = sram.alloc
  // CHECK-NEXT: %half = memref.subview %w
  // CHECK-NEXT: npu.conv2d ins(%large, %half
  // CHECK-NEXT: npu.relu ins(%large
  // CHECK-NEXT: npu.conv2d ins(%x, %half
  // CHECK: return
  func.func @no_room_for_a_view(%x: memref<1x24x8x8xi8, #npu.dram>, %v: memref<4x24x1x1xi8, #npu.dram>, %w: memref<8x24x1x1xi8, #npu.dram>, %q: memref<1x24x9x13xi8, #npu.dram>, %t: memref<1x4x9x13xi8, #npu.dram>, %s: memref<1x4x2x2xi8, #npu.sram> {sram.output}) {
    %y = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    npu.conv2d ins(%x, %v : memref<1x24x8x8xi8, #npu.dram>, memref<4x24x1x1xi8, #npu.dram>) outs(%y : memref<1x4x8x8xi8, #npu.sram>)
    npu.max_pool2d ins(%y : memref<1x4x8x8xi8, #npu.sram>) outs(%s : memref<1x4x2x2xi8, #npu.sram>) kernel [4, 4] strides [4, 4]
    %large = sram.alloc : memref<1x24x9x13xi8, #npu.sram>
    npu.max_pool2d ins(%q : memref<1x24x9x13xi8, #npu.dram>) outs(%large : memref<1x24x9x13xi8, #npu.sram>) kernel [1, 1]
    %z = sram.alloc : memref<1x4x8x8xi8, #npu.sram>
    %half = memref.subview %w[4, 0, 0, 0] [4, 24, 1, 1] [1, 1, 1, 1] : memref<8x24x1x1xi8, #npu.dram> to memref<4x24x1x1xi8, strided<[24, 1, 1, 1], offset: 96>, #npu.dram>
    npu.conv2d ins(%large, %half : memref<1x24x9x13xi8, #npu.sram>, memref<4x24x1x1xi8, strided<[24, 1, 1, 1], offset: 96>, #npu.dram>) outs(%t : memref<1x4x9x13xi8, #npu.dram>)
    npu.relu ins(%large : memref<1x24x9x13xi8, #npu.sram>) outs(%large : memref<1x24x9x13xi8, #npu.sram>)
    npu.conv2d ins(%x, %half : memref<1x24x8x8xi8, #npu.dram>, memref<4x24x1x1xi8, strided<[24, 1, 1, 1], offset: 96>, #npu.dram>) outs(%z : memref<1x4x8x8xi8, #npu.sram>)
    npu.max_pool2d ins(%z : memref<1x4x8x8xi8, #npu.sram>) outs(%s : memref<1x4x2x2xi8, #npu.sram>) kernel [4, 4] strides [4, 4]
    func.return
  }

  // Left alone: the map changes between the two.
  // CHECK-LABEL: func.func @overwritten
  // CHECK: npu.max_pool2d
  // CHECK-NEXT: npu.relu ins(%q
  // CHECK-NEXT: npu.avg_pool2d
  // CHECK: return
  func.func @overwritten(%x: memref<1x24x8x8xi8, #npu.dram>, %q: memref<1x24x8x8xi8, #npu.dram>, %y: memref<1x24x4x4xi8, #npu.dram>, %z: memref<1x24x4x4xi8, #npu.dram>) {
    npu.max_pool2d ins(%x : memref<1x24x8x8xi8, #npu.dram>) outs(%y : memref<1x24x4x4xi8, #npu.dram>) kernel [2, 2] strides [2, 2]
    npu.relu ins(%q : memref<1x24x8x8xi8, #npu.dram>) outs(%x : memref<1x24x8x8xi8, #npu.dram>)
    npu.avg_pool2d ins(%x : memref<1x24x8x8xi8, #npu.dram>) outs(%z : memref<1x24x4x4xi8, #npu.dram>) kernel [2, 2] strides [2, 2]
    func.return
  }

  // Left alone: a layer between the two reads what the second one overwrites.
  // CHECK-LABEL: func.func @read_before
  // CHECK: npu.max_pool2d
  // CHECK-NEXT: npu.relu ins(%z
  // CHECK-NEXT: npu.avg_pool2d
  // CHECK: return
  func.func @read_before(%x: memref<1x24x8x8xi8, #npu.dram>, %y: memref<1x24x4x4xi8, #npu.dram>, %z: memref<1x24x4x4xi8, #npu.dram>, %r: memref<1x24x4x4xi8, #npu.dram>) {
    npu.max_pool2d ins(%x : memref<1x24x8x8xi8, #npu.dram>) outs(%y : memref<1x24x4x4xi8, #npu.dram>) kernel [2, 2] strides [2, 2]
    npu.relu ins(%z : memref<1x24x4x4xi8, #npu.dram>) outs(%r : memref<1x24x4x4xi8, #npu.dram>)
    npu.avg_pool2d ins(%x : memref<1x24x8x8xi8, #npu.dram>) outs(%z : memref<1x24x4x4xi8, #npu.dram>) kernel [2, 2] strides [2, 2]
    func.return
  }

  // Left alone: the second one needs what the first one computes, so they cannot share tiles.
  // CHECK-LABEL: func.func @sum
  // CHECK: npu.relu ins(%x
  // CHECK-NEXT: npu.relu ins(%z
  // CHECK-NEXT: npu.add
  // CHECK: return
  func.func @sum(%x: memref<1x24x8x8xi8, #npu.dram>, %y: memref<1x24x8x8xi8, #npu.dram>, %z: memref<1x24x8x8xi8, #npu.dram>, %r: memref<1x24x8x8xi8, #npu.dram>) {
    npu.relu ins(%x : memref<1x24x8x8xi8, #npu.dram>) outs(%y : memref<1x24x8x8xi8, #npu.dram>)
    npu.relu ins(%z : memref<1x24x8x8xi8, #npu.dram>) outs(%z : memref<1x24x8x8xi8, #npu.dram>)
    npu.add ins(%x, %y : memref<1x24x8x8xi8, #npu.dram>, memref<1x24x8x8xi8, #npu.dram>) outs(%r : memref<1x24x8x8xi8, #npu.dram>)
    func.return
  }

  // Left alone: nobody says what an op between the two does.
  // CHECK-LABEL: func.func @unknown
  // CHECK: npu.max_pool2d
  // CHECK-NEXT: "other.op"
  // CHECK-NEXT: npu.avg_pool2d
  // CHECK: return
  func.func @unknown(%x: memref<1x24x8x8xi8, #npu.dram>, %y: memref<1x24x4x4xi8, #npu.dram>, %z: memref<1x24x4x4xi8, #npu.dram>) {
    npu.max_pool2d ins(%x : memref<1x24x8x8xi8, #npu.dram>) outs(%y : memref<1x24x4x4xi8, #npu.dram>) kernel [2, 2] strides [2, 2]
    "other.op"() : () -> ()
    npu.avg_pool2d ins(%x : memref<1x24x8x8xi8, #npu.dram>) outs(%z : memref<1x24x4x4xi8, #npu.dram>) kernel [2, 2] strides [2, 2]
    func.return
  }

  // Left alone: the same of an op that makes the buffer of the second one.
  // CHECK-LABEL: func.func @made
  // CHECK: npu.max_pool2d
  // CHECK-NEXT: npu.relu
  // CHECK-NEXT: "other.make"
  // CHECK-NEXT: npu.avg_pool2d
  // CHECK: return
  func.func @made(%x: memref<1x24x8x8xi8, #npu.dram>, %y: memref<1x24x4x4xi8, #npu.dram>) {
    npu.max_pool2d ins(%x : memref<1x24x8x8xi8, #npu.dram>) outs(%y : memref<1x24x4x4xi8, #npu.dram>) kernel [2, 2] strides [2, 2]
    npu.relu ins(%y : memref<1x24x4x4xi8, #npu.dram>) outs(%y : memref<1x24x4x4xi8, #npu.dram>)
    %z = "other.make"() : () -> memref<1x24x4x4xi8, #npu.dram>
    npu.avg_pool2d ins(%x : memref<1x24x8x8xi8, #npu.dram>) outs(%z : memref<1x24x4x4xi8, #npu.dram>) kernel [2, 2] strides [2, 2]
    func.return
  }

  // Left alone: no tile of both is a part of the map that both need.
  // CHECK-LABEL: func.func @unlike
  // CHECK: npu.max_pool2d
  // CHECK-NEXT: npu.relu ins(%y
  // CHECK-NEXT: npu.conv2d
  // CHECK: return
  func.func @unlike(%x: memref<1x2x64x32xi8, #npu.dram>, %y: memref<1x2x32x16xi8, #npu.dram>, %w: memref<4x2x3x3xi8, #npu.dram>, %z: memref<1x4x62x30xi8, #npu.dram>) {
    npu.max_pool2d ins(%x : memref<1x2x64x32xi8, #npu.dram>) outs(%y : memref<1x2x32x16xi8, #npu.dram>) kernel [2, 2] strides [2, 2]
    npu.relu ins(%y : memref<1x2x32x16xi8, #npu.dram>) outs(%y : memref<1x2x32x16xi8, #npu.dram>)
    npu.conv2d ins(%x, %w : memref<1x2x64x32xi8, #npu.dram>, memref<4x2x3x3xi8, #npu.dram>) outs(%z : memref<1x4x62x30xi8, #npu.dram>)
    func.return
  }
}
