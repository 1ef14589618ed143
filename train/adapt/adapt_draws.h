/*
 * adapt_draws.h - what adapting brings: draws of k labels from a pool, each method trained on them, other questions of
 * the same database asked.
 *
 * A draw is of one database, one after the other in turn, and has as large a share of ambiguous questions as its pool,
 * at least one of each label.  Pools and queries are two files, or halves of one by the texts of its questions.
 */
#ifndef TRAIN_ADAPT_ADAPT_DRAWS_H
#define TRAIN_ADAPT_ADAPT_DRAWS_H

#include "train/adapt/adapt_fit.h"

struct adapt_draws_request {
    struct gate_scorer *scorer;
    struct adapt_fit *fits; /* [n_fits] of each method */
    int n_fits;
    const struct adapt_questions *support, *queries; /* queries NULL: half of the support */
    int64_t draws, seed;
    bool json;
};

/* Mean, 5 % and 95 % over draws, a row for each k and method; to standard output. */
int adapt_draws(const struct adapt_draws_request *q, struct error *err);

#endif
