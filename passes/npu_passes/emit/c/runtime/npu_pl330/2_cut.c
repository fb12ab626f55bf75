/* Programs that end their bursts at pages, written when the addresses of a transfer are known. */

/* A program that is being written. `sar`, `dar` and `ccr` are the values of these registers at its
 * end; 0 for `ccr`: not known. The next bytes go from `from` to `to`. `loops`: the loops around its
 * end. `grid`: the alignment that the steps of all axes keep, at most 8. `longest`: the most beats of
 * a burst. */
typedef struct {
    unsigned char *code;
    size_t room;
    size_t size;
    const npu_dma_shape *shape;
    uint32_t from;
    uint32_t to;
    uint32_t sar;
    uint32_t dar;
    uint32_t ccr;
    uint32_t grid;
    uint32_t longest;
    int loops;
} npu_pl330_writer;

/* Some steps of an axis whose code is the same. */
typedef struct {
    int axis;
    uint32_t bytes;
} npu_pl330_body;

static void write_axis(npu_pl330_writer *writer, int axis);

/* Append `count` bytes of `bytes`, the lowest one first; what has no room is only counted. */
static void put(npu_pl330_writer *writer, uint64_t bytes, int count)
{
    for (; count > 0; --count, bytes >>= 8, ++writer->size) {
        if (writer->size < writer->room) {
            writer->code[writer->size] = (unsigned char)(bytes & 0xFFu);
        }
    }
}

/* DMAMOV to register 0 (SAR), 1 (CCR) or 2 (DAR). */
static void put_move(npu_pl330_writer *writer, unsigned number, uint32_t word)
{
    put(writer, (uint64_t)word << 16 | number << 8 | 0xBCu, 6);
}

static void set_ccr(npu_pl330_writer *writer, uint32_t beat, uint32_t beats)
{
    const uint32_t size = beat == 8 ? 3 : beat / 2;
    const uint32_t side = 1u | size << 1 | (beats - 1) << 4;
    const uint32_t word = side << 14 | side;
    if (writer->ccr != word) {
        put_move(writer, 1, word);
        writer->ccr = word;
    }
}

/* Bring SAR (0) or DAR (2) from `now` to `wanted`: DMAADDH, DMAADNH, or DMAMOV outside of loops. */
static void put_adds(npu_pl330_writer *writer, unsigned number, uint32_t now, uint32_t wanted)
{
    uint32_t left = wanted - now;
    if (writer->loops == 0 && left > 0x1FFFEu && left < 0xFFFE0000u) {
        put_move(writer, number, wanted);
        return;
    }
    while (left > 0 && left < 0x80000000u) {
        const uint32_t leap = left > 0xFFFFu ? 0xFFFFu : left;
        put(writer, leap << 8 | 0x54u | number, 3);
        left -= leap;
    }
    while (left > 0) {
        const uint32_t leap = left < 0xFFFF0000u ? 0xFFFF0000u : left;
        put(writer, (leap & 0xFFFFu) << 8 | 0x5Cu | number, 3);
        left -= leap;
    }
}

/* Bring SAR and DAR to where the next bytes are. */
static void put_addresses(npu_pl330_writer *writer)
{
    put_adds(writer, 0, writer->sar, writer->from);
    put_adds(writer, 2, writer->dar, writer->to);
    writer->sar = writer->from;
    writer->dar = writer->to;
}

/* `count` times DMALD and DMAST. */
static void put_copies(npu_pl330_writer *writer, uint32_t beat, uint32_t beats, uint32_t count)
{
    const unsigned counter = writer->loops == 0 ? 2u : 0u;
    if (count == 0) {
        return;
    }
    put_addresses(writer);
    set_ccr(writer, beat, beats);
    writer->from = writer->sar += beat * beats * count;
    writer->to = writer->dar += beat * beats * count;
    for (; count > 3 && writer->loops < 2; count -= count > 256 ? 256 : count) {
        const uint32_t rounds = count > 256 ? 256 : count;
        put(writer, (rounds - 1) << 8 | 0x20u | counter, 2);
        put(writer, 0x0804u, 2);
        put(writer, 0x0238u | counter << 1, 2);
    }
    for (; count > 0; --count) {
        put(writer, 0x0804u, 2);
    }
}

/* Code for bytes without a page's end among them. Alignment is known up to `grid` only, so that the
 * same code does for all steps of a loop. */
static void write_piece(npu_pl330_writer *writer, uint32_t bytes)
{
    while (bytes > 0) {
        const uint32_t ends = writer->from | writer->to;
        uint32_t beat = writer->grid;
        while (beat > bytes || ends % beat != 0) {
            beat /= 2;
        }
        /* One beat, if wider ones fit behind it. */
        uint32_t beats = bytes / beat;
        if (beat < writer->grid && (writer->from ^ writer->to) % (2 * beat) == 0) {
            beats = 1;
        }
        bytes -= beat * beats;
        put_copies(writer, beat, writer->longest, beats / writer->longest);
        put_copies(writer, beat, beats % writer->longest, beats % writer->longest != 0);
    }
}

/* The bytes from an address to the end of its page. */
static uint32_t left_in_page(uint32_t address)
{
    return PAGE - address % PAGE;
}

static uint32_t least(uint32_t one, uint32_t other)
{
    return one < other ? one : other;
}

/* Code for contiguous bytes, cut where a page ends on either side. */
static void write_pieces(npu_pl330_writer *writer, uint32_t bytes)
{
    while (bytes > 0) {
        uint32_t piece = bytes;
        if (writer->longest > 1) { /* one beat never crosses a page */
            piece = least(piece, left_in_page(writer->from));
            piece = least(piece, left_in_page(writer->to));
        }
        write_piece(writer, piece);
        bytes -= piece;
    }
}

/* A round of a loop: one step of an axis, or `bytes` bytes of a run. */
static void write_round(npu_pl330_writer *writer, const npu_pl330_body *body, uint32_t from,
                        uint32_t to)
{
    if (body->bytes > 0) {
        write_pieces(writer, body->bytes);
        return;
    }
    write_axis(writer, body->axis + 1);
    writer->from = from + (uint32_t)writer->shape->axis[body->axis].from;
    writer->to = to + (uint32_t)writer->shape->axis[body->axis].to;
}

/* A loop of at most 256 rounds that all have the same code. The register CCR must have the same
 * value before each round: if a round changes it, the loop is written again with that value. */
static void write_loop(npu_pl330_writer *writer, uint32_t count, const npu_pl330_body *body)
{
    const npu_pl330_writer before = *writer;
    const unsigned counter = writer->loops == 0 ? 2u : 0u;
    uint32_t ccr = writer->ccr;
    for (int again = 0; again < 2 && count > 1 && before.loops < 2; ++again) {
        put_addresses(writer);
        if (again) {
            put_move(writer, 1, writer->ccr = ccr);
        }
        put(writer, (count - 1) << 8 | 0x20u | counter, 2);
        const size_t start = writer->size;
        ++writer->loops;
        write_round(writer, body, before.from, before.to);
        put_addresses(writer);
        --writer->loops;
        const size_t jump = writer->size - start;
        put(writer, (uint64_t)jump << 8 | 0x38u | counter << 1, 2);
        if (writer->ccr == ccr && jump <= 255) {
            writer->from = writer->sar += (count - 1) * (writer->from - before.from);
            writer->to = writer->dar += (count - 1) * (writer->to - before.to);
            return;
        }
        ccr = writer->ccr;
        *writer = before;
    }
    for (uint32_t step = 0; step < count; ++step) {
        write_round(writer, body, writer->from, writer->to);
    }
}

/* Code for a run: behind 4096 bytes, pages end at the same places again. */
static void write_run(npu_pl330_writer *writer, uint32_t bytes)
{
    const npu_pl330_body page = {0, PAGE};
    if (bytes > PAGE) {
        const uint32_t first = least(left_in_page(writer->from), left_in_page(writer->to));
        if (first < PAGE) {
            write_pieces(writer, first);
            bytes -= first;
        }
    }
    while (bytes >= 2 * PAGE) {
        const uint32_t rounds = least(bytes / PAGE, 256);
        write_loop(writer, rounds, &page);
        bytes -= rounds * PAGE;
    }
    write_pieces(writer, bytes);
}

/* The bytes from the first byte of the axes from `axis` on to behind their last one. */
static uint32_t span_of(const npu_dma_shape *shape, int axis, int target)
{
    uint32_t span = (uint32_t)shape->bytes;
    for (; axis < shape->axes; ++axis) {
        const npu_dma_axis *const step = &shape->axis[axis];
        span += (uint32_t)(step->count - 1) * (uint32_t)(target ? step->to : step->from);
    }
    return span;
}

/* Whether a burst crosses the end of a page in `bytes` contiguous bytes: runs of `run` bytes, which
 * are bursts of `burst` bytes; 0: of any bytes. */
static int bytes_cross(uint32_t address, uint32_t bytes, uint32_t run, uint32_t burst)
{
    for (uint32_t end = left_in_page(address); end < bytes; end += PAGE) {
        const uint32_t place = end % run;
        if (place != 0 && (burst == 0 || place % burst != 0)) {
            return 1;
        }
    }
    return 0;
}

/* Whether a burst crosses the end of a page in the axes from `axis` on, on one side. */
static int crosses(const npu_dma_shape *shape, int axis, uint32_t address, int target,
                   uint32_t burst)
{
    const uint32_t run = (uint32_t)shape->bytes, span = span_of(shape, axis, target);
    uint32_t bytes = run, count, step;
    if (address % PAGE + (uint64_t)span <= PAGE) {
        return 0;
    }
    for (int inner = axis; inner < shape->axes; ++inner) {
        bytes *= (uint32_t)shape->axis[inner].count;
    }
    if (bytes == span) { /* one run touches the next */
        return bytes_cross(address, bytes, run, burst);
    }
    /* After so many steps, their places in a page are the same again. */
    step = (uint32_t)(target ? shape->axis[axis].to : shape->axis[axis].from);
    count = step % PAGE == 0 ? 1 : PAGE / (step & (0u - step));
    count = least(count, (uint32_t)shape->axis[axis].count);
    for (uint32_t number = 0; number < count; ++number, address += step) {
        if (crosses(shape, axis + 1, address, target, burst)) {
            return 1;
        }
    }
    return 0;
}

/* Whether a step of an axis needs cuts if it begins at these addresses. */
static int needs_cuts(const npu_pl330_writer *writer, int axis, uint32_t from, uint32_t to)
{
    return writer->longest > 1 && (crosses(writer->shape, axis + 1, from, 0, 0) ||
                                   crosses(writer->shape, axis + 1, to, 1, 0));
}

/* Code for the axes from `axis` on: steps without cuts in loops, others one by one. */
static void write_axis(npu_pl330_writer *writer, int axis)
{
    if (axis == writer->shape->axes) {
        write_run(writer, (uint32_t)writer->shape->bytes);
        return;
    }
    const npu_dma_axis *const step = &writer->shape->axis[axis];
    const npu_pl330_body body = {axis, 0};
    const int alike = (uint32_t)step->from % PAGE == 0 && (uint32_t)step->to % PAGE == 0;
    const uint32_t count = (uint32_t)step->count;
    uint32_t rounds = 0;
    for (uint32_t done = 0; done < count && writer->size <= writer->room; done += rounds) {
        uint32_t from = writer->from, to = writer->to;
        const uint32_t most = least(count - done, 256);
        for (rounds = alike ? most : 0; rounds < most && !needs_cuts(writer, axis, from, to);
             ++rounds) {
            from += (uint32_t)step->from;
            to += (uint32_t)step->to;
        }
        rounds += rounds == 0;
        write_loop(writer, rounds, &body);
    }
}

/* The largest power of 2, at most 8, that divides a number. */
static uint32_t power_in(uint32_t number)
{
    uint32_t power = 8;
    while (number % power != 0) {
        power /= 2;
    }
    return power;
}

/* Write the program of a transfer into `code`, with bursts of at most `longest` beats. Returns its
 * bytes; 0 if it has no room. */
static size_t write_program(unsigned char *code, const npu_dma_shape *shape, uint32_t to,
                            uint32_t from, unsigned channel, uint32_t longest)
{
    npu_pl330_writer writer = {code, NPU_PL330_CODE_BYTES, 0,    shape, from, to,
                               from, to,                   0,    8,     longest, 0};
    for (int axis = 0; axis < shape->axes; ++axis) {
        writer.grid = least(writer.grid, power_in((uint32_t)shape->axis[axis].from));
        writer.grid = least(writer.grid, power_in((uint32_t)shape->axis[axis].to));
    }
    put_move(&writer, 0, from);
    put_move(&writer, 2, to);
    write_axis(&writer, 0);
    put(&writer, 0x13u | 0x34u << 8 | channel << 19, 4); /* DMAWMB, DMASEV, DMAEND */
    return writer.size <= writer.room ? writer.size : 0;
}
