// RUN: npu-opt %s -p npu-choose-kernels --allow-unregistered-dialect --split-input-file | filecheck %s
// RUN: npu-opt %s -p npu-choose-kernels{flash=small} --allow-unregistered-dialect --split-input-file | filecheck %s --check-prefix=SMALL

// Below the peak there is room beside input and output for all lines of a channel: 14 lines of 14 elements, and 2 behind.
// CHECK-LABEL: func.func @beside
// CHECK:       %lines = sram.alloc : memref<198xi16, #npu.sram>
// CHECK-NEXT:  npu.conv2d ins(%x, %w : {{.*}}) outs(%y : {{.*}}) scratch(%lines : memref<198xi16, #npu.sram>) strides [1, 1] pads [1, 1, 1, 1] groups 8
// SMALL-LABEL: func.func @beside
// SMALL-NOT:   scratch
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @beside(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    %p = sram.alloc : memref<4096xi8, #npu.sram>
    "use"(%p) : (memref<4096xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// At the peak the output takes the place of the input. The lines take at most what lies above an output that follows its
// input: a row of pixels.
// CHECK-LABEL: func.func @in_place
// CHECK-NEXT:  %w = memref.get_global
// CHECK-NEXT:  %lines = sram.alloc : memref<44xi16, #npu.sram>
// CHECK-NEXT:  npu.conv2d ins(%x, %w : {{.*}}) outs(%x : {{.*}}) scratch(%lines : memref<44xi16, #npu.sram>)
// CHECK-NEXT:  "use"(%x)
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @in_place(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// An input that is read later stays; so does a layer at the peak whose output has another shape.
// CHECK-LABEL: func.func @at_the_peak
// CHECK-NOT:   scratch
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  "memref.global"() <{sym_name = "w2", type = memref<16x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<16x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @at_the_peak(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%x, %y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    %w2 = memref.get_global @w2 : memref<16x1x3x3xi8, #npu.flash>
    %z = sram.alloc : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>
    npu.conv2d ins(%y, %w2 : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<16x1x3x3xi8, #npu.flash>) outs(%z : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%z) : (memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Steps of two columns and rows: four elements are gathered for each output of nine taps, which does not pay.
// CHECK-LABEL: func.func @strided
// CHECK-NOT:   scratch
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @strided(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>) strides [2, 2] pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>) -> ()
    %p = sram.alloc : memref<4096xi8, #npu.sram>
    "use"(%p) : (memref<4096xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Rows of channels in planes become lines, too.
// CHECK-LABEL: func.func @planes
// CHECK:       npu.conv2d {{.*}} scratch(%lines : memref<198xi16, #npu.sram>)
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @planes(%x : memref<1x8x12x12xi8, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x12x12xi8, #npu.sram>) -> ()
    %p = sram.alloc : memref<4096xi8, #npu.sram>
    "use"(%p) : (memref<4096xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// A core without dual multiply-accumulates gains nothing.
// CHECK-LABEL: func.func @plain
// CHECK-NOT:   scratch
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @plain(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    %p = sram.alloc : memref<4096xi8, #npu.sram>
    "use"(%p) : (memref<4096xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Sizes only, no numbers: no kernel will run.
// CHECK-LABEL: func.func @planned
// CHECK-NOT:   scratch
builtin.module attributes {npu.planned_as = i8, npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @planned(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    %p = sram.alloc : memref<4096xi8, #npu.sram>
    "use"(%p) : (memref<4096xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// On a vector unit the working memory holds a channel with its padding: 14 rows of 13 bytes, and what vectors hold behind
// them. It does not depend on flash. Windows in steps of two, and windows without padding, are gathered where they lie, which
// takes fewer instructions.
// A layer with few outputs has no such kernel.
// CHECK-LABEL: func.func @planes_of_channels
// CHECK:       %lines = sram.alloc : memref<192xi8, #npu.sram>
// CHECK-NEXT:  npu.conv2d ins(%x, %w : {{.*}}) outs(%y : {{.*}}) scratch(%lines : memref<192xi8, #npu.sram>)
// CHECK-NOT:   scratch
// CHECK:       npu.conv2d ins(%y, %w : {{.*}}) outs(%z : {{.*}}) strides [2, 2]
// CHECK-SAME:  {npu.by_channel}
// CHECK-NOT:   scratch
// CHECK:       npu.conv2d ins(%z, %w : {{.*}}) outs(%v : {{.*}}) strides [1, 1]
// CHECK-SAME:  {npu.by_channel}
// CHECK-NOT:   npu.by_channel
// SMALL-LABEL: func.func @planes_of_channels
// SMALL:       scratch(%lines : memref<192xi8, #npu.sram>)
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @planes_of_channels(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    %z = sram.alloc : memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>
    npu.conv2d ins(%y, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%z : memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>) strides [2, 2] pads [1, 1, 0, 0] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    %v = sram.alloc : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>
    npu.conv2d ins(%z, %w : memref<1x8x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%v : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>) groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    %u = sram.alloc : memref<1x8x2x2xi8, strided<[32, 1, 16, 8]>, #npu.sram>
    npu.conv2d ins(%v, %w : memref<1x8x4x4xi8, strided<[128, 1, 32, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%u : memref<1x8x2x2xi8, strided<[32, 1, 16, 8]>, #npu.sram>) groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%u) : (memref<1x8x2x2xi8, strided<[32, 1, 16, 8]>, #npu.sram>) -> ()
    %p = sram.alloc : memref<4096xi8, #npu.sram>
    "use"(%p) : (memref<4096xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// With less room it holds four rows of a channel, in 14 columns.
// CHECK-LABEL: func.func @patches
// CHECK:       %lines = sram.alloc : memref<28xi16, #npu.sram>
// CHECK-NEXT:  npu.conv2d ins(%x, %w : {{.*}}) outs(%y : {{.*}}) scratch(%lines : memref<28xi16, #npu.sram>)
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @patches(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    %p = sram.alloc : memref<2400xi8, #npu.sram>
    "use"(%p) : (memref<2400xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// At the peak it takes no more than that, too, as a larger one might make the arena larger.
// CHECK-LABEL: func.func @patches_in_place
// CHECK:       %lines = sram.alloc : memref<28xi16, #npu.sram>
// CHECK-NEXT:  npu.conv2d ins(%x, %w : {{.*}}) outs(%x : {{.*}}) scratch(%lines : memref<28xi16, #npu.sram>)
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @patches_in_place(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Where a row of outputs has one patch of the map or two, that of the next row is gathered before the output overwrites it.
// CHECK-LABEL: func.func @over_their_input
// CHECK-NOT:   scratch
// CHECK:       npu.conv2d ins(%x, %w : {{.*}}) outs(%y : {{.*}})
// CHECK-SAME:  {npu.by_channel, npu.over_input}
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @over_their_input(%x : memref<1x8x25x5xi8, strided<[1000, 1, 40, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x25x5xi8, strided<[1000, 1, 40, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x25x5xi8, strided<[1000, 1, 40, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x25x5xi8, strided<[1000, 1, 40, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x25x5xi8, strided<[1000, 1, 40, 8]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// With two patches, a working memory takes fewer instructions.
// CHECK-LABEL: func.func @patches_are_faster
// CHECK:       %lines = sram.alloc : memref<20xi16, #npu.sram>
// CHECK-NEXT:  npu.conv2d ins(%x, %w : {{.*}}) outs(%x : {{.*}}) scratch(%lines : memref<20xi16, #npu.sram>)
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @patches_are_faster(%x : memref<1x8x20x8xi8, strided<[1280, 1, 64, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x20x8xi8, strided<[1280, 1, 64, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x20x8xi8, strided<[1280, 1, 64, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x20x8xi8, strided<[1280, 1, 64, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x20x8xi8, strided<[1280, 1, 64, 8]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Without room for a plane, and if it takes more instructions, windows are gathered where they lie. The layer is below the
// peak, so its output needs no memory of its input. A layer in a loop over rows writes rows of another buffer.
// CHECK-LABEL: func.func @windows
// CHECK-NOT:   scratch
// CHECK:       npu.conv2d ins(%x, %w : {{.*}}) outs(%y : {{.*}}) strides [2, 2]
// CHECK-SAME:  {npu.by_channel}
// CHECK:       scf.for
// CHECK:       npu.conv2d
// CHECK-SAME:  {npu.by_channel}
// CHECK:       npu.conv2d
// CHECK-NOT:   npu.by_channel
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @windows(%x : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) strides [2, 2] pads [1, 1, 0, 0] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    %r = sram.alloc : memref<1x8x3x24xi8, strided<[576, 1, 192, 8]>, #npu.sram>
    %o = sram.alloc : memref<1x8x1x12xi8, strided<[96, 1, 96, 8]>, #npu.sram>
    %q = sram.alloc : memref<1x8x1x4xi8, strided<[32, 1, 32, 8]>, #npu.sram>
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %one step %one {
      "use"(%r) : (memref<1x8x3x24xi8, strided<[576, 1, 192, 8]>, #npu.sram>) -> ()
      npu.conv2d ins(%r, %w : memref<1x8x3x24xi8, strided<[576, 1, 192, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%o : memref<1x8x1x12xi8, strided<[96, 1, 96, 8]>, #npu.sram>) strides [2, 2] pads [0, 1, 0, 0] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
      npu.conv2d ins(%r, %w : memref<1x8x3x24xi8, strided<[576, 1, 192, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%q : memref<1x8x1x4xi8, strided<[32, 1, 32, 8]>, #npu.sram>) strides [2, 6] pads [0, 1, 0, 0] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
      "use"(%o, %q) : (memref<1x8x1x12xi8, strided<[96, 1, 96, 8]>, #npu.sram>, memref<1x8x1x4xi8, strided<[32, 1, 32, 8]>, #npu.sram>) -> ()
    }
    %p = sram.alloc : memref<8192xi8, #npu.sram>
    "use"(%p) : (memref<8192xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// A copy of a channel takes fewer bytes than an output that follows its input row by row.
// CHECK-LABEL: func.func @planes_at_the_peak
// CHECK:       scratch({{.*}}) {{.*}} {npu.over_input}
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<32x1x5x5xi8, #npu.flash>, initial_value = dense<1> : tensor<32x1x5x5xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @planes_at_the_peak(%x : memref<1x32x24x24xi8, strided<[18432, 1, 768, 32]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<32x1x5x5xi8, #npu.flash>
    %y = sram.alloc : memref<1x32x12x12xi8, strided<[4608, 1, 384, 32]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x32x24x24xi8, strided<[18432, 1, 768, 32]>, #npu.sram>, memref<32x1x5x5xi8, #npu.flash>) outs(%y : memref<1x32x12x12xi8, strided<[4608, 1, 384, 32]>, #npu.sram>) strides [2, 2] pads [2, 2, 1, 1] groups 32 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x32x12x12xi8, strided<[4608, 1, 384, 32]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// With few channels it takes more.
// CHECK-LABEL: func.func @few_channels_at_the_peak
// CHECK-NOT:   scratch
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x5x5xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x5x5xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @few_channels_at_the_peak(%x : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x5x5xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram>, memref<8x1x5x5xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) strides [2, 2] pads [2, 2, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// At the peak, the output takes memory of its dying input. With a step of two it may lie on the same channels.
// CHECK-LABEL: func.func @windows_at_the_peak
// CHECK:       npu.conv2d {{.*}} {npu.by_channel, npu.over_input}
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @windows_at_the_peak(%x : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) strides [2, 2] pads [1, 1, 0, 0] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Not if the input is read later.
// CHECK-LABEL: func.func @windows_of_a_living_input
// CHECK-NOT:   npu.over_input
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @windows_of_a_living_input(%x : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) strides [2, 2] pads [1, 1, 0, 0] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y, %x) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// The output takes the place of the last rows of a concatenation, which no layer has written yet. So the layer needs more than a
// plan of all does, but it needs no memory of its input, as a later layer reads that.
// CHECK-LABEL: func.func @windows_beside_a_living_input
// CHECK:       npu.conv2d {{.*}} {npu.by_channel}
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @windows_beside_a_living_input(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %c = sram.alloc : memref<1x8x24x12xi8, strided<[2304, 1, 96, 8]>, #npu.sram>
    %first = memref.subview %c[0, 0, 0, 0] [1, 8, 12, 12] [1, 1, 1, 1] : memref<1x8x24x12xi8, strided<[2304, 1, 96, 8]>, #npu.sram> to memref<1x8x12x12xi8, strided<[2304, 1, 96, 8]>, #npu.sram>
    npu.requantize ins(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) outs(%first : memref<1x8x12x12xi8, strided<[2304, 1, 96, 8]>, #npu.sram>) scales [0.5] zero_points [0, 3] mode float
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    %second = memref.subview %c[0, 0, 12, 0] [1, 8, 12, 12] [1, 1, 1, 1] : memref<1x8x24x12xi8, strided<[2304, 1, 96, 8]>, #npu.sram> to memref<1x8x12x12xi8, strided<[2304, 1, 96, 8], offset: 1152>, #npu.sram>
    npu.requantize ins(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) outs(%second : memref<1x8x12x12xi8, strided<[2304, 1, 96, 8], offset: 1152>, #npu.sram>) scales [0.5] zero_points [0, 3] mode float
    "use"(%c) : (memref<1x8x24x12xi8, strided<[2304, 1, 96, 8]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// At the peak, an input that is read later leaves no room for a working memory, on a vector unit either.
// CHECK-LABEL: func.func @no_room
// CHECK-NOT:   scratch
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @no_room(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%x, %y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Two filters of a channel share its plane, so it takes fewer instructions here than windows, which each filter gathers.
// CHECK-LABEL: func.func @two_filters
// CHECK:       %lines = sram.alloc : memref<640xi8, #npu.sram>
// CHECK-NEXT:  npu.conv2d ins(%x, %w : {{.*}}) outs(%y : {{.*}}) scratch(%lines : memref<640xi8, #npu.sram>)
// CHECK-NOT:   npu.by_channel
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<16x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<16x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @two_filters(%x : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<16x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram>, memref<16x1x3x3xi8, #npu.flash>) outs(%y : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>) strides [2, 2] pads [1, 1, 0, 0] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>) -> ()
    %p = sram.alloc : memref<8192xi8, #npu.sram>
    "use"(%p) : (memref<8192xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Without room for a plane, each of them gathers its windows.
// CHECK-LABEL: func.func @two_filters_without_room
// CHECK-NOT:   scratch
// CHECK:       {npu.by_channel}
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<16x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<16x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @two_filters_without_room(%x : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<16x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram>, memref<16x1x3x3xi8, #npu.flash>) outs(%y : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>) strides [2, 2] pads [1, 1, 0, 0] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>) -> ()
    %p = sram.alloc : memref<7168xi8, #npu.sram>
    "use"(%p) : (memref<7168xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// At the peak, rows come first, as each output takes memory of the dying input.
// CHECK-LABEL: func.func @two_filters_at_the_peak
// CHECK-NOT:   scratch
// CHECK-NOT:   npu.by_channel
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<16x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<16x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @two_filters_at_the_peak(%x : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<16x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x24x24xi8, strided<[4608, 1, 192, 8]>, #npu.sram>, memref<16x1x3x3xi8, #npu.flash>) outs(%y : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>) strides [2, 2] pads [1, 1, 0, 0] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Planes at the peak: between two of them an output follows its input, whatever the loops. From planes to pixels other loops
// let it follow more closely than by channel.
// CHECK-LABEL: func.func @between_planes
// CHECK:       npu.conv2d {{.*}} {npu.by_channel}
// CHECK-LABEL: func.func @to_pixels
// CHECK-NOT:   by_channel
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @between_planes(%x : memref<1x8x12x12xi8, #npu.sram> {sram.input}, %y : memref<1x8x12x12xi8, #npu.sram> {sram.output}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    func.return
  }
  func.func @to_pixels(%x : memref<1x8x12x12xi8, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, #npu.sram>, memref<8x1x3x3xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) pads [1, 1, 1, 1] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Few outputs of sixteen channels are computed with these in lanes, and need no memory. That is for fast layers only.
// CHECK-LABEL: func.func @sixteen_channels
// CHECK-NOT:   scratch
// CHECK:       npu.conv2d {{.*}} {npu.by_channel}
// SMALL-LABEL: func.func @sixteen_channels
// SMALL-NOT:   npu.by_channel
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<16x1x3x3xi8, #npu.flash>, initial_value = dense<1> : tensor<16x1x3x3xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @sixteen_channels(%x : memref<1x16x4x4xi8, strided<[256, 1, 64, 16]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<16x1x3x3xi8, #npu.flash>
    %y = sram.alloc : memref<1x16x2x2xi8, strided<[64, 1, 32, 16]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x16x4x4xi8, strided<[256, 1, 64, 16]>, #npu.sram>, memref<16x1x3x3xi8, #npu.flash>) outs(%y : memref<1x16x2x2xi8, strided<[64, 1, 32, 16]>, #npu.sram>) groups 16 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x16x2x2xi8, strided<[64, 1, 32, 16]>, #npu.sram>) -> ()
    %p = sram.alloc : memref<4096xi8, #npu.sram>
    "use"(%p) : (memref<4096xi8, #npu.sram>) -> ()
    func.return
  }
}

// -----

// At the peak, where a working memory has no room, and the input lives on, columns of 5x5 windows are gathered where they lie.
// That is for fast layers only. A small map has few taps beside padding.
// CHECK-LABEL: func.func @columns
// CHECK-NOT:   scratch
// CHECK:       npu.conv2d {{.*}} {npu.by_channel}
// SMALL-LABEL: func.func @columns
// SMALL-NOT:   npu.by_channel
// CHECK-LABEL: func.func @few_columns
// CHECK-NOT:   npu.by_channel
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x5x5xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x5x5xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @columns(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x5x5xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x5x5xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) pads [2, 2, 2, 2] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%x, %y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    func.return
  }
  func.func @few_columns(%x : memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x5x5xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>, memref<8x1x5x5xi8, #npu.flash>) outs(%y : memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>) pads [2, 2, 2, 2] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%x, %y) : (memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>, memref<1x8x2x3xi8, strided<[48, 1, 24, 8]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Where the output takes the place of the dying input, a copy of a channel comes first: it takes fewer instructions.
// CHECK-LABEL: func.func @copies_before_columns
// CHECK:       npu.conv2d {{.*}} outs(%x {{.*}} scratch(
// CHECK-NOT:   npu.by_channel
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<16x1x5x5xi8, #npu.flash>, initial_value = dense<1> : tensor<16x1x5x5xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @copies_before_columns(%x : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<16x1x5x5xi8, #npu.flash>
    %y = sram.alloc : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>, memref<16x1x5x5xi8, #npu.flash>) outs(%y : memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>) pads [2, 2, 2, 2] groups 16 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x16x12x12xi8, strided<[2304, 1, 192, 16]>, #npu.sram>) -> ()
    func.return
  }
}

// -----

// Where two rows take fewer bytes than a copy of a channel, an output follows its dying input row by row. Columns would keep
// the two apart.
// CHECK-LABEL: func.func @behind_the_input
// CHECK-NOT:   scratch
// CHECK-NOT:   npu.by_channel
builtin.module attributes {npu.target = #npu.target<"core", {sram_bytes = 65536 : i64, flash_bytes = 65536 : i64, registers = 16 : i64, features = ["dsp", "mve"]}>} {
  "memref.global"() <{sym_name = "w", type = memref<8x1x5x5xi8, #npu.flash>, initial_value = dense<1> : tensor<8x1x5x5xi8>, sym_visibility = "private", constant}> : () -> ()
  func.func @behind_the_input(%x : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram> {sram.input}) {
    %w = memref.get_global @w : memref<8x1x5x5xi8, #npu.flash>
    %y = sram.alloc : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>
    npu.conv2d ins(%x, %w : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>, memref<8x1x5x5xi8, #npu.flash>) outs(%y : memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) pads [2, 2, 2, 2] groups 8 zero_points [-128, 0] then requantize scales [0.01] zero_point -128 mode float
    "use"(%y) : (memref<1x8x12x12xi8, strided<[1152, 1, 96, 8]>, #npu.sram>) -> ()
    func.return
  }
}
