/* Start-up of a RISC-V board: the reset vector jumps to _start, which comes first in flash. */
    .section .init, "ax"
    .globl _start
_start:
    .option push
    .option norelax
    la      gp, __global_pointer$
    .option pop
    la      tp, __tls_base
    la      sp, __stack_top
    la      t0, trap
    csrw    mtvec, t0

    la      a0, __data_start
    la      a1, __data_end
    la      a2, __data_load
1:  bgeu    a0, a1, 2f
    lw      t0, 0(a2)
    sw      t0, 0(a0)
    addi    a0, a0, 4
    addi    a2, a2, 4
    j       1b

2:  la      a0, __bss_start
    la      a1, __bss_end
3:  bgeu    a0, a1, 4f
    sw      zero, 0(a0)
    addi    a0, a0, 4
    j       3b

4:  la      a0, __stack_bottom              /* paint the stack, to see later how deep it went */
    li      t0, 0xA5A5A5A5
5:  bgeu    a0, sp, 6f
    sw      t0, 0(a0)
    addi    a0, a0, 4
    j       5b

6:  call    main
    call    board_exit

    .balign 4
trap:
    csrr    a0, mcause
    csrr    a1, mepc
    csrr    a2, mtval
    la      sp, __stack_top
    call    board_trap

    .section .bss.clock, "aw", @nobits
    .balign 4
clock_low:  .space 4
clock_high: .space 4

    .text
/* (a1:a0) = instructions retired since reset; read twice where the low half may have gone round. */
retired:
    csrr    a1, minstreth
    csrr    a0, minstret
    csrr    t0, minstreth
    bne     t0, a1, retired
    ret

    .globl board_clock_start
board_clock_start:
    mv      t2, ra
    call    retired
    la      t1, clock_high
    sw      a1, 0(t1)
    la      t1, clock_low
    csrr    a0, minstret                    /* the last thing before the caller goes on */
    sw      a0, 0(t1)
    jr      t2

    .globl board_clock_read
board_clock_read:
    csrr    t1, minstret                    /* the first thing after the caller comes back */
    sw      zero, 0(a0)
    csrr    a1, minstreth
    la      t0, clock_low
    lw      t0, 0(t0)
    la      t2, clock_high
    lw      t2, 0(t2)
    sub     a0, t1, t0
    sltu    t0, t1, t0
    sub     a1, a1, t2
    sub     a1, a1, t0
    ret

/* The emulator knows the call by these three instructions, uncompressed and on one page. */
    .globl board_semihost
    .balign 16
board_semihost:
    .option push
    .option norvc
    slli    x0, x0, 0x1f
    ebreak
    srai    x0, x0, 7
    .option pop
    ret
