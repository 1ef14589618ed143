/*
 * param.h - the list that initialisation, loading, saving, the optimizer and LoRA all walk.
 *
 * A parameter's name is the name in the checkpoint.  Trainable parameters own an F32 gradient and what their optimizer
 * keeps of them in F32; a BF16 weight also owns an F32 master copy.  All of it lies in the model arenas and lives as
 * long as the model.
 */
#ifndef KERNELS_PARAM_H
#define KERNELS_PARAM_H

#include "kernels/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What trains a parameter, and so what is kept of it: AdamW's means of g and g^2 in its own shape; Adafactor's means of
 * g^2 over the rows and over the columns of a matrix, [rows] and [cols], and of anything else in its own shape; AdamW's
 * in blocks of bytes, [blocks, MOMENT_WORDS] each as moments.h has them, but OPTIMIZER_ADAMW where that says so. */
enum optimizer {
    OPTIMIZER_NONE,
    OPTIMIZER_ADAMW,
    OPTIMIZER_ADAFACTOR,
    OPTIMIZER_ADAMW_BYTES,
    OPTIMIZER_SHARDED = 4 /* beside one of them: optim_init takes this rank's share of the states (optim.h) */
};
enum { PARAM_STATES = 2 };

/* PARAM_LESS_ONE: weights files of other programs hold it less 1, as a network says that multiplies by 1 + w. */
enum param_flags { PARAM_DECAY = 1, PARAM_FROZEN = 2, PARAM_LESS_ONE = 4, PARAM_EMBEDDING = 8 };

struct param {
    const char *name;
    struct tensor *t;
    struct tensor *master; /* F32 copy of a trainable BF16 weight, else NULL */
    enum optimizer optimizer;
    struct tensor *state[PARAM_STATES]; /* NULL: there is no such */
    int64_t first, end;                 /* of its numbers, those that are updated here: all, or this rank's share */
    unsigned flags;
    float lr_scale;
    float init_std;   /* 0: zeros, negative: ones, else normal(0, init_std) truncated at two deviations */
    float init_bound; /* above 0: uniform in +-init_bound instead */
};

struct params {
    struct param *list;
    int n, cap;
};

/* Declares a parameter and takes its memory: data from `data`, headers from `host`. */
struct param_arenas {
    struct arena *host, *data;
    enum optimizer optimizer; /* gradients, its state and masters too; OPTIMIZER_NONE: none of them */
};
struct tensor *param_new(struct params *p, const struct param_arenas *a, enum dtype dtype, int ndim,
                         const int64_t *shape, float init_std, unsigned flags, const char *name_fmt, ...)
    __attribute__((format(printf, 8, 9)));
/* Memory for parameters that lie below one another, so that they are one matrix too; they are declared one by one, top
 * down, each with its rows of the stack. */
struct param_stack {
    struct param whole;
    int64_t used; /* rows */
};
struct param_stack param_stack_new(const struct param_arenas *a, enum dtype dtype, int64_t rows, int64_t cols,
                                   unsigned flags);
struct tensor *param_new_stacked(struct params *p, const struct param_arenas *a, struct param_stack *s, int64_t rows,
                                 const char *name_fmt, ...) __attribute__((format(printf, 5, 6)));
struct param *params_find(const struct params *p, const char *name);
void params_release(struct params *p);
/* Returns the checkpoint group of the k-th optimizer state, for example "adam_m/". */
const char *param_state_group(const struct param *p, int k);
/* Writes the shape of the whole k-th state, not only of this rank's share.  Returns the number of dimensions, or -1 if
 * there is no such state. */
int param_state_shape(const struct param *p, int k, int64_t shape[TENSOR_MAX_DIMS]);
/* Where in it the share begins that is here: its numbers lie as the parameter's, or it is whole. */
int64_t param_state_first(const struct param *p);
/* Returns the same parameters without optimizer state, for inference.  The caller releases the list. */
struct params params_without_state(const struct params *p);

/* Draws initial values on the host (a parameter's numbers depend on its name and seed alone) and uploads them;
 * gradients and states become zero. */
void params_init(struct params *p, struct device *d, uint64_t seed);
/* Sets one parameter, its weight and its master, from F32 values. */
void param_upload(struct param *p, struct device *d, const float *values);
/* The same for elements [from, from + n). */
void param_upload_part(struct param *p, struct device *d, const float *values, int64_t from, int64_t n);
/* The same from values [n] of the weight's own type, which need not be aligned; of a parameter without a master. */
void param_upload_stored(struct param *p, struct device *d, const void *values, int64_t from, int64_t n);
/* The F32 values of a parameter (its master where it has one); out has tensor_size floats. */
void param_download(const struct param *p, struct device *d, float *out);
/* Allocates host memory for the F32 values of the largest parameter.  The caller frees it. */
float *params_buffer(const struct params *p);

#ifdef __cplusplus
}
#endif
#endif
