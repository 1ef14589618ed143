/*
 * simulate.h - dialogues with a simulated user who means one of a record's gold statements, and how good they were.
 *
 * The user sees a question as a person does: not the candidates, only what each option says of the variable.  The
 * answer is what the gold statement has there, "none of these" when no option says so; now and then the user slips, or
 * does not know.  Each gold statement of a record is meant in turn.  A gold statement that cannot be read is an error,
 * and no dialogue.
 */
#ifndef INFER_SIMULATE_H
#define INFER_SIMULATE_H

#include "infer/clarify_case.h"

#include "data/stats.h"

struct user {
    double noise, unknown; /* how often an answer slips, how often it is "I don't know" */
    uint64_t seed;
};

/* What a gold statement says of each variable. */
struct truth {
    int candidate; /* of the gold statement's form; -1 when it is not among them */
    int *values;   /* [n_variables], -1 when no candidate says the same */
};
/* -1 with EXIT_CODE_DATA when the statement cannot be read.  truth_release frees. */
int truth_read(struct truth *t, struct clarify_case *c, const char *gold, struct arena *scratch, struct error *err);
void truth_release(struct truth *t);

/* What is left of a dialogue. */
struct outcome {
    int record;                         /* its number */
    int turns, useless;                 /* questions, and those whose answer changed nothing in the output */
    bool right[DIALOGUE_MAX_TURNS + 1]; /* the output after so many questions */
    bool covered, handed_over, contradicted;
    bool unambiguous; /* the record says so */
    double confidence;
    double ahead, fewest; /* questions that strategy and optimum need in expectation; NAN when not counted */
};

/* Runs one dialogue of c about `truth`; appends its turns to the array `turns`. */
void simulate(struct outcome *o, struct clarify_case *c, const struct truth *t, const struct user *u, json_t *turns);

struct simulation {
    struct outcome *list;
    int n, cap;
    int gold_errors;
};
/* The measures of all, with 95 % intervals over records; at most max_turns questions were asked. */
json_t *simulation_metrics(const struct simulation *s, int max_turns);
void simulation_release(struct simulation *s);

#endif
