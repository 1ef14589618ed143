/*
 * spider_cases.h - gold statements with the predictions of a system, in the forms that Spider, KaggleDBQA and BIRD
 * publish and in ambit's own.
 *
 * Gold: lines "SQL TAB db_id" (gold.sql), or records with db_id and the statement in query, SQL or sql. Predictions:
 * lines of SQL (pred.sql), records with the statements in sql, candidates or t2s_outs, or BIRD's object of
 * "SQL TAB ----- bird ----- TAB db_id" by number. Records may be JSONL or a JSON array. Text after a further tab of a
 * line of predictions is ignored, as by Spider's evaluator.
 *
 * A prediction belongs to the gold record of its id. The id of a line, and of a record without one, is its position
 * from 1.
 */
#ifndef DATA_PUBLISHED_SPIDER_CASES_H
#define DATA_PUBLISHED_SPIDER_CASES_H

#include "data/base/json.h"
#include "data/base/strings.h"

struct spider_case {
    json_t *record, *prediction; /* as objects, also those of lines; prediction is NULL if there is none */
    json_t *id;                  /* a string or an integer */
    const char *where;           /* of the gold record, such as "gold.sql: line 3" */
    const char *db_id, *gold;
    const char **sql; /* [n] predictions, the best first; the texts belong to prediction */
    int n;
    double best; /* the probability of the best candidate; NAN if the predictions have no probabilities */
};

struct spider_cases {
    struct spider_case *items; /* in the order of the gold file */
    int n, cap;
    struct strings where;
    json_t *skipped; /* {"record", "reason"}: gold records and predictions without a counterpart */
};

/* Reads both files and keeps at most k predictions of a record. `below` limits the cases to those whose best candidate
 * is less probable; 0 keeps all. A gold record without predictions is a case with none. Returns -1 with
 * EXIT_CODE_DATA, which names file, line and field. The caller releases either way. */
int spider_cases_read(struct spider_cases *c, const char *gold, const char *pred, int64_t k, double below,
                      struct error *err);
void spider_cases_release(struct spider_cases *c);

#endif
