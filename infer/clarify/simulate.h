/*
 * simulate.h - dialogues with a simulated user who means one of a record's gold statements, and how good they were.
 *
 * The user sees a question as a person does: not the candidates, only what each option says of the variable.  The
 * answer is what the gold statement has there, "none of these" when no option says so; now and then the user slips, or
 * does not know.  Each gold statement of a record is meant in turn.  A gold statement that cannot be read is an error,
 * and no dialogue.
 */
#ifndef INFER_CLARIFY_SIMULATE_H
#define INFER_CLARIFY_SIMULATE_H

#include "infer/clarify/clarify_case.h"

#include "data/stats/stats.h"

struct user {
    double noise, unknown; /* how often an answer slips, how often it is "I don't know" */
    uint64_t seed;
};

/*
 * What a gold statement says of each variable.  A candidate is the gold when it has its form, when the record says so
 * ("gold": [0] beside its "sql"), or when both give the same on the database and its copies.
 */
struct truth {
    int candidate; /* the one that is the gold, by the first of these ways that finds one; -1 when it is not among them
                    */
    bool *same;    /* [n] candidates that are the gold */
    bool *gives;   /* [n] those that give its rows on the database itself; all false without one */
    int *values;   /* [n_variables], -1 when no candidate says the same */
};
/* Of the record's gold statement `gold`.  -1 with EXIT_CODE_DATA when it cannot be read or does not run on the
 * database. truth_release frees. */
int truth_read(struct truth *t, struct clarify_case *c, const json_t *record, size_t gold, struct arena *scratch,
               struct error *err);
void truth_release(struct truth *t);

/* What is left of a dialogue. */
struct outcome {
    int record;                         /* its number */
    int turns, useless;                 /* questions, and those whose answer changed nothing in the output */
    bool right[DIALOGUE_MAX_TURNS + 1]; /* the output after so many questions is the gold */
    bool gives[DIALOGUE_MAX_TURNS + 1]; /* it gives the gold's rows */
    bool covered, handed_over, contradicted;
    bool executed, reachable; /* there was a database; some candidate gives the gold's rows */
    bool unambiguous;         /* the record says so */
    double confidence;
};

/* Runs one dialogue of c about `truth`; appends its turns to the array `turns`, which may be NULL. */
void simulate(struct outcome *o, struct clarify_case *c, const struct truth *t, const struct user *u, json_t *turns);

struct simulation {
    struct outcome *list;
    int n, cap;
    int gold_errors;
};
/* The measures of all, with 95 % intervals over records; at most max_turns questions were asked. */
json_t *simulation_metrics(const struct simulation *s, int max_turns);
/* What s is better in than `other`, which talked about the same golds: accuracy after each question and its area. */
json_t *simulation_difference(const struct simulation *s, const struct simulation *other, int max_turns);
/* Whether the final confidence is the share of right outputs. */
struct reliability simulation_reliability(const struct simulation *s);
void simulation_release(struct simulation *s);

#endif
