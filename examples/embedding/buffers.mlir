// No layer of ours in here: buffers that the toy compiler allocated in on-chip memory, and its own
// ops on them. npu-assign-sram-offsets only says where in the arena each buffer lies.
func.func @filter() {
  %raw = memref.alloc() : memref<256xi16, #npu.sram>
  toy.sense %raw : memref<256xi16, #npu.sram>
  %smooth = memref.alloc() : memref<256xi16, #npu.sram>
  toy.smooth %raw into %smooth : memref<256xi16, #npu.sram>, memref<256xi16, #npu.sram>
  // %raw is dead from here on: the packet takes its place.
  %packet = memref.alloc() : memref<64xi16, #npu.sram>
  toy.smooth %smooth into %packet : memref<256xi16, #npu.sram>, memref<64xi16, #npu.sram>
  toy.send %packet : memref<64xi16, #npu.sram>
  func.return
}
