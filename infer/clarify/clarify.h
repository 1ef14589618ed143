/*
 * clarify.h - ambit-infer clarify: reads candidates and writes the most informative question of each record.
 *
 * Records are read one after the other and written in input order.  A record that cannot be used is written with
 * "error" and the run continues.
 */
#ifndef INFER_CLARIFY_CLARIFY_H
#define INFER_CLARIFY_CLARIFY_H

#include "data/base/shard.h"
#include "data/db/schema_catalog.h"
#include "data/endpoint/endpoint.h"
#include "infer/clarify/clarify_case.h"

struct clarify_request {
    const char *candidates, *schema, *db, *out;
    const char *predictions, *spans; /* files of detect and of tag, or NULL */
    enum record_format format_in;    /* of the file of candidates */
    struct shard shard;
    enum strategy strategy;
    double noise, confidence, min_gain, second_cost;
    int64_t max_turns;
    bool repeat;        /* attributes may be asked about again */
    double auto_choice; /* choose without a user at this probability, in place of confidence; NAN: do not */
    bool simulate;      /* run dialogues about each "gold"; the last line has the metrics */
    const char *memory; /* file of the user's choices (choice_memory.h), or NULL */
    const char *report; /* report.html that compares all strategies, or NULL */
    double user_noise, user_unknown;
    int64_t seed;
    bool serve, interactive;
    const char *id, *replay, *transcript; /* with interactive; or NULL */
    const char *write_wordings;           /* file for prompts of the questions' wordings, in place of out; or NULL */
    const char *wordings;                 /* file of completions of these prompts, or NULL */
    struct wording_model wording_model;
    /* For the command, which opens wording_model: its folder, or NULL, its chat template, or NULL, its device, and its
     * server, whose address may be NULL. */
    const char *wording_dir, *chat_template, *device;
    struct endpoint_settings lm;
};

/* The defaults of ambit-infer clarify. */
extern const struct clarify_request clarify_request_default;

struct clarify_counts {
    int64_t records, failed, asked, rejected, gold_errors;
};

/* Fills the settings of dialogues from a request. */
void clarify_settings_init(struct clarify_settings *s, const struct clarify_request *q);

/* Runs the request.  Returns 0, -1 with err, or 1 after a signal. */
int clarify(const struct clarify_request *q, struct clarify_counts *counts, struct error *err);

#endif
