/*
 * simulate.h - dialogues with a simulated user who means one of a record's gold statements, and their metrics.
 *
 * The user sees a question as a person does: only the value of the attribute in each option, not the candidates.  The
 * answer is the value of the gold statement, or "none of these" if no option has it.  With given rates the user errs or
 * answers "I don't know".  Each gold statement of a record is meant in one dialogue.  A gold statement that cannot be
 * read is an error and has no dialogue.
 *
 * With a memory, the user accepts right answers from memory and takes wrong ones back.  Answers are learnt at the end
 * of a dialogue, and hold from the next record on.
 */
#ifndef INFER_CLARIFY_SIMULATE_H
#define INFER_CLARIFY_SIMULATE_H

#include "data/base/stats.h"
#include "infer/clarify/clarify.h"

struct simulated_user {
    double noise, unknown; /* rates of user errors and of the answer "I don't know" */
    uint64_t seed;
};
/* The user of a record and gold statement.  Each pair has a seed of its own. */
struct simulated_user simulated_user_of(const struct clarify_request *q, int64_t record, size_t gold);
/* The answer of a user who would choose the option `honest`; -1: none of these. */
struct answer simulated_answer(const struct simulated_user *u, struct rng *rng, const struct question_view *view,
                               int honest);

/* Result of a dialogue. */
struct outcome {
    int record;                         /* number of the record */
    int turns, useless;                 /* number of questions, and of those that did not change the output */
    bool right[DIALOGUE_MAX_TURNS + 1]; /* by number of questions: the output is the gold */
    bool gives[DIALOGUE_MAX_TURNS + 1]; /* by number of questions: it gives the gold's rows */
    bool covered, escalated, contradicted;
    bool executed, reachable; /* there is a database; a candidate gives the gold's rows */
    bool unambiguous;         /* according to the record */
    int recalled, taken_back; /* numbers of answers from memory that are right, and that the user takes back */
    double confidence;
};

struct simulation {
    struct outcome *list;
    int n, cap;
    int gold_errors;
};

enum { TRANSCRIPTS = 5 };

struct simulator {
    const struct clarify_request *request;
    const struct clarify_settings *settings;
    struct simulation by[STRATEGIES]; /* the request's strategy; with a report all */
    json_t *transcripts;              /* a sample of the dialogues of the request's strategy with questions */
    struct rng rng;                   /* for that sample */
    int64_t heard;                    /* number of such dialogues */
};

/* Simulates a dialogue about each gold statement of the record, whose case is k, and adds "dialogues" to `out`. Returns
 * -1 with EXIT_CODE_DATA. */
int simulator_record(struct simulator *s, struct clarify_case *k, const json_t *record, int64_t number,
                     struct arena *scratch, json_t *out, const char *where, struct error *err);
/* Writes the metrics as the last lines, the request's strategy first, and the report if requested.  Returns -1 with
 * err. */
int simulator_finish(struct simulator *s, struct out_file *out, struct error *err);
void simulator_release(struct simulator *s);

#endif
