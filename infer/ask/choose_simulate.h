/*
 * choose_simulate.h - simulated dialogues about tables and columns, for records without candidate statements.
 *
 * The user means one of the record's gold statements.  The user chooses the element that this statement uses, answers
 * "none of these" if it uses no element of the question, and "I don't know" if it uses several.  The intent is reached
 * when the chosen elements fit the meant statement and no other gold statement of the record.  A record with one gold
 * statement is unambiguous, and every question about it is superfluous.
 */
#ifndef INFER_ASK_CHOOSE_SIMULATE_H
#define INFER_ASK_CHOOSE_SIMULATE_H

#include "infer/ask/pipeline.h"

/* Result of a dialogue. */
struct choose_dialogue {
    int golds, database; /* number of gold statements of the record; number of its database */
    int questions;
    bool reached[DIALOGUE_MAX_TURNS + 1]; /* by number of questions */
};

/* Zero-initialise it. */
struct choose_simulation {
    struct choose_dialogue *list;
    int n, cap, gold_errors;
    struct strings databases; /* "source_db" of the records, or else "db_id" */
};

/* Simulates a dialogue about each gold statement and adds "dialogues" to the output line.  number is that of the
 * record; s is a session that is released.  Returns -1 with EXIT_CODE_DATA. */
int choose_simulate(struct choose_simulation *x, struct pipeline *a, struct session *s, const struct asked *k,
                    int64_t number, json_t *line, const char *where, struct error *err);
/* Writes the metrics as a line: all dialogues, and by number of gold statements, with 95 % intervals over databases. */
int choose_simulation_write(const struct choose_simulation *x, const struct clarify_request *q, struct out_file *out,
                            struct error *err);
void choose_simulation_release(struct choose_simulation *x);

#endif
