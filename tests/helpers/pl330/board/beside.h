/* Included first by the network and by the engine: layers look at the channels, waits let them end. */
#if !defined(BESIDE_H) && !defined(__ASSEMBLER__)
#define BESIDE_H

struct npu_dma;

/* Note which channels are not stopped. */
void look(void);
/* Signal the event that the program of a channel waits for at its end. */
void let_end(struct npu_dma *dma, unsigned channel);

#define NET_ON_LAYER(number, name) look()
#define NPU_PL330_IDLE(dma, channel) let_end(dma, channel)

#endif
