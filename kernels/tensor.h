/*
 * tensor.h - shape, type and a borrowed pointer into an arena.
 *
 * Tensors are contiguous and row-major, always: a permute is a kernel or is folded into the next one, never a stride.
 * Matrices and embedding tables have the compute type (F32 or BF16); vectors (biases, norms, attention vectors), losses
 * and the gradients of parameters are always F32; ids and offsets are I32.
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
    struct tensor *grad; /* same shape; NULL until the first backward write, F32 and allocated once for a parameter */
    bool needs_grad;
    bool is_param;       /* its gradient is F32, zeroed once per optimizer step and always added to */
    bool frozen;         /* data never changes again: a device may keep a packed copy of it */
    bool tf32;           /* F32 products with it may round their factors to TF32, where a device has it */
    bool reserved;       /* of a gradient: it has its place but no numbers yet */
    bool transient;      /* see tape_transient */
    struct node *record; /* of a transient tensor */
};

struct kernels;
struct device;
struct grad_watch;

/*
 * Which kernels linear maps without a record take: by the number of rows those for few or those for many, or always the
 * same.  Then a row's bits depend neither on how many rows there are nor on its place among them.
 */
enum rows_mode { ROWS_BY_NUMBER, ROWS_FEW, ROWS_MANY };

/* The host's copy of an input arena, byte for byte, so that one upload does for all. */
struct feed {
    char *bytes;
    size_t size;
};

/* Everything a step needs; passed first to every op and kernel. */
struct ctx {
    const struct kernels *k; /* NULL: dry run, allocate and record only */
    struct device *dev;
    struct arena *host;        /* tensor headers and records of this step */
    struct arena *step;        /* tensor data of this step */
    struct arena *input;       /* what is uploaded; NULL beside a workspace: step, and at once */
    struct feed *feed;         /* where a workspace collects the step's inputs; NULL in walks that do not */
    bool capturing;            /* kernels are recorded: they neither run nor may be waited for */
    bool buckets;              /* batches of like size shall have the same shapes: see batch_bucket */
    uint64_t shapes;           /* hash of all shapes of the step so far, on which its launches depend */
    struct node *tape;         /* newest record */
    struct grad_watch *watch;  /* who is told of gradients that are final; NULL: nobody */
    bool recording;            /* ops push records */
    bool transient;            /* the next tensor is: see tape_transient */
    bool training;             /* dropout is on */
    enum rows_mode rows;       /* the caller's to set */
    struct tensor *adapter_of; /* I32: each row's adapter, see struct lora; with ROWS_FEW, the step's own to set */
    struct tensor *rng;        /* I32 [4] on the device: seed low, seed high, step, first site */
    uint32_t site;             /* counts the random ops of a step, so that each draws its own numbers */
};

/* Whether this walk through the step brings what is of the host to the device: not where it only plans, nor, in a
 * workspace, where kernels run, whose inputs are there by then. */
static inline bool ctx_uploads(const struct ctx *c)
{
    return c->feed || (c->k && !c->input);
}
/* A number of the host's that launches depend on joins the hash. */
void ctx_note(struct ctx *c, int64_t number);

int64_t tensor_size(const struct tensor *t);
/* Last dimension; 1 for a scalar. */
int64_t tensor_cols(const struct tensor *t);
/* Product of all dimensions but the last; 0 when the tensor is empty. */
int64_t tensor_rows(const struct tensor *t);
size_t dtype_size(enum dtype dtype);
const char *dtype_name(enum dtype dtype);
size_t tensor_bytes(const struct tensor *t);

/* A header in host, data in the data arena; contents undefined. */
struct tensor *tensor_alloc(struct arena *host, struct arena *data, enum dtype dtype, int ndim, const int64_t *shape);
/* The same in the step arenas; tensor_input: where uploads go. */
struct tensor *tensor_new(struct ctx *c, enum dtype dtype, int ndim, const int64_t *shape);
struct tensor *tensor_input(struct ctx *c, enum dtype dtype, int ndim, const int64_t *shape);
struct tensor *tensor_new1(struct ctx *c, enum dtype dtype, int64_t n);
struct tensor *tensor_new2(struct ctx *c, enum dtype dtype, int64_t rows, int64_t cols);
struct tensor *tensor_like(struct ctx *c, const struct tensor *t);

/*
 * Rows [from, from + n) of t as a tensor of its own that shares its memory, and the memory of its gradient when t is a
 * parameter.  t must be a parameter or need no gradient.
 */
struct tensor *tensor_slice(struct ctx *c, const struct tensor *t, int64_t from, int64_t n);
/* The same rows of any tensor, without gradient: for a kernel to read or to write. */
struct tensor tensor_view(const struct tensor *t, int64_t from, int64_t n);

/* bf16 is the upper half of an f32; rounding is to nearest even, NaN stays NaN. */
uint16_t bf16_from_f32(float x);
float f32_from_bf16(uint16_t x);

#ifdef __cplusplus
}
#endif
#endif
