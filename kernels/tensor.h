/*
 * tensor.h - a tensor: its shape, its element type and a pointer to data that an arena owns.
 *
 * Tensors are always contiguous and row-major.  A permutation is a kernel or part of the next kernel, never a stride.
 * Matrices and embedding tables have the compute type (F32 or BF16).  Vectors (biases, norms, attention vectors),
 * losses and the gradients of parameters are always F32.  Ids and offsets are I32.
 */
#ifndef KERNELS_TENSOR_H
#define KERNELS_TENSOR_H

#include "kernels/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

enum dtype { F32, BF16, I32 };
enum { TENSOR_MAX_DIMS = 4 };

struct node;

struct tensor {
    void *data;
    enum dtype dtype;
    int ndim;
    int64_t shape[TENSOR_MAX_DIMS];
    struct tensor *grad; /* same shape; NULL until the first backward write; a parameter's is F32 and allocated once */
    struct tensor *rounded; /* BF16 copy of a frozen F32 bias, see PARAM_BIAS; NULL: none */
    bool needs_grad;
    bool is_param;       /* the gradient is F32, zeroed once per optimizer step and always added to */
    bool frozen;         /* data never changes: a device may keep a packed copy */
    bool tf32;           /* F32 products with this factor may round to TF32 on devices that support it */
    bool reserved;       /* a gradient whose memory is allocated but not written yet */
    bool transient;      /* see tape_transient */
    struct node *record; /* the record that made a transient tensor */
};

struct kernels;
struct device;

/*
 * The choice of kernels for linear maps without a record.  ROWS_BY_NUMBER chooses by the number of rows.  ROWS_FEW and
 * ROWS_MANY fix the choice, so that a row's bits depend neither on the number of rows nor on the row's position.
 */
enum rows_mode { ROWS_BY_NUMBER, ROWS_FEW, ROWS_MANY };

/* The host copy of an input arena, byte for byte: one upload transfers all inputs of a step. */
struct feed {
    char *bytes;
    size_t size;
};

/* The state of a step, passed first to every op and kernel. */
struct ctx {
    const struct kernels *k; /* NULL: dry run, allocate and record only */
    struct device *dev;
    struct arena *host;        /* tensor headers and records of this step */
    struct arena *step;        /* tensor data of this step */
    struct arena *input;       /* uploaded tensors; NULL outside a workspace: uploads go to `step` at once */
    struct feed *feed;         /* collects the inputs of a workspace's step; NULL in other walks */
    bool capturing;            /* kernels are recorded and do not run, so the host must not wait for them */
    bool buckets;              /* batches of similar size are padded to the same shapes, see batch_bucket */
    uint64_t shapes;           /* hash of all shapes of the step so far; the launches depend on it */
    struct node *tape;         /* newest record */
    bool recording;            /* ops push records */
    bool transient;            /* the next tensor is transient, see tape_transient */
    struct tensor *result;     /* output of the running tape_checkpoint, until a tensor takes its memory; else NULL */
    bool takes_result;         /* the next tensor takes it, see tape_result */
    bool training;             /* dropout is on */
    enum rows_mode rows;       /* set by the caller */
    struct tensor *adapter_of; /* I32: each row's adapter, see struct lora; set by steps with ROWS_FEW */
    struct tensor *rng;        /* I32 [4] on the device: seed low, seed high, step, first site */
    uint32_t site;             /* counts the random ops of a step, so that each draws its own numbers */
};

/* Returns whether this walk through the step copies host data to the device.  A walk that only plans does not.  In a
 * workspace, the walk that runs kernels does not either, because its inputs are already on the device. */
static inline bool ctx_uploads(const struct ctx *c)
{
    return c->feed || (c->k && !c->input);
}
/* Adds a host number that launches depend on to the hash of the shapes. */
void ctx_note(struct ctx *c, int64_t number);

int64_t tensor_size(const struct tensor *t);
/* Returns the last dimension, or 1 for a scalar. */
int64_t tensor_cols(const struct tensor *t);
/* Returns the product of all dimensions but the last, or 0 when the last dimension is 0. */
int64_t tensor_rows(const struct tensor *t);
size_t dtype_size(enum dtype dtype);
const char *dtype_name(enum dtype dtype);
size_t tensor_bytes(const struct tensor *t);

/* Allocates a header in `host` and undefined contents in `data`.  The arenas own both. */
struct tensor *tensor_alloc(struct arena *host, struct arena *data, enum dtype dtype, int ndim, const int64_t *shape);
/* Allocate in the step arenas; tensor_input allocates in the arena of uploaded tensors. */
struct tensor *tensor_new(struct ctx *c, enum dtype dtype, int ndim, const int64_t *shape);
struct tensor *tensor_input(struct ctx *c, enum dtype dtype, int ndim, const int64_t *shape);
struct tensor *tensor_new1(struct ctx *c, enum dtype dtype, int64_t n);
struct tensor *tensor_new2(struct ctx *c, enum dtype dtype, int64_t rows, int64_t cols);
struct tensor *tensor_like(struct ctx *c, const struct tensor *t);

/*
 * Returns rows [from, from + n) of t as a tensor that shares the memory of t.  It also shares the gradient's memory
 * when t is a parameter.  t must be a parameter or need no gradient.
 */
struct tensor *tensor_slice(struct ctx *c, const struct tensor *t, int64_t from, int64_t n);
/* Returns the same rows of any tensor, without a gradient, for a kernel to read or write. */
struct tensor tensor_view(const struct tensor *t, int64_t from, int64_t n);

/* bf16 is the upper half of an f32.  Rounding is to nearest even, and NaN stays NaN. */
uint16_t bf16_from_f32(float x);
float f32_from_bf16(uint16_t x);

#ifdef __cplusplus
}
#endif
#endif
