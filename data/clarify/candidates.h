/*
 * candidates.h - candidate statements from published files and from plain records, as input of clarify and calibrate.
 *
 * Every source turns its file into records {"id", "db_id", "question", "candidates": [{"sql", "p" or "logprob"}],
 * "gold": [SQL, ...]}.  The step after it is the same for all sources: it computes the probabilities, calibrated if
 * asked, and the none-of-the-above probability.  A record that cannot be used is written with its "error".
 */
#ifndef DATA_CLARIFY_CANDIDATES_H
#define DATA_CLARIFY_CANDIDATES_H

#include "data/base/shard.h"

#define CANDIDATES_FORMS "plain|ambiqt-output|dfpl|ambrosia|spider"
enum candidates_form { CANDIDATES_PLAIN, CANDIDATES_AMBIQT, CANDIDATES_DFPL, CANDIDATES_AMBROSIA, CANDIDATES_SPIDER };

struct candidates_request {
    enum candidates_form from; /* form of the file */
    const char *file;
    const char *gold, *tables; /* with CANDIDATES_AMBIQT, or NULL; with CANDIDATES_SPIDER */
    const char *calibration;   /* file of calibrate(), or NULL */
    const char *out;
    enum record_format format_in;
    struct shard shard; /* with CANDIDATES_PLAIN and CANDIDATES_AMBROSIA */
    double temperature; /* with CANDIDATES_AMBIQT, and CANDIDATES_SPIDER for predictions without probabilities: the
                           prediction of rank r, from 0, has the weight exp(-r / temperature) */
    double below;       /* with CANDIDATES_SPIDER: as in spider_cases_read */
    int64_t k;          /* maximum number of candidates of a record */
};

struct candidates_counts {
    int64_t records, candidates, failed;
};

/* Writes q->out.  Returns 0, -1 with err, or 1 after a signal, which leaves no file. */
int candidates_write(const struct candidates_request *q, struct candidates_counts *counts, struct error *err);

#endif
