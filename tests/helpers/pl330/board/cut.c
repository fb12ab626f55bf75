/* What the engine decides about a transfer whose addresses are known, for a shared library. */
#include "npu_pl330.c"

/* Whether a burst of a program whose bursts have `burst` bytes crosses a page; 0: unknown bytes. */
int cut_crosses(const npu_dma_shape *shape, uint32_t to, uint32_t from, uint32_t burst)
{
    return crosses(shape, 0, from, 0, burst) || crosses(shape, 0, to, 1, burst);
}

/* The bytes of a program with bursts of at most `longest` beats; 0 if it has no room. */
size_t cut_program(unsigned char *code, const npu_dma_shape *shape, uint32_t to, uint32_t from,
                   unsigned channel, uint32_t longest)
{
    return write_program(code, shape, to, from, channel, longest);
}

/* The bytes of a code buffer. */
size_t cut_room(void)
{
    return NPU_PL330_CODE_BYTES;
}
