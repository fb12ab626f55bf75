// RUN: npu-opt %s --pass-pipeline='builtin.module(npu-attach-target{target=cortex-m55},npu-lower-to-loops)' | filecheck %s

// Two pixels stay in four vectors, and all filters multiply them; 24 bytes are a whole vector and half of another. Loads read on
// in the map, as zeros stand behind the weights, but those of the last pixels do not. Two pixels of four filters are scattered.
"memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4x24x1x1xi8, #npu.flash>, initial_value = dense<2> : tensor<4x24x1x1xi8>, constant}> : () -> ()

// CHECK: sym_name = "pointwise_taps", type = memref<143xi8, #npu.flash>
// CHECK-LABEL: func.func @pointwise(
// CHECK:       scf.for %ox = %{{.*}} to %c142 step %{{.*}} {
// CHECK:         [[A:%[a-z0-9_]+]] = mve.load %{{.*}} : memref<3456xi8, #npu.sram> -> vector<16xi8>
// CHECK:         mve.load %{{.*}} : memref<3456xi8, #npu.sram> -> vector<16xi8>
// CHECK:         [[B:%[a-z0-9_]+]] = mve.load %{{.*}} : memref<3456xi8, #npu.sram> -> vector<16xi8>
// CHECK:         mve.load %{{.*}} : memref<3456xi8, #npu.sram> -> vector<16xi8>
// CHECK:         [[TAPS:%[a-z0-9_]+]] = dsp.opaque
// CHECK-NEXT:    [[W:%[a-z0-9_]+]] = mve.load [[TAPS]][%c0] : memref<128xi8, strided<[1], offset: ?>, #npu.flash> -> vector<16xi8>
// CHECK-NEXT:    mve.mul_across [[A]], [[W]] : vector<16xi8>
// CHECK-NEXT:    mve.mul_across [[B]], [[W]] : vector<16xi8>
// CHECK-NEXT:    dsp.keep_order
// CHECK-NEXT:    mve.load [[TAPS]][%c16]
// CHECK-COUNT-2: mve.mla_across
// CHECK-NOT:     first
// CHECK:         mve.join
// CHECK:         mve.to_float
// CHECK-NEXT:    mve.mul
// CHECK:         mve.add_scalar %{{.*}}, %{{.*}} : vector<4xf32>, f32
// CHECK-NEXT:    mve.add_scalar %{{.*}}, %{{.*}} : vector<4xf32>, f32
// CHECK-NEXT:    mve.low_halves %{{.*}}, %{{.*}} : vector<4xf32> -> vector<8xi16>
// CHECK-NEXT:    mve.add_saturated
// CHECK:         mve.scatter %{{.*}}, %{{.*}}[%{{.*}}] at %targets{{.*}} reach 8 saturated : memref<576xi8, #npu.sram>
// CHECK:         mve.load %{{.*}} first 8 : memref<3456xi8, #npu.sram> -> vector<16xi8>
// CHECK:         mve.max
// CHECK-NEXT:    mve.min
// CHECK-NEXT:    mve.add
// CHECK:         mve.store %{{.*}} : vector<4xi32>, memref<576xi8, #npu.sram>
func.func @pointwise(%x: memref<1x24x12x12xi8, strided<[3456, 1, 288, 24]>, #npu.sram>, %y: memref<1x4x12x12xi8, strided<[576, 1, 48, 4]>, #npu.sram>) {
  %w = memref.get_global @w : memref<4x24x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x24x12x12xi8, strided<[3456, 1, 288, 24]>, #npu.sram>, memref<4x24x1x1xi8, #npu.flash>) outs(%y : memref<1x4x12x12xi8, strided<[576, 1, 48, 4]>, #npu.sram>) zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// Of eight channels a vector holds two pixels: weights stand behind zeros and in front of them. Eight pixels of a filter are
// requantised together, and those of two filters are stored at once.
"memref.global"() <{sym_name = "e", sym_visibility = "private", type = memref<4x8x1x1xi8, #npu.flash>, initial_value = dense<2> : tensor<4x8x1x1xi8>, constant}> : () -> ()

// In one table are the first values and scales of two filters, zeros, and the weights of each filter with zeros behind them.

// CHECK: sym_name = "eight_taps", type = memref<28xi32, #npu.flash>, initial_value = dense<[-48, 1008981770, -48, 1008981770, 0, 0, 33686018, 33686018, 0, 0, 33686018, 33686018, 0, 0,
// CHECK-LABEL: func.func @eight(
// CHECK:       scf.for %ox = %{{.*}} to %c32 step %c8 {
// CHECK-COUNT-4: mve.load %x{{.*}} : memref<256xi8, #npu.sram> -> vector<16xi8>
// CHECK:         scf.for %oc = %{{.*}} to %c4 step %{{.*}} {
// CHECK:           [[BLOCK:%[a-z0-9_]+]] = memref.subview %taps[%{{.*}}] [14] [1]
// CHECK:           [[BIAS:%[a-z0-9_]+]], [[BITS:%[a-z0-9_]+]] = dsp.load_pair [[BLOCK]][%c0]
// CHECK-NEXT:      [[SCALE:%[a-z0-9_]+]] = arith.bitcast [[BITS]] : i32 to f32
// CHECK:           [[WORDS:%[a-z0-9_]+]] = mve.load [[BLOCK]][%c6]
// CHECK-NEXT:      [[W:%[a-z0-9_]+]] = mve.as_bytes [[WORDS]]
// CHECK-NEXT:      [[SUMS:%[a-z0-9_]+]] = mve.mul_lanes %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} by [[W]]
// CHECK-NEXT:      mve.add_scalar [[SUMS]], [[BIAS]]
// CHECK:           mve.mul_scalar %{{.*}}, [[SCALE]]
// CHECK:           mve.load [[BLOCK]][%c4]
// CHECK:           mve.mul_lanes
// CHECK:           [[FIRST:%[a-z0-9_]+]] = mve.add_saturated
// CHECK:           dsp.load_pair [[BLOCK]][%c2]
// CHECK:           mve.load [[BLOCK]][%c10]
// CHECK:           mve.mul_lanes %{{.*}} in_place
// CHECK:           mve.mul_lanes %{{.*}} in_place
// CHECK:           [[SECOND:%[a-z0-9_]+]] = mve.add_saturated
// CHECK-NEXT:      [[BYTES:%[a-z0-9_]+]] = mve.narrow_bytes [[FIRST]], [[SECOND]] : vector<8xi16> -> vector<16xi8>
// CHECK-NEXT:      mve.scatter_bytes [[BYTES]], %{{.*}}[%{{.*}}] at %targets{{.*}} reach 30 : memref<128xi8, #npu.sram>
// CHECK-NOT:   scf.for
func.func @eight(%x: memref<1x8x4x8xi8, strided<[256, 1, 64, 8]>, #npu.sram>, %y: memref<1x4x4x8xi8, strided<[128, 1, 32, 4]>, #npu.sram>) {
  %w = memref.get_global @e : memref<4x8x1x1xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x8x4x8xi8, strided<[256, 1, 64, 8]>, #npu.sram>, memref<4x8x1x1xi8, #npu.flash>) outs(%y : memref<1x4x4x8xi8, strided<[128, 1, 32, 4]>, #npu.sram>) zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// Two pixels and four filters together: a kernel row of 48 bytes is three vectors, and the next pixel's are a vector farther. The
// table begins with the first values; with one scale for all filters it has no scales.
"memref.global"() <{sym_name = "k", sym_visibility = "private", type = memref<4x16x3x3xi8, #npu.flash>, initial_value = dense<2> : tensor<4x16x3x3xi8>, constant}> : () -> ()

// CHECK: sym_name = "dense_taps", type = memref<148xi32, #npu.flash>
// CHECK-LABEL: func.func @dense(
// CHECK:         scf.for %oy
// CHECK-NEXT:      scf.for %ox = %{{.*}} to %{{.*}} step %c2 {
// CHECK:             [[TABLE:%[a-z0-9_]+]] = dsp.opaque
// CHECK:             [[A:%[a-z0-9_]+]], [[B:%[a-z0-9_]+]] = mve.mul_runs %{{.*}} by [[TABLE]][%c4] from [[TABLE]][%c0] rows %c3 run 48 apart 16 pitch 96 step 48 filters 4
// CHECK:             mve.to_float [[A]]
// CHECK:             mve.to_float [[B]]
// CHECK:             mve.scatter %{{.*}} reach 8 saturated : memref<64xi8, #npu.sram>
// CHECK-NOT:     mve.mul_runs
func.func @dense(%x: memref<1x16x6x6xi8, strided<[576, 1, 96, 16]>, #npu.sram>, %y: memref<1x4x4x4xi8, strided<[64, 1, 16, 4]>, #npu.sram>) {
  %w = memref.get_global @k : memref<4x16x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x16x6x6xi8, strided<[576, 1, 96, 16]>, #npu.sram>, memref<4x16x3x3xi8, #npu.flash>) outs(%y : memref<1x4x4x4xi8, strided<[64, 1, 16, 4]>, #npu.sram>) zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// Where padding cuts columns, these have shorter runs: those of the first and of the last column are two vectors, so one loop computes
// both. The first values depend on what is cut, so they are a table of their own. Rows that padding cuts are fewer.

// CHECK-LABEL: func.func @padded(
// CHECK:         scf.for %oy
// CHECK:           scf.for %ox = %{{.*}} to %c5 step %c2 {
// CHECK:             mve.mul_runs %{{.*}} from %starts[%{{.*}}] rows %{{[a-z0-9_]+}} run 48 apart 16
// CHECK:           scf.for %i = %{{.*}} to %c2 step %{{.*}} {
// CHECK:             mve.mul_runs %{{.*}} from %starts[%{{.*}}] rows %{{[a-z0-9_]+}} run 32 apart 0
func.func @padded(%x: memref<1x16x6x6xi8, strided<[576, 1, 96, 16]>, #npu.sram>, %y: memref<1x4x6x6xi8, strided<[144, 1, 24, 4]>, #npu.sram>) {
  %w = memref.get_global @k : memref<4x16x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x16x6x6xi8, strided<[576, 1, 96, 16]>, #npu.sram>, memref<4x16x3x3xi8, #npu.flash>) outs(%y : memref<1x4x6x6xi8, strided<[144, 1, 24, 4]>, #npu.sram>) pads [1, 1, 1, 1] zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// Sums that are not requantised in vectors: two pixels and two filters together, and neighbouring pixels share two of three vectors.

// CHECK-LABEL: func.func @single(
// CHECK:         scf.for %ky
// CHECK:           [[X:%[a-z0-9_]+]] = dsp.opaque %{{.*}} : memref<64xi8, strided<[1], offset: ?>, #npu.sram>
// CHECK-COUNT-2:   dsp.opaque %{{.*}} : memref<48xi8, strided<[1], offset: ?>, #npu.flash>
// CHECK:           mve.load [[X]][%c0]
// CHECK:           [[SHARED:%[a-z0-9_]+]] = mve.load [[X]][%c16]
// CHECK:           [[W:%[a-z0-9_]+]] = mve.load
// CHECK:           mve.mla_across [[SHARED]], [[W]]
// CHECK:           mve.load [[X]][%c32]
// CHECK-NEXT:      [[NEXT:%[a-z0-9_]+]] = mve.load
// CHECK-NEXT:      mve.mla_across [[SHARED]], [[NEXT]]
// CHECK:           mve.load [[X]][%c48]
func.func @single(%x: memref<1x16x6x6xi8, strided<[576, 1, 96, 16]>, #npu.sram>, %y: memref<1x4x4x4xi8, strided<[64, 1, 16, 4]>, #npu.sram>) {
  %w = memref.get_global @k : memref<4x16x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x16x6x6xi8, strided<[576, 1, 96, 16]>, #npu.sram>, memref<4x16x3x3xi8, #npu.flash>) outs(%y : memref<1x4x4x4xi8, strided<[64, 1, 16, 4]>, #npu.sram>) zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode fixed
  func.return
}

// 36 bytes of a kernel row are two vectors and a quarter of another, which reads on in the map but at the end of a row.
"memref.global"() <{sym_name = "r", sym_visibility = "private", type = memref<4x12x3x3xi8, #npu.flash>, initial_value = dense<2> : tensor<4x12x3x3xi8>, constant}> : () -> ()

// CHECK-LABEL: func.func @reads_on(
// CHECK:         scf.for %ky
// CHECK-NOT:       first
// CHECK:         memref.store
// CHECK:         mve.load %{{.*}} first 4 : memref<8112xi8, #npu.sram> -> vector<16xi8>
func.func @reads_on(%x: memref<1x12x26x26xi8, strided<[8112, 1, 312, 12]>, #npu.sram>, %y: memref<1x4x12x12xi8, strided<[576, 1, 48, 4]>, #npu.sram>) {
  %w = memref.get_global @r : memref<4x12x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x12x26x26xi8, strided<[8112, 1, 312, 12]>, #npu.sram>, memref<4x12x3x3xi8, #npu.flash>) outs(%y : memref<1x4x12x12xi8, strided<[576, 1, 48, 4]>, #npu.sram>) zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode fixed then max_pool [2, 2] by [2, 2]
  func.return
}

// A depthwise layer with a working memory: the row in front of the map is padding, then two rows are gathered for each
// pair of rows of outputs. Eight outputs are stored together; the last row has no row below.
"memref.global"() <{sym_name = "d", sym_visibility = "private", type = memref<4x1x3x3xi8, #npu.flash>, initial_value = dense<2> : tensor<4x1x3x3xi8>, constant}> : () -> ()

// CHECK:       sym_name = "patches_taps", type = memref<132xi8, #npu.flash>
// CHECK-LABEL: func.func @patches(
// CHECK:       scf.for %c = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-COUNT-4: mve.load %taps
// CHECK:         mve.gather %x{{.*}}[%{{.*}}] at %places{{.*}} reach 13 lanes 170 : memref<80xi8, #npu.sram>
// CHECK-NEXT:    mve.add
// CHECK-NEXT:    mve.load %s[%{{.*}}] : memref<12xi16, #npu.sram> -> vector<8xi16>
// CHECK-NEXT:    mve.push_bytes
// CHECK-NEXT:    mve.store
// CHECK:         scf.for %pair = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           mve.gather %x{{.*}}[%{{.*}}] at %places{{.*}} reach 29 : memref<80xi8, #npu.sram>
// CHECK:           mve.as_bytes
// CHECK-NEXT:      mve.mul_across
// CHECK-NEXT:      mve.mul_across
// CHECK-NEXT:      mve.mul_across
// CHECK-NEXT:      mve.mul_across
// CHECK-NEXT:      mve.join
// CHECK-NEXT:      mve.add_scalar
// CHECK-NEXT:      mve.to_float
// CHECK-NEXT:      mve.mul_scalar
// CHECK:           mve.low_halves
// CHECK-NEXT:      mve.add_saturated
// CHECK-NEXT:      mve.min
// CHECK-NEXT:      mve.scatter %{{.*}}, %y{{.*}}[%{{.*}}] at %targets{{.*}} reach 29 saturated : memref<80xi8, #npu.sram>
// CHECK:         mve.scatter %{{.*}}, %y{{.*}}[%{{.*}}] at %targets{{.*}} reach 13 lanes 15 saturated : memref<80xi8, #npu.sram>
func.func @patches(%x: memref<1x4x5x4xi8, strided<[80, 1, 16, 4]>, #npu.sram>, %y: memref<1x4x5x4xi8, strided<[80, 1, 16, 4]>, #npu.sram>, %s: memref<12xi16, #npu.sram>) {
  %w = memref.get_global @d : memref<4x1x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x4x5x4xi8, strided<[80, 1, 16, 4]>, #npu.sram>, memref<4x1x3x3xi8, #npu.flash>) outs(%y : memref<1x4x5x4xi8, strided<[80, 1, 16, 4]>, #npu.sram>) scratch(%s : memref<12xi16, #npu.sram>) pads [1, 1, 1, 1] groups 4 zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float then clamp [-128.0, 90.0]
  func.return
}

// The plane of a 5x4 map with padding has five bytes from row to row. Eight elements are copied together; a 16-byte vector
// holds the windows of two by two outputs.
// CHECK:       sym_name = "planes_taps", type = memref<69xi8, #npu.flash>
// CHECK-LABEL: func.func @planes(
// CHECK:       mve.store %vector, %s[%{{.*}}] : vector<16xi8>, memref<48xi8, #npu.sram>
// CHECK:       scf.for %c = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:         scf.for %iy = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           mve.gather %channel{{.*}}[%{{.*}}] at %sources{{.*}} reach 29 : memref<77xi8, strided<[1], offset: ?>, #npu.sram>
// CHECK:           mve.scatter %new, %s[%{{.*}}] at %copies{{.*}} reach 9 : memref<48xi8, #npu.sram>
// CHECK:         mve.gather %channel{{.*}}[%{{.*}}] at %sources{{.*}} reach 29 : memref<77xi8, strided<[1], offset: ?>, #npu.sram>
// CHECK:         mve.load %taps[%{{.*}}] : memref<69xi8, #npu.flash> -> vector<16xi8>
// CHECK:         scf.for %oy = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           mve.gather_bytes %s[%{{.*}}] at %places{{.*}} reach 19 : memref<48xi8, #npu.sram>
// CHECK-NEXT:      mve.mul_across
// CHECK-NEXT:      mve.mul_across
// CHECK-NEXT:      mve.mul_across
// CHECK-NEXT:      mve.mul_across
// CHECK-NEXT:      mve.join
// CHECK:           mve.scatter %{{.*}}, %y{{.*}}[%{{.*}}] at %targets{{.*}} reach 29 saturated : memref<80xi8, #npu.sram>
func.func @planes(%x: memref<1x4x5x4xi8, strided<[80, 1, 16, 4]>, #npu.sram>, %y: memref<1x4x5x4xi8, strided<[80, 1, 16, 4]>, #npu.sram>, %s: memref<48xi8, #npu.sram>) {
  %w = memref.get_global @d : memref<4x1x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x4x5x4xi8, strided<[80, 1, 16, 4]>, #npu.sram>, memref<4x1x3x3xi8, #npu.flash>) outs(%y : memref<1x4x5x4xi8, strided<[80, 1, 16, 4]>, #npu.sram>) scratch(%s : memref<48xi8, #npu.sram>) pads [1, 1, 1, 1] groups 4 zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}

// A patch of three rows by five columns holds two windows that move by two. Two gathers take its bytes. At the left border
// the zero point is in those of padding.
// CHECK:       sym_name = "windows_taps", type = memref<70xi8, #npu.flash>
// CHECK-LABEL: func.func @windows(
// CHECK:       scf.for %c = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-COUNT-2: mve.load %taps
// CHECK:         mve.gather
// CHECK-NEXT:    mve.gather
// CHECK-NEXT:    mve.push_bytes
// CHECK-NEXT:    mve.as_bytes
// CHECK-NEXT:    mve.min %{{.*}}, %limits{{.*}} : vector<16xi8>
// CHECK-NEXT:    mve.max %{{.*}}, %limits{{.*}} : vector<16xi8>
// CHECK-NEXT:    mve.mul_across
// CHECK-NEXT:    mve.mul_across
// CHECK:         scf.for %ox = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           mve.gather %channel{{.*}}[%{{.*}}] at %places{{.*}} reach 417 : memref<597xi8, strided<[1], offset: ?>, #npu.sram>
// CHECK:           mve.gather %channel{{.*}}[%{{.*}}] at %places{{.*}} reach 417 : memref<597xi8, strided<[1], offset: ?>, #npu.sram>
// CHECK-NEXT:      mve.push_bytes
// CHECK-NEXT:      mve.as_bytes
// CHECK-NEXT:      mve.mul_across
// CHECK-NEXT:      mve.mul_across
func.func @windows(%x: memref<1x4x3x50xi8, strided<[600, 1, 200, 4]>, #npu.sram>, %y: memref<1x4x1x25xi8, strided<[100, 1, 100, 4]>, #npu.sram>) {
  %w = memref.get_global @d : memref<4x1x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x4x3x50xi8, strided<[600, 1, 200, 4]>, #npu.sram>, memref<4x1x3x3xi8, #npu.flash>) outs(%y : memref<1x4x1x25xi8, strided<[100, 1, 100, 4]>, #npu.sram>) strides [2, 2] pads [0, 1, 0, 0] groups 4 zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float {npu.by_channel}
  func.return
}

// Two rows of outputs are computed together from patches of four rows by four columns, which lie on the map. Of the first
// two rows, rows 0 to 3 are gathered, and move down by one; the zero point takes the place of the row above. Outputs at the
// left and right border have weights without a column, and begin with what the zero point adds in it.
// CHECK:       sym_name = "clipped_taps", type = memref<89xi8, #npu.flash>
// CHECK:       sym_name = "clipped_starts", type = memref<12xi32, #npu.flash>
// CHECK-LABEL: func.func @clipped(
// CHECK:       [[POINT:%[a-z0-9_]+]] = mve.splat
// CHECK:       scf.for %c = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:         %taps_1 = memref.subview %taps[%{{.*}}] [29] [1] : memref<89xi8, #npu.flash> to memref<29xi8, strided<[1], offset: ?>, #npu.flash>
// CHECK:         %start = memref.load %starts
// CHECK-NEXT:    %{{.*}} = arith.addi
// CHECK-NEXT:    memref.load %starts
// CHECK:         [[LEFT:%start_[0-9]+]] = memref.load %starts
// CHECK:         dsp.opaque %channel : memref<{{.*}}xi8, strided<[1], offset: ?>, #npu.sram>
// CHECK:         mve.gather
// CHECK-COUNT-2: mve.shift_in [[POINT]], %patch{{.*}} by 1 : vector<16xi8>
// CHECK:         dsp.opaque %taps_1
// CHECK-NEXT:    dsp.keep_order
// CHECK-NEXT:    mve.load
// CHECK-NEXT:    mve.mla_across %{{.*}}, %{{.*}}, [[LEFT]]
// CHECK:         mve.mul_across
// CHECK-COUNT-2: mve.shift_in [[POINT]], %patch{{.*}} by -1 : vector<16xi8>
// CHECK-NOT:     mve.shift_in
func.func @clipped(%x: memref<1x4x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>, %y: memref<1x4x6x6xi8, strided<[144, 1, 24, 4]>, #npu.sram>) {
  %w = memref.get_global @d : memref<4x1x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x4x6x6xi8, strided<[288, 1, 48, 8]>, #npu.sram>, memref<4x1x3x3xi8, #npu.flash>) outs(%y : memref<1x4x6x6xi8, strided<[144, 1, 24, 4]>, #npu.sram>) pads [1, 1, 1, 1] groups 4 zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float {npu.by_channel}
  func.return
}

// Outputs lie over their input: the patches of the next four rows are gathered before outputs overwrite these, and the last one
// is carried to the next step.
// CHECK-LABEL: func.func @ahead(
// CHECK:       scf.for %c = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:         mve.gather
// CHECK:         scf.for %oy = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%patch{{.*}} = %patch{{.*}}) -> (vector<16xi8>) {
// CHECK-COUNT-8:   mve.gather
// CHECK-NOT:       mve.gather
// CHECK-COUNT-3:   mve.scatter
// CHECK:           scf.yield %patch{{.*}} : vector<16xi8>
func.func @ahead(%x: memref<1x4x25x5xi8, strided<[500, 1, 20, 4]>, #npu.sram>, %y: memref<1x4x25x5xi8, strided<[500, 1, 20, 4]>, #npu.sram>) {
  %w = memref.get_global @d : memref<4x1x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x4x25x5xi8, strided<[500, 1, 20, 4]>, #npu.sram>, memref<4x1x3x3xi8, #npu.flash>) outs(%y : memref<1x4x25x5xi8, strided<[500, 1, 20, 4]>, #npu.sram>) pads [1, 1, 1, 1] groups 4 zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float {npu.by_channel, npu.over_input}
  func.return
}

// In a single row the left column of padding is pushed into the patch, 0x030303, which is gathered behind it. Each of four
// patches has three outputs; the third patch serves both stores. The last column is outside of the map at the right border.
// CHECK-LABEL: func.func @pushed(
// CHECK:       [[COLUMN:%[a-z0-9_]+]] = arith.constant 197379 : i32
// CHECK:       scf.for %c = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:         mve.as_bytes
// CHECK-NEXT:    mve.push_three %{{.*}}, [[COLUMN]] : vector<16xi8>
// CHECK-COUNT-3: mve.mul_across
// CHECK:         mve.as_bytes
// CHECK-COUNT-3: mve.mul_across
// CHECK:         mve.as_bytes
// CHECK-COUNT-3: mve.mul_across
// CHECK:         mve.scatter
// CHECK:         mve.as_bytes
// CHECK-NEXT:    mve.min %{{.*}}, %limits{{.*}} : vector<16xi8>
// CHECK-NEXT:    mve.max %{{.*}}, %limits{{.*}} : vector<16xi8>
// CHECK-COUNT-3: mve.mul_across
// CHECK-NOT:     mve.mul_across
// CHECK:         mve.scatter
func.func @pushed(%x: memref<1x4x3x12xi8, strided<[144, 1, 48, 4]>, #npu.sram>, %y: memref<1x4x1x12xi8, strided<[48, 1, 48, 4]>, #npu.sram>) {
  %w = memref.get_global @d : memref<4x1x3x3xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x4x3x12xi8, strided<[144, 1, 48, 4]>, #npu.sram>, memref<4x1x3x3xi8, #npu.flash>) outs(%y : memref<1x4x1x12xi8, strided<[48, 1, 48, 4]>, #npu.sram>) pads [0, 1, 0, 1] groups 4 zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float {npu.by_channel}
  func.return
}

// Three columns of five rows are a patch. Eight outputs of the loop have four of them, and vectors of weights of three phases,
// which are loaded for four outputs each time. The first column at the border has two of padding, and one of the map.
"memref.global"() <{sym_name = "f", sym_visibility = "private", type = memref<4x1x5x5xi8, #npu.flash>, initial_value = dense<2> : tensor<4x1x5x5xi8>, constant}> : () -> ()

// CHECK:       sym_name = "columns_taps", type = memref<448xi8, #npu.flash>
// CHECK-LABEL: func.func @columns(
// CHECK:       scf.for %c = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:         mve.gather
// CHECK-NEXT:    mve.gather
// CHECK-NEXT:    mve.push_bytes
// CHECK-NEXT:    mve.as_bytes
// CHECK-NEXT:    mve.min %{{.*}}, %limits{{.*}} : vector<16xi8>
// CHECK-NEXT:    mve.max %{{.*}}, %limits{{.*}} : vector<16xi8>
// CHECK:         scf.for %ox = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           mve.gather %x{{.*}}[%{{.*}}] at %places{{.*}} reach 713 : memref<880xi8, #npu.sram>
// CHECK-NEXT:      mve.gather %x{{.*}}[%{{.*}}] at %places{{.*}} reach 713 : memref<880xi8, #npu.sram>
// CHECK-NEXT:      mve.push_bytes
// CHECK-NEXT:      [[PATCH:%[a-z0-9_]+]] = mve.as_bytes
// CHECK:           [[NEXT:%[a-z0-9_]+]] = mve.as_bytes
// CHECK-NEXT:      dsp.keep_order
// CHECK:           [[W:%[a-z0-9_]+]] = mve.load %taps{{.*}} : memref<112xi8, strided<[1], offset: ?>, #npu.flash> -> vector<16xi8>
// CHECK-NEXT:      [[SUM:%[a-z0-9_]+]] = mve.mul_across [[PATCH]], [[W]] : vector<16xi8>
// CHECK-NEXT:      [[FOURTH:%[a-z0-9_]+]] = mve.mul_across [[NEXT]], [[W]] : vector<16xi8>
// CHECK:           [[THIRD:%[a-z0-9_]+]] = mve.as_bytes
// CHECK-NEXT:      dsp.keep_order
// CHECK:           [[V:%[a-z0-9_]+]] = mve.load %taps
// CHECK-NEXT:      mve.mla_across [[NEXT]], [[V]], [[SUM]] : vector<16xi8>
// CHECK-NEXT:      mve.mla_across [[THIRD]], [[V]], [[FOURTH]] : vector<16xi8>
// CHECK:           mve.scatter %{{.*}}, %y{{.*}}[%{{.*}}] at %targets{{.*}} reach 29 saturated : memref<176xi8, #npu.sram>
func.func @columns(%x: memref<1x4x5x44xi8, strided<[880, 1, 176, 4]>, #npu.sram>, %y: memref<1x4x1x44xi8, strided<[176, 1, 176, 4]>, #npu.sram>) {
  %w = memref.get_global @f : memref<4x1x5x5xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x4x5x44xi8, strided<[880, 1, 176, 4]>, #npu.sram>, memref<4x1x5x5xi8, #npu.flash>) outs(%y : memref<1x4x1x44xi8, strided<[176, 1, 176, 4]>, #npu.sram>) pads [0, 2, 0, 2] groups 4 zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float {npu.by_channel}
  func.return
}

// Without `npu.by_channel`, rows come first.
// CHECK-LABEL: func.func @rows_first(
// CHECK-NOT:   mve.push_bytes
func.func @rows_first(%x: memref<1x4x5x44xi8, strided<[880, 1, 176, 4]>, #npu.sram>, %y: memref<1x4x1x44xi8, strided<[176, 1, 176, 4]>, #npu.sram>) {
  %w = memref.get_global @f : memref<4x1x5x5xi8, #npu.flash>
  npu.conv2d ins(%x, %w : memref<1x4x5x44xi8, strided<[880, 1, 176, 4]>, #npu.sram>, memref<4x1x5x5xi8, #npu.flash>) outs(%y : memref<1x4x1x44xi8, strided<[176, 1, 176, 4]>, #npu.sram>) pads [0, 2, 0, 2] groups 4 zero_points [3, 0] then requantize scales [0.01] zero_point 5 mode float
  func.return
}
