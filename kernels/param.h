/*
 * param.h - the list of parameters that initialisation, loading, saving, the optimizer and LoRA walk.
 *
 * A parameter's name is its name in the checkpoint.  A trainable parameter owns an F32 gradient and its optimizer state
 * in F32.  A trainable BF16 weight also owns an F32 master copy.  All of this memory lies in the model arenas and lives
 * as long as the model.
 */
#ifndef KERNELS_PARAM_H
#define KERNELS_PARAM_H

#include "kernels/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The optimizer of a parameter, which determines the state that is kept.  AdamW keeps running means of g and g^2 in the
 * parameter's shape.  Adafactor keeps running means of g^2: per row [rows] and per column [cols] for a matrix, in the
 * parameter's shape for any other.  OPTIMIZER_ADAMW_BYTES keeps AdamW's means quantised in blocks, [blocks,
 * MOMENT_WORDS] each.  moments.h names the parameters for which it falls back to OPTIMIZER_ADAMW. */
enum optimizer {
    OPTIMIZER_NONE,
    OPTIMIZER_ADAMW,
    OPTIMIZER_ADAFACTOR,
    OPTIMIZER_ADAMW_BYTES,
    OPTIMIZER_SHARDED = 4 /* a flag on one of them: optim_init allocates this rank's shard of the states (optim.h) */
};
enum { PARAM_STATES = 2 };

/* PARAM_LESS_ONE: the weight files of other programs store the parameter minus 1, for networks that multiply by 1 +
 * w.  PARAM_BIAS: an F32 bias of products in BF16.  If nothing trains it, the tensor keeps a BF16 copy, as products on
 * a GPU read it. */
enum param_flags { PARAM_DECAY = 1, PARAM_FROZEN = 2, PARAM_LESS_ONE = 4, PARAM_EMBEDDING = 8, PARAM_BIAS = 16 };

struct param {
    const char *name;
    struct tensor *t;
    struct tensor *master; /* F32 copy of a trainable BF16 weight, else NULL */
    enum optimizer optimizer;
    struct tensor *state[PARAM_STATES]; /* NULL: no such state */
    int64_t first, end;                 /* elements updated here: all, or this rank's shard */
    unsigned flags;
    float lr_scale;
    float init_std;   /* 0: zeros, negative: ones, else normal(0, init_std) truncated at two standard deviations */
    float init_bound; /* above 0: uniform in +-init_bound instead */
};

struct params {
    struct param *list;
    int n, cap;
};

/* Declares a parameter and allocates it: data from `data`, headers from `host`.  The arenas own both. */
struct param_arenas {
    struct arena *host, *data;
    enum optimizer optimizer; /* also allocates gradients, states and masters; OPTIMIZER_NONE: none */
};
struct tensor *param_new(struct params *p, const struct param_arenas *a, enum dtype dtype, int ndim,
                         const int64_t *shape, float init_std, unsigned flags, const char *name_fmt, ...)
    __attribute__((format(printf, 8, 9)));
/* Memory for parameters that are adjacent rows of one matrix.  Declare them one by one from the top; each takes its
 * rows of the stack. */
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
/* Returns the index in a state of the first element that this rank holds.  It is that of the parameter, or 0 under
 * Adafactor, whose states are never split. */
int64_t param_state_first(const struct param *p);
/* Returns the same parameters without optimizer state, for inference.  The caller releases the list. */
struct params params_without_state(const struct params *p);

/* Draws initial values on the host (a parameter's numbers depend on its name and seed alone) and uploads them;
 * gradients and states become zero. */
void params_init(struct params *p, struct device *d, uint64_t seed);
/* Sets one parameter, its weight and its master, from F32 values. */
void param_upload(struct param *p, struct device *d, const float *values);
/* Like param_upload, for elements [from, from + n). */
void param_upload_part(struct param *p, struct device *d, const float *values, int64_t from, int64_t n);
/* Like param_upload_part, from values [n] of the weight's own type, which may be unaligned.  The parameter has no
 * master. */
void param_upload_stored(struct param *p, struct device *d, const void *values, int64_t from, int64_t n);
/* Writes the F32 values of a parameter, or of its master if it has one, to `out`, which has tensor_size floats. */
void param_download(const struct param *p, struct device *d, float *out);
/* Allocates host memory for the F32 values of the largest parameter.  The caller frees it. */
float *params_buffer(const struct params *p);

#ifdef __cplusplus
}
#endif
#endif
