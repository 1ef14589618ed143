/*
 * attention_form.h - what ops of attention with grouped heads check alike.
 */
#ifndef KERNELS_OPS_ATTENTION_FORM_H
#define KERNELS_OPS_ATTENTION_FORM_H

#include "kernels/kernels.h"

/* The form with its zeros filled in; `op` is who asks. */
struct attention_form attention_form_whole(const char *op, const struct attention_form *form, const struct tensor *q);
/* Aborts unless q [T, H D], k and v [rows, G D] are of the form. */
void attention_form_check(const char *op, const struct attention_form *whole, const struct tensor *q,
                          const struct tensor *k, const struct tensor *v);

#endif
