/*
 * score.h - `ambit-data score`: one request, one function for each rule.
 *
 * A rule reads the files that the request names, prints one JSON object or a table on standard output, and writes the
 * evidence when asked to.  To add one: a function in score.c, a prototype here, a row in cmd_score.c;
 * the rules of spans and agreement are data/span/span_score.h and data/span/agreement.h.
 */
#ifndef DATA_SCORE_SCORE_H
#define DATA_SCORE_SCORE_H

#include "data/stats/stats.h"
#include "data/util/json.h"

struct score_request {
    const char *gold, *pred; /* records and predictions; a rule whose predictions hold their gold needs no gold */
    const char *findings;    /* of rule agreement, or NULL */
    const char *tables, *db; /* tables.json; as in db_path.h; NULL when not given */
    int64_t k;               /* predictions of a record that count */
    bool published;          /* as the published evaluator does, its quirks included */
    bool filter;             /* of dfpl: one reading of each result, as the authors choose it */
    bool json;               /* one object rather than a table */
    const char *per_example; /* JSONL to write, or NULL */
};

/* EXIT_CODE_OK; EXIT_CODE_RECORDS when records were skipped, which the output then lists with why; else what err says.
 */
typedef enum exit_code score_rule(const struct score_request *q, struct error *err);

score_rule score_ambiqt, score_dfpl, score_strict;

/* A mean over records with what a bootstrap over databases makes of it; group and n_groups as in stats.h. */
struct score_mean {
    double mean;
    struct interval interval; /* 95 %, of 1000 resamples; NAN, NAN of one database */
};
struct score_mean score_mean(const double *value, int n, const int *group, int n_groups);

/* [low, high], or null where there is none. */
json_t *score_interval_json(struct interval i);
/* "[0.25, 0.75]" of the interval times scale, or "[-]" in as many columns; a line says why when one of the means has
 * none. */
void score_print_interval(struct interval i, double scale, int width, int digits);
void score_print_one_database(void);

/* Prints skipped records, {"record", "why"} each, as lines of a table; nothing when there are none. */
void score_print_skipped(const json_t *skipped);

/* One object on standard output. */
int score_print_json(const json_t *o, struct error *err);

#endif
