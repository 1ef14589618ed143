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
    char part[96];    /* prefix of all names */
};

/* Sets the prefix of the names of the next parameters; "": none. */
void param_part(struct param_builder *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct tensor *param_matrix(const struct param_builder *b, int64_t rows, int64_t cols, const char *name);
/* The same for a table whose rows are looked up. */
struct tensor *param_embedding(const struct param_builder *b, int64_t rows, int64_t cols, const char *name);
/* init: as in struct param; 0: zeros, negative: ones. */
struct tensor *param_vector(const struct param_builder *b, int64_t n, float init, const char *name);

/* The bias of a matrix, which starts at 0. */
struct tensor *param_bias(const struct param_builder *b, int64_t n, const char *name);

/* Values of the parameter with tensor t, as F32. The caller frees them. */
float *start_values(const struct params *p, const struct tensor *t, struct device *d);
/* Uploads changed values, and frees them. */
void start_upload(const struct params *p, const struct tensor *t, struct device *d, float *values);

#endif
