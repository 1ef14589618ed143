/*
 * param_builder.h - declares the parameters of a network by shape and name, and changes their initial values.
 *
 * A builder holds the fields that all declarations of a network share. Matrices have the builder's type, its
 * initialisation and weight decay. Vectors are F32 without weight decay. Tensors belong to the arenas.
 */
#ifndef MODELS_NET_PARAM_BUILDER_H
#define MODELS_NET_PARAM_BUILDER_H

#include "kernels/param.h"

struct param_builder {
    struct params *p;
    const struct param_arenas *a;
    enum dtype dtype; /* of matrices */
    float init_std;   /* of matrices; negative: Glorot's, sqrt(2 / (rows + cols)) */
    unsigned flags;   /* of every parameter */
    char part[96];    /* stands before every name */
};

/* Names the part that the next parameters belong to; "" for none. */
void param_part(struct param_builder *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct tensor *param_matrix(const struct param_builder *b, int64_t rows, int64_t cols, const char *name);
/* The same of a table whose rows are looked up. */
struct tensor *param_embedding(const struct param_builder *b, int64_t rows, int64_t cols, const char *name);
/* init as in struct param: 0 for zeros, negative for ones. */
struct tensor *param_vector(const struct param_builder *b, int64_t n, float init, const char *name);

/* F32 values of the parameter that t is; the caller frees. */
float *start_values(const struct params *p, const struct tensor *t, struct device *d);
/* Back to it; frees values. */
void start_upload(const struct params *p, const struct tensor *t, struct device *d, float *values);

#endif
