/*
 * mismatch.h - what a file holds against what a model wants: three lists, told in one message.
 */
#ifndef MODELS_CHECKPOINT_MISMATCH_H
#define MODELS_CHECKPOINT_MISMATCH_H

#include "kernels/base.h"

struct name_list {
    int n;
    char text[240]; /* the first few, separated by commas */
};

/* Starts out zeroed. */
struct mismatch {
    struct name_list missing, unexpected, wrong_shape;
};

void name_list_add(struct name_list *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "[3, 4]" into out, which is returned. */
enum { SHAPE_MAX_DIMS = 8 }; /* more are not looked at, and need not be there */
char *shape_text(char out[128], int ndim, const int64_t *shape);
bool shape_equal(int ndim, const int64_t *shape, int other_ndim, const int64_t *other);
/* 0 when all lists are empty, else -1 with EXIT_CODE_CHECKPOINT, the file and the lists. */
int mismatch_report(const struct mismatch *m, const char *file, struct error *err);

#endif
