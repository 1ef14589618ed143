/*
 * parse.h - ambit-infer parse: questions to SQL, with several statements each (LogicalBeam and its baselines).
 *
 * Records pass the stages in windows.  Each stage asks its model about the whole window, so that only one model is in
 * memory and memory is bounded.  A record that fails is written with "error" and the run continues.
 */
#ifndef INFER_PARSE_PARSE_H
#define INFER_PARSE_PARSE_H

#include "data/base/shard.h"
#include "data/prompt/parser_text.h"
#include "infer/lm/completer.h"

/*
 * beam, sample   beams or samples of the first model
 * list           a list of statements by a server (elsewhere.h)
 * odin           its most probable statements while elements that earlier statements used are hidden (ODIN)
 * direct         statements of a model that writes a plan first, for the plan and its neighbours
 * two-stage      a beam of templates, each filled by beams
 * plans          a template for each of these plans, filled by beams
 * single-stage   direct, searched by the published rules of that ablation (published.h)
 * logical-beam   the templates of plans, filled under the constraint of template_constraint.h (LogicalBeam)
 */
enum parse_strategy {
    PARSE_BEAM,
    PARSE_SAMPLE,
    PARSE_LIST,
    PARSE_ODIN,
    PARSE_DIRECT,
    PARSE_SINGLE_STAGE,
    PARSE_TWO_STAGE,
    PARSE_PLANS,
    PARSE_LOGICAL_BEAM
};
#define PARSE_STRATEGIES "beam|sample|list|odin|direct|single-stage|two-stage|plans|logical-beam"

/* Form of prompts.  auto: the chat template if the model has one, else the published form. */
enum parse_prompt { PARSE_PROMPT_AUTO, PARSE_PROMPT_SEQ2SEQ, PARSE_PROMPT_CHAT };

/* Maximum number of tokens of a completion by a model in memory, and by a server, whose model may think first. */
enum { PARSE_MODEL_NEW = 256, PARSE_SERVER_NEW = 2048 };

/* Completers of the same folder share their model.  If sql has a server, the others are not used. */
struct parse_models {
    struct completer *sql, *templates, *fill;
};

struct parse_request {
    const char *input, *out;
    const char *schema, *db; /* for schema_catalog.h */
    enum record_format format_in;
    struct shard shard;
    int strategy, prompt;    /* enums parse_strategy and parse_prompt */
    const char *calibration; /* file of ambit-data calibrate, whose threshold drops statements; NULL: keep all */
    int64_t k, beams, window;
    struct engine_settings set; /* of samples; for beams the length penalty */
    int template_schema;        /* 1: prompts for templates show the original schema */
    bool published;             /* logical-beam: reproduce the authors' program */
    bool candidates;            /* write input of ambit-infer clarify */
    bool resume;                /* continue from OUT.part */
    bool dry;                   /* check all records, log errors and memory, write nothing */
    const char *write;          /* of QUERY_PROMPTS: write prompts for other models instead (prompt.h); or NULL */
    const char *answers;        /* completions of such models, in place of `models`; or NULL */
    struct parse_models models;
};

/* Tells whether the strategy uses the text-to-SQL model alone. */
static inline bool parse_is_plain(const struct parse_request *q)
{
    return q->strategy <= PARSE_ODIN;
}

/* Tells whether the strategy fills templates. */
static inline bool parse_fills(const struct parse_request *q)
{
    return q->strategy >= PARSE_TWO_STAGE;
}

struct parse_counts {
    int64_t records, failed, statements, resumed; /* resumed: records of an earlier run */
    int64_t unread;                               /* completions without a statement */
};

/*
 * Reads records {"id", "db_id", "question"}, perhaps with a schema of their own.  Adds "t2s_outs", at most k
 * statements, "logprobs", "templates" and "errors".  With q->candidates it writes {"id", "db_id", "question",
 * "candidates": [{"sql", "logprob"}]} instead.  OUT.part keeps the lines until the output is complete.  Returns 0, or
 * -1 with err; after a signal err has its exit code.
 */
int parse(const struct parse_request *q, struct parse_counts *counts, struct error *err);

#endif
