/* net: printed by npu-dialect, do not edit. */

#include "net.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Called after each layer, or each part of one that runs in parts, with its number in report.json
 * and its name: define it to trace or to measure. */
#ifndef NET_ON_LAYER
#define NET_ON_LAYER(index, name) ((void)0)
#endif

/* Where the weights go: define it as __attribute__((section("..."))) to choose. */
#ifndef NET_WEIGHTS_SECTION
#define NET_WEIGHTS_SECTION
#endif

/* net_x_moves: 25 int16_t */
static const int16_t net_net_x_moves[25] NET_WEIGHTS_SECTION = {
    -1, 1, 8, 18, 6, 2, 16, 13,
    12, 4, 9, 3, -1, 5, 17, 21,
    7, 10, 11, 19, 14, 20, 22, 15,
    -1,
};

/* one_weights: 108 float */
static const float net_one_weights[108] NET_WEIGHTS_SECTION = {
    0.12573022f, -0.9217254f, -0.13210486f, -0.45772582f, 0.64042264f, 0.22019513f, 0.104900114f, -1.0096182f, -0.5356694f, -0.20917557f, 0.36159506f, -0.15922502f, 1.304f, 0.5408456f, 0.94708097f, 0.21465912f, -0.70373523f, 0.3553727f, -1.2654215f, -0.6538286f, -0.62327445f, -0.12961364f, 0.04132598f, 0.7839755f, -2.3250308f, 1.4934311f, -0.21879166f, -1.2590655f, -1.245911f, 1.5139238f, -0.7322674f, 1.3458754f, -0.544259f, 0.7813114f, -0.31630015f, 0.26445562f, 0.41163054f, -0.31392282f, 1.0425134f, 1.4580207f, -0.12853466f, 1.9602584f, 1.3664634f, 1.8016349f, -0.6651947f, 1.3151038f, 0.35151008f, 0.35738042f, 0.90347016f, -1.2083186f, 0.0940123f, -0.004454133f, -0.7434993f, 0.65647495f, -1.2883614f, -0.6331941f, 0.39512205f, -0.3775635f, 0.4298637f, -1.0911461f, 0.6960427f, -1.2776802f, -1.1841179f, 0.6304115f, -0.6617026f, 0.5811658f, -0.43643525f, 1.2945588f, -1.169802f, -0.75460577f, 1.7393678f, 1.6891074f, -0.49591073f, -0.2873877f, 0.32896963f, 1.5744083f, -0.25857255f, -0.43278584f, 1.5834728f, -0.7354833f, 1.320361f, 0.24978538f, 0.63335264f, 1.0314531f, -2.2035098f, 0.16100958f, 0.052028973f, -0.58552885f, 0.6836862f, -1.3412197f, 1.0039616f, -1.4015203f, -0.61790705f, 0.50268286f, 1.8220114f, 0.989713f, -1.320431f, -0.16429459f, -0.66152805f, -1.0743649f,
    0.93505f, 0.87304217f, 0.049054615f, -1.280394f, 2.0023925f, -0.71306807f, 0.1885192f, 0.6210179f,
};

/* two_weights: 72 float */
static const float net_two_weights[72] NET_WEIGHTS_SECTION = {
    0.34558418f, -0.5140064f, 0.82161814f, -1.6480752f, 0.33043706f, 0.16746475f, -1.3031572f, 0.10901409f, 0.9053559f, -1.227352f, 0.44637457f, -0.68322664f, -0.5369532f, -0.07204368f, 0.5811181f, -0.9447516f, 0.3645724f, -0.09826997f, 0.2941325f, 0.09548303f, 0.028422242f, 0.035586238f, 0.546713f, -0.5062917f, -0.73645407f, 0.5937481f, -0.16290995f, 0.8911669f, -0.48211932f, 0.32084832f, 0.5988462f, -0.8182302f, 0.039722107f, 0.73165226f, -0.29245675f, -0.50144005f, -0.78190845f, 0.87916064f, -0.25719225f, -1.0717874f, 0.008142181f, 0.9144672f, -0.2756029f, -0.020063454f, 1.2940638f, -1.2487489f, 1.0067244f, -0.31389946f, -2.7111626f, 0.05410228f, -1.8890133f, 0.27279133f, -0.1747721f, -0.9821881f, -0.4221904f, -1.107373f, 0.213643f, 0.19958453f, 0.21732193f, -0.4667496f, 2.1178389f, 0.23550561f, -1.1120207f, 0.7595195f, -0.37760502f, -1.6487874f, 2.0427716f, 0.25438812f, 0.646703f, 1.2246469f, 0.66306335f, -0.29752684f,
};

/* Loads of several registers are inlined, also with -Os: a call would move each float again. */
#ifndef NPU_INLINE
#if defined(__GNUC__) && defined(__OPTIMIZE__)
#define NPU_INLINE inline __attribute__((always_inline))
#else
#define NPU_INLINE inline
#endif
#endif

/* Neighbouring floats, in one instruction: 6. */
static NPU_INLINE void npu_dsp_load_6_s0(const float *at, float *to0, float *to1, float *to2, float *to3, float *to4, float *to5)
{
#if defined(__ARM_FP) && defined(__arm__) && defined(__GNUC__)
    typedef struct { float all[6]; } block;
    register float x0 __asm__("s0");
    register float x1 __asm__("s1");
    register float x2 __asm__("s2");
    register float x3 __asm__("s3");
    register float x4 __asm__("s4");
    register float x5 __asm__("s5");
    __asm__("vldmia %6, {s0-s5}"
            : "=t"(x0), "=t"(x1), "=t"(x2), "=t"(x3), "=t"(x4), "=t"(x5)
            : "r"(at), "m"(*(const block *)at));
    const float v0 = x0, v1 = x1, v2 = x2, v3 = x3, v4 = x4, v5 = x5;
    *to0 = v0;
    *to1 = v1;
    *to2 = v2;
    *to3 = v3;
    *to4 = v4;
    *to5 = v5;
#else
    *to0 = at[0];
    *to1 = at[1];
    *to2 = at[2];
    *to3 = at[3];
    *to4 = at[4];
    *to5 = at[5];
#endif
}

/* Neighbouring floats, in one instruction: 8. */
static NPU_INLINE void npu_dsp_load_8_s24(const float *at, float *to0, float *to1, float *to2, float *to3, float *to4, float *to5, float *to6, float *to7)
{
#if defined(__ARM_FP) && defined(__arm__) && defined(__GNUC__)
    typedef struct { float all[8]; } block;
    register float x0 __asm__("s24");
    register float x1 __asm__("s25");
    register float x2 __asm__("s26");
    register float x3 __asm__("s27");
    register float x4 __asm__("s28");
    register float x5 __asm__("s29");
    register float x6 __asm__("s30");
    register float x7 __asm__("s31");
    __asm__("vldmia %8, {s24-s31}"
            : "=t"(x0), "=t"(x1), "=t"(x2), "=t"(x3), "=t"(x4), "=t"(x5), "=t"(x6), "=t"(x7)
            : "r"(at), "m"(*(const block *)at));
    const float v0 = x0, v1 = x1, v2 = x2, v3 = x3, v4 = x4, v5 = x5, v6 = x6, v7 = x7;
    *to0 = v0;
    *to1 = v1;
    *to2 = v2;
    *to3 = v3;
    *to4 = v4;
    *to5 = v5;
    *to6 = v6;
    *to7 = v7;
#else
    *to0 = at[0];
    *to1 = at[1];
    *to2 = at[2];
    *to3 = at[3];
    *to4 = at[4];
    *to5 = at[5];
    *to6 = at[6];
    *to7 = at[7];
#endif
}

/* Neighbouring floats, in one instruction: 2. */
static NPU_INLINE void npu_dsp_load_2_s0(const float *at, float *to0, float *to1)
{
#if defined(__ARM_FP) && defined(__arm__) && defined(__GNUC__)
    typedef struct { float all[2]; } block;
    register float x0 __asm__("s0");
    register float x1 __asm__("s1");
    __asm__("vldmia %2, {s0-s1}"
            : "=t"(x0), "=t"(x1)
            : "r"(at), "m"(*(const block *)at));
    const float v0 = x0, v1 = x1;
    *to0 = v0;
    *to1 = v1;
#else
    *to0 = at[0];
    *to1 = at[1];
#endif
}

/* Tight loops are compiled on their own: inside a caller they would run out of registers. */
#ifndef NPU_NOINLINE
#ifdef __GNUC__
#define NPU_NOINLINE __attribute__((noinline))
#else
#define NPU_NOINLINE
#endif
#endif

/* Loads of several registers stay in their order: gcc would move them ahead, and copy registers. */
#ifndef NPU_IN_ORDER
#if defined(__GNUC__) && !defined(__clang__) && defined(__arm__)
#define NPU_IN_ORDER \
    __attribute__((optimize("no-schedule-insns", "no-tree-coalesce-vars")))
#else
#define NPU_IN_ORDER
#endif
#endif

/* Neighbouring floats, in one instruction: 10. */
static NPU_INLINE void npu_dsp_load_10_s0(const float *at, float *to0, float *to1, float *to2, float *to3, float *to4, float *to5, float *to6, float *to7, float *to8, float *to9)
{
#if defined(__ARM_FP) && defined(__arm__) && defined(__GNUC__)
    typedef struct { float all[10]; } block;
    register float x0 __asm__("s0");
    register float x1 __asm__("s1");
    register float x2 __asm__("s2");
    register float x3 __asm__("s3");
    register float x4 __asm__("s4");
    register float x5 __asm__("s5");
    register float x6 __asm__("s6");
    register float x7 __asm__("s7");
    register float x8 __asm__("s8");
    register float x9 __asm__("s9");
    __asm__("vldmia %10, {s0-s9}"
            : "=t"(x0), "=t"(x1), "=t"(x2), "=t"(x3), "=t"(x4), "=t"(x5), "=t"(x6), "=t"(x7), "=t"(x8), "=t"(x9)
            : "r"(at), "m"(*(const block *)at));
    const float v0 = x0, v1 = x1, v2 = x2, v3 = x3, v4 = x4, v5 = x5, v6 = x6, v7 = x7, v8 = x8, v9 = x9;
    *to0 = v0;
    *to1 = v1;
    *to2 = v2;
    *to3 = v3;
    *to4 = v4;
    *to5 = v5;
    *to6 = v6;
    *to7 = v7;
    *to8 = v8;
    *to9 = v9;
#else
    *to0 = at[0];
    *to1 = at[1];
    *to2 = at[2];
    *to3 = at[3];
    *to4 = at[4];
    *to5 = at[5];
    *to6 = at[6];
    *to7 = at[7];
    *to8 = at[8];
    *to9 = at[9];
#endif
}

/* Neighbouring floats, in one instruction: 8. */
static NPU_INLINE void npu_dsp_load_8_s0(const float *at, float *to0, float *to1, float *to2, float *to3, float *to4, float *to5, float *to6, float *to7)
{
#if defined(__ARM_FP) && defined(__arm__) && defined(__GNUC__)
    typedef struct { float all[8]; } block;
    register float x0 __asm__("s0");
    register float x1 __asm__("s1");
    register float x2 __asm__("s2");
    register float x3 __asm__("s3");
    register float x4 __asm__("s4");
    register float x5 __asm__("s5");
    register float x6 __asm__("s6");
    register float x7 __asm__("s7");
    __asm__("vldmia %8, {s0-s7}"
            : "=t"(x0), "=t"(x1), "=t"(x2), "=t"(x3), "=t"(x4), "=t"(x5), "=t"(x6), "=t"(x7)
            : "r"(at), "m"(*(const block *)at));
    const float v0 = x0, v1 = x1, v2 = x2, v3 = x3, v4 = x4, v5 = x5, v6 = x6, v7 = x7;
    *to0 = v0;
    *to1 = v1;
    *to2 = v2;
    *to3 = v3;
    *to4 = v4;
    *to5 = v5;
    *to6 = v6;
    *to7 = v7;
#else
    *to0 = at[0];
    *to1 = at[1];
    *to2 = at[2];
    *to3 = at[3];
    *to4 = at[4];
    *to5 = at[5];
    *to6 = at[6];
    *to7 = at[7];
#endif
}

/* Words of which all are loaded before one is stored: 8, at multiples of 4 bytes. */
static inline void npu_dsp_copy_8(void *to, const void *from)
{
#if defined(__ARM_FP) && defined(__arm__) && defined(__GNUC__)
    __asm__ volatile("vldmia %1, {s0, s1, s2, s3, s4, s5, s6, s7}\n\tvstmia %0, {s0, s1, s2, s3, s4, s5, s6, s7}"
                     :
                     : "r"(to), "r"(from)
                     : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "memory");
#else
    int32_t words[8];
    memcpy(words, from, sizeof words);
    memcpy(to, words, sizeof words);
#endif
}

/* one: npu.conv2d strides [1, 1] pads [1, 1, 1, 1]
 *   ifm: 1x3x8x8 float, arena bytes 424 to 1191
 *   ofm: 1x4x8x8 float, arena bytes 40 to 1063
 */
static NPU_NOINLINE NPU_IN_ORDER void net_one(const float *ifm, float *ofm)
{
    for (int oy = 0; oy < 8; ++oy) {
        if ((unsigned int)(oy - 1) < 6u) {
            for (int oc = 0; oc < 4; oc += 2) {
                float acc = 0.0f;
                float acc_2 = 0.0f;
                float acc_3 = 0.0f;
                float acc_4 = 0.0f;
                float acc_5 = 0.0f;
                float acc_6 = 0.0f;
                float acc_7 = 0.0f;
                float acc_8 = 0.0f;
                float acc_9 = 0.0f;
                float acc_10 = 0.0f;
                float acc_11 = 0.0f;
                float acc_12 = 0.0f;
                float acc_13 = 0.0f;
                float acc_14 = 0.0f;
                float acc_15 = 0.0f;
                float acc_16 = 0.0f;
                for (int ic = 0; ic < 3; ++ic) {
                    const float *const taps = net_one_weights + (oc * 27 + ic * 18);
                    const float *const patch = ifm + (ic * 8 + oy * 24 - 24);
                    float w, w_2, w_3, w_4, w_5, w_6; npu_dsp_load_6_s0(&taps[0], &w, &w_2, &w_3, &w_4, &w_5, &w_6);
                    float x, x_2, x_3, x_4, x_5, x_6, x_7, x_8; npu_dsp_load_8_s24(&patch[0], &x, &x_2, &x_3, &x_4, &x_5, &x_6, &x_7, &x_8);
                    acc_2 += x * w;
                    acc_3 += x_2 * w;
                    acc_4 += x_3 * w;
                    acc_5 += x_4 * w;
                    acc_6 += x_5 * w;
                    acc_7 += x_6 * w;
                    acc_8 += x_7 * w;
                    acc_10 += x * w_2;
                    acc_11 += x_2 * w_2;
                    acc_12 += x_3 * w_2;
                    acc_13 += x_4 * w_2;
                    acc_14 += x_5 * w_2;
                    acc_15 += x_6 * w_2;
                    acc_16 += x_7 * w_2;
                    acc += x * w_3;
                    acc_2 += x_2 * w_3;
                    acc_3 += x_3 * w_3;
                    acc_4 += x_4 * w_3;
                    acc_5 += x_5 * w_3;
                    acc_6 += x_6 * w_3;
                    acc_7 += x_7 * w_3;
                    acc_8 += x_8 * w_3;
                    acc_9 += x * w_4;
                    acc_10 += x_2 * w_4;
                    acc_11 += x_3 * w_4;
                    acc_12 += x_4 * w_4;
                    acc_13 += x_5 * w_4;
                    acc_14 += x_6 * w_4;
                    acc_15 += x_7 * w_4;
                    acc_16 += x_8 * w_4;
                    acc += x_2 * w_5;
                    acc_2 += x_3 * w_5;
                    acc_3 += x_4 * w_5;
                    acc_4 += x_5 * w_5;
                    acc_5 += x_6 * w_5;
                    acc_6 += x_7 * w_5;
                    acc_7 += x_8 * w_5;
                    acc_9 += x_2 * w_6;
                    acc_10 += x_3 * w_6;
                    acc_11 += x_4 * w_6;
                    acc_12 += x_5 * w_6;
                    acc_13 += x_6 * w_6;
                    acc_14 += x_7 * w_6;
                    acc_15 += x_8 * w_6;
                    float w_7, w_8, w_9, w_10, w_11, w_12; npu_dsp_load_6_s0(&taps[6], &w_7, &w_8, &w_9, &w_10, &w_11, &w_12);
                    float x_9, x_10, x_11, x_12, x_13, x_14, x_15, x_16; npu_dsp_load_8_s24(&patch[24], &x_9, &x_10, &x_11, &x_12, &x_13, &x_14, &x_15, &x_16);
                    acc_2 += x_9 * w_7;
                    acc_3 += x_10 * w_7;
                    acc_4 += x_11 * w_7;
                    acc_5 += x_12 * w_7;
                    acc_6 += x_13 * w_7;
                    acc_7 += x_14 * w_7;
                    acc_8 += x_15 * w_7;
                    acc_10 += x_9 * w_8;
                    acc_11 += x_10 * w_8;
                    acc_12 += x_11 * w_8;
                    acc_13 += x_12 * w_8;
                    acc_14 += x_13 * w_8;
                    acc_15 += x_14 * w_8;
                    acc_16 += x_15 * w_8;
                    acc += x_9 * w_9;
                    acc_2 += x_10 * w_9;
                    acc_3 += x_11 * w_9;
                    acc_4 += x_12 * w_9;
                    acc_5 += x_13 * w_9;
                    acc_6 += x_14 * w_9;
                    acc_7 += x_15 * w_9;
                    acc_8 += x_16 * w_9;
                    acc_9 += x_9 * w_10;
                    acc_10 += x_10 * w_10;
                    acc_11 += x_11 * w_10;
                    acc_12 += x_12 * w_10;
                    acc_13 += x_13 * w_10;
                    acc_14 += x_14 * w_10;
                    acc_15 += x_15 * w_10;
                    acc_16 += x_16 * w_10;
                    acc += x_10 * w_11;
                    acc_2 += x_11 * w_11;
                    acc_3 += x_12 * w_11;
                    acc_4 += x_13 * w_11;
                    acc_5 += x_14 * w_11;
                    acc_6 += x_15 * w_11;
                    acc_7 += x_16 * w_11;
                    acc_9 += x_10 * w_12;
                    acc_10 += x_11 * w_12;
                    acc_11 += x_12 * w_12;
                    acc_12 += x_13 * w_12;
                    acc_13 += x_14 * w_12;
                    acc_14 += x_15 * w_12;
                    acc_15 += x_16 * w_12;
                    float w_13, w_14, w_15, w_16, w_17, w_18; npu_dsp_load_6_s0(&taps[12], &w_13, &w_14, &w_15, &w_16, &w_17, &w_18);
                    float x_17, x_18, x_19, x_20, x_21, x_22, x_23, x_24; npu_dsp_load_8_s24(&patch[48], &x_17, &x_18, &x_19, &x_20, &x_21, &x_22, &x_23, &x_24);
                    acc_2 += x_17 * w_13;
                    acc_3 += x_18 * w_13;
                    acc_4 += x_19 * w_13;
                    acc_5 += x_20 * w_13;
                    acc_6 += x_21 * w_13;
                    acc_7 += x_22 * w_13;
                    acc_8 += x_23 * w_13;
                    acc_10 += x_17 * w_14;
                    acc_11 += x_18 * w_14;
                    acc_12 += x_19 * w_14;
                    acc_13 += x_20 * w_14;
                    acc_14 += x_21 * w_14;
                    acc_15 += x_22 * w_14;
                    acc_16 += x_23 * w_14;
                    acc += x_17 * w_15;
                    acc_2 += x_18 * w_15;
                    acc_3 += x_19 * w_15;
                    acc_4 += x_20 * w_15;
                    acc_5 += x_21 * w_15;
                    acc_6 += x_22 * w_15;
                    acc_7 += x_23 * w_15;
                    acc_8 += x_24 * w_15;
                    acc_9 += x_17 * w_16;
                    acc_10 += x_18 * w_16;
                    acc_11 += x_19 * w_16;
                    acc_12 += x_20 * w_16;
                    acc_13 += x_21 * w_16;
                    acc_14 += x_22 * w_16;
                    acc_15 += x_23 * w_16;
                    acc_16 += x_24 * w_16;
                    acc += x_18 * w_17;
                    acc_2 += x_19 * w_17;
                    acc_3 += x_20 * w_17;
                    acc_4 += x_21 * w_17;
                    acc_5 += x_22 * w_17;
                    acc_6 += x_23 * w_17;
                    acc_7 += x_24 * w_17;
                    acc_9 += x_18 * w_18;
                    acc_10 += x_19 * w_18;
                    acc_11 += x_20 * w_18;
                    acc_12 += x_21 * w_18;
                    acc_13 += x_22 * w_18;
                    acc_14 += x_23 * w_18;
                    acc_15 += x_24 * w_18;
                }
                ofm[oc * 8 + oy * 32] = acc;
                ofm[oc * 8 + oy * 32 + 1] = acc_2;
                ofm[oc * 8 + oy * 32 + 2] = acc_3;
                ofm[oc * 8 + oy * 32 + 3] = acc_4;
                ofm[oc * 8 + oy * 32 + 4] = acc_5;
                ofm[oc * 8 + oy * 32 + 5] = acc_6;
                ofm[oc * 8 + oy * 32 + 6] = acc_7;
                ofm[oc * 8 + oy * 32 + 7] = acc_8;
                ofm[oc * 8 + oy * 32 + 8] = acc_9;
                ofm[oc * 8 + oy * 32 + 9] = acc_10;
                ofm[oc * 8 + oy * 32 + 10] = acc_11;
                ofm[oc * 8 + oy * 32 + 11] = acc_12;
                ofm[oc * 8 + oy * 32 + 12] = acc_13;
                ofm[oc * 8 + oy * 32 + 13] = acc_14;
                ofm[oc * 8 + oy * 32 + 14] = acc_15;
                ofm[oc * 8 + oy * 32 + 15] = acc_16;
            }
        } else {
            for (int oc = 0; oc < 4; oc += 2) {
                const int value = oy - 1;
                const int value_2 = 0 - value;
                const int value_3 = value_2 > 0 ? value_2 : 0;
                const int value_4 = 8 - value;
                const int value_5 = value_4 < 3 ? value_4 : 3;
                const int iy = oy - 1;
                float acc = 0.0f;
                float acc_2 = 0.0f;
                float acc_3 = 0.0f;
                float acc_4 = 0.0f;
                float acc_5 = 0.0f;
                float acc_6 = 0.0f;
                float acc_7 = 0.0f;
                float acc_8 = 0.0f;
                float acc_9 = 0.0f;
                float acc_10 = 0.0f;
                float acc_11 = 0.0f;
                float acc_12 = 0.0f;
                float acc_13 = 0.0f;
                float acc_14 = 0.0f;
                float acc_15 = 0.0f;
                float acc_16 = 0.0f;
                for (int ic = 0; ic < 3; ++ic) {
                    for (int ky = value_3; ky < value_5; ++ky) {
                        const float *const patch = ifm + (ic * 8 + iy * 24 + ky * 24);
                        int value_6 = ic * 3;
                        value_6 += ky;
                        value_6 = value_6 * 3;
                        value_6 = value_6 * 2;
                        const float *const taps = net_one_weights + (oc * 27 + value_6);
                        float w, w_2; npu_dsp_load_2_s0(&taps[0], &w, &w_2);
                        float x, x_2, x_3, x_4, x_5, x_6, x_7, x_8; npu_dsp_load_8_s24(&patch[0], &x, &x_2, &x_3, &x_4, &x_5, &x_6, &x_7, &x_8);
                        acc_2 += x * w;
                        acc_3 += x_2 * w;
                        acc_4 += x_3 * w;
                        acc_5 += x_4 * w;
                        acc_6 += x_5 * w;
                        acc_7 += x_6 * w;
                        acc_8 += x_7 * w;
                        acc_10 += x * w_2;
                        acc_11 += x_2 * w_2;
                        acc_12 += x_3 * w_2;
                        acc_13 += x_4 * w_2;
                        acc_14 += x_5 * w_2;
                        acc_15 += x_6 * w_2;
                        acc_16 += x_7 * w_2;
                        float w_3, w_4; npu_dsp_load_2_s0(&taps[2], &w_3, &w_4);
                        acc += x * w_3;
                        acc_2 += x_2 * w_3;
                        acc_3 += x_3 * w_3;
                        acc_4 += x_4 * w_3;
                        acc_5 += x_5 * w_3;
                        acc_6 += x_6 * w_3;
                        acc_7 += x_7 * w_3;
                        acc_8 += x_8 * w_3;
                        acc_9 += x * w_4;
                        acc_10 += x_2 * w_4;
                        acc_11 += x_3 * w_4;
                        acc_12 += x_4 * w_4;
                        acc_13 += x_5 * w_4;
                        acc_14 += x_6 * w_4;
                        acc_15 += x_7 * w_4;
                        acc_16 += x_8 * w_4;
                        float w_5, w_6; npu_dsp_load_2_s0(&taps[4], &w_5, &w_6);
                        acc += x_2 * w_5;
                        acc_2 += x_3 * w_5;
                        acc_3 += x_4 * w_5;
                        acc_4 += x_5 * w_5;
                        acc_5 += x_6 * w_5;
                        acc_6 += x_7 * w_5;
                        acc_7 += x_8 * w_5;
                        acc_9 += x_2 * w_6;
                        acc_10 += x_3 * w_6;
                        acc_11 += x_4 * w_6;
                        acc_12 += x_5 * w_6;
                        acc_13 += x_6 * w_6;
                        acc_14 += x_7 * w_6;
                        acc_15 += x_8 * w_6;
                    }
                }
                ofm[oc * 8 + oy * 32] = acc;
                ofm[oc * 8 + oy * 32 + 1] = acc_2;
                ofm[oc * 8 + oy * 32 + 2] = acc_3;
                ofm[oc * 8 + oy * 32 + 3] = acc_4;
                ofm[oc * 8 + oy * 32 + 4] = acc_5;
                ofm[oc * 8 + oy * 32 + 5] = acc_6;
                ofm[oc * 8 + oy * 32 + 6] = acc_7;
                ofm[oc * 8 + oy * 32 + 7] = acc_8;
                ofm[oc * 8 + oy * 32 + 8] = acc_9;
                ofm[oc * 8 + oy * 32 + 9] = acc_10;
                ofm[oc * 8 + oy * 32 + 10] = acc_11;
                ofm[oc * 8 + oy * 32 + 11] = acc_12;
                ofm[oc * 8 + oy * 32 + 12] = acc_13;
                ofm[oc * 8 + oy * 32 + 13] = acc_14;
                ofm[oc * 8 + oy * 32 + 14] = acc_15;
                ofm[oc * 8 + oy * 32 + 15] = acc_16;
            }
        }
    }
}

/* two: npu.conv2d strides [1, 1] pads [0, 0, 0, 0]
 *   ifm: 1x4x8x8 float, arena bytes 40 to 1063
 *   ofm: 1x2x6x6 float, arena bytes 0 to 287
 */
static NPU_NOINLINE NPU_IN_ORDER void net_two(const float *ifm, float *ofm)
{
    for (int oy = 0; oy < 6; ++oy) {
        float acc = 0.0f;
        float acc_2 = 0.0f;
        float acc_3 = 0.0f;
        float acc_4 = 0.0f;
        float acc_5 = 0.0f;
        float acc_6 = 0.0f;
        float acc_7 = 0.0f;
        float acc_8 = 0.0f;
        float acc_9 = 0.0f;
        float acc_10 = 0.0f;
        float acc_11 = 0.0f;
        float acc_12 = 0.0f;
        for (int ic = 0; ic < 4; ++ic) {
            const float *const taps = net_two_weights + (ic * 18);
            const float *const patch = ifm + (ic * 8 + oy * 32);
            float w, w_2, w_3, w_4, w_5, w_6, w_7, w_8, w_9, w_10; npu_dsp_load_10_s0(&taps[0], &w, &w_2, &w_3, &w_4, &w_5, &w_6, &w_7, &w_8, &w_9, &w_10);
            float x, x_2, x_3, x_4, x_5, x_6, x_7, x_8; npu_dsp_load_8_s24(&patch[0], &x, &x_2, &x_3, &x_4, &x_5, &x_6, &x_7, &x_8);
            acc += x * w;
            acc_2 += x_2 * w;
            acc_3 += x_3 * w;
            acc_4 += x_4 * w;
            acc_5 += x_5 * w;
            acc_6 += x_6 * w;
            acc_7 += x * w_2;
            acc_8 += x_2 * w_2;
            acc_9 += x_3 * w_2;
            acc_10 += x_4 * w_2;
            acc_11 += x_5 * w_2;
            acc_12 += x_6 * w_2;
            acc += x_2 * w_3;
            acc_2 += x_3 * w_3;
            acc_3 += x_4 * w_3;
            acc_4 += x_5 * w_3;
            acc_5 += x_6 * w_3;
            acc_6 += x_7 * w_3;
            acc_7 += x_2 * w_4;
            acc_8 += x_3 * w_4;
            acc_9 += x_4 * w_4;
            acc_10 += x_5 * w_4;
            acc_11 += x_6 * w_4;
            acc_12 += x_7 * w_4;
            acc += x_3 * w_5;
            acc_2 += x_4 * w_5;
            acc_3 += x_5 * w_5;
            acc_4 += x_6 * w_5;
            acc_5 += x_7 * w_5;
            acc_6 += x_8 * w_5;
            acc_7 += x_3 * w_6;
            acc_8 += x_4 * w_6;
            acc_9 += x_5 * w_6;
            acc_10 += x_6 * w_6;
            acc_11 += x_7 * w_6;
            acc_12 += x_8 * w_6;
            float x_9, x_10, x_11, x_12, x_13, x_14, x_15, x_16; npu_dsp_load_8_s24(&patch[32], &x_9, &x_10, &x_11, &x_12, &x_13, &x_14, &x_15, &x_16);
            acc += x_9 * w_7;
            acc_2 += x_10 * w_7;
            acc_3 += x_11 * w_7;
            acc_4 += x_12 * w_7;
            acc_5 += x_13 * w_7;
            acc_6 += x_14 * w_7;
            acc_7 += x_9 * w_8;
            acc_8 += x_10 * w_8;
            acc_9 += x_11 * w_8;
            acc_10 += x_12 * w_8;
            acc_11 += x_13 * w_8;
            acc_12 += x_14 * w_8;
            acc += x_10 * w_9;
            acc_2 += x_11 * w_9;
            acc_3 += x_12 * w_9;
            acc_4 += x_13 * w_9;
            acc_5 += x_14 * w_9;
            acc_6 += x_15 * w_9;
            acc_7 += x_10 * w_10;
            acc_8 += x_11 * w_10;
            acc_9 += x_12 * w_10;
            acc_10 += x_13 * w_10;
            acc_11 += x_14 * w_10;
            acc_12 += x_15 * w_10;
            float w_11, w_12, w_13, w_14, w_15, w_16, w_17, w_18; npu_dsp_load_8_s0(&taps[10], &w_11, &w_12, &w_13, &w_14, &w_15, &w_16, &w_17, &w_18);
            acc += x_11 * w_11;
            acc_2 += x_12 * w_11;
            acc_3 += x_13 * w_11;
            acc_4 += x_14 * w_11;
            acc_5 += x_15 * w_11;
            acc_6 += x_16 * w_11;
            acc_7 += x_11 * w_12;
            acc_8 += x_12 * w_12;
            acc_9 += x_13 * w_12;
            acc_10 += x_14 * w_12;
            acc_11 += x_15 * w_12;
            acc_12 += x_16 * w_12;
            float x_17, x_18, x_19, x_20, x_21, x_22, x_23, x_24; npu_dsp_load_8_s24(&patch[64], &x_17, &x_18, &x_19, &x_20, &x_21, &x_22, &x_23, &x_24);
            acc += x_17 * w_13;
            acc_2 += x_18 * w_13;
            acc_3 += x_19 * w_13;
            acc_4 += x_20 * w_13;
            acc_5 += x_21 * w_13;
            acc_6 += x_22 * w_13;
            acc_7 += x_17 * w_14;
            acc_8 += x_18 * w_14;
            acc_9 += x_19 * w_14;
            acc_10 += x_20 * w_14;
            acc_11 += x_21 * w_14;
            acc_12 += x_22 * w_14;
            acc += x_18 * w_15;
            acc_2 += x_19 * w_15;
            acc_3 += x_20 * w_15;
            acc_4 += x_21 * w_15;
            acc_5 += x_22 * w_15;
            acc_6 += x_23 * w_15;
            acc_7 += x_18 * w_16;
            acc_8 += x_19 * w_16;
            acc_9 += x_20 * w_16;
            acc_10 += x_21 * w_16;
            acc_11 += x_22 * w_16;
            acc_12 += x_23 * w_16;
            acc += x_19 * w_17;
            acc_2 += x_20 * w_17;
            acc_3 += x_21 * w_17;
            acc_4 += x_22 * w_17;
            acc_5 += x_23 * w_17;
            acc_6 += x_24 * w_17;
            acc_7 += x_19 * w_18;
            acc_8 += x_20 * w_18;
            acc_9 += x_21 * w_18;
            acc_10 += x_22 * w_18;
            acc_11 += x_23 * w_18;
            acc_12 += x_24 * w_18;
        }
        ofm[oy * 6] = acc;
        ofm[oy * 6 + 1] = acc_2;
        ofm[oy * 6 + 2] = acc_3;
        ofm[oy * 6 + 3] = acc_4;
        ofm[oy * 6 + 4] = acc_5;
        ofm[oy * 6 + 5] = acc_6;
        ofm[oy * 6 + 36] = acc_7;
        ofm[oy * 6 + 37] = acc_8;
        ofm[oy * 6 + 38] = acc_9;
        ofm[oy * 6 + 39] = acc_10;
        ofm[oy * 6 + 40] = acc_11;
        ofm[oy * 6 + 41] = acc_12;
    }
}

int net_run(const float *x, float *y, void *arena)
{
    unsigned char *const bytes = (unsigned char *)arena;
    if (x == NULL || y == NULL || arena == NULL) {
        return 1;
    }
    if ((uintptr_t)arena % 16u != 0u) {
        return 2;
    }
    /* x: 1x3x8x8 float */
    float *const x_map = (float *)(void *)(bytes + NET_X_OFFSET);
    /* y: 1x2x6x6 float */
    float *const y_map = (float *)(void *)(bytes + NET_Y_OFFSET);
    if (x != x_map) {
        memmove(x_map, x, 192 * sizeof(float));
    }
    /* 8 float, arena bytes 0 to 31 */
    float *const kept = (float *)(void *)(bytes);
    for (int m = 0; m < 24; ++m) {
        const int16_t to = net_net_x_moves[m];
        const int16_t from = net_net_x_moves[m + 1];
        if (to == -1) {
            float *const line = x_map + ((int)from * 8);
            npu_dsp_copy_8(&kept[0], &line[0]);
        } else {
            if (from == -1) {
                float *const line = x_map + ((int)to * 8);
                npu_dsp_copy_8(&line[0], &kept[0]);
            } else {
                float *const line = x_map + ((int)from * 8);
                float *const line_2 = x_map + ((int)to * 8);
                npu_dsp_copy_8(&line_2[0], &line[0]);
            }
        }
    }
    /* 1x4x8x8 float, arena bytes 40 to 1063 */
    float *const a = (float *)(void *)(bytes + 40);
    net_one(x_map, a);
    NET_ON_LAYER(0, "one");
    net_two(a, y_map);
    NET_ON_LAYER(1, "two");
    if (y != y_map) {
        memmove(y, y_map, 72 * sizeof(float));
    }
    return 0;
}
