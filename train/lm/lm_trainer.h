/*
 * lm_trainer.h - one run of `ambit-train infill` or `seq2seq`: a trainer of train/run/run.h with one stage.
 *
 * A step takes one batch; the batch is cut into micro-batches of whole texts, each run forward and backward by itself.
 * The loss is the mean over all target tokens of the batch, so how it is cut changes memory and rounding, and nothing
 * else.  Beside the loop's files OUT gets what other tools load: the adapter as PEFT has it, or for --method full the
 * whole Hugging Face folder.
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
    struct run run; /* its units are tokens; its params the adapter's, or all of the model's */
    const struct lm_request *request;
    const struct lm_settings *set;
    struct llama_config config; /* of a decoder */
    struct t5_config t5_config; /* of an encoder-decoder */
    struct llama_model model;
    struct stage stage;
    struct lm_data train, valid;
    struct lm_judge judge;
    struct lm_recall recall;
    struct lm_batch batch; /* of the micro-batch under way */
    int64_t micro_tokens;  /* its texts' own */
    double prefix_gain;    /* with share_prefix: measure_sharing() */
    uint64_t base_hash;    /* of the weights it started from; 0 from scratch */
    bool keep_records;     /* those to learn from stay beside their tokens */
};

/* As run_train. */
int lm_train(const struct lm_request *q, struct error *err);

/* A zeroed trainer that is ready to be opened. */
void lm_trainer_init(struct lm_trainer *t, const struct lm_request *q);

/* The parts of lm_trainer.h: the functions of its struct trainer, t being an lm_trainer. */
int lm_open(void *t, struct error *err);
int lm_start(void *t, struct error *err);
void lm_close(void *t);

/* fields of a checkpoint's meta, t being an lm_trainer; the form that other tools load. */
void lm_describe(const void *t, json_t *meta);
int lm_write_forms(struct lm_trainer *t, struct error *err);
/* What a validation's figure is called in metrics.jsonl, by enum lm_select; NULL: there is the loss
 * alone. */
extern const char *const lm_metrics[];

/* The adapter that a run's settings describe. */

/* As PEFT describes it; c is zeroed before, and the caller releases it.  -1 with EXIT_CODE_USAGE for a target that is
 * none. */
int lm_lora_config(struct lora_config *c, const struct lm_settings *s, const char *base, struct error *err);

#endif
