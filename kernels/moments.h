/*
 * moments.h - AdamW's moments a byte each: numbers become codes of a map, block by block (Dettmers et al. 2021, "8-bit
 * Optimizers via Block-wise Quantization", section 2).
 *
 * Their dynamic tree maps have as many values in each power of ten from 1e-7 to 1 as powers of two allow, so that what
 * is small beside its block's largest keeps a relative error of a few per cent.  A block of MOMENT_BLOCK numbers is
 * MOMENT_WORDS words of four bytes: a scale in f32, the largest size among them, then the codes in their order; a
 * number is the scale times what the map has for its code.  Updates are computed in f32, from moments that are not
 * rounded yet. Small parameters (below MOMENT_LEAST numbers) and embeddings, of whose rows a step moves few, keep
 * moments in f32.
 */
#ifndef KERNELS_MOMENTS_H
#define KERNELS_MOMENTS_H

#ifdef __cplusplus
extern "C" {
#endif

enum { MOMENT_BLOCK = 256, MOMENT_WORDS = 1 + MOMENT_BLOCK / 4, MOMENT_CODES = 256, MOMENT_LEAST = 4096 };

/* Ascending values of all codes, from -1 to 1, and from 0 to 1. */
struct moment_maps {
    float signed_values[MOMENT_CODES], squares[MOMENT_CODES];
};

void moment_maps_fill(struct moment_maps *m);

#ifdef __cplusplus
}
#endif
#endif
