/* Two inner loops of int8 layers with RISC-V's vectors, beside plain C; see riscv_vectors.py. */

#include <riscv_vector.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUTS 24
#define SIDE (OUTPUTS + 2)
#define MOST_CHANNELS 64
#define PIXELS 64
#define FILTERS 32
#define MOST_DEPTH 144
#define SEPARATE __attribute__((noinline))

/* -- semihosting ------------------------------------------------------------------------------ */

static void call_host(int operation, const volatile void *argument)
{
    register int a0 __asm__("a0") = operation;
    register const volatile void *a1 __asm__("a1") = argument;
    __asm__ volatile(".option push\n\t.option norvc\n\t.balign 16\n\tslli x0, x0, 0x1f\n\tebreak\n\t"
                     "srai x0, x0, 7\n\t.option pop" : "+r"(a0) : "r"(a1) : "memory");
}

static void print(const char *text)
{
    call_host(4, text);
}

static void print_number(uint32_t number)
{
    char text[12];
    int first = 11;
    text[first] = 0;
    do {
        text[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    print(&text[first]);
    print(" ");
}

static uint32_t instructions(void)
{
    uint32_t count;
    __asm__ volatile("csrr %0, minstret" : "=r"(count) : : "memory");
    return count;
}

/* -- a depthwise layer, 3x3, channels last, of a map with its padding ---------------------------- */

SEPARATE static void depthwise_plain(const int8_t *x, const int8_t *w, const int32_t *bias,
                                     const float *scales, int8_t *y, int channels)
{
    for (int pixel = 0; pixel < OUTPUTS * OUTPUTS; ++pixel) {
        const int8_t *window = &x[(pixel / OUTPUTS * SIDE + pixel % OUTPUTS) * channels];
        for (int c = 0; c < channels; ++c) {
            int32_t sum = bias[c];
            for (int tap = 0; tap < 9; ++tap) {
                sum += window[(tap / 3 * SIDE + tap % 3) * channels + c] * w[tap * channels + c];
            }
            int32_t q;
            __asm__("fcvt.w.s %0, %1, rne" : "=r"(q) : "f"((float)sum * scales[c]));
            q -= 128;
            y[pixel * channels + c] = (int8_t)(q < -128 ? -128 : q > 127 ? 127 : q);
        }
    }
}

/* Weights are never -128, so two products add up to 16 bits. */
SEPARATE static void depthwise_vector(const int8_t *x, const int8_t *w, const int32_t *bias,
                                      const float *scales, int8_t *y, int channels)
{
    for (int c = 0; c < channels;) {
        const size_t vl = __riscv_vsetvl_e8m1((size_t)(channels - c));
        vint8m1_t w0, w1, w2, w3, w4, w5, w6, w7, w8;
#define W(tap) w##tap = __riscv_vle8_v_i8m1(&w[tap * channels + c], vl)
        W(0), W(1), W(2), W(3), W(4), W(5), W(6), W(7), W(8);
#define X(tap) __riscv_vle8_v_i8m1(&at[(tap / 3 * SIDE + tap % 3) * channels], vl)
#define ONE(tap) t = __riscv_vwmul_vv_i16m2(X(tap), w##tap, vl)
#define MORE(tap) t = __riscv_vwmacc_vv_i16m2(t, X(tap), w##tap, vl)
#define ADD() sum = __riscv_vwadd_wv_i32m4(sum, t, vl)
        for (int pixel = 0; pixel < OUTPUTS * OUTPUTS; ++pixel) {
            const int8_t *at = &x[(pixel / OUTPUTS * SIDE + pixel % OUTPUTS) * channels + c];
            vint32m4_t sum = __riscv_vle32_v_i32m4(&bias[c], vl);
            vint16m2_t t;
            ONE(0), MORE(1), ADD(), ONE(2), MORE(3), ADD(), ONE(4), MORE(5), ADD();
            ONE(6), MORE(7), ADD(), ONE(8), ADD();
            const vfloat32m4_t scale = __riscv_vle32_v_f32m4(&scales[c], vl);
            const vfloat32m4_t real =
                __riscv_vfmul_vv_f32m4(__riscv_vfcvt_f_x_v_f32m4(sum, vl), scale, vl);
            t = __riscv_vsadd_vx_i16m2(__riscv_vfncvt_x_f_w_i16m2(real, vl), -128, vl);
            __riscv_vse8_v_i8m1(&y[pixel * channels + c],
                                __riscv_vnclip_wx_i8m1(t, 0, __RISCV_VXRM_RNU, vl), vl);
        }
        c += (int)vl;
    }
}

/* -- a pointwise layer: two pixels by two filters ------------------------------------------------ */

SEPARATE static void dense_plain(const int8_t *x, const int8_t *w, int32_t *y, int depth)
{
    for (int output = 0; output < PIXELS * FILTERS; ++output) {
        int32_t sum = 0;
        for (int k = 0; k < depth; ++k) {
            sum += x[output / FILTERS * depth + k] * w[output % FILTERS * depth + k];
        }
        y[output] = sum;
    }
}

static int32_t total(vint32m4_t sums)
{
    const vint32m1_t zero = __riscv_vmv_s_x_i32m1(0, 1);
    const vint32m1_t sum =
        __riscv_vredsum_vs_i32m4_i32m1(sums, zero, __riscv_vsetvlmax_e32m4());
    return __riscv_vmv_x_s_i32m1_i32(sum);
}

SEPARATE static void dense_vector(const int8_t *x, const int8_t *w, int32_t *y, int depth)
{
    for (int p = 0; p < PIXELS; p += 2) {
        for (int o = 0; o < FILTERS; o += 2) {
            const int8_t *x0 = &x[p * depth], *x1 = x0 + depth;
            const int8_t *w0 = &w[o * depth], *w1 = w0 + depth;
            vint32m4_t a = __riscv_vmv_v_x_i32m4(0, __riscv_vsetvlmax_e32m4());
            vint32m4_t b = a, c = a, d = a;
            for (int k = 0; k < depth;) {
                const size_t vl = __riscv_vsetvl_e8m1((size_t)(depth - k));
                const vint8m1_t m = __riscv_vle8_v_i8m1(&x0[k], vl);
                const vint8m1_t n = __riscv_vle8_v_i8m1(&x1[k], vl);
                const vint8m1_t u = __riscv_vle8_v_i8m1(&w0[k], vl);
                const vint8m1_t v = __riscv_vle8_v_i8m1(&w1[k], vl);
#define PRODUCTS(s, x, w) \
    s = __riscv_vwadd_wv_i32m4_tu(s, s, __riscv_vwmul_vv_i16m2(x, w, vl), vl)
                PRODUCTS(a, m, u), PRODUCTS(b, m, v), PRODUCTS(c, n, u), PRODUCTS(d, n, v);
                k += (int)vl;
            }
            int32_t *out = &y[p * FILTERS + o];
            out[0] = total(a), out[1] = total(b);
            out[FILTERS] = total(c), out[FILTERS + 1] = total(d);
        }
    }
}

/* -- the measurement ------------------------------------------------------------------------------ */

static int8_t map[SIDE * SIDE * MOST_CHANNELS], weights[FILTERS * MOST_DEPTH];
static int8_t found[OUTPUTS * OUTPUTS * MOST_CHANNELS], wanted[sizeof found];
static int32_t sums[PIXELS * FILTERS], right[PIXELS * FILTERS], biases[MOST_CHANNELS];
static float scales[MOST_CHANNELS];

static void fill(int8_t *bytes, size_t count)
{
    static uint32_t state = 1;
    for (size_t i = 0; i < count; ++i) {
        state = state * 1664525u + 1013904223u;
        const int8_t byte = (int8_t)(state >> 24);
        bytes[i] = byte == -128 ? -127 : byte;
    }
}

static void row(const char *name, uint32_t size, uint32_t macs, const uint32_t *counts, int wrong)
{
    print(name);
    print_number(size);
    print_number(macs);
    print_number(counts[1] - counts[0]);
    print_number(counts[2] - counts[1]);
    print(wrong ? "wrong\n" : "equal\n");
}

int main(void)
{
    fill(map, sizeof map);
    fill(weights, sizeof weights);
    for (int c = 0; c < MOST_CHANNELS; ++c) {
        biases[c] = map[c] * 20;
        scales[c] = 0.003f + 0.00001f * (float)c;
    }
    for (int channels = 16; channels <= MOST_CHANNELS; channels *= 2) {
        const int outputs = OUTPUTS * OUTPUTS * channels;
        uint32_t counts[3] = {instructions(), 0, 0};
        depthwise_plain(map, weights, biases, scales, wanted, channels);
        counts[1] = instructions();
        depthwise_vector(map, weights, biases, scales, found, channels);
        counts[2] = instructions();
        int wrong = 0;
        for (int i = 0; i < outputs; ++i) {
            wrong += found[i] != wanted[i];
        }
        row("depthwise ", (uint32_t)channels, (uint32_t)outputs * 9, counts, wrong);
    }
    for (int depth = 64; depth <= MOST_DEPTH; depth += 80) {
        uint32_t counts[3] = {instructions(), 0, 0};
        dense_plain(map, weights, right, depth);
        counts[1] = instructions();
        dense_vector(map, weights, sums, depth);
        counts[2] = instructions();
        int wrong = 0;
        for (int i = 0; i < PIXELS * FILTERS; ++i) {
            wrong += sums[i] != right[i];
        }
        row("dense ", (uint32_t)depth, (uint32_t)(PIXELS * FILTERS * depth), counts, wrong);
    }
    static const uint32_t done[2] = {0x20026, 0};
    call_host(0x20, done);
    return 0;
}

/* The vector unit and the floats are off at first. */
__asm__(".section .init, \"ax\"\n.globl _start\n_start:\n\tla sp, stack_top\n\tli t0, 0x6600\n\t"
        "csrs mstatus, t0\n\tcsrwi fcsr, 0\n\tcall main\n"
        ".bss\n.balign 16\n.space 8192\nstack_top:\n.text");
