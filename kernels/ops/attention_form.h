/*
 * attention_form.h - the common checks of attention ops with grouped heads.
 */
#ifndef KERNELS_OPS_ATTENTION_FORM_H
#define KERNELS_OPS_ATTENTION_FORM_H

#include "kernels/kernels.h"

/* Returns the form with its defaults filled in; `op` is the name of the calling op. */
struct attention_form attention_form_whole(const char *op, const struct attention_form *form, const struct tensor *q);
/* Aborts unless q [T, H D], k and v [rows, G D] match the form. */
void attention_form_check(const char *op, const struct attention_form *whole, const struct tensor *q,
                          const struct tensor *k, const struct tensor *v);

#endif
