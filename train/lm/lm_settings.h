/*
 * lm_settings.h - all settings of `ambit-train infill`, `seq2seq` and `reward`, with defaults and presets, in one
 * table each.
 */
#ifndef TRAIN_LM_LM_SETTINGS_H
#define TRAIN_LM_LM_SETTINGS_H

#include "data/base/options.h"
#include "data/endpoint/endpoint.h"
#include "data/prompt/prompter.h"
#include "models/lm/llama_model.h"
#include "train/run/train_settings.h"

struct lm_settings {
    /* trained parameters */
    enum { METHOD_LORA, METHOD_FULL } method;      /* full: all weights */
    const char *targets;                           /* of LoRA: q,k,v,o,gate,up,down */
    enum { HEAD_NONE, HEAD_LORA, HEAD_FULL } head; /* of LoRA: a low-rank pair, or the whole matrix */
    int64_t rank;
    double alpha, lora_dropout;
    bool rslora;
    double neftune; /* alpha of the noise on embeddings */
    const char *compute;
    /* a new model; an encoder-decoder has `layers` on each side */
    int64_t hidden, layers, heads, kv_heads, intermediate, positions;
    enum { FEED_RELU, FEED_GATED_GELU } feed_forward; /* of an encoder-decoder, as dropout */
    double dropout;
    enum {
        INITIALISATION_PUBLISHED,
        INITIALISATION_COPY
    } initialisation; /* see t5_start_copying and llama_start_copying */
    /* optimisation */
    struct train_settings train;
    int64_t length, max_valid;
    enum { LM_COSINE, LM_LINEAR, LM_CONSTANT } schedule;
    enum { LM_ADAMW, LM_ADAFACTOR } optimizer;
    enum { MOMENTS_F32, MOMENTS_BYTES } moments; /* of AdamW */
    enum lm_select {
        SELECT_LOSS,
        SELECT_RECALL,
        SELECT_TEMPLATE,
        SELECT_EXACT,
        SELECT_EXECUTION
    } select;        /* the score that chooses the best checkpoint */
    int64_t max_new; /* max tokens of a generated completion */
    bool group_by_length, share_prefix;
    /* reward, see reward_trainer.h */
    int64_t answers, reuse;              /* completions of a prompt; steps per sampling round */
    double penalty, clip_low, clip_high; /* penalty of a wrong interpretation; clip range of the probability ratio */
    const char *program;                 /* command that computes rewards, or NULL: by execution */
    double program_timeout;              /* seconds for the rewards of a list of completions */
    double kl;                           /* weight of the KL divergence from the initial model */
    enum { ADVANTAGE_SCALED, ADVANTAGE_PLAIN } advantage; /* reward_trainer.h */
};

/* A whole command line. */
struct lm_request {
    bool seq2seq; /* an encoder-decoder; set by the command */
    const char *base, *tokenizer, *data, *valid, *schema, *db, *sqls, *sql_model, *out, *device, *config, *preset,
        *chat_template;
    struct prompter_options prompt;  /* prompts for sql_model and server */
    struct endpoint_settings server; /* of reward, in place of sql_model */
    const char *test;                /* of reward */
    int64_t seed, show_samples;
    bool resume, dry_run, force, no_graph, shard_optimizer;
    struct lm_settings settings; /* last: fields before it do not change the result */
};

extern const struct lm_request lm_request_defaults, seq2seq_request_defaults, reward_request_defaults;
extern const struct option lm_request_table[], seq2seq_request_table[], reward_request_table[];
extern const struct preset lm_presets[], seq2seq_presets[];

#endif
