/*
 * gate_trainer.h - one run of `ambit-train gatekeeper`, as a trainer of train/run/run.h.
 *
 * A run has up to two stages. Each has a sampler, a schedule and optimizer moments of its own.
 */
#ifndef TRAIN_DETECTOR_GATE_TRAINER_H
#define TRAIN_DETECTOR_GATE_TRAINER_H

#include "data/corpora/mixture.h"
#include "models/gatekeeper/gate_score.h"
#include "train/detector/gate_data.h"
#include "train/detector/gate_settings.h"
#include "train/run/run.h"

enum gate_stage {
    STAGE_RELEVANCE, /* element encoding: trains encoder and relevance head on (question, element) pairs */
    STAGE_FROZEN,    /* element encoding: trains the classifier on cached states */
    STAGE_JOINT,     /* trains encoder, relevance head and classifier together */
};
enum { MAX_STAGES = 2 };

/* A relevant element of an example, which the relevance stage samples. */
struct relevant_slot {
    int example, node;
};

struct gate_trainer {
    struct run run;
    const struct gate_settings *set;
    enum record_format format_in; /* of a custom data set */
    const char *data_folder, *db,
        *encoder;                     /* db: of a custom data set, else NULL; encoder: a folder, NULL: a new one */
    const char *labels, *label_field; /* a custom data set besides the folder, or NULL; its label field, or NULL */
    const char *linker, *states; /* folders. No linker: relevance is trained here. No states: they are kept in OUT */
    const char *init;            /* folder of a finished detector whose weights are the first, or NULL */
    struct gate_model linked;    /* the model of linker or init, until its weights are copied */
    struct gate_model model;
    struct dataset records;
    struct mixture mixture; /* the folders of --data; empty if there is only one */
    struct gate_data data;
    struct gate_data_settings reading; /* settings that the data was read with */
    struct distractor_source appender;
    struct gate_scorer scorer;
    struct text_builder text;
    struct relevant_slot *slots;
    int n_slots;
    int64_t *tokens;                         /* [slots or training questions] tokens of each */
    struct state_cache *cache, *valid_cache; /* frozen stage: states of training and validation examples */
    enum gate_stage kinds[MAX_STAGES];       /* of the stages */
    struct stage stages[MAX_STAGES];
    bool stock; /* the only encoder is frozen: the relevance head is trained with the classifier */
};

/* As run_train. */
int gate_train(const struct gate_request *q, struct error *err);

/* Fills a trainer that is ready to be opened. */
void gate_trainer_init(struct gate_trainer *t, const struct gate_request *q);
const char *gate_stage_name(enum gate_stage s);
/* The current stage. After the end of the run no stage is current. */
enum gate_stage gate_stage(const struct gate_trainer *t);
bool gate_in_stage(const struct gate_trainer *t, enum gate_stage s);

#endif
