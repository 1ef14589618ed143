/*
 * dte_tagger.h - the DTE tagger: a model in memory, and the answers to questions.
 *
 * A dte_model holds device memory, parameters, tokenizer and the specification from its checkpoint. A dte_tagger
 * borrows a model and a workspace. It reads windows of many questions at once, then decodes each question. Validation
 * and `ambit-infer tag` share this code.
 */
#ifndef MODELS_TAGGER_DTE_TAGGER_H
#define MODELS_TAGGER_DTE_TAGGER_H

#include "kernels/workspace.h"
#include "models/io/checkpoint.h"
#include "models/net/dte.h"
#include "models/tagger/dte_batch.h"
#include "models/tagger/dte_decode.h"
#include "models/text/tokenizer.h"

/* The description of a tagger in a checkpoint's meta data ("model": {...}). */
struct dte_spec {
    struct dte_config config;
    enum dtype dtype;
    double temperature; /* divisor of emissions and transitions, for probabilities */
    double threshold;   /* min probability of AMB and UNK spans */
    bool keywords;      /* the keywords were trained on the SQL of questions */
};

struct dte_model {
    struct device *device;
    struct arena host, data;
    struct params params;
    struct dte net;
    struct dte_spec spec;
    struct tokenizer *tokenizer;
    uint64_t hash; /* hash of names, sizes and times of its files */
};

/* Bytes beside the parameters for the state of a training. */
enum { DTE_MODEL_EXTRA = 4096 };

/* Takes memory and declares the parameters; their values are undefined. Takes the tokenizer, also on failure. */
int dte_model_init(struct dte_model *m, struct device *device, const struct dte_spec *spec, enum optimizer optimizer,
                   struct tokenizer *tokenizer, struct error *err);
/* Opens a trained model: a folder with ambit.h5 and tokenizer, or a run's folder, whose newest checkpoint serves
 * until it has them. -1 with EXIT_CODE_CHECKPOINT. */
int dte_model_open(struct dte_model *m, struct device *device, const char *dir, struct error *err);
void dte_model_release(struct dte_model *m);

json_t *dte_spec_to_json(const struct dte_spec *s);
int dte_spec_from_json(const json_t *o, struct dte_spec *s, const char *where, struct error *err);

struct dte_tagger {
    const struct dte_model *model;
    struct workspace *workspace;
    struct dte_layout layout;
    struct dte_decode_settings settings;
    int64_t max_tokens; /* max tokens of a pass; a longer sequence has a pass of its own */
    bool eta;           /* answers are links alone, see dte_decode_eta */
    bool heat;          /* computes the heat of each word by erasing it */
};
/* Starts a tagger with the model's temperature and threshold. -1 with EXIT_CODE_CHECKPOINT, see dte_layout_init. */
int dte_tagger_init(struct dte_tagger *t, const struct dte_model *m, struct workspace *w, int64_t max_tokens,
                    struct error *err);

/* Answers n items. The caller releases the answers, also on failure. */
int dte_tag(struct dte_tagger *t, const struct dte_item *items, int n, struct tag_answer *answers, struct error *err);

/* The two halves of dte_tag without heat: the network's scores, and the answers by t->settings. So one reading can be
 * answered by several settings. The caller releases readings and answers, also on failure. */
int dte_tag_read(struct dte_tagger *t, const struct dte_item *const *items, int n, struct dte_reading *readings,
                 struct error *err);
void dte_answer(const struct dte_tagger *t, const struct dte_reading *readings, int n, struct tag_answer *answers);

/* Computes the scores of n items, in inference. The caller releases the readings, also on failure. */
int dte_read(struct dte_tagger *t, const struct dte_item *const *items, int n, struct dte_reading *readings,
             struct error *err);

/* Probabilities of the concepts of n sequences one after another, keywords first, in inference. p has
 * dte_sizes.entities + n * DTE_KEYWORDS numbers. */
int dte_probabilities(struct dte_tagger *t, const struct dte_sequence *s, int n, float *p, struct error *err);

#endif
