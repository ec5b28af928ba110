// The two inner loops of resizing, which Swift cannot write as fast: an instruction that multiplies
// pairs of 16-bit numbers and adds each pair has no name in Swift.
//
// All arithmetic is of integers, so that every CPU gives the same bytes; each loop stands here plain,
// for any CPU, and for AVX2. Weights have 14 bits behind the point, what lies between the passes 6.
#pragma once
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#define TW_BETWEEN_SHIFT 8   // 14 bits of the weights less the 6 that stay
#define TW_BYTE_SHIFT 20     // 14 bits of the weights and those 6

// Down the columns: `count` sums over `taps` rows of bytes. `taps` is even. `rows` and `out` have
// room for 32 elements behind the last: they are read and written in blocks.
static inline void tw_resample_columns_plain(
    const uint8_t *const *rows, const int16_t *weights, int taps, int count, int16_t *out) {
  for (int x = 0; x < count; x += 16) {
    int32_t sums[16];
    for (int j = 0; j < 16; j++) sums[j] = 1 << (TW_BETWEEN_SHIFT - 1);
    for (int k = 0; k < taps; k++)
      for (int j = 0; j < 16; j++) sums[j] += rows[k][x + j] * weights[k];
    for (int j = 0; j < 16; j++) out[x + j] = (int16_t)(sums[j] >> TW_BETWEEN_SHIFT);
  }
}

// Along a row: `width` pixels of `bands` bytes, each a sum over `taps` pixels from its start on.
// `taps` is a multiple of four. `row` has room for 8 elements behind the last that a window takes.
static inline void tw_resample_row_plain(
    const int16_t *row, const int32_t *starts, const int16_t *weights, int taps, int width,
    int bands, uint8_t *out) {
  for (int i = 0; i < width; i++, weights += taps)
    for (int b = 0; b < bands; b++) {
      const int16_t *from = row + (intptr_t)starts[i] * bands + b;
      int32_t sum = 1 << (TW_BYTE_SHIFT - 1);
      for (int k = 0; k < taps; k++) sum += from[(intptr_t)k * bands] * weights[k];
      sum >>= TW_BYTE_SHIFT;
      *out++ = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
    }
}

#if defined(__x86_64__)
#define TW_AVX2 __attribute__((target("avx2")))
typedef int8_t tw_bytes __attribute__((vector_size(32)));
typedef int16_t tw_shorts __attribute__((vector_size(32)));
typedef int32_t tw_ints __attribute__((vector_size(32)));
typedef int16_t tw_half_shorts __attribute__((vector_size(16)));
typedef int32_t tw_half_ints __attribute__((vector_size(16)));

#define TW_LANES_LOW(a, b)                                                                        \
  __builtin_shufflevector(a, b, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 16, 48,   \
                          17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55)
#define TW_LANES_HIGH(a, b)                                                                       \
  __builtin_shufflevector(a, b, 8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47, 24, \
                          56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63)

TW_AVX2 static inline void tw_resample_columns_avx2(
    const uint8_t *const *rows, const int16_t *weights, int taps, int count, int16_t *out) {
  const tw_bytes zero = {0};
  const tw_ints half = (tw_ints){0} + (1 << (TW_BETWEEN_SHIFT - 1));
  for (int x = 0; x < count; x += 32) {
    tw_ints a = half, b = half, c = half, d = half;
    for (int k = 0; k < taps; k += 2) {
      tw_bytes even, odd;
      int32_t pair;
      memcpy(&even, rows[k] + x, 32);
      memcpy(&odd, rows[k + 1] + x, 32);
      memcpy(&pair, weights + k, 4);
      const tw_shorts both = (tw_shorts)((tw_ints){0} + pair);
      const tw_bytes low = TW_LANES_LOW(even, odd), high = TW_LANES_HIGH(even, odd);
      a += __builtin_ia32_pmaddwd256((tw_shorts)TW_LANES_LOW(low, zero), both);
      b += __builtin_ia32_pmaddwd256((tw_shorts)TW_LANES_HIGH(low, zero), both);
      c += __builtin_ia32_pmaddwd256((tw_shorts)TW_LANES_LOW(high, zero), both);
      d += __builtin_ia32_pmaddwd256((tw_shorts)TW_LANES_HIGH(high, zero), both);
    }
    // Lane by lane: elements 0 to 7 and 16 to 23, then 8 to 15 and 24 to 31.
    const tw_shorts first =
        __builtin_ia32_packssdw256(a >> TW_BETWEEN_SHIFT, b >> TW_BETWEEN_SHIFT);
    const tw_shorts second =
        __builtin_ia32_packssdw256(c >> TW_BETWEEN_SHIFT, d >> TW_BETWEEN_SHIFT);
    const tw_shorts front = __builtin_shufflevector(
        first, second, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    const tw_shorts back = __builtin_shufflevector(
        first, second, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    memcpy(out + x, &front, 32);
    memcpy(out + x + 16, &back, 32);
  }
}

// Four pixels at a time, two in each half of a register, their bands paired for the multiplication.
TW_AVX2 __attribute__((always_inline)) static inline void tw_resample_row_of_bands_avx2(
    const int16_t *row, const int32_t *starts, const int16_t *weights, int taps, int width,
    int bands, uint8_t *out) {
  const tw_half_ints zero = {0};
  // For each band its element of one pixel and of the next, as byte numbers; -1 gives zero.
  tw_bytes pairing, spread;
  for (int j = 0; j < 32; j++) {
    const int band = j % 16 / 4, next = j / 2 % 2, byte = j % 2;
    pairing[j] = (int8_t)(band < bands ? 2 * (band + next * bands) + byte : -1);
    spread[j] = (int8_t)(j / 16 * 4 + j % 4);
  }
  for (int i = 0; i < width; i++, weights += taps, out += bands) {
    const int16_t *from = row + (intptr_t)starts[i] * bands;
    tw_ints sums = {0};
    for (int k = 0; k < taps; k += 4, from += 4 * bands) {
      tw_half_shorts low, high;
      int64_t four;
      memcpy(&low, from, 16);
      memcpy(&high, from + 2 * bands, 16);
      memcpy(&four, weights + k, 8);
      const tw_bytes pixels = (tw_bytes)__builtin_shufflevector(
          low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
      typedef int64_t tw_longs __attribute__((vector_size(32)));
      const tw_longs fours = (tw_longs){0} + four;
      sums += __builtin_ia32_pmaddwd256(
          (tw_shorts)__builtin_ia32_pshufb256(pixels, pairing),
          (tw_shorts)__builtin_ia32_pshufb256((tw_bytes)fours, spread));
    }
    tw_half_ints sum = __builtin_shufflevector(sums, sums, 0, 1, 2, 3) +
                       __builtin_shufflevector(sums, sums, 4, 5, 6, 7);
    sum = (sum + (1 << (TW_BYTE_SHIFT - 1))) >> TW_BYTE_SHIFT;
    const tw_half_shorts narrow = __builtin_ia32_packssdw128(sum, zero);
    typedef int8_t tw_half_bytes __attribute__((vector_size(16)));
    const tw_half_bytes bytes = (tw_half_bytes)__builtin_ia32_packuswb128(narrow, narrow);
    if (__builtin_expect((width - i) * bands >= 4, 1))
      memcpy(out, &bytes, 4);
    else
      for (int b = 0; b < bands; b++) out[b] = (uint8_t)bytes[b];
  }
}

TW_AVX2 static inline void tw_resample_row_avx2(
    const int16_t *row, const int32_t *starts, const int16_t *weights, int taps, int width,
    int bands, uint8_t *out) {
  switch (bands) {
    case 1: tw_resample_row_of_bands_avx2(row, starts, weights, taps, width, 1, out); break;
    case 2: tw_resample_row_of_bands_avx2(row, starts, weights, taps, width, 2, out); break;
    case 3: tw_resample_row_of_bands_avx2(row, starts, weights, taps, width, 3, out); break;
    default: tw_resample_row_of_bands_avx2(row, starts, weights, taps, width, 4, out);
  }
}

static inline bool tw_has_avx2(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2");
}
#else
static inline void tw_resample_columns_avx2(
    const uint8_t *const *rows, const int16_t *weights, int taps, int count, int16_t *out) {
  tw_resample_columns_plain(rows, weights, taps, count, out);
}

static inline void tw_resample_row_avx2(
    const int16_t *row, const int32_t *starts, const int16_t *weights, int taps, int width,
    int bands, uint8_t *out) {
  tw_resample_row_plain(row, starts, weights, taps, width, bands, out);
}

static inline bool tw_has_avx2(void) { return false; }
#endif
