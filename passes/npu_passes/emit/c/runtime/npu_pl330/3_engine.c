/* The engine: it starts programs, waits for them, and ends a run that goes wrong. */

/* Wait until bits of a register are 0. Returns 0 if they never are. */
static int settles(npu_dma *dma, unsigned number, uint32_t bits)
{
    uint32_t polls = 0;
    while (dma->registers[number] & bits) {
        if (NPU_PL330_POLLS && ++polls >= NPU_PL330_POLLS) {
            return 0;
        }
    }
    return 1;
}

/* Have the controller execute one instruction, which the debug registers take as two words. Returns
 * 0 if it does not take it. */
static int debug_instruction(npu_dma *dma, uint32_t word0, uint32_t word1)
{
    if (!settles(dma, DBGSTATUS, 1)) {
        return 0;
    }
    dma->registers[DBGINST0] = word0;
    dma->registers[DBGINST1] = word1;
    dma->registers[DBGCMD] = 0;
    return 1;
}

/* DMAKILL for the manager, if it has met a fault, and for the channels that are not stopped. */
static void stop(npu_dma *dma)
{
    int taken = !(dma->registers[FSRD] & 1u) || debug_instruction(dma, (uint32_t)0x01 << 16, 0);
    for (unsigned channel = 0; channel < NPU_PL330_CHANNELS && taken; ++channel) {
        if (dma->registers[CSR0 + 2 * channel] & STATE) {
            taken = debug_instruction(dma, (uint32_t)0x01 << 16 | channel << 8 | 1u, 0) &&
                    settles(dma, CSR0 + 2 * channel, STATE);
        }
    }
}

/* End the run: remember why, and stop what moves. */
static void fail(npu_dma *dma, int status, unsigned channel)
{
    const int manager = channel == NPU_PL330_CHANNELS;
    npu_pl330_fault *const fault = &dma->fault;
    ++dma->errors;
    dma->status = status;
    fault->channel = channel;
    fault->state = dma->registers[manager ? (unsigned)DSR : CSR0 + 2 * channel];
    fault->type = dma->registers[manager ? (unsigned)FTRD : FTR0 + channel];
    fault->address = dma->registers[manager ? (unsigned)DPC : CPC0 + 2 * channel];
    stop(dma);
}

/* Whether the controller has reported a fault, which ends the run. */
static int has_fault(npu_dma *dma)
{
    const uint32_t faults = dma->registers[FSRC] & EVENTS;
    unsigned channel = 0;
    if (dma->registers[FSRD] & 1u) {
        fail(dma, NPU_PL330_MANAGER_FAULT, NPU_PL330_CHANNELS);
        return 1;
    }
    if (faults != 0) {
        while (!(faults >> channel & 1u)) {
            ++channel;
        }
        fail(dma, NPU_PL330_CHANNEL_FAULT, channel);
        return 1;
    }
    return 0;
}

/* What to do with the caches' lines of some bytes. */
enum { CLEAN, INVALIDATE };

/* Do it with each contiguous part of one side of a transfer. */
static void maintain(const npu_dma_shape *shape, int axis, int target, const unsigned char *part,
                     int what)
{
    const npu_dma_axis *const step = &shape->axis[axis];
    size_t bytes = shape->bytes;
    int inner = shape->axes;
    if (!CACHES) {
        return;
    }
    while (inner > axis && (size_t)(target ? shape->axis[inner - 1].to
                                           : shape->axis[inner - 1].from) == bytes) {
        bytes *= shape->axis[--inner].count;
    }
    if (inner > axis) {
        for (size_t number = 0; number < step->count; ++number) {
            maintain(shape, axis + 1, target, part, what);
            part += target ? step->to : step->from;
        }
    } else if (what == CLEAN) {
        NPU_PL330_CLEAN(part, bytes);
    } else {
        NPU_PL330_INVALIDATE(part, bytes);
    }
}

/* The transfer that was started last on a channel is done: its target may be read. */
static void done(npu_dma *dma, unsigned channel)
{
    unsigned char *const to = (unsigned char *)dma->latest[channel].to;
    const npu_dma_shape *const shape = dma->latest[channel].shape;
    dma->finished[channel] = dma->started[channel];
    maintain(shape, 0, 1, to, INVALIDATE);
    NPU_PL330_BARRIER(to, span_of(shape, 0, 1));
}

/* Wait until a channel has finished the transfer that was started last. */
static void finish(npu_dma *dma, unsigned channel)
{
    const uint32_t bit = (uint32_t)1 << channel;
    uint32_t polls = 0;
    int event = 0;
    if (dma->status != 0 || dma->finished[channel] == dma->started[channel]) {
        return;
    }
    /* The event comes before the end of the program. */
    while (!event || (dma->registers[CSR0 + 2 * channel] & STATE) != 0) {
        if (dma->signalled[channel] || (dma->registers[INTMIS] & bit)) {
            event = 1;
        }
        if (has_fault(dma)) {
            return;
        }
        if (NPU_PL330_POLLS && ++polls >= NPU_PL330_POLLS) {
            fail(dma, NPU_PL330_TIMEOUT, channel);
            return;
        }
        if (!event) {
            NPU_PL330_IDLE(dma, channel);
        }
    }
    dma->registers[INTCLR] = bit;
    dma->signalled[channel] = 0;
    done(dma, channel);
}

uint32_t npu_pl330_key(const npu_dma_shape *shape, unsigned channel)
{
    uint32_t key = (2166136261u ^ channel) * 16777619u;
    key = (key ^ (uint32_t)shape->bytes) * 16777619u;
    for (int axis = 0; axis < shape->axes; ++axis) {
        key = (key ^ (uint32_t)shape->axis[axis].count) * 16777619u;
        key = (key ^ (uint32_t)shape->axis[axis].to) * 16777619u;
        key = (key ^ (uint32_t)shape->axis[axis].from) * 16777619u;
    }
    return key;
}

static int same_shape(const npu_dma_shape *one, const npu_dma_shape *other)
{
    if (one->bytes != other->bytes || one->axes != other->axes) {
        return 0;
    }
    for (int axis = 0; axis < one->axes; ++axis) {
        if (one->axis[axis].count != other->axis[axis].count ||
            one->axis[axis].to != other->axis[axis].to ||
            one->axis[axis].from != other->axis[axis].from) {
            return 0;
        }
    }
    return 1;
}

/* The program of a transfer; NULL if there is none. */
static const npu_pl330_program *find(const npu_dma *dma, unsigned channel, uintptr_t to,
                                     uintptr_t from, const npu_dma_shape *shape)
{
    const uint32_t key = npu_pl330_key(shape, channel);
    size_t first = 0, behind = dma->program_count;
    while (first < behind) {
        const size_t middle = first + (behind - first) / 2;
        if (dma->programs[middle].key < key) {
            first = middle + 1;
        } else {
            behind = middle;
        }
    }
    for (; first < dma->program_count && dma->programs[first].key == key; ++first) {
        const npu_pl330_program *const program = &dma->programs[first];
        if (program->channel == channel && program->bytes <= NPU_PL330_CODE_BYTES &&
            (to & (program->to_modulus - 1u)) == program->to_rest &&
            (from & (program->from_modulus - 1u)) == program->from_rest &&
            same_shape(&program->shape, shape)) {
            return program;
        }
    }
    return NULL;
}

/* Copy with the core, for a transfer without a program. */
static void copy(const npu_dma_shape *shape, int axis, unsigned char *to,
                 const unsigned char *from)
{
    if (axis == shape->axes) {
        memcpy(to, from, shape->bytes);
        return;
    }
    for (size_t step = 0; step < shape->axis[axis].count; ++step) {
        copy(shape, axis + 1, to, from);
        to += shape->axis[axis].to;
        from += shape->axis[axis].from;
    }
}

/* Write an address into a program, the lowest byte first; `word` need not be aligned. */
static void patch(unsigned char *word, uint32_t address)
{
    for (int byte = 0; byte < 4; ++byte) {
        word[byte] = (unsigned char)(address >> (8 * byte) & 0xFFu);
    }
}

/* Bring the program of a transfer into the code buffer of its channel. Returns its bytes; 0 if there
 * is none. */
static size_t load_program(npu_dma *dma, unsigned channel, uint32_t to, uint32_t from,
                           const npu_dma_shape *shape)
{
    const npu_pl330_program *const program = find(dma, channel, to, from, shape);
    unsigned char *const code = (unsigned char *)dma->code[channel];
    size_t bytes;
    if (program == NULL) {
        return 0;
    }
    if (!crosses(shape, 0, from, 0, program->burst) && !crosses(shape, 0, to, 1, program->burst)) {
        memcpy(code, program->code, program->bytes);
        patch(code + SAR_WORD, from);
        patch(code + DAR_WORD, to);
        return program->bytes;
    }
    bytes = write_program(code, shape, to, from, channel, 16);
    if (bytes == 0) {
        bytes = write_program(code, shape, to, from, channel, 1);
    }
    dma->cut += bytes != 0;
    return bytes;
}

void npu_pl330_init(npu_dma *dma, volatile uint32_t *registers, const npu_pl330_program *programs,
                    size_t program_count)
{
    memset(dma, 0, sizeof *dma);
    dma->registers = registers;
    dma->programs = programs;
    dma->program_count = program_count;
    stop(dma);
    registers[INTEN] |= EVENTS;
    registers[INTCLR] = EVENTS;
}

void npu_pl330_interrupt(npu_dma *dma)
{
    const uint32_t events = dma->registers[INTMIS] & EVENTS;
    dma->registers[INTCLR] = events;
    for (unsigned channel = 0; channel < NPU_PL330_CHANNELS; ++channel) {
        if (events >> channel & 1u) {
            dma->signalled[channel] = 1;
        }
    }
}

int npu_pl330_take(npu_dma *dma, unsigned channel)
{
    finish(dma, channel);
    return dma->status == 0;
}

/* Count a transfer, which is the latest of its channel from now on. */
static npu_dma_token count(npu_dma *dma, unsigned channel, npu_dma_kind kind, uint64_t bytes,
                           void *to, const npu_dma_shape *shape)
{
    if (kind == NPU_DMA_WEIGHTS) {
        dma->counters.weight_bytes += bytes;
    } else if (kind == NPU_DMA_READ) {
        dma->counters.feature_map_read_bytes += bytes;
    } else {
        dma->counters.feature_map_write_bytes += bytes;
    }
    ++dma->counters.transfers;
    dma->latest[channel].to = to;
    dma->latest[channel].shape = shape;
    return ++dma->started[channel] * NPU_PL330_CHANNELS + channel;
}

npu_dma_token npu_pl330_moved(npu_dma *dma, unsigned channel, npu_dma_kind kind, uint64_t bytes,
                              void *to, const npu_dma_shape *shape)
{
    const npu_dma_token token = count(dma, channel, kind, bytes, to, shape);
    maintain(shape, 0, 1, (const unsigned char *)to, CLEAN);
    done(dma, channel);
    return token;
}

npu_dma_token npu_dma_start(npu_dma *dma, int channel, npu_dma_kind kind, void *to,
                            const void *from, const npu_dma_shape *shape)
{
    const unsigned number = (unsigned)channel % NPU_PL330_CHANNELS;
    uint64_t bytes = shape->bytes;
    npu_dma_token token;
    size_t size;
    if (!npu_pl330_take(dma, number)) {
        return 0;
    }
    for (int axis = 0; axis < shape->axes; ++axis) {
        bytes *= shape->axis[axis].count;
    }
    size = load_program(dma, (unsigned)channel, (uint32_t)(uintptr_t)to,
                        (uint32_t)(uintptr_t)from, shape);
    if (size == 0) {
        ++dma->errors;
        copy(shape, 0, (unsigned char *)to, (const unsigned char *)from);
        return npu_pl330_moved(dma, number, kind, bytes, to, shape);
    }
    token = count(dma, number, kind, bytes, to, shape);
    maintain(shape, 0, 0, (const unsigned char *)from, CLEAN);
    maintain(shape, 0, 1, (const unsigned char *)to, INVALIDATE);
    NPU_PL330_CLEAN(dma->code[number], size);
    NPU_PL330_BARRIER(dma->code[number], size);
    /* DMAGO, by the manager; the channel is secure. */
    if (!debug_instruction(dma, (uint32_t)number << 24 | (uint32_t)0xA0 << 16,
                           (uint32_t)(uintptr_t)dma->code[number])) {
        fail(dma, NPU_PL330_TIMEOUT, NPU_PL330_CHANNELS);
    }
    return token;
}

void npu_dma_wait(npu_dma *dma, npu_dma_token token)
{
    const unsigned channel = token % NPU_PL330_CHANNELS;
    /* A channel does one transfer after the other: one that is not its latest is done. */
    if (dma->started[channel] * NPU_PL330_CHANNELS + channel == token) {
        finish(dma, channel);
    }
}

int npu_dma_status(const npu_dma *dma)
{
    return dma->status;
}

void npu_dma_reads(npu_dma *dma)
{
    ++dma->counters.feature_map_reads;
}

void npu_dma_writes(npu_dma *dma)
{
    ++dma->counters.feature_map_writes;
}
