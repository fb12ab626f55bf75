// RUN: NPU_DIAGNOSTICS

pl330.program @p channel 8 {
  pl330.end
}
// CHECK: expected the channel to be 0 to 7, got 8

// -----

pl330.program @p channel 0 {
  pl330.ld
}
// CHECK: expected pl330.end as the last instruction

// -----

pl330.program @p channel 0 {
  pl330.end
  pl330.end
}
// CHECK: expected nothing behind pl330.end

// -----

pl330.program @p channel 0 {
  %c = arith.constant 1 : i32
  pl330.end
}
// CHECK: expected instructions of the PL-330, got arith.constant

// -----

pl330.program @p channel 0 {
  pl330.go 1 at 0
  pl330.end
}
// CHECK: expected pl330.go in a program of the manager

// -----

pl330.program @p manager {
  pl330.ld
  pl330.end
}
// CHECK: expected instructions of the manager thread, got pl330.ld

// -----

pl330.program @p manager {
  pl330.go 8 at 0
  pl330.end
}
// CHECK: expected the channel to be 0 to 7, got 8

// -----

pl330.program @p manager {
  pl330.go 7 at 0x100000000
  pl330.end
}
// CHECK: expected the address to be 0 to 4294967295, got 4294967296

// -----

pl330.program @p channel 0 {
  pl330.loop 0 { pl330.nop }
  pl330.end
}
// CHECK: expected the loop count to be 1 to 256, got 0

// -----

pl330.program @p channel 0 {
  pl330.loop 257 { pl330.nop }
  pl330.end
}
// CHECK: expected the loop count to be 1 to 256, got 257

// -----

pl330.program @p channel 0 {
  pl330.loop 2 { pl330.loop 2 { pl330.loop 2 { pl330.nop } } }
  pl330.end
}
// CHECK: expected at most 2 counted loops around each other, got 3

// -----

pl330.program @p channel 0 {
  pl330.loop 2 counter 0 { pl330.loop 2 { pl330.nop } }
  pl330.end
}
// CHECK: expected another counter for the loop inside, got 0 for both

// -----

pl330.program @p channel 0 {
  pl330.loop 2 counter 2 { pl330.nop }
  pl330.end
}
// CHECK: expected the loop counter to be 0 to 1, got 2

// -----

pl330.program @p channel 0 {
  pl330.loop 2 { pl330.end }
  pl330.end
}
// CHECK: expected pl330.end at the end of the program, not in a loop

// -----

pl330.program @p channel 0 {
  pl330.loop_forever { pl330.loop_forever { pl330.wfe 0 } }
  pl330.end
}
// CHECK: expected no loop_forever inside a loop_forever

// -----

pl330.program @p channel 0 {
  pl330.loop_forever counter 0 while burst { pl330.wfe 0 }
  pl330.end
}
// CHECK: expected no counter beside while: the code would be DMASTP

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 8x17 inc dst 8x16 inc
  pl330.end
}
// CHECK: expected a burst of 1 to 16 beats, got 17

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 3x1 inc dst 8x16 inc
  pl330.end
}
// CHECK: expected beats of 1, 2, 4, ... 128 bytes, got 3

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 8x1 prot 8 dst 8x16
  pl330.end
}
// CHECK: expected prot to be 0 to 7, got 8

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 8x1 dst 8x16 cache 8
  pl330.end
}
// CHECK: expected cache to be 0 to 7, got 8

// -----

pl330.program @p channel 0 {
  pl330.mov ccr src 8x1 dst 8x16 swap 24
  pl330.end
}
// CHECK: expected swap to be 16, 32, 64 or 128 bits, got 24

// -----

pl330.program @p channel 0 {
  pl330.mov sar -1
  pl330.end
}
// CHECK: expected an address of 32 bits, got -1

// -----

pl330.program @p channel 0 {
  "pl330.mov"() <{register = #pl330<register lc0>, value = 1 : i64}> : () -> ()
  pl330.end
}
// CHECK: Expected `sar`, `ccr`, or `dar`.

// -----

pl330.program @p channel 0 {
  "pl330.mov"() <{register = #pl330<register ccr>, value = 1 : i64}> : () -> ()
  pl330.end
}
// CHECK: expected clauses for ccr, and an address for sar and dar

// -----

pl330.program @p channel 0 {
  "pl330.mov"() <{register = #pl330<register ccr>, value = #pl330.ccr<src 1x1 dst 1x1>, patched}> : () -> ()
  pl330.end
}
// CHECK: expected only sar and dar to be patched

// -----

pl330.program @p channel 0 {
  "pl330.addh"() <{register = #pl330<register ccr>, amount = 1 : i64}> : () -> ()
  pl330.end
}
// CHECK: expected sar or dar, got ccr

// -----

pl330.program @p channel 0 {
  "pl330.ldp"() <{peripheral = 1 : i64, request = #pl330<request periph>}> : () -> ()
  pl330.end
}
// CHECK: expected the request to be single or burst, got periph

// -----

pl330.program @p channel 0 {
  "pl330.loop"() <{count = 2 : i64, while_request = #pl330<request periph>}> ({ pl330.nop }) : () -> ()
  pl330.end
}
// CHECK: expected while single or while burst, got periph

// -----

pl330.program @p channel 0 {
  pl330.addh sar 65536
  pl330.end
}
// CHECK: expected the number to add to be 0 to 65535, got 65536

// -----

pl330.program @p channel 0 {
  pl330.adnh dar 1
  pl330.end
}
// CHECK: expected the number to add to be -65536 to -1, got 1

// -----

pl330.program @p channel 0 {
  pl330.sev 32
  pl330.end
}
// CHECK: expected the event to be 0 to 31, got 32

// -----

pl330.program @p channel 0 {
  pl330.wfe 32
  pl330.end
}
// CHECK: expected the event to be 0 to 31, got 32

// -----

pl330.program @p channel 0 {
  pl330.wfp 32 burst
  pl330.end
}
// CHECK: expected the peripheral to be 0 to 31, got 32

// -----

pl330.program @p channel 0 {
  pl330.flushp -1
  pl330.end
}
// CHECK: expected the peripheral to be 0 to 31, got -1

// -----

pl330.ld
// CHECK: 'pl330.ld' expects parent op to be one of 'pl330.program', 'pl330.loop', 'pl330.loop_forever'

// -----

pl330.loop 2 {
  pl330.nop
}
// CHECK: 'pl330.loop' expects parent op to be one of 'pl330.program', 'pl330.loop', 'pl330.loop_forever'

// -----

pl330.program @p channel 0 {
  pl330.mov sar true
  pl330.end
}
// CHECK: Expected integer literal

// -----

pl330.program @p channel 0 moves 0 along [] source [1, 0] target [1, 0] { pl330.end }
// CHECK: expected runs of at least 1 byte

// -----

pl330.program @p channel 0 moves 4 along [[2, 4]] source [1, 0] target [1, 0] { pl330.end }
// CHECK: expected axes [count, target bytes, source bytes], count >= 1

// -----

pl330.program @p channel 0 moves 4 along [] source [4, 4] target [1, 0] { pl330.end }
// CHECK: expected source [modulus, residue], got [4, 4]
