/*
 * score.h - `ambit-data score`: one request, one function for each rule.
 *
 * A rule reads the files of the request, prints a table or one JSON object on standard output, and writes the results
 * of records if requested. To add a rule, write a function, declare it here or in a header of its own, and add it to
 * cmd_score.c.
 */
#ifndef DATA_EVAL_SCORE_H
#define DATA_EVAL_SCORE_H

#include "data/base/json.h"
#include "data/base/stats.h"

struct score_request {
    const char *gold, *pred; /* records and predictions; gold may be NULL if the predictions contain it */
    const char *predictions; /* rule agreement, or NULL */
    const char *tables, *db; /* tables.json; database as in db_path.h; or NULL */
    int64_t k;               /* predictions of a record that count */
    double below;            /* rule spider: maximum probability of the best candidate, exclusive; 0: any */
    bool published;          /* reproduce the published evaluator, including its bugs */
    bool filter;             /* rule dfpl: keep one interpretation of each result, by the authors' choice */
    bool errors;             /* rule spider: count wrong first predictions by class */
    bool json;               /* one object instead of a table */
    const char *per_example; /* JSONL to write, or NULL */
};

/* EXIT_CODE_OK; EXIT_CODE_RECORDS if records were skipped, which the output lists with the reason; else err explains.
 */
typedef enum exit_code score_rule(const struct score_request *q, struct error *err);

score_rule score_ambiqt, score_dfpl, score_strict;

/* A mean over records with a bootstrap interval over databases; group and n_groups as in stats.h. */
struct score_mean {
    double mean;
    struct interval interval; /* 95 %, from 1000 resamples; NAN, NAN for one database */
};
struct score_mean score_mean(const double *value, int n, const int *group, int n_groups);

/* [low, high], or null if there is none. */
json_t *score_interval_json(struct interval i);
/* Prints "[0.25, 0.75]" of the interval times scale, or "[-]" in as many columns. score_print_one_database explains
 * "[-]". */
void score_print_interval(struct interval i, double scale, int width, int digits);
void score_print_one_database(void);

/* Prints skipped records, {"record", "reason"} each, as lines of a table. */
void score_print_skipped(const json_t *skipped);

/* Prints one object on standard output, and takes it. */
int score_print_json(json_t *o, struct error *err);

#endif
