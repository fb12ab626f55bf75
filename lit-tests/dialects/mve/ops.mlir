// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: @vectors
// GENERIC-LABEL: "vectors"
func.func @vectors(%m: memref<64xi8, #npu.sram>, %u: memref<?xui8, strided<[1], offset: ?>>, %h: memref<8xi16>, %i: index, %s: f32, %n: i32, %w: memref<9xf32, strided<[3]>>, %words: memref<64xi32>) {
  // CHECK: %x = mve.load %m[%i] : memref<64xi8, #npu.sram> -> vector<16xi8>
  // GENERIC: %x = "mve.load"(%m, %i) : (memref<64xi8, #npu.sram>, index) -> vector<16xi8>
  %x = mve.load %m[%i] : memref<64xi8, #npu.sram> -> vector<16xi8>
  // CHECK-NEXT: %y = mve.load %m[%i] first 3 {note = "y"} : memref<64xi8, #npu.sram> -> vector<4xi32>
  // GENERIC: %y = "mve.load"(%m, %i) <{first = 3 : i64}> {note = "y"}
  %y = mve.load %m[%i] first 3 {note = "y"} : memref<64xi8, #npu.sram> -> vector<4xi32>
  // CHECK-NEXT: %z = mve.load %u[%i] : memref<?xui8, strided<[1], offset: ?>> -> vector<8xi16>
  %z = mve.load %u[%i] : memref<?xui8, strided<[1], offset: ?>> -> vector<8xi16>
  // CHECK-NEXT: %r = mve.mla_across %x, %x, %n : vector<16xi8>
  // GENERIC: %r = "mve.mla_across"(%x, %x, %n) : (vector<16xi8>, vector<16xi8>, i32) -> i32
  %r = mve.mla_across %x, %x, %n : vector<16xi8>
  // CHECK-NEXT: %xs = mve.mla_scalar %x, %n, %x : vector<16xi8>
  // GENERIC: %xs = "mve.mla_scalar"(%x, %n, %x) : (vector<16xi8>, i32, vector<16xi8>) -> vector<16xi8>
  %xs = mve.mla_scalar %x, %n, %x : vector<16xi8>
  // CHECK-NEXT: %b = mve.splat %r : i32 -> vector<8xi16>
  %b = mve.splat %r : i32 -> vector<8xi16>
  // CHECK-NEXT: %v = mve.splat %s : f32 -> vector<4xf32>
  // GENERIC: %v = "mve.splat"(%s) : (f32) -> vector<4xf32>
  %v = mve.splat %s : f32 -> vector<4xf32>
  // CHECK-NEXT: %j = mve.join %n, %n, %r, %n : vector<4xi32>
  // GENERIC: %j = "mve.join"(%n, %n, %r, %n) : (i32, i32, i32, i32) -> vector<4xi32>
  %j = mve.join %n, %n, %r, %n : vector<4xi32>
  // CHECK-NEXT: %f = mve.to_float %j : vector<4xi32> -> vector<4xf32>
  %f = mve.to_float %j : vector<4xi32> -> vector<4xf32>
  // CHECK-NEXT: %p = mve.mul %f, %v : vector<4xf32>
  // GENERIC: %p = "mve.mul"(%f, %v) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %p = mve.mul %f, %v : vector<4xf32>
  // CHECK-NEXT: %k = mve.fma %f, %p, %v : vector<4xf32>
  %k = mve.fma %f, %p, %v : vector<4xf32>
  // CHECK-NEXT: %ks = mve.fma_scalar %f, %s, %k : vector<4xf32>
  // GENERIC: %ks = "mve.fma_scalar"(%f, %s, %k) : (vector<4xf32>, f32, vector<4xf32>) -> vector<4xf32>
  %ks = mve.fma_scalar %f, %s, %k : vector<4xf32>
  // CHECK-NEXT: %most = mve.maximum %k, %ks : vector<4xf32>
  %most = mve.maximum %k, %ks : vector<4xf32>
  // CHECK-NEXT: %apart = mve.load %w[%i] : memref<9xf32, strided<[3]>> -> vector<4xf32>
  %apart = mve.load %w[%i] : memref<9xf32, strided<[3]>> -> vector<4xf32>
  // CHECK-NEXT: %addressed = mve.load %w[%i] addressed : memref<9xf32, strided<[3]>> -> vector<4xf32>
  // GENERIC: %addressed = "mve.load"(%w, %i) <{addressed}> : (memref<9xf32, strided<[3]>>, index) -> vector<4xf32>
  %addressed = mve.load %w[%i] addressed : memref<9xf32, strided<[3]>> -> vector<4xf32>
  // CHECK-NEXT: %above = mve.max %apart, %most : vector<4xf32>
  %above = mve.max %apart, %most : vector<4xf32>
  // CHECK-NEXT: mve.store %above, %w[%i] first 2 : vector<4xf32>, memref<9xf32, strided<[3]>>
  mve.store %above, %w[%i] first 2 : vector<4xf32>, memref<9xf32, strided<[3]>>
  // CHECK-NEXT: %q = mve.round %k : vector<4xf32> -> vector<4xi32>
  %q = mve.round %k : vector<4xf32> -> vector<4xi32>
  // CHECK-NEXT: %a = mve.add %z, %b : vector<8xi16>
  %a = mve.add %z, %b : vector<8xi16>
  // CHECK-NEXT: %low = mve.max %q, %j : vector<4xi32>
  %low = mve.max %q, %j : vector<4xi32>
  // CHECK-NEXT: %end = mve.min %low, %y : vector<4xi32>
  %end = mve.min %low, %y : vector<4xi32>
  // CHECK-NEXT: %even = mve.widen %a bottom : vector<8xi16> -> vector<4xi32>
  // GENERIC: %even = "mve.widen"(%a) <{bottom}> : (vector<8xi16>) -> vector<4xi32>
  %even = mve.widen %a bottom : vector<8xi16> -> vector<4xi32>
  // CHECK-NEXT: %odd = mve.widen %a top : vector<8xi16> -> vector<4xi32>
  %odd = mve.widen %a top : vector<8xi16> -> vector<4xi32>
  // CHECK-NEXT: %both = mve.narrow %even, %odd : vector<4xi32> -> vector<8xi16>
  // GENERIC: %both = "mve.narrow"(%even, %odd) : (vector<4xi32>, vector<4xi32>) -> vector<8xi16>
  %both = mve.narrow %even, %odd : vector<4xi32> -> vector<8xi16>
  // CHECK-NEXT: %halves = mve.low_halves %p, %k : vector<4xf32> -> vector<8xi16>
  // GENERIC: %halves = "mve.low_halves"(%p, %k) : (vector<4xf32>, vector<4xf32>) -> vector<8xi16>
  %halves = mve.low_halves %p, %k : vector<4xf32> -> vector<8xi16>
  // CHECK-NEXT: %pr = mve.mul_long %x, %x bottom : vector<16xi8> -> vector<8xi16>
  // GENERIC: %pr = "mve.mul_long"(%x, %x) <{bottom}> : (vector<16xi8>, vector<16xi8>) -> vector<8xi16>
  %pr = mve.mul_long %x, %x bottom : vector<16xi8> -> vector<8xi16>
  // CHECK-NEXT: %long = mve.mul_long %a, %a top : vector<8xi16> -> vector<4xi32>
  // GENERIC: %long = "mve.mul_long"(%a, %a) <{top}> : (vector<8xi16>, vector<8xi16>) -> vector<4xi32>
  %long = mve.mul_long %a, %a top : vector<8xi16> -> vector<4xi32>
  // CHECK-NEXT: %pr2 = mve.mla_long %x, %x, %pr top : vector<16xi8> -> vector<8xi16>
  %pr2 = mve.mla_long %x, %x, %pr top : vector<16xi8> -> vector<8xi16>
  // CHECK-NEXT: %wide = mve.add_long %even, %pr2 top : vector<8xi16> -> vector<4xi32>
  %wide = mve.add_long %even, %pr2 top : vector<8xi16> -> vector<4xi32>
  // CHECK-NEXT: %bytes2 = mve.narrow_bytes %pr, %pr2 : vector<8xi16> -> vector<16xi8>
  // GENERIC: %bytes2 = "mve.narrow_bytes"(%pr, %pr2) : (vector<8xi16>, vector<8xi16>) -> vector<16xi8>
  %bytes2 = mve.narrow_bytes %pr, %pr2 : vector<8xi16> -> vector<16xi8>
  // CHECK-NEXT: %bytes3 = mve.narrow_bytes %pr, %pr2 unsigned : vector<8xi16> -> vector<16xi8>
  // GENERIC: %bytes3 = "mve.narrow_bytes"(%pr, %pr2) <{unsigned}>
  %bytes3 = mve.narrow_bytes %pr, %pr2 unsigned : vector<8xi16> -> vector<16xi8>
  // CHECK-NEXT: mve.store %k, %m[%i] saturated : vector<4xf32>, memref<64xi8, #npu.sram>
  // GENERIC: "mve.store"(%k, %m, %i) <{saturated}> : (vector<4xf32>, memref<64xi8, #npu.sram>, index) -> ()
  mve.store %k, %m[%i] saturated : vector<4xf32>, memref<64xi8, #npu.sram>
  // CHECK-NEXT: mve.store %both, %m[%i] first 3 saturated : vector<8xi16>, memref<64xi8, #npu.sram>
  mve.store %both, %m[%i] first 3 saturated : vector<8xi16>, memref<64xi8, #npu.sram>
  // CHECK-NEXT: mve.store %end, %m[%i] first 2 : vector<4xi32>, memref<64xi8, #npu.sram>
  // GENERIC: "mve.store"(%end, %m, %i) <{first = 2 : i64}>
  mve.store %end, %m[%i] first 2 : vector<4xi32>, memref<64xi8, #npu.sram>
  // CHECK-NEXT: mve.store %a, %h[%i] : vector<8xi16>, memref<8xi16>
  mve.store %a, %h[%i] : vector<8xi16>, memref<8xi16>
  // CHECK-NEXT: %near = mve.gather %m[%i] at %both reach 40 : memref<64xi8, #npu.sram>
  // GENERIC: %near = "mve.gather"(%m, %i, %both) <{reach = 40 : i64}> : (memref<64xi8, #npu.sram>, index, vector<8xi16>) -> vector<8xi16>
  %near = mve.gather %m[%i] at %both reach 40 : memref<64xi8, #npu.sram>
  // CHECK-NEXT: %few = mve.gather %m[%i] at %both reach 40 lanes 85 : memref<64xi8, #npu.sram>
  // GENERIC: %few = "mve.gather"(%m, %i, %both) <{reach = 40 : i64, lanes = 85 : i64}>
  %few = mve.gather %m[%i] at %both reach 40 lanes 85 : memref<64xi8, #npu.sram>
  // CHECK-NEXT: mve.scatter %near, %m[%i] at %both reach 40 : memref<64xi8, #npu.sram>
  mve.scatter %near, %m[%i] at %both reach 40 : memref<64xi8, #npu.sram>
  // CHECK-NEXT: mve.scatter %few, %m[%i] at %both reach 40 lanes 3 saturated : memref<64xi8, #npu.sram>
  // GENERIC: "mve.scatter"(%few, %m, %i, %both) <{reach = 40 : i64, lanes = 3 : i64, saturated}>
  mve.scatter %few, %m[%i] at %both reach 40 lanes 3 saturated : memref<64xi8, #npu.sram>
  // CHECK-NEXT: %signs = mve.gather %m[%i] at %both reach 40 lanes 85 signed : memref<64xi8, #npu.sram>
  // GENERIC: %signs = "mve.gather"(%m, %i, %both) <{reach = 40 : i64, lanes = 85 : i64, signed}>
  %signs = mve.gather %m[%i] at %both reach 40 lanes 85 signed : memref<64xi8, #npu.sram>
  // CHECK-NEXT: %strided = mve.gather %m[%i] at %both reach 41 step 8 lanes 3 : memref<64xi8, #npu.sram>
  // GENERIC: %strided = "mve.gather"(%m, %i, %both) <{reach = 41 : i64, step = 8 : i64, lanes = 3 : i64}>
  %strided = mve.gather %m[%i] at %both reach 41 step 8 lanes 3 : memref<64xi8, #npu.sram>
  // CHECK-NEXT: mve.scatter %strided, %m[%i] at %both reach 41 step 8 saturated : memref<64xi8, #npu.sram>
  // GENERIC: "mve.scatter"(%strided, %m, %i, %both) <{reach = 41 : i64, step = 8 : i64, saturated}>
  mve.scatter %strided, %m[%i] at %both reach 41 step 8 saturated : memref<64xi8, #npu.sram>
  // CHECK-NEXT: %pushed = mve.push_bytes %near, %few : vector<8xi16>
  %pushed = mve.push_bytes %near, %few : vector<8xi16>
  // CHECK-NEXT: %bytes = mve.as_bytes %pushed : vector<8xi16> -> vector<16xi8>
  %bytes = mve.as_bytes %pushed : vector<8xi16> -> vector<16xi8>
  // CHECK-NEXT: %three = mve.push_three %bytes, %n : vector<16xi8>
  // GENERIC: %three = "mve.push_three"(%bytes, %n) : (vector<16xi8>, i32) -> vector<16xi8>
  %three = mve.push_three %bytes, %n : vector<16xi8>
  // CHECK-NEXT: %last = mve.set_word %bytes[3], %n : vector<16xi8>
  // GENERIC: %last = "mve.set_word"(%bytes, %n) <{lane = 3 : i64}> : (vector<16xi8>, i32) -> vector<16xi8>
  %last = mve.set_word %bytes[3], %n : vector<16xi8>
  // CHECK-NEXT: %rows = mve.shift_in %bytes, %three by -1 : vector<16xi8>
  // GENERIC: %rows = "mve.shift_in"(%bytes, %three) <{by = -1 : i64}> : (vector<16xi8>, vector<16xi8>) -> vector<16xi8>
  %rows = mve.shift_in %bytes, %three by -1 : vector<16xi8>
  // CHECK-NEXT: %window = mve.gather_bytes %m[%i] at %bytes reach 40 : memref<64xi8, #npu.sram>
  // GENERIC: %window = "mve.gather_bytes"(%m, %i, %bytes) <{reach = 40 : i64}> : (memref<64xi8, #npu.sram>, index, vector<16xi8>) -> vector<16xi8>
  %window = mve.gather_bytes %m[%i] at %bytes reach 40 : memref<64xi8, #npu.sram>
  // CHECK-NEXT: mve.scatter_bytes %window, %m[%i] at %bytes reach 40 : memref<64xi8, #npu.sram>
  // GENERIC: "mve.scatter_bytes"(%window, %m, %i, %bytes) <{reach = 40 : i64}> : (vector<16xi8>, memref<64xi8, #npu.sram>, index, vector<16xi8>) -> ()
  mve.scatter_bytes %window, %m[%i] at %bytes reach 40 : memref<64xi8, #npu.sram>
  // CHECK-NEXT: %pack = mve.pack %bytes, %three : vector<2x16xi8>
  // GENERIC: %pack = "mve.pack"(%bytes, %three) : (vector<16xi8>, vector<16xi8>) -> vector<2x16xi8>
  %pack = mve.pack %bytes, %three : vector<2x16xi8>
  // CHECK-NEXT: %one, %two = mve.mul_rows %pack by %words[%i] rows 3 : memref<64xi32>, vector<2x16xi8> -> vector<4xi32>, vector<4xi32>
  // GENERIC: %one, %two = "mve.mul_rows"(%pack, %words, %i) <{rows = 3 : i64}> : (vector<2x16xi8>, memref<64xi32>, index) -> (vector<4xi32>, vector<4xi32>)
  %one, %two = mve.mul_rows %pack by %words[%i] rows 3 : memref<64xi32>, vector<2x16xi8> -> vector<4xi32>, vector<4xi32>
  // CHECK-NEXT: %alone = mve.mul_rows %bytes, %three by %words[%i] rows 4 biased : memref<64xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
  // GENERIC: %alone = "mve.mul_rows"(%bytes, %three, %words, %i) <{rows = 4 : i64, biased}>
  %alone = mve.mul_rows %bytes, %three by %words[%i] rows 4 biased : memref<64xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
  // CHECK-NEXT: %left, %right = mve.mul_runs %m[%i] by %words[%i] from %words[%i] rows %i run 30 apart 16 pitch 40 step 32 filters 4 : memref<64xi8, #npu.sram>, memref<64xi32>, memref<64xi32> -> vector<4xi32>, vector<4xi32>
  // GENERIC: %left, %right = "mve.mul_runs"(%m, %i, %words, %i, %words, %i, %i) <{run = 30 : i64, apart = 16 : i64, pitch = 40 : i64, step = 32 : i64, filters = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1>}>
  %left, %right = mve.mul_runs %m[%i] by %words[%i] from %words[%i] rows %i run 30 apart 16 pitch 40 step 32 filters 4 : memref<64xi8, #npu.sram>, memref<64xi32>, memref<64xi32> -> vector<4xi32>, vector<4xi32>
  // CHECK-NEXT: %single = mve.mul_runs %m[%i] by %words[%i] rows %i run 16 apart 0 pitch 16 step 4 filters 1 : memref<64xi8, #npu.sram>, memref<64xi32> -> vector<4xi32>
  // GENERIC: %single = "mve.mul_runs"(%m, %i, %words, %i, %i) <{run = 16 : i64, apart = 0 : i64, pitch = 16 : i64, step = 4 : i64, filters = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 1>}>
  %single = mve.mul_runs %m[%i] by %words[%i] rows %i run 16 apart 0 pitch 16 step 4 filters 1 : memref<64xi8, #npu.sram>, memref<64xi32> -> vector<4xi32>
  // CHECK-NEXT: %missing = mve.mul_runs %m[%i] by %words[%i] rows %i run 32 apart 0 pitch 32 step 8 filters 1 lead 4 : memref<64xi8, #npu.sram>, memref<64xi32> -> vector<4xi32>
  %missing = mve.mul_runs %m[%i] by %words[%i] rows %i run 32 apart 0 pitch 32 step 8 filters 1 lead 4 : memref<64xi8, #npu.sram>, memref<64xi32> -> vector<4xi32>
  // CHECK-NEXT: %spread = mve.mul_runs %m[%i] by %words[%i] rows %i run 16 apart 0 pitch 48 step 8 filters 1 taps 2 across 32 : memref<64xi8, #npu.sram>, memref<64xi32> -> vector<4xi32>
  // GENERIC: %spread = "mve.mul_runs"(%m, %i, %words, %i, %i) <{run = 16 : i64, apart = 0 : i64, pitch = 48 : i64, step = 8 : i64, filters = 1 : i64, taps = 2 : i64, across = 32 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 1>}>
  %spread = mve.mul_runs %m[%i] by %words[%i] rows %i run 16 apart 0 pitch 48 step 8 filters 1 taps 2 across 32 : memref<64xi8, #npu.sram>, memref<64xi32> -> vector<4xi32>
  // CHECK-NEXT: %close = mve.mul_runs %m[%i] by %words[%i] rows %i run 24 apart 0 pitch 40 step 24 filters 4 tail 2 : memref<64xi8, #npu.sram>, memref<64xi32> -> vector<4xi32>
  // GENERIC: %close = "mve.mul_runs"(%m, %i, %words, %i, %i) <{run = 24 : i64, apart = 0 : i64, pitch = 40 : i64, step = 24 : i64, filters = 4 : i64, tail = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 1>}>
  %close = mve.mul_runs %m[%i] by %words[%i] rows %i run 24 apart 0 pitch 40 step 24 filters 4 tail 2 : memref<64xi8, #npu.sram>, memref<64xi32> -> vector<4xi32>
  // CHECK-NEXT: %short = mve.mul_rows %bytes, %three by %words[%i] rows 4 tail 3 biased : memref<64xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
  // GENERIC: %short = "mve.mul_rows"(%bytes, %three, %words, %i) <{rows = 4 : i64, tail = 3 : i64, biased}>
  %short = mve.mul_rows %bytes, %three by %words[%i] rows 4 tail 3 biased : memref<64xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
  // CHECK-NEXT: %bits = mve.as_floats %alone : vector<4xi32> -> vector<4xf32>
  %bits = mve.as_floats %alone : vector<4xi32> -> vector<4xf32>
  // CHECK-NEXT: %dot = mve.mul_across %bytes, %x : vector<16xi8>
  // GENERIC: %dot = "mve.mul_across"(%bytes, %x) : (vector<16xi8>, vector<16xi8>) -> i32
  %dot = mve.mul_across %bytes, %x : vector<16xi8>
  // CHECK-NEXT: %row = mve.as_bytes %j : vector<4xi32> -> vector<16xi8>
  // GENERIC: %row = "mve.as_bytes"(%j) : (vector<4xi32>) -> vector<16xi8>
  %row = mve.as_bytes %j : vector<4xi32> -> vector<16xi8>
  // CHECK-NEXT: %lanes = mve.mul_lanes %bytes, %x, %bytes, %x by %three : vector<4xi32>
  // GENERIC: %lanes = "mve.mul_lanes"(%bytes, %x, %bytes, %x, %three) : (vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
  %lanes = mve.mul_lanes %bytes, %x, %bytes, %x by %three : vector<4xi32>
  // CHECK-NEXT: %place = mve.mul_lanes %bytes, %x, %bytes, %x by %three in_place : vector<4xi32>
  // GENERIC: %place = "mve.mul_lanes"(%bytes, %x, %bytes, %x, %three) <{in_place}>
  %place = mve.mul_lanes %bytes, %x, %bytes, %x by %three in_place : vector<4xi32>
  // CHECK-NEXT: %more = mve.add_scalar %j, %dot : vector<4xi32>, i32
  // GENERIC: %more = "mve.add_scalar"(%j, %dot) : (vector<4xi32>, i32) -> vector<4xi32>
  %more = mve.add_scalar %j, %dot : vector<4xi32>, i32
  // CHECK-NEXT: %times = mve.mul_scalar %f, %s : vector<4xf32>, f32
  %times = mve.mul_scalar %f, %s : vector<4xf32>, f32
  // CHECK-NEXT: %full = mve.add_saturated %both, %n : vector<8xi16>, i32
  %full = mve.add_saturated %both, %n : vector<8xi16>, i32
  // CHECK-NEXT: %flipped = mve.xor %x, %bytes : vector<16xi8>
  // GENERIC: %flipped = "mve.xor"(%x, %bytes) : (vector<16xi8>, vector<16xi8>) -> vector<16xi8>
  %flipped = mve.xor %x, %bytes : vector<16xi8>
  // CHECK-NEXT: %plain = mve.gather_bytes %u[%i] at %bytes reach 40 : memref<?xui8, strided<[1], offset: ?>>
  %plain = mve.gather_bytes %u[%i] at %bytes reach 40 : memref<?xui8, strided<[1], offset: ?>>
  // CHECK-NEXT: mve.scatter %near, %u[%i] at %both reach 40 saturated : memref<?xui8, strided<[1], offset: ?>>
  mve.scatter %near, %u[%i] at %both reach 40 saturated : memref<?xui8, strided<[1], offset: ?>>
  // CHECK-NEXT: %up = mve.move_up %f : vector<4xf32>
  // GENERIC: %up = "mve.move_up"(%f) : (vector<4xf32>) -> vector<4xf32>
  %up = mve.move_up %f : vector<4xf32>
  func.return
}
