/*
 * simulate.h - dialogues with a simulated user who means one of a record's gold statements, and how good they were.
 *
 * The user sees a question as a person does: not the candidates, only what each option says of the attribute.  The
 * answer is what the gold statement has there, "none of these" when no option says so; now and then the user slips, or
 * does not know.  Each gold statement of a record is meant in turn.  A gold statement that cannot be read is an error,
 * and no dialogue.
 */
#ifndef INFER_CLARIFY_SIMULATE_H
#define INFER_CLARIFY_SIMULATE_H

#include "data/stats/stats.h"
#include "infer/clarify/clarify.h"

/* What is left of a dialogue. */
struct outcome {
    int record;                         /* its number */
    int turns, useless;                 /* questions, and those whose answer changed nothing in the output */
    bool right[DIALOGUE_MAX_TURNS + 1]; /* the output after so many questions is the gold */
    bool gives[DIALOGUE_MAX_TURNS + 1]; /* it gives the gold's rows */
    bool covered, escalated, contradicted;
    bool executed, reachable; /* there was a database; some candidate gives the gold's rows */
    bool unambiguous;         /* the record says so */
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
    struct simulation by[STRATEGIES]; /* the request's own, and with a report all others */
    json_t *transcripts;              /* of the request's strategy: some dialogues that asked something */
    struct rng rng;                   /* which of them are kept */
    int64_t heard;                    /* how many there were */
};

/* A dialogue about each gold statement of the record, which is k's; appends them to *out.  One that cannot be read is
 * an error and no dialogue.  -1 with EXIT_CODE_DATA. */
int simulator_record(struct simulator *s, struct clarify_case *k, const json_t *record, int64_t number,
                     struct arena *scratch, json_t *out, const char *where, struct error *err);
/* The measures as the last lines, the request's strategy first, and the report if one is wanted. */
int simulator_finish(struct simulator *s, struct out_file *out, struct error *err);
void simulator_release(struct simulator *s);

#endif
