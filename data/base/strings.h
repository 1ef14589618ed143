/*
 * strings.h - a set of distinct strings, stored once and numbered in order of insertion.
 *
 * It serves as a pool, whose strings keep their addresses until release, and as a hash table from text to number.  The
 * set owns its strings.  Nothing fails.
 */
#ifndef DATA_BASE_STRINGS_H
#define DATA_BASE_STRINGS_H

#include "kernels/base.h"

struct strings {
    char **items;
    int n, cap;
    int *slots; /* open-addressed hash table of numbers; -1: free */
    int n_slots;
};

/* The number of s; adds s if it is new.  A zeroed struct is an empty set. */
int strings_add(struct strings *t, const char *s);
/* -1 if s is not in the set. */
int strings_find(const struct strings *t, const char *s);
/* The set's own copy of s. */
const char *strings_keep(struct strings *t, const char *s);
/* The same for a formatted string. */
const char *strings_printf(struct strings *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strings_release(struct strings *t);

#endif
