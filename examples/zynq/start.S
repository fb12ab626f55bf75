/* Reset and interrupts of a program without an operating system; linked first, by link.ld. */
    .section .init, "ax"
    .arm
    .globl _start
    .balign 32
_start:                             /* also the table of vectors */
    b     reset
    b     .                         /* undefined instruction */
    b     .                         /* SVC */
    b     .                         /* prefetch abort */
    b     .                         /* data abort */
    nop
    b     interrupt
    b     .                         /* FIQ */

reset:
    cpsid if
    ldr   r0, =_start
    mcr   p15, 0, r0, c12, c0, 0    /* VBAR */
    cps   #0x12                     /* the stack of interrupts */
    ldr   sp, =__interrupt_stack_top
    cps   #0x13                     /* supervisor */
    ldr   sp, =__stack_top
    mrc   p15, 0, r0, c1, c0, 2     /* CPACR: the FPU may be used */
    orr   r0, r0, #0xF00000
    mcr   p15, 0, r0, c1, c0, 2
    isb
    mov   r0, #0x40000000
    vmsr  fpexc, r0
    ldr   r0, =__bss_start
    ldr   r1, =__bss_end
    mov   r2, #0
1:  cmp   r0, r1
    strlo r2, [r0], #4
    blo   1b
    bl    main
#ifdef EMULATED
    ldr   r1, =exit_block
    str   r0, [r1, #4]
    mov   r0, #0x20                 /* SYS_EXIT_EXTENDED of the emulator */
    svc   0x123456
#endif
2:  wfe
    b     2b

interrupt:
    sub   lr, lr, #4
    push  {r0-r3, r12, lr}
    vpush {d0-d7}
    vpush {d16-d31}
    vmrs  r0, fpscr
    push  {r0, r1}
    bl    platform_interrupt
    pop   {r0, r1}
    vmsr  fpscr, r0
    vpop  {d16-d31}
    vpop  {d0-d7}
    ldm   sp!, {r0-r3, r12, pc}^    /* and the state before */

#ifdef EMULATED
    .data
exit_block:
    .word 0x20026, 0                /* ADP_Stopped_ApplicationExit, the code */
#endif
