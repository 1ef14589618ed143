/*
 * clarify.h - candidates in, the question that tells most out: one record after the other, in input order.
 *
 * A record that cannot be read carries "error" instead and the run goes on.
 */
#ifndef INFER_CLARIFY_CLARIFY_H
#define INFER_CLARIFY_CLARIFY_H

#include "data/exec/schema_catalog.h"
#include "data/shard/shard.h"
#include "infer/clarify/clarify_case.h"

/* Off: what was asked before may be asked again. */
enum clarify_memory { MEMORY_ON, MEMORY_OFF };

struct clarify_request {
    const char *candidates, *schema, *db, *out;
    const char *predictions, *spans; /* of detect and of tag, or NULL */
    enum record_form form;           /* of candidates */
    struct shard shard;
    enum strategy strategy;
    double noise, confidence, min_gain, second_cost;
    int64_t max_turns;
    enum clarify_memory memory;
    bool simulate;      /* whole dialogues about each record's "gold", with the measures as the last line */
    const char *report; /* report.html to write: simulate with every strategy; or NULL */
    double user_noise, user_unknown;
    int64_t seed;
    bool serve, interactive;
    const char *id, *replay, *transcript; /* with interactive; NULL for none */
};

struct clarify_counts {
    int64_t records, failed, asked, rejected, gold_errors;
};

/* What the request says of questions and of when to stop. */
void clarify_settings_init(struct clarify_settings *s, const struct clarify_request *q);

int clarify(const struct clarify_request *q, struct clarify_counts *counts, struct error *err);

#endif
