// RUN: npu-opt %s -p pl330-check | filecheck %s
// RUN: npu-opt %s -p 'pl330-check{mfifo-bytes=8 bus-bytes=2 burst=2 channels=1 events=1}' --verify-diagnostics | filecheck %s --check-prefix=SMALL
// RUN: npu-opt %s -p 'pl330-check{events=0}' --verify-diagnostics | filecheck %s --check-prefix=OPTION

// OPTION: pl330-check: expected events of at least 1, got 0

// CHECK-LABEL: @tile
pl330.program @tile channel 1 {
  // SMALL: pl330-check: @tile: expected a channel below 1, got 1
  // SMALL-NEXT: @tile, byte 0x0000: DMAMOV: expected src beats of at most 2 bytes, got 4
  // SMALL-NEXT: @tile, byte 0x0000: DMAMOV: expected src bursts of at most 2, got 3
  // SMALL-NEXT: @tile, byte 0x0000: DMAMOV: expected dst beats of at most 2 bytes, got 4
  // SMALL-NEXT: @tile, byte 0x0000: DMAMOV: expected dst bursts of at most 2, got 3
  pl330.mov ccr src 4x3 inc dst 4x3 inc
  pl330.mov sar 0x00100ca8
  pl330.mov dar 0xfffc0000
  pl330.loop 5 {
    pl330.loop 7 {
      // SMALL-NEXT: @tile, byte 0x0016: DMALD: expected at most 8 bytes in the MFIFO, got 12
      pl330.ld
      // SMALL-NEXT: @tile, byte 0x0017: DMAST: expected 12 bytes in the MFIFO, got 0
      pl330.st
      pl330.addh sar 20
    }
    pl330.addh sar 736
  }
  pl330.wmb
  // SMALL-NEXT: @tile, byte 0x0023: DMASEV: expected an event below 1, got 2
  pl330.sev 2
  pl330.end
}

// Exactly full, and 65536 rounds of which few are run.
// CHECK-LABEL: @full
pl330.program @full channel 0 {
  pl330.mov ccr src 8x16 inc dst 8x16 inc
  pl330.mov sar 0x00100000
  pl330.mov dar 0x00200000
  pl330.loop 256 {
    pl330.loop 256 {
      pl330.ld
      pl330.ld
      pl330.st
      pl330.st
    }
  }
  pl330.loop 8 {
    pl330.ld
  }
  pl330.loop 8 {
    pl330.st
  }
  pl330.end
}

// The address is not known until the program is started, its place on the bus is.
// CHECK-LABEL: @patched
pl330.program @patched channel 0 {
  pl330.mov ccr src 8x16 inc dst 8x16 inc
  pl330.mov sar patched 0x00000fc0
  pl330.mov dar patched 0x00000fc0
  pl330.ld
  pl330.st
  pl330.end
}

// A server of a peripheral, which asks for one beat or for a burst.
// CHECK-LABEL: @peripheral
pl330.program @peripheral channel 0 {
  pl330.mov ccr src 4x4 dst 4x4 inc
  pl330.mov sar 0xe0000000
  pl330.mov dar 0x00200000
  pl330.loop_forever {
    pl330.wfp 0 periph
    pl330.ldp 0 single
    pl330.ldp 0 burst
    pl330.sts
    pl330.stb
  }
}
