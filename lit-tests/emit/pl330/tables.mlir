// RUN: npu-opt %s -p 'npu-attach-target{target=zynq7020},npu-lower-dma-to-pl330' -t pl330-c | filecheck %s
// RUN: npu-opt %s -p 'npu-attach-target{target=zynq7020},npu-lower-dma-to-pl330' -t 'pl330-c{prefix=mine}' | filecheck %s --check-prefix=MINE

// What no transfer uses is for a linker to see.
// CHECK-LABEL: #include "npu_pl330.h"
// CHECK: extern const unsigned char net_theirs[1];
// CHECK-NEXT: const unsigned char net_theirs[1] = {
// CHECK-NEXT: 0x00,
// CHECK-NEXT: };
// CHECK: static const unsigned char net_read_4x8[31] = {
// CHECK-NEXT: 0xbc, 0x00, 0x00, 0x00, 0x00, 0x00, 0xbc, 0x02, 0x00, 0x00, 0x00, 0x00,
// CHECK-NEXT: 0xbc, 0x01, 0x37, 0xc0, 0x0d, 0x00, 0x20, 0x03, 0x04, 0x08, 0x54, 0x20,

// Runs of 32 bytes; 4 of them, 32 bytes apart in the target, 64 in the source; channel 1; both are multiples of 8;
// bursts of 32 bytes.
// CHECK: const npu_pl330_program net_programs[1] = {
// CHECK-NEXT: {{\{\{}}32, 1, {{\{\{}}4, 32, 64}}}, 1, 8, 0, 8, 0, 32, 0x{{[0-9a-f]+}}u, 31, net_read_4x8},
// CHECK-NEXT: };
// CHECK: const size_t net_program_count = 1;
// MINE-LABEL: #include "npu_pl330.h"
// MINE: mine_programs[1] = {
pl330.program @theirs channel 0 { pl330.end }
func.func @net(%x : memref<4x16xf32, #npu.dram>) {
  %t = sram.alloc at 64 : memref<4x8xf32, #npu.sram>
  %a = memref.subview %x[0, 0] [4, 8] [1, 1] : memref<4x16xf32, #npu.dram> to memref<4x8xf32, strided<[16, 1]>, #npu.dram>
  %s0 = dma.start %a to %t channel 1 : memref<4x8xf32, strided<[16, 1]>, #npu.dram> to memref<4x8xf32, #npu.sram>
  dma.wait %s0
  %s1 = dma.start %a to %t channel 1 : memref<4x8xf32, strided<[16, 1]>, #npu.dram> to memref<4x8xf32, #npu.sram>
  dma.wait %s1
  func.return
}
