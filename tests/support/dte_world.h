/*
 * dte_world.h - a vocabulary with a tagger's markers, questions on small tables, and outputs of a network for them.
 */
#ifndef TESTS_DTE_WORLD_H
#define TESTS_DTE_WORLD_H

#include "models/tagger/dte_reading.h"
#include "tests/support/support.h"

struct dte_world {
    char *dir;
    struct tokenizer *tokenizer;
    struct dte_layout layout;
};
/* Sequences of 256 tokens. */
void dte_world_open(struct dte_world *w);
void dte_world_close(struct dte_world *w);
/* The vocabulary's file, with all tokens but one (may be NULL). */
void dte_world_vocabulary(const char *dir, const char *without);

/* Tokens of a window joined by blanks; the caller frees. */
char *dte_world_tokens(const struct dte_world *w, const struct dte_window *window);

/* An item of a question on columns and matched values, whose arrays the caller keeps. */
struct dte_asked {
    struct tag_question question;
    struct dte_item item;
};
void dte_asked_init(struct dte_asked *a, const struct dte_world *w, const char *text, const struct span_column *columns,
                    int n_columns, const struct tag_value *values, int n_values);
void dte_asked_release(struct dte_asked *a);

/* A network's output for one window.  Every concept has a probability of .5, equal weight as a meaning, and no
 * grounding. The test then sets numbers of single concepts, by their place in the item. */
void dte_world_reading(struct dte_reading *r, const struct dte_item *item, int tags);

/* Within a tolerance. */
#define assert_near(got, wanted, tolerance) dte_near(got, wanted, tolerance, __FILE__, __LINE__)
void dte_near(double got, double wanted, double tolerance, const char *file, int line);

#endif
