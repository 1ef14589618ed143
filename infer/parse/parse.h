/*
 * parse.h - questions to SQL, several statements each: LogicalBeam's stages and what they are compared with.
 *
 * Records go through the stages a window at a time: each stage asks its model about all of the window, so that of
 * several models only one is in memory and memory is bounded.  A record that fails carries "error" and the run goes on.
 */
#ifndef INFER_PARSE_PARSE_H
#define INFER_PARSE_PARSE_H

#include "data/plan/parser_text.h"
#include "data/shard/shard.h"
#include "infer/lm/completer.h"

/*
 * beam, sample   the first model's beams, or draws
 * odin           its likeliest statements while what earlier ones used is hidden from it
 * direct         statements of a model that writes a plan first, for the plan that it says and those next to it
 * two-stage      a beam of templates, each filled by beams
 * plans          a template for each of those plans, filled by beams
 * single-stage   direct, but searched by the published rules of that ablation (published.h)
 * logical-beam   the same as plans, filled by what template_constraint.h allows
 */
enum parse_strategy {
    PARSE_BEAM,
    PARSE_SAMPLE,
    PARSE_ODIN,
    PARSE_DIRECT,
    PARSE_SINGLE_STAGE,
    PARSE_TWO_STAGE,
    PARSE_PLANS,
    PARSE_LOGICAL_BEAM
};
#define PARSE_STRATEGIES "beam|sample|odin|direct|single-stage|two-stage|plans|logical-beam"

/* How models are asked; auto: a chat model by its template, others in the published form. */
enum parse_prompt { PARSE_PROMPT_AUTO, PARSE_PROMPT_SEQ2SEQ, PARSE_PROMPT_CHAT };

/* Models of the same folder are one. */
struct parse_models {
    struct completer *sql, *templates, *fill;
};

struct parse_request {
    const char *input, *out;
    const char *schema, *db; /* as schema_catalog.h has them */
    enum record_form form;
    struct shard shard;
    int strategy, prompt; /* enums parse_strategy and parse_prompt */
    const char
        *calibration; /* of ambit-data calibrate: leave out what is less likely than its threshold; NULL: keep all */
    int64_t k, beams, window;
    struct engine_settings set; /* of draws; of beams the penalty of length */
    int template_schema;        /* 1: templates are asked for with the original schema */
    bool published;             /* logical-beam as its program does it: templates forced and filled by its rules */
    bool candidates;            /* write what ambit-infer clarify reads */
    bool resume;                /* go on with what OUT.part holds */
    bool dry;                   /* read all records, tell what is wrong with them and the memory; write nothing */
    const char *write;          /* list or one: write prompts for models elsewhere (prompt.h) instead; NULL: do not */
    const char *answers;        /* what such models answered, in place of the models; NULL: ask these */
    struct parse_models models;
};

/* Whether the strategy asks the text-to-SQL model alone. */
static inline bool parse_is_plain(const struct parse_request *q)
{
    return q->strategy <= PARSE_ODIN;
}

/* Whether the strategy fills templates. */
static inline bool parse_fills(const struct parse_request *q)
{
    return q->strategy >= PARSE_TWO_STAGE;
}

struct parse_counts {
    int64_t records, failed, statements, resumed; /* resumed: records of an earlier run */
};

/*
 * Records {"id", "db_id", "question"}, perhaps with a schema of their own, to themselves with "t2s_outs", their at most
 * k statements, "logprobs" of these, "templates" and "errors"; or to {"id", "db_id", "question", "candidates": [{"sql",
 * "logprob"}]}.  Lines are kept in OUT.part until all are there.  0 or -1, with the signal's code when one stopped it.
 */
int parse(const struct parse_request *q, struct parse_counts *counts, struct error *err);

#endif
