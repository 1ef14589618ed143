/*
 * lm_trainer.h - one run of `ambit-train infill` or `seq2seq`: a trainer of train/run/run.h with one stage.
 *
 * A step processes one batch, cut into micro-batches of whole texts. The loss is the mean over all target tokens of
 * the batch, so that the cut changes only memory and rounding. The result is also written for other tools: the
 * adapter for PEFT, or with --method full a Hugging Face folder.
 */
#ifndef TRAIN_LM_LM_TRAINER_H
#define TRAIN_LM_LM_TRAINER_H

#include "models/engine/engine.h"
#include "models/lm/lm_batch.h"
#include "train/lm/lm_data.h"
#include "train/lm/lm_judge.h"
#include "train/lm/lm_settings.h"
#include "train/run/run.h"

struct lm_trainer {
    struct run run; /* units are tokens; params are the adapter's, or the model's */
    const struct lm_request *request;
    const struct lm_settings *set;
    struct llama_config config; /* of a decoder */
    struct t5_config t5_config; /* of an encoder-decoder */
    struct llama_model model;
    struct stage stage;
    struct lm_data train, valid;
    struct lm_judge judge;
    struct lm_recall recall;
    struct lm_batch batch; /* the current micro-batch */
    int64_t micro_tokens;  /* its tokens without padding */
    double prefix_gain;    /* with share_prefix: ratio of all tokens to computed tokens */
    uint64_t base_hash;    /* of the initial weights; 0: a new model */
    bool keep_records;     /* keep the training records too */
};

/* As run_train. */
int lm_train(const struct lm_request *q, struct error *err);

/* Fills a trainer that is ready to be opened. */
void lm_trainer_init(struct lm_trainer *t, const struct lm_request *q);

/* Functions of struct trainer; t is an lm_trainer. lm_open takes no memory of the device, lm_start does. */
int lm_open(void *t, struct error *err);
int lm_start(void *t, struct error *err);
void lm_close(void *t);

/* lm_describe adds fields to a checkpoint's meta data; t is an lm_trainer. lm_write_forms writes the formats of
 * other tools. */
void lm_describe(const void *t, json_t *meta);
int lm_write_forms(struct lm_trainer *t, struct error *err);
/* Names of validation scores in metrics.jsonl, by enum lm_select; NULL: the loss. */
extern const char *const lm_metrics[];
/* Writes the verdict of a report: the first value of a metric in metrics.jsonl and that of a step, the best one. `what`
 * names the metric. */
void lm_verdict(char *text, size_t size, const char *metrics, const char *metric, const char *what, int64_t best);

/* The configuration of the adapter, as PEFT writes it. c is zeroed; the caller releases it. -1 with EXIT_CODE_USAGE
 * for an unknown target. */
int lm_lora_config(struct lora_config *c, const struct lm_settings *s, const char *base, struct error *err);

#endif
