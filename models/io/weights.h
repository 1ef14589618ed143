/*
 * weights.h - parameters in ambit.h5: full f32, or shorter types for models that are only used for inference.
 *
 * An int8 matrix has one f32 scale per row: w = scale * q, with q from -127 to 127. A row's scale is its largest
 * magnitude divided by 127, so the error of an element is at most half a scale. Vectors and small matrices are stored
 * as f32.
 */
#ifndef MODELS_IO_WEIGHTS_H
#define MODELS_IO_WEIGHTS_H

#include "kernels/param.h"
#include "models/io/hdf5.h"

enum weights_type { WEIGHTS_F32, WEIGHTS_BF16, WEIGHTS_INT8 };
#define WEIGHTS_WORDS "f32|bf16|int8"
extern const char *const weights_words[]; /* by enum; ends with NULL */

/* Groups of tensors in ambit.h5. */
#define WEIGHTS_PARAM "param/"
#define WEIGHTS_SCALE "scale/"

/* Writes the values of a parameter in this type, or in f32 if it is not a large matrix. Returns -1 with
 * EXIT_CODE_FAILURE, or EXIT_CODE_DATA if a matrix to be shortened has infinity or NaN. */
int weights_put(struct hdf5_writer *w, const struct param *p, const float *values, enum weights_type type,
                struct error *err);

/* A tensor that holds a parameter or its scales. */
struct weights_tensor {
    char name[HDF5_MAX_NAME];
    struct hdf5_tensor tensor; /* its name points to `name` */
};
/* Returns in out the tensors of a parameter: its own, and the scales of an int8 matrix. Returns their number. They need
 * not exist in the file. */
int weights_tensors(const struct hdf5_reader *r, const struct param *p, struct weights_tensor out[2]);
/* Returns whether the file has the parameter in int8. */
bool weights_scaled(const struct hdf5_reader *r, const char *name);
/* Reads a parameter as f32 into values [tensor_size]. Its tensors must exist. Returns -1 with EXIT_CODE_CHECKPOINT,
 * also for a scale that is not finite and positive. */
int weights_get(const struct hdf5_reader *r, const struct param *p, float *values, struct error *err);

#endif
