/*
 * clarify_simulate.h - simulated dialogues about all records: what each record's line says, the measures at the end,
 * and the report, for which every strategy talks about the same golds with the same users.
 */
#ifndef INFER_CLARIFY_CLARIFY_SIMULATE_H
#define INFER_CLARIFY_CLARIFY_SIMULATE_H

#include "infer/clarify/clarify.h"

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

/* Writes report.html: lines as simulator_finish writes them. */
int simulator_report(const struct simulator *s, const json_t *lines, struct error *err);

#endif
