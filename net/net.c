/* net: printed by npu-dialect, do not edit. */

#include "net.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef NPU_RESTRICT
#if defined(__GNUC__) || defined(__clang__)
#define NPU_RESTRICT __restrict__
#elif !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define NPU_RESTRICT restrict
#else
#define NPU_RESTRICT
#endif
#endif

/* Called after each layer, or each part of one that runs in parts, with its number in report.json
 * and its name: define it to trace or to measure. */
#ifndef NET_ON_LAYER
#define NET_ON_LAYER(index, name) ((void)0)
#endif

/* Where the weights go: define it as __attribute__((section("..."))) to choose. */
#ifndef NET_WEIGHTS_SECTION
#define NET_WEIGHTS_SECTION
#endif

/* v: 4x3x3x3 float */
static const float net_v[108] NET_WEIGHTS_SECTION = {
    0.12573022f, -0.13210486f, 0.64042264f, 0.104900114f, -0.5356694f, 0.36159506f, 1.304f, 0.94708097f,
    -0.70373523f, -1.2654215f, -0.62327445f, 0.04132598f, -2.3250308f, -0.21879166f, -1.245911f, -0.7322674f,
    -0.544259f, -0.31630015f, 0.41163054f, 1.0425134f, -0.12853466f, 1.3664634f, -0.6651947f, 0.35151008f,
    0.90347016f, 0.0940123f, -0.7434993f, -0.9217254f, -0.45772582f, 0.22019513f, -1.0096182f, -0.20917557f,
    -0.15922502f, 0.5408456f, 0.21465912f, 0.3553727f, -0.6538286f, -0.12961364f, 0.7839755f, 1.4934311f,
    -1.2590655f, 1.5139238f, 1.3458754f, 0.7813114f, 0.26445562f, -0.31392282f, 1.4580207f, 1.9602584f,
    1.8016349f, 1.3151038f, 0.35738042f, -1.2083186f, -0.004454133f, 0.65647495f, -1.2883614f, 0.39512205f,
    0.4298637f, 0.6960427f, -1.1841179f, -0.6617026f, -0.43643525f, -1.169802f, 1.7393678f, -0.49591073f,
    0.32896963f, -0.25857255f, 1.5834728f, 1.320361f, 0.63335264f, -2.2035098f, 0.052028973f, 0.6836862f,
    1.0039616f, -0.61790705f, 1.8220114f, -1.320431f, -0.66152805f, 0.93505f, 0.049054615f, 2.0023925f,
    0.1885192f, -0.6331941f, -0.3775635f, -1.0911461f, -1.2776802f, 0.6304115f, 0.5811658f, 1.2945588f,
    -0.75460577f, 1.6891074f, -0.2873877f, 1.5744083f, -0.43278584f, -0.7354833f, 0.24978538f, 1.0314531f,
    0.16100958f, -0.58552885f, -1.3412197f, -1.4015203f, 0.50268286f, 0.989713f, -0.16429459f, -1.0743649f,
    0.87304217f, -1.280394f, -0.71306807f, 0.6210179f,
};

/* w: 2x4x3x3 float */
static const float net_w[72] NET_WEIGHTS_SECTION = {
    0.34558418f, 0.82161814f, 0.33043706f, -1.3031572f, 0.9053559f, 0.44637457f, -0.5369532f, 0.5811181f,
    0.3645724f, 0.2941325f, 0.028422242f, 0.546713f, -0.73645407f, -0.16290995f, -0.48211932f, 0.5988462f,
    0.039722107f, -0.29245675f, -0.78190845f, -0.25719225f, 0.008142181f, -0.2756029f, 1.2940638f, 1.0067244f,
    -2.7111626f, -1.8890133f, -0.1747721f, -0.4221904f, 0.213643f, 0.21732193f, 2.1178389f, -1.1120207f,
    -0.37760502f, 2.0427716f, 0.646703f, 0.66306335f, -0.5140064f, -1.6480752f, 0.16746475f, 0.10901409f,
    -1.227352f, -0.68322664f, -0.07204368f, -0.9447516f, -0.09826997f, 0.09548303f, 0.035586238f, -0.5062917f,
    0.5937481f, 0.8911669f, 0.32084832f, -0.8182302f, 0.73165226f, -0.50144005f, 0.87916064f, -1.0717874f,
    0.9144672f, -0.020063454f, -1.2487489f, -0.31389946f, 0.05410228f, 0.27279133f, -0.9821881f, -1.107373f,
    0.19958453f, -0.4667496f, 0.23550561f, 0.7595195f, -1.6487874f, 0.25438812f, 1.2246469f, -0.29752684f,
};

/* net_x_moves: 25 int16_t */
static const int16_t net_net_x_moves[25] NET_WEIGHTS_SECTION = {
    -1, 1, 8, 18, 6, 2, 16, 13,
    12, 4, 9, 3, -1, 5, 17, 21,
    7, 10, 11, 19, 14, 20, 22, 15,
    -1,
};

/* Tight loops are compiled on their own: inside a caller they would run out of registers. */
#ifndef NPU_NOINLINE
#ifdef __GNUC__
#define NPU_NOINLINE __attribute__((noinline))
#else
#define NPU_NOINLINE
#endif
#endif

/* one: npu.conv2d strides [1, 1] pads [1, 1, 1, 1]
 *   ifm: 1x3x8x8 float, fast bytes 0 to 767
 *   weight: 4x3x3x3 float, weights v
 *   ofm: 1x4x8x8 float, fast bytes 192 to 1215
 */
static NPU_NOINLINE void net_one(const float *ifm, const float *NPU_RESTRICT weight, float *ofm)
{
    for (int oy = 0; oy < 8; ++oy) {
        const int oy_2 = 7 - oy;
        if ((unsigned int)(oy_2 - 1) < 6u) {
            const int iy = oy_2 - 1;
            float acc = 0.0f;
            float acc_2 = 0.0f;
            float acc_3 = 0.0f;
            float acc_4 = 0.0f;
            for (int ic = 0; ic < 3; ++ic) {
                const float value = ifm[ic * 8 + iy * 24];
                acc += value * weight[ic * 9 + 1];
                acc_2 += value * weight[ic * 9 + 28];
                acc_3 += value * weight[ic * 9 + 55];
                acc_4 += value * weight[ic * 9 + 82];
                const float value_2 = ifm[ic * 8 + iy * 24 + 1];
                acc += value_2 * weight[ic * 9 + 2];
                acc_2 += value_2 * weight[ic * 9 + 29];
                acc_3 += value_2 * weight[ic * 9 + 56];
                acc_4 += value_2 * weight[ic * 9 + 83];
                const float value_3 = ifm[ic * 8 + iy * 24 + 24];
                acc += value_3 * weight[ic * 9 + 4];
                acc_2 += value_3 * weight[ic * 9 + 31];
                acc_3 += value_3 * weight[ic * 9 + 58];
                acc_4 += value_3 * weight[ic * 9 + 85];
                const float value_4 = ifm[ic * 8 + iy * 24 + 25];
                acc += value_4 * weight[ic * 9 + 5];
                acc_2 += value_4 * weight[ic * 9 + 32];
                acc_3 += value_4 * weight[ic * 9 + 59];
                acc_4 += value_4 * weight[ic * 9 + 86];
                const float value_5 = ifm[ic * 8 + iy * 24 + 48];
                acc += value_5 * weight[ic * 9 + 7];
                acc_2 += value_5 * weight[ic * 9 + 34];
                acc_3 += value_5 * weight[ic * 9 + 61];
                acc_4 += value_5 * weight[ic * 9 + 88];
                const float value_6 = ifm[ic * 8 + iy * 24 + 49];
                acc += value_6 * weight[ic * 9 + 8];
                acc_2 += value_6 * weight[ic * 9 + 35];
                acc_3 += value_6 * weight[ic * 9 + 62];
                acc_4 += value_6 * weight[ic * 9 + 89];
            }
            ofm[oy_2 * 32] = acc;
            ofm[oy_2 * 32 + 8] = acc_2;
            ofm[oy_2 * 32 + 16] = acc_3;
            ofm[oy_2 * 32 + 24] = acc_4;
            for (int ox = 1; ox < 7; ox += 2) {
                float acc_5 = 0.0f;
                float acc_6 = 0.0f;
                float acc_7 = 0.0f;
                float acc_8 = 0.0f;
                float acc_9 = 0.0f;
                float acc_10 = 0.0f;
                float acc_11 = 0.0f;
                float acc_12 = 0.0f;
                for (int ic = 0; ic < 3; ++ic) {
                    const float *const patch = ifm + (ic * 8 + oy_2 * 24 + ox - 25);
                    const float *const taps = weight + (ic * 9);
                    const float *const taps_2 = weight + (ic * 9 + 27);
                    const float *const taps_3 = weight + (ic * 9 + 54);
                    const float *const taps_4 = weight + (ic * 9 + 81);
                    const float w = taps[0];
                    const float w_2 = taps_2[0];
                    const float w_3 = taps_3[0];
                    const float w_4 = taps_4[0];
                    const float x = patch[0];
                    acc_5 += x * w;
                    const float x_2 = patch[1];
                    acc_6 += x_2 * w;
                    acc_7 += x * w_2;
                    acc_8 += x_2 * w_2;
                    acc_9 += x * w_3;
                    acc_10 += x_2 * w_3;
                    acc_11 += x * w_4;
                    acc_12 += x_2 * w_4;
                    const float w_5 = taps[1];
                    const float w_6 = taps_2[1];
                    const float w_7 = taps_3[1];
                    const float w_8 = taps_4[1];
                    acc_5 += x_2 * w_5;
                    const float x_3 = patch[2];
                    acc_6 += x_3 * w_5;
                    acc_7 += x_2 * w_6;
                    acc_8 += x_3 * w_6;
                    acc_9 += x_2 * w_7;
                    acc_10 += x_3 * w_7;
                    acc_11 += x_2 * w_8;
                    acc_12 += x_3 * w_8;
                    const float w_9 = taps[2];
                    const float w_10 = taps_2[2];
                    const float w_11 = taps_3[2];
                    const float w_12 = taps_4[2];
                    acc_5 += x_3 * w_9;
                    const float x_4 = patch[3];
                    acc_6 += x_4 * w_9;
                    acc_7 += x_3 * w_10;
                    acc_8 += x_4 * w_10;
                    acc_9 += x_3 * w_11;
                    acc_10 += x_4 * w_11;
                    acc_11 += x_3 * w_12;
                    acc_12 += x_4 * w_12;
                    const float w_13 = taps[3];
                    const float w_14 = taps_2[3];
                    const float w_15 = taps_3[3];
                    const float w_16 = taps_4[3];
                    const float x_5 = patch[24];
                    acc_5 += x_5 * w_13;
                    const float x_6 = patch[25];
                    acc_6 += x_6 * w_13;
                    acc_7 += x_5 * w_14;
                    acc_8 += x_6 * w_14;
                    acc_9 += x_5 * w_15;
                    acc_10 += x_6 * w_15;
                    acc_11 += x_5 * w_16;
                    acc_12 += x_6 * w_16;
                    const float w_17 = taps[4];
                    const float w_18 = taps_2[4];
                    const float w_19 = taps_3[4];
                    const float w_20 = taps_4[4];
                    acc_5 += x_6 * w_17;
                    const float x_7 = patch[26];
                    acc_6 += x_7 * w_17;
                    acc_7 += x_6 * w_18;
                    acc_8 += x_7 * w_18;
                    acc_9 += x_6 * w_19;
                    acc_10 += x_7 * w_19;
                    acc_11 += x_6 * w_20;
                    acc_12 += x_7 * w_20;
                    const float w_21 = taps[5];
                    const float w_22 = taps_2[5];
                    const float w_23 = taps_3[5];
                    const float w_24 = taps_4[5];
                    acc_5 += x_7 * w_21;
                    const float x_8 = patch[27];
                    acc_6 += x_8 * w_21;
                    acc_7 += x_7 * w_22;
                    acc_8 += x_8 * w_22;
                    acc_9 += x_7 * w_23;
                    acc_10 += x_8 * w_23;
                    acc_11 += x_7 * w_24;
                    acc_12 += x_8 * w_24;
                    const float w_25 = taps[6];
                    const float w_26 = taps_2[6];
                    const float w_27 = taps_3[6];
                    const float w_28 = taps_4[6];
                    const float x_9 = patch[48];
                    acc_5 += x_9 * w_25;
                    const float x_10 = patch[49];
                    acc_6 += x_10 * w_25;
                    acc_7 += x_9 * w_26;
                    acc_8 += x_10 * w_26;
                    acc_9 += x_9 * w_27;
                    acc_10 += x_10 * w_27;
                    acc_11 += x_9 * w_28;
                    acc_12 += x_10 * w_28;
                    const float w_29 = taps[7];
                    const float w_30 = taps_2[7];
                    const float w_31 = taps_3[7];
                    const float w_32 = taps_4[7];
                    acc_5 += x_10 * w_29;
                    const float x_11 = patch[50];
                    acc_6 += x_11 * w_29;
                    acc_7 += x_10 * w_30;
                    acc_8 += x_11 * w_30;
                    acc_9 += x_10 * w_31;
                    acc_10 += x_11 * w_31;
                    acc_11 += x_10 * w_32;
                    acc_12 += x_11 * w_32;
                    const float w_33 = taps[8];
                    const float w_34 = taps_2[8];
                    const float w_35 = taps_3[8];
                    const float w_36 = taps_4[8];
                    acc_5 += x_11 * w_33;
                    const float x_12 = patch[51];
                    acc_6 += x_12 * w_33;
                    acc_7 += x_11 * w_34;
                    acc_8 += x_12 * w_34;
                    acc_9 += x_11 * w_35;
                    acc_10 += x_12 * w_35;
                    acc_11 += x_11 * w_36;
                    acc_12 += x_12 * w_36;
                }
                ofm[oy_2 * 32 + ox] = acc_5;
                ofm[oy_2 * 32 + ox + 1] = acc_6;
                ofm[oy_2 * 32 + ox + 8] = acc_7;
                ofm[oy_2 * 32 + ox + 9] = acc_8;
                ofm[oy_2 * 32 + ox + 16] = acc_9;
                ofm[oy_2 * 32 + ox + 17] = acc_10;
                ofm[oy_2 * 32 + ox + 24] = acc_11;
                ofm[oy_2 * 32 + ox + 25] = acc_12;
            }
            const int iy_2 = oy_2 - 1;
            float acc_5 = 0.0f;
            float acc_6 = 0.0f;
            float acc_7 = 0.0f;
            float acc_8 = 0.0f;
            for (int ic = 0; ic < 3; ++ic) {
                const float value = ifm[ic * 8 + iy_2 * 24 + 6];
                acc_5 += value * weight[ic * 9];
                acc_6 += value * weight[ic * 9 + 27];
                acc_7 += value * weight[ic * 9 + 54];
                acc_8 += value * weight[ic * 9 + 81];
                const float value_2 = ifm[ic * 8 + iy_2 * 24 + 7];
                acc_5 += value_2 * weight[ic * 9 + 1];
                acc_6 += value_2 * weight[ic * 9 + 28];
                acc_7 += value_2 * weight[ic * 9 + 55];
                acc_8 += value_2 * weight[ic * 9 + 82];
                const float value_3 = ifm[ic * 8 + iy_2 * 24 + 30];
                acc_5 += value_3 * weight[ic * 9 + 3];
                acc_6 += value_3 * weight[ic * 9 + 30];
                acc_7 += value_3 * weight[ic * 9 + 57];
                acc_8 += value_3 * weight[ic * 9 + 84];
                const float value_4 = ifm[ic * 8 + iy_2 * 24 + 31];
                acc_5 += value_4 * weight[ic * 9 + 4];
                acc_6 += value_4 * weight[ic * 9 + 31];
                acc_7 += value_4 * weight[ic * 9 + 58];
                acc_8 += value_4 * weight[ic * 9 + 85];
                const float value_5 = ifm[ic * 8 + iy_2 * 24 + 54];
                acc_5 += value_5 * weight[ic * 9 + 6];
                acc_6 += value_5 * weight[ic * 9 + 33];
                acc_7 += value_5 * weight[ic * 9 + 60];
                acc_8 += value_5 * weight[ic * 9 + 87];
                const float value_6 = ifm[ic * 8 + iy_2 * 24 + 55];
                acc_5 += value_6 * weight[ic * 9 + 7];
                acc_6 += value_6 * weight[ic * 9 + 34];
                acc_7 += value_6 * weight[ic * 9 + 61];
                acc_8 += value_6 * weight[ic * 9 + 88];
            }
            ofm[oy_2 * 32 + 7] = acc_5;
            ofm[oy_2 * 32 + 15] = acc_6;
            ofm[oy_2 * 32 + 23] = acc_7;
            ofm[oy_2 * 32 + 31] = acc_8;
        } else {
            const int iy = oy_2 - 1;
            const int value = oy_2 - 1;
            const int value_2 = 0 - value;
            const int value_3 = value_2 > 0 ? value_2 : 0;
            const int value_4 = 8 - value;
            const int value_5 = value_4 < 3 ? value_4 : 3;
            float acc = 0.0f;
            float acc_2 = 0.0f;
            float acc_3 = 0.0f;
            float acc_4 = 0.0f;
            for (int ic = 0; ic < 3; ++ic) {
                for (int ky = value_3; ky < value_5; ++ky) {
                    for (int kx = 1; kx < 3; ++kx) {
                        const float value_6 = ifm[ic * 8 + iy * 24 + ky * 24 + kx - 1];
                        acc += value_6 * weight[ic * 9 + ky * 3 + kx];
                        acc_2 += value_6 * weight[ic * 9 + ky * 3 + kx + 27];
                        acc_3 += value_6 * weight[ic * 9 + ky * 3 + kx + 54];
                        acc_4 += value_6 * weight[ic * 9 + ky * 3 + kx + 81];
                    }
                }
            }
            ofm[oy_2 * 32] = acc;
            ofm[oy_2 * 32 + 8] = acc_2;
            ofm[oy_2 * 32 + 16] = acc_3;
            ofm[oy_2 * 32 + 24] = acc_4;
            for (int ox = 1; ox < 7; ox += 2) {
                const int value_6 = oy_2 - 1;
                const int value_7 = 0 - value_6;
                const int value_8 = value_7 > 0 ? value_7 : 0;
                const int value_9 = 8 - value_6;
                const int value_10 = value_9 < 3 ? value_9 : 3;
                const int iy_2 = oy_2 - 1;
                const int ix = ox - 1;
                float acc_5 = 0.0f;
                float acc_6 = 0.0f;
                float acc_7 = 0.0f;
                float acc_8 = 0.0f;
                float acc_9 = 0.0f;
                float acc_10 = 0.0f;
                float acc_11 = 0.0f;
                float acc_12 = 0.0f;
                for (int ic = 0; ic < 3; ++ic) {
                    for (int ky = value_8; ky < value_10; ++ky) {
                        const float *const patch = ifm + (ic * 8 + iy_2 * 24 + ky * 24 + ix);
                        const float *const taps = weight + (ic * 9 + ky * 3);
                        const float *const taps_2 = weight + (ic * 9 + ky * 3 + 27);
                        const float *const taps_3 = weight + (ic * 9 + ky * 3 + 54);
                        const float *const taps_4 = weight + (ic * 9 + ky * 3 + 81);
                        const float w = taps[0];
                        const float w_2 = taps_2[0];
                        const float w_3 = taps_3[0];
                        const float w_4 = taps_4[0];
                        const float x = patch[0];
                        acc_5 += x * w;
                        const float x_2 = patch[1];
                        acc_6 += x_2 * w;
                        acc_7 += x * w_2;
                        acc_8 += x_2 * w_2;
                        acc_9 += x * w_3;
                        acc_10 += x_2 * w_3;
                        acc_11 += x * w_4;
                        acc_12 += x_2 * w_4;
                        const float w_5 = taps[1];
                        const float w_6 = taps_2[1];
                        const float w_7 = taps_3[1];
                        const float w_8 = taps_4[1];
                        acc_5 += x_2 * w_5;
                        const float x_3 = patch[2];
                        acc_6 += x_3 * w_5;
                        acc_7 += x_2 * w_6;
                        acc_8 += x_3 * w_6;
                        acc_9 += x_2 * w_7;
                        acc_10 += x_3 * w_7;
                        acc_11 += x_2 * w_8;
                        acc_12 += x_3 * w_8;
                        const float w_9 = taps[2];
                        const float w_10 = taps_2[2];
                        const float w_11 = taps_3[2];
                        const float w_12 = taps_4[2];
                        acc_5 += x_3 * w_9;
                        const float x_4 = patch[3];
                        acc_6 += x_4 * w_9;
                        acc_7 += x_3 * w_10;
                        acc_8 += x_4 * w_10;
                        acc_9 += x_3 * w_11;
                        acc_10 += x_4 * w_11;
                        acc_11 += x_3 * w_12;
                        acc_12 += x_4 * w_12;
                    }
                }
                ofm[oy_2 * 32 + ox] = acc_5;
                ofm[oy_2 * 32 + ox + 1] = acc_6;
                ofm[oy_2 * 32 + ox + 8] = acc_7;
                ofm[oy_2 * 32 + ox + 9] = acc_8;
                ofm[oy_2 * 32 + ox + 16] = acc_9;
                ofm[oy_2 * 32 + ox + 17] = acc_10;
                ofm[oy_2 * 32 + ox + 24] = acc_11;
                ofm[oy_2 * 32 + ox + 25] = acc_12;
            }
            const int iy_2 = oy_2 - 1;
            const int value_6 = oy_2 - 1;
            const int value_7 = 0 - value_6;
            const int value_8 = value_7 > 0 ? value_7 : 0;
            const int value_9 = 8 - value_6;
            const int value_10 = value_9 < 3 ? value_9 : 3;
            float acc_5 = 0.0f;
            float acc_6 = 0.0f;
            float acc_7 = 0.0f;
            float acc_8 = 0.0f;
            for (int ic = 0; ic < 3; ++ic) {
                for (int ky = value_8; ky < value_10; ++ky) {
                    for (int kx = 0; kx < 2; ++kx) {
                        const float value_11 = ifm[ic * 8 + iy_2 * 24 + ky * 24 + kx + 6];
                        acc_5 += value_11 * weight[ic * 9 + ky * 3 + kx];
                        acc_6 += value_11 * weight[ic * 9 + ky * 3 + kx + 27];
                        acc_7 += value_11 * weight[ic * 9 + ky * 3 + kx + 54];
                        acc_8 += value_11 * weight[ic * 9 + ky * 3 + kx + 81];
                    }
                }
            }
            ofm[oy_2 * 32 + 7] = acc_5;
            ofm[oy_2 * 32 + 15] = acc_6;
            ofm[oy_2 * 32 + 23] = acc_7;
            ofm[oy_2 * 32 + 31] = acc_8;
        }
    }
}

/* two: npu.conv2d strides [1, 1] pads [0, 0, 0, 0]
 *   ifm: 1x4x8x8 float, fast bytes 192 to 1215
 *   weight: 2x4x3x3 float, weights w
 *   ofm: 1x2x6x6 float, fast bytes 0 to 287
 */
static NPU_NOINLINE void net_two(const float *ifm, const float *NPU_RESTRICT weight, float *ofm)
{
    for (int oy = 0; oy < 6; ++oy) {
        for (int ox = 0; ox < 6; ox += 3) {
            float acc = 0.0f;
            float acc_2 = 0.0f;
            float acc_3 = 0.0f;
            float acc_4 = 0.0f;
            float acc_5 = 0.0f;
            float acc_6 = 0.0f;
            for (int ic = 0; ic < 4; ++ic) {
                const float *const patch = ifm + (ic * 8 + oy * 32 + ox);
                const float *const taps = weight + (ic * 9);
                const float *const taps_2 = weight + (ic * 9 + 36);
                const float w = taps[0];
                const float w_2 = taps_2[0];
                const float x = patch[0];
                acc += x * w;
                const float x_2 = patch[1];
                acc_2 += x_2 * w;
                const float x_3 = patch[2];
                acc_3 += x_3 * w;
                acc_4 += x * w_2;
                acc_5 += x_2 * w_2;
                acc_6 += x_3 * w_2;
                const float w_3 = taps[1];
                const float w_4 = taps_2[1];
                acc += x_2 * w_3;
                acc_2 += x_3 * w_3;
                const float x_4 = patch[3];
                acc_3 += x_4 * w_3;
                acc_4 += x_2 * w_4;
                acc_5 += x_3 * w_4;
                acc_6 += x_4 * w_4;
                const float w_5 = taps[2];
                const float w_6 = taps_2[2];
                acc += x_3 * w_5;
                acc_2 += x_4 * w_5;
                const float x_5 = patch[4];
                acc_3 += x_5 * w_5;
                acc_4 += x_3 * w_6;
                acc_5 += x_4 * w_6;
                acc_6 += x_5 * w_6;
                const float w_7 = taps[3];
                const float w_8 = taps_2[3];
                const float x_6 = patch[32];
                acc += x_6 * w_7;
                const float x_7 = patch[33];
                acc_2 += x_7 * w_7;
                const float x_8 = patch[34];
                acc_3 += x_8 * w_7;
                acc_4 += x_6 * w_8;
                acc_5 += x_7 * w_8;
                acc_6 += x_8 * w_8;
                const float w_9 = taps[4];
                const float w_10 = taps_2[4];
                acc += x_7 * w_9;
                acc_2 += x_8 * w_9;
                const float x_9 = patch[35];
                acc_3 += x_9 * w_9;
                acc_4 += x_7 * w_10;
                acc_5 += x_8 * w_10;
                acc_6 += x_9 * w_10;
                const float w_11 = taps[5];
                const float w_12 = taps_2[5];
                acc += x_8 * w_11;
                acc_2 += x_9 * w_11;
                const float x_10 = patch[36];
                acc_3 += x_10 * w_11;
                acc_4 += x_8 * w_12;
                acc_5 += x_9 * w_12;
                acc_6 += x_10 * w_12;
                const float w_13 = taps[6];
                const float w_14 = taps_2[6];
                const float x_11 = patch[64];
                acc += x_11 * w_13;
                const float x_12 = patch[65];
                acc_2 += x_12 * w_13;
                const float x_13 = patch[66];
                acc_3 += x_13 * w_13;
                acc_4 += x_11 * w_14;
                acc_5 += x_12 * w_14;
                acc_6 += x_13 * w_14;
                const float w_15 = taps[7];
                const float w_16 = taps_2[7];
                acc += x_12 * w_15;
                acc_2 += x_13 * w_15;
                const float x_14 = patch[67];
                acc_3 += x_14 * w_15;
                acc_4 += x_12 * w_16;
                acc_5 += x_13 * w_16;
                acc_6 += x_14 * w_16;
                const float w_17 = taps[8];
                const float w_18 = taps_2[8];
                acc += x_13 * w_17;
                acc_2 += x_14 * w_17;
                const float x_15 = patch[68];
                acc_3 += x_15 * w_17;
                acc_4 += x_13 * w_18;
                acc_5 += x_14 * w_18;
                acc_6 += x_15 * w_18;
            }
            ofm[oy * 6 + ox] = acc;
            ofm[oy * 6 + ox + 1] = acc_2;
            ofm[oy * 6 + ox + 2] = acc_3;
            ofm[oy * 6 + ox + 36] = acc_4;
            ofm[oy * 6 + ox + 37] = acc_5;
            ofm[oy * 6 + ox + 38] = acc_6;
        }
    }
}

int net_run(const float *x, float *y, void *fast)
{
    unsigned char *const fast_bytes = (unsigned char *)fast;
    if (x == NULL || y == NULL || fast == NULL) {
        return 1;
    }
    if ((uintptr_t)fast % 16u != 0u) {
        return 2;
    }
    /* x: 1x3x8x8 float */
    float *const x_map = (float *)(void *)(fast_bytes + NET_X_OFFSET);
    /* y: 1x2x6x6 float */
    float *const y_map = (float *)(void *)(fast_bytes + NET_Y_OFFSET);
    if (x != x_map) {
        memmove(x_map, x, 192 * sizeof(float));
    }
    /* 8 float, fast bytes 768 to 799 */
    float *const kept = (float *)(void *)(fast_bytes + 768);
    for (int m = 0; m < 24; ++m) {
        const int16_t to = net_net_x_moves[m];
        const int16_t from = net_net_x_moves[m + 1];
        if (to == -1) {
            float *const line = x_map + ((int)from * 8);
            for (int i = 0; i < 8; i += 4) {
                const int value = i + 1;
                const int value_2 = i + 2;
                const int value_3 = i + 3;
                const float x_2 = line[value];
                const float x_3 = line[value_2];
                const float x_4 = line[value_3];
                kept[i] = line[i];
                kept[value] = x_2;
                kept[value_2] = x_3;
                kept[value_3] = x_4;
            }
        } else {
            if (from == -1) {
                float *const line = x_map + ((int)to * 8);
                for (int i = 0; i < 8; i += 4) {
                    const int value = i + 1;
                    const int value_2 = i + 2;
                    const int value_3 = i + 3;
                    const float x_2 = kept[value];
                    const float x_3 = kept[value_2];
                    const float x_4 = kept[value_3];
                    line[i] = kept[i];
                    line[value] = x_2;
                    line[value_2] = x_3;
                    line[value_3] = x_4;
                }
            } else {
                float *const line = x_map + ((int)from * 8);
                float *const line_2 = x_map + ((int)to * 8);
                for (int i = 0; i < 8; i += 4) {
                    const int value = i + 1;
                    const int value_2 = i + 2;
                    const int value_3 = i + 3;
                    const float x_2 = line[value];
                    const float x_3 = line[value_2];
                    const float x_4 = line[value_3];
                    line_2[i] = line[i];
                    line_2[value] = x_2;
                    line_2[value_2] = x_3;
                    line_2[value_3] = x_4;
                }
            }
        }
    }
    /* 1x4x8x8 float, fast bytes 192 to 1215 */
    float *const a = (float *)(void *)(fast_bytes + 192);
    net_one(x_map, net_v, a);
    NET_ON_LAYER(0, "one");
    net_two(a, net_w, y_map);
    NET_ON_LAYER(1, "two");
    if (y != y_map) {
        memmove(y, y_map, 72 * sizeof(float));
    }
    return 0;
}
