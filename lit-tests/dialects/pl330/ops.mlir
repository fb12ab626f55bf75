// RUN: NPU_ROUNDTRIP
// RUN: NPU_GENERIC --check-prefix=GENERIC

// CHECK-LABEL: pl330.program @tile channel 0 {
// GENERIC-LABEL: "pl330.program"() <{sym_name = "tile", channel = 0 : i64}> ({
pl330.program @tile channel 0 {
  // CHECK-NEXT: pl330.mov ccr src 4x3 inc dst 4x3 inc
  // GENERIC: "pl330.mov"() <{register = #pl330<register ccr>, value = #pl330.ccr<src 4x3 inc dst 4x3 inc>}>
  pl330.mov ccr src 4x3 inc dst 4x3 inc
  // CHECK-NEXT: pl330.mov sar 0x00100ca8
  pl330.mov sar 0x00100ca8
  // CHECK-NEXT: pl330.mov dar patched 0xfffc0000 {of = "ofm"}
  pl330.mov dar patched 0xfffc0000 {of = "ofm"}
  // CHECK-NEXT: pl330.loop 5 {
  pl330.loop 5 {
    // CHECK-NEXT: pl330.loop 256 attributes {of = "rows"} {
    pl330.loop 256 attributes {of = "rows"} {
      // CHECK-NEXT: pl330.ld
      pl330.ld
      // CHECK-NEXT: pl330.st
      pl330.st
    }
    // CHECK: pl330.addh sar 736
    pl330.addh sar 736
    // CHECK-NEXT: pl330.adnh dar -320
    // GENERIC: "pl330.adnh"() <{register = #pl330<register dar>, amount = -320 : i64}>
    pl330.adnh dar -320
  }
  // CHECK: pl330.wmb
  pl330.wmb
  // CHECK-NEXT: pl330.sev 0
  pl330.sev 0
  // CHECK-NEXT: pl330.end
  pl330.end
}

// CHECK-LABEL: pl330.program @server channel 7 {
pl330.program @server channel 7 {
  // CHECK-NEXT: pl330.mov ccr src 1x16 prot 2 cache 3 dst 128x1 inc cache 7 swap 32
  pl330.mov ccr src 1x16 prot 2 cache 3 dst 128x1 inc cache 7 swap 32
  // CHECK-NEXT: pl330.flushp 31
  pl330.flushp 31
  // CHECK-NEXT: pl330.loop_forever counter 0 {
  pl330.loop_forever counter 0 {
    // CHECK-NEXT: pl330.wfe 9 invalid
    pl330.wfe 9 invalid
    // CHECK-NEXT: pl330.wfe 9
    pl330.wfe 9
    // CHECK-NEXT: pl330.wfp 2 periph
    pl330.wfp 2 periph
    // CHECK-NEXT: pl330.lds
    pl330.lds
    // CHECK-NEXT: pl330.ldb
    pl330.ldb
    // CHECK-NEXT: pl330.sts
    pl330.sts
    // CHECK-NEXT: pl330.stb
    pl330.stb
    // CHECK-NEXT: pl330.ldp 2 single
    pl330.ldp 2 single
    // CHECK-NEXT: pl330.stp 2 burst
    pl330.stp 2 burst
    // CHECK-NEXT: pl330.loop 2 counter 1 while single {
    // GENERIC: "pl330.loop"() <{count = 2 : i64, counter = 1 : i64, while_request = #pl330<request single>}>
    pl330.loop 2 counter 1 while single {
      // CHECK-NEXT: pl330.stz
      pl330.stz
      // CHECK-NEXT: pl330.rmb
      pl330.rmb
      // CHECK-NEXT: pl330.nop
      pl330.nop
    }
    // CHECK: pl330.loop 3 {
    // CHECK-NEXT: }
    pl330.loop 3 {
    }
  }
}

// CHECK-LABEL: pl330.program @start manager {
pl330.program @start manager {
  // CHECK-NEXT: pl330.go 3 at 0x00100000
  pl330.go 3 at 0x00100000
  // CHECK-NEXT: pl330.go 4 at 0x00100100 nonsecure
  pl330.go 4 at 0x00100100 nonsecure
  // CHECK-NEXT: pl330.kill
  pl330.kill
}

// CHECK-LABEL: pl330.program @read channel 1 moves 64 along [
// CHECK-SAME: 4, 512, 4096], [8, 64, 256]] source [8, 4] target [4, 0] attributes {of = "ifm"} {
// GENERIC-LABEL: "pl330.program"() <{sym_name = "read", channel = 1 : i64, moves = #pl330.moves<64 along
pl330.program @read channel 1 moves 64 along [[4, 512, 4096], [8, 64, 256]] source [8, 4] target [4, 0] attributes {of = "ifm"} {
  // CHECK-NEXT: pl330.end
  pl330.end
}
