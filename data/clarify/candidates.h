/*
 * candidates.h - candidate statements of questions, from published files and from anywhere, as records that clarify and
 * calibrate read: {"id", "db_id", "question", "candidates": [{"sql", "p"}], "gold": [SQL, ...]}.
 *
 * A source turns its file into such records, which may still have "logprob" for "p"; what all of them share comes
 * after: probabilities, calibrated when asked, and the reserve.
 */
#ifndef DATA_CLARIFY_CANDIDATES_H
#define DATA_CLARIFY_CANDIDATES_H

#include "data/shard/shard.h"

#define CANDIDATES_FORMS "plain|ambiqt-output|dfpl|ambrosia"
enum candidates_form { CANDIDATES_PLAIN, CANDIDATES_AMBIQT, CANDIDATES_DFPL, CANDIDATES_AMBROSIA };

struct candidates_request {
    enum candidates_form from; /* what file is */
    const char *file;
    const char *gold, *tables; /* of ambiqt-output; NULL when not given */
    const char *calibration;   /* file to apply, or NULL */
    const char *out;
    enum record_form form;
    struct shard shard; /* of plain and ambrosia, which are read record by record */
    double temperature; /* of ambiqt-output: a prediction of rank r, from 0, weighs exp(-r / temperature) */
    int64_t k;          /* candidates of a record that count */
};

struct candidates_counts {
    int64_t records, candidates, failed;
};

/* Writes request->out.  More than 0 after a signal: no file is left then. */
int candidates_write(const struct candidates_request *q, struct candidates_counts *counts, struct error *err);

#endif
