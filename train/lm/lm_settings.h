/*
 * lm_settings.h - every setting of `ambit-train infill`, `seq2seq` and `reward`, with defaults and presets, in a table
 * for each.
 */
#ifndef TRAIN_LM_LM_SETTINGS_H
#define TRAIN_LM_LM_SETTINGS_H

#include "data/cli/options.h"
#include "data/prompt/prompter.h"
#include "models/lm/llama_model.h"

struct lm_settings {
    /* what is trained */
    enum { METHOD_LORA, METHOD_FULL } method;      /* full: every weight */
    const char *targets;                           /* of LoRA: q,k,v,o,gate,up,down */
    enum { HEAD_NONE, HEAD_LORA, HEAD_FULL } head; /* of LoRA: a pair, or the whole matrix */
    int64_t rank;
    double alpha, lora_dropout;
    bool rslora;
    double neftune; /* alpha of the noise on embeddings */
    const char *compute;
    /* a model from scratch, when no folder is given; an encoder-decoder has so many layers twice */
    int64_t hidden, layers, heads, kv_heads, intermediate, positions;
    enum { FEED_RELU, FEED_GATED_GELU } feed_forward; /* of an encoder-decoder, as its dropout */
    double dropout;
    enum { START_PUBLISHED, START_COPY } start; /* t5_start.h, llama_start.h */
    /* how */
    int64_t epochs, batch, length, max_valid, patience;
    double lr, warmup, decay, clip;
    enum { LM_COSINE, LM_LINEAR, LM_CONSTANT } schedule;
    enum { LM_ADAMW, LM_ADAFACTOR } optimizer;
    enum { MOMENTS_F32, MOMENTS_BYTES } moments; /* of AdamW */
    enum lm_select {
        SELECT_LOSS,
        SELECT_RECALL,
        SELECT_TEMPLATE,
        SELECT_EXACT,
        SELECT_EXECUTION
    } select;        /* what the best checkpoint is best in */
    int64_t max_new; /* tokens of an answer, where it is one that says */
    bool group_by_length, share_prefix;
    /* of reward, see reward_trainer.h */
    int64_t answers, reuse;              /* drawn to each prompt; steps that learn from what was drawn at once */
    double penalty, clip_low, clip_high; /* of a wrong reading; how far a token's probability may have moved */
    double kl;                           /* weight of the divergence from the start */
    enum { ADVANTAGE_SCALED, ADVANTAGE_PLAIN } advantage; /* reward_trainer.h */
    /* running */
    int64_t tokens;     /* most tokens of a micro-batch */
    int64_t eval_every; /* steps between validations, 0: once an epoch */
    int64_t save_every; /* steps between checkpoints, 0: at validations only */
};

/* A whole command line: what to train on, where to, and how. */
struct lm_request {
    bool seq2seq; /* an encoder-decoder; no option: the command says it */
    const char *base, *tokenizer, *data, *valid, *schema, *db, *sqls, *sql_model, *out, *device, *config, *preset,
        *chat_template;
    struct prompter_options prompt; /* of what sql_model is asked */
    const char *test;               /* of reward */
    int64_t seed, show_samples;
    bool resume, dry_run, force, no_graph, shard_optimizer;
    struct lm_settings settings; /* last: what stands before it does not change the result */
};

extern const struct lm_request lm_request_defaults, seq2seq_request_defaults, reward_request_defaults;
extern const struct option lm_request_table[], seq2seq_request_table[], reward_request_table[];
extern const struct preset lm_presets[], seq2seq_presets[];

#endif
