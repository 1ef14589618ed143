/*
 * mismatch.h - reports the difference between a file's tensors and a model's in one message.
 */
#ifndef MODELS_IO_MISMATCH_H
#define MODELS_IO_MISMATCH_H

#include "kernels/base.h"

struct name_list {
    int n;
    char text[240]; /* the first names, separated by commas */
};

/* Start as { 0 }. */
struct mismatch {
    struct name_list missing, unexpected, wrong_shape;
};

/* Adds a name, which is only counted if the text is full. */
void name_list_add(struct name_list *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
enum { SHAPE_MAX_DIMS = 8 }; /* shape_text does not read more dimensions */
/* Writes a shape such as "[3, 4]" to out and returns it. */
char *shape_text(char out[128], int ndim, const int64_t *shape);
bool shape_equal(int ndim, const int64_t *shape, int other_ndim, const int64_t *other);
/* Returns 0 if all lists are empty, else -1 with EXIT_CODE_CHECKPOINT. The message has the file and the lists. */
int mismatch_report(const struct mismatch *m, const char *file, struct error *err);

#endif
