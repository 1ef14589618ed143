/*
 * moments.h - AdamW's moments in 8 bits: each block of numbers is quantised with a map of codes (Dettmers et al. 2021,
 * "8-bit Optimizers via Block-wise Quantization", section 2).
 *
 * The dynamic tree maps double the number of values with each power of ten from 1e-7 to 1.  Numbers that are small
 * beside the largest of their block therefore keep a relative error of a few per cent.
 *
 * A block of MOMENT_BLOCK numbers is MOMENT_WORDS words of 4 bytes.  The first word is the scale in f32, the largest
 * absolute value of the block.  The codes follow in the order of the numbers.  A number is the scale times the map's
 * value for its code.  Updates are computed in f32 from moments before rounding.
 *
 * Parameters of fewer than MOMENT_LEAST numbers keep moments in f32.  So do embeddings, because a step updates few of
 * their rows.
 */
#ifndef KERNELS_MOMENTS_H
#define KERNELS_MOMENTS_H

#ifdef __cplusplus
extern "C" {
#endif

enum { MOMENT_BLOCK = 256, MOMENT_WORDS = 1 + MOMENT_BLOCK / 4, MOMENT_CODES = 256, MOMENT_LEAST = 4096 };

/* Values of all codes, ascending: from -1 to 1, and from 0 to 1. */
struct moment_maps {
    float signed_values[MOMENT_CODES], squares[MOMENT_CODES];
};

void moment_maps_fill(struct moment_maps *m);

#ifdef __cplusplus
}
#endif
#endif
