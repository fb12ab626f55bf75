// RUN: npu-opt %s -t pl330-asm | filecheck %s --match-full-lines
// RUN: npu-opt %s -t 'pl330-asm{listing=true}' | filecheck %s --check-prefix=LISTING
// RUN: npu-opt %s -t pl330-hex | filecheck %s --check-prefix=HEX --match-full-lines
// RUN: npu-opt %s -t pl330-hex | npu-opt -f pl330 | filecheck %s --check-prefix=BACK
// RUN: npu-opt %s -t pl330-hex | npu-opt -f pl330 -t pl330-hex | filecheck %s --check-prefix=HEX --match-full-lines

// CHECK-LABEL: tile:  ; channel 2, 38 bytes
// CHECK-NEXT:     DMAMOV CCR, SAI SS32 SB3 DAI DS32 DB3
// CHECK-NEXT:     DMAMOV SAR, 0x00100ca8
// CHECK-NEXT:     DMAMOV DAR, 0xfffc0000
// CHECK-NEXT:     DMALP lc1, 5
// CHECK-NEXT: L0014:
// CHECK-NEXT:         DMALP lc0, 7
// CHECK-NEXT: L0016:
// CHECK-NEXT:             DMALD
// CHECK-NEXT:             DMAST
// CHECK-NEXT:             DMAADDH SAR, 0x14
// CHECK-NEXT:         DMALPEND lc0, L0016
// CHECK-NEXT:         DMAADDH SAR, 0x2e0
// CHECK-NEXT:     DMALPEND lc1, L0014
// CHECK-NEXT:     DMAWMB
// CHECK-NEXT:     DMASEV E0
// CHECK-NEXT:     DMAEND
// LISTING: DMALPEND lc0, L0016 ; 001b: 38 05
// HEX-LABEL: tile: bc 01 25 40 09 00 bc 00 a8 0c 10 00 bc 02 00 00 fc ff 22 04 20 06 04 08 54 14 00 38 05 54 e0 02 3c 0c 13 34 00 00  # channel 2
// BACK-LABEL: pl330.program @tile channel 2 {
// BACK: pl330.loop 5 {
// BACK-NEXT: pl330.loop 7 {
pl330.program @tile channel 2 {
  pl330.mov ccr src 4x3 inc dst 4x3 inc
  pl330.mov sar 0x00100ca8
  pl330.mov dar 0xfffc0000
  pl330.loop 5 {
    pl330.loop 7 {
      pl330.ld
      pl330.st
      pl330.addh sar 20
    }
    pl330.addh sar 736
  }
  pl330.wmb
  pl330.sev 0
  pl330.end
}

// CHECK-LABEL: server:  ; channel 0, 32 bytes
// CHECK-NEXT: DMAMOV CCR, SAF SS8 SB16 SP2 SC3 DAI DS1024 DB1 DC7 ES32
// CHECK-NEXT: DMAFLUSHP P31
// CHECK-NEXT: DMALPFE
// CHECK-NEXT: L0008:
// CHECK-NEXT: DMAWFE E9, invalid
// CHECK-NEXT: DMAWFP P2, periph
// CHECK-NEXT: DMALDPS P2
// CHECK-NEXT: DMASTPB P2
// CHECK-NEXT: DMALP lc1, 2
// CHECK-NEXT: L0012:
// CHECK-NEXT: DMASTZ
// CHECK-NEXT: DMARMB
// CHECK-NEXT: DMALPENDS lc1, L0012
// CHECK-NEXT: DMALP lc0, 3
// CHECK-NEXT: L0018:
// CHECK-NEXT: DMALPENDB lc0, L0018
// CHECK-NEXT: DMAADNH DAR, 0xfec0
// CHECK-NEXT: DMALPENDB L0008
// HEX-LABEL: server: bc 01 f0 da 03 2e 35 f8 36 4a 31 10 25 10 2b 10 22 01 0c 12 3d 02 20 02 3b 00 5e c0 fe 2f 15 00  # channel 0
// BACK-LABEL: pl330.program @server channel 0 {
// BACK: pl330.loop_forever while burst {
// BACK: pl330.loop 2 counter 1 while single {
pl330.program @server channel 0 {
  pl330.mov ccr src 1x16 prot 2 cache 3 dst 128x1 inc cache 7 swap 32
  pl330.flushp 31
  pl330.loop_forever while burst {
    pl330.wfe 9 invalid
    pl330.wfp 2 periph
    pl330.ldp 2 single
    pl330.stp 2 burst
    pl330.loop 2 counter 1 while single {
      pl330.stz
      pl330.rmb
    }
    pl330.loop 3 while burst {
    }
    pl330.adnh dar -320
  }
  pl330.end
}

// CHECK-LABEL: start:  ; manager, 13 bytes
// CHECK-NEXT: DMAGO C3, 0x00100000
// CHECK-NEXT: DMAGO C4, 0x00100100, ns
// HEX-LABEL: start: a0 03 00 00 10 00 a2 04 00 01 10 00 00  # manager
// BACK-LABEL: pl330.program @start manager {
pl330.program @start manager {
  pl330.go 3 at 0x00100000
  pl330.go 4 at 0x00100100 nonsecure
  pl330.end
}
