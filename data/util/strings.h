/*
 * strings.h - distinct strings, each stored once and numbered in order of arrival.
 *
 * Serves as a pool (a kept string lives until release and never moves) and as a hash table from text to number.
 */
#ifndef DATA_UTIL_STRINGS_H
#define DATA_UTIL_STRINGS_H

#include "kernels/base.h"

struct strings {
    char **items;
    int n, cap;
    int *slots; /* open-addressed hash table of numbers, -1 where free */
    int n_slots;
};

/* The number of s, added when it is new.  A zeroed struct is ready. */
int strings_add(struct strings *t, const char *s);
/* -1 when s was never added. */
int strings_find(const struct strings *t, const char *s);
/* The pool's own copy of s. */
const char *strings_keep(struct strings *t, const char *s);
/* The same of a printf. */
const char *strings_printf(struct strings *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strings_release(struct strings *t);

#endif
