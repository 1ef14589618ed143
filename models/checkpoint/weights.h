/*
 * weights.h - a parameter's numbers in ambit.h5: all of them, or shorter ones for a model that is only run.
 *
 * A matrix in int8 has one f32 scale for each row: w = scale * q, with q from -127 to 127.  The scale of a row is its
 * largest magnitude over 127, so that no number moves by more than half a scale.  Vectors and small matrices stay f32.
 */
#ifndef MODELS_CHECKPOINT_WEIGHTS_H
#define MODELS_CHECKPOINT_WEIGHTS_H

#include "kernels/param.h"
#include "models/checkpoint/hdf5.h"

enum weights_form { WEIGHTS_F32, WEIGHTS_BF16, WEIGHTS_INT8 };
#define WEIGHTS_WORDS "f32|bf16|int8"
extern const char *const weights_words[]; /* by form; ends with NULL */

/* Groups of an ambit.h5. */
#define WEIGHTS_PARAM "param/"
#define WEIGHTS_SCALE "scale/"

/* Quantises w [rows, columns] to q of its shape and scale [rows].  A row of zeros has the scale 1. */
void weights_quantise(int8_t *q, float *scale, const float *w, int64_t rows, int64_t columns);

/* Writes a parameter, whose values are given, in the form or, where that is not worth it, in f32.  -1 with
 * EXIT_CODE_FAILURE; with EXIT_CODE_DATA where a matrix to be shortened holds infinity or NaN. */
int weights_put(struct hdf5_writer *w, const struct param *p, const float *values, enum weights_form form,
                struct error *err);

/* The tensors that hold a parameter in this file: its own and, where that is int8, the scales.  Returns how many; which
 * of them the file has is not looked at. */
struct weights_tensor {
    char name[HDF5_MAX_NAME];
    struct hdf5_tensor tensor; /* its name is the one above */
};
int weights_tensors(const struct hdf5_reader *r, const struct param *p, struct weights_tensor out[2]);
/* Whether the file holds a parameter of that name in int8. */
bool weights_scaled(const struct hdf5_reader *r, const char *name);
/* Reads a parameter whose tensors the file has, as f32 into values [tensor_size].  -1 with EXIT_CODE_CHECKPOINT, also
 * for a scale that is not finite and above zero. */
int weights_get(const struct hdf5_reader *r, const struct param *p, float *values, struct error *err);

#endif
