// RUN: npu-opt %s -p pl330-check --verify-diagnostics --split-input-file | filecheck %s

pl330.program @p channel 0 {
  pl330.mov ccr src 8x16 inc dst 8x16 inc
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200000
  pl330.loop 9 { pl330.ld }
  pl330.loop 9 { pl330.st }
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0014: DMALD: expected at most 1024 bytes in the MFIFO, got 1152

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 8x16 inc dst 8x16 inc
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200000
  pl330.ld
  pl330.st
  pl330.st
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0014: DMAST: expected 128 bytes in the MFIFO, got 0

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 8x16 inc dst 8x16 inc
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200000
  pl330.ld
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0013: DMAEND: expected no end with data in the MFIFO, got 128 bytes

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 8x16 inc dst 8x16 inc
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200000
  pl330.ld
  pl330.wfe 8
  pl330.st
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0013: DMAWFE: expected no wait with data in the MFIFO, got 128 bytes

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 8x16 inc dst 8x16 inc
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200000
  pl330.ld
  pl330.wfp 1 burst
  pl330.st
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0013: DMAWFP: expected no wait with data in the MFIFO, got 128 bytes

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 8x16 inc dst 8x16 inc
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200000
  pl330.ld
  pl330.st
  pl330.sev 0
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0014: DMASEV: expected a DMAWMB between the stores and DMASEV

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 16x1 inc dst 8x2 inc
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200000
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0000: DMAMOV: expected src beats of at most 8 bytes, got 16

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 8x16 inc dst 8x16 inc
  pl330.mov sar 0x00100fc0
  pl330.mov dar 0x00200000
  pl330.ld
  pl330.st
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0012: DMALD: expected a burst within 4096 bytes, got 128 bytes at 4032 of a page

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 8x16 inc dst 8x16 inc
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200fc0
  pl330.ld
  pl330.st
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0013: DMAST: expected a burst within 4096 bytes, got 128 bytes at 4032 of a page

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 8x16 inc dst 8x16 inc
  pl330.mov sar 0x00100040
  pl330.mov dar 0x00200000
  pl330.loop 32 {
    pl330.ld
    pl330.st
  }
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0014: DMALD: expected a burst within 4096 bytes

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 8x2 inc dst 8x2 inc
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200000
  pl330.mov sar 0x00100003
  pl330.ld
  pl330.st
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0019: DMAST: expected 16 bytes in the MFIFO, got 13

// -----

pl330.program @p channel 0 {
  pl330.ld
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0000: DMALD: expected a DMAMOV to CCR before a load

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 1x1 dst 1x1
  pl330.stz
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0006: DMASTZ: expected a DMAMOV to DAR before a store

// -----

pl330.program @p channel 0 {
  pl330.sev 16
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0000: DMASEV: expected an event below 16, got 16

// -----

pl330.program @p channel 0 {
  pl330.wfp 4 burst
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0000: DMAWFP: expected a peripheral below 4, got 4

// -----

pl330.program @p channel 0 {
  pl330.flushp 4
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0000: DMAFLUSHP: expected a peripheral below 4, got 4

// -----

pl330.program @p channel 0 {
  pl330.lds
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0000: DMALDS: expected a DMAWFP before what depends on its request

// -----

pl330.program @p channel 0 {
  pl330.loop 2 while burst {
    pl330.nop
  }
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0000: DMALP: expected a DMAWFP before what depends on its request

// -----

pl330.program @p channel 0 {
  pl330.loop_forever {
    pl330.nop
  }
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0000: DMALPFE: expected a loop forever to wait for something: DMAWFE or DMAWFP

// -----

pl330.program @p channel 0 {
  pl330.loop_forever {
    pl330.wfe 0
  }
  pl330.nop
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0004: DMANOP: expected nothing behind a loop that never ends

// -----

pl330.program @p channel 0 {
  pl330.loop 2 {
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
    pl330.mov sar 0
  }
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0000: DMALP: expected a body of at most 255 bytes, got 258

// -----

pl330.program @p channel 0 {
  pl330.nop
  pl330.kill
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x0001: DMAKILL: expected DMAKILL only from the debug registers

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 8x16 inc dst 8x16 inc
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200000
  pl330.wfp 0 periph
  pl330.ldp 0 single
  pl330.ldp 0 burst
  pl330.stp 0 single
  pl330.end
}
// CHECK: pl330-check: @p, byte 0x001a: DMAEND: expected no end with data in the MFIFO, got 128 bytes

// -----

// 1024 bytes for an address within a line take 129 lines.
pl330.program @p channel 0 {
  pl330.mov ccr src 4x16 inc dst 4x16 inc
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200004
  pl330.loop 16 { pl330.ld }
  pl330.loop 16 { pl330.st }
  pl330.end
}

// CHECK: pl330-check: @p, byte 0x0014: DMALD: expected at most 128 lines of the MFIFO, got 129

// -----

// Each beat for a fixed address takes a line of its own.
pl330.program @p channel 0 {
  pl330.mov ccr src 4x16 inc dst 4x16
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200004
  pl330.loop 9 { pl330.ld }
  pl330.loop 9 { pl330.st }
  pl330.end
}

// CHECK: pl330-check: @p, byte 0x0014: DMALD: expected at most 128 lines of the MFIFO, got 144

// -----

// Both run at once: what one holds while the other loads is not free for it.
pl330.program @p channel 0 {
  pl330.mov ccr src 8x16 inc dst 8x16 inc
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200000
  pl330.loop 4 { pl330.ld }
  pl330.rmb
  pl330.loop 4 { pl330.ld }
  pl330.loop 8 { pl330.st }
  pl330.end
}
pl330.program @q channel 1 {
  pl330.mov ccr src 8x16 inc dst 8x16 inc
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200000
  pl330.loop 5 { pl330.ld }
  pl330.loop 5 { pl330.st }
  pl330.end
}

// CHECK: pl330-check: expected programs that share 128 lines of the MFIFO, got 144: 64 by channel 0 held while others load, 80 for one load at a time
