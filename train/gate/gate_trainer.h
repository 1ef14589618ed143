/*
 * gate_trainer.h - one run of `ambit-train gatekeeper`: a trainer of train/run/run.h with up to two stages, each with
 * its own sampler, schedule and optimizer moments.
 */
#ifndef TRAIN_GATE_GATE_TRAINER_H
#define TRAIN_GATE_GATE_TRAINER_H

#include "data/corpora/mixture.h"
#include "models/gate/gate_score.h"
#include "train/gate/gate_data.h"
#include "train/gate/gate_settings.h"
#include "train/run/run.h"

enum gate_stage {
    STAGE_RELEVANCE, /* element: encoder and relevance head on (question, element) pairs */
    STAGE_FROZEN,    /* element: the classifier on cached states */
    STAGE_JOINT,     /* encoder, relevance and classifier together */
};
enum { MAX_STAGES = 2 };

/* A positive element of an example: what the relevance stage draws. */
struct relevant_slot {
    int example, node;
};

struct gate_trainer {
    struct run run;
    const struct gate_settings *set;
    enum record_form form;                  /* of own labels */
    const char *data_folder, *db, *encoder; /* db: of own labels, else NULL; encoder: folder, NULL: from scratch */
    const char *labels, *label_field;       /* own ones beside the folder, or NULL; their field, or NULL */
    const char *linker, *states;            /* folders; NULL: relevance is trained here; states are kept for this run */
    struct gate_model linked;               /* the linker's model until its weights are taken */
    struct gate_model model;
    struct dataset records;
    struct mixture mixture; /* of --data, where that names several folders; else it has no parts */
    struct gate_data data;
    struct gate_data_settings reading; /* how it was read */
    struct distractor_source appender;
    struct gate_scorer scorer;
    struct text_builder text;
    struct relevant_slot *slots;
    int n_slots;
    int64_t *tokens;                         /* [slots, or training questions] of each */
    struct state_cache *cache, *valid_cache; /* frozen stage: states of what is trained and validated on */
    enum gate_stage kinds[MAX_STAGES];       /* of the stages */
    struct stage stages[MAX_STAGES];
    bool stock; /* the only encoder stays as it came: the relevance head learns beside the classifier */
};

/* As run_train. */
int gate_train(const struct gate_request *q, struct error *err);

/* A zeroed trainer that is ready to be opened. */
void gate_trainer_init(struct gate_trainer *t, const struct gate_request *q);
const char *gate_stage_name(enum gate_stage s);
/* The current stage; no stage is left once the run is over. */
enum gate_stage gate_stage(const struct gate_trainer *t);
bool gate_in_stage(const struct gate_trainer *t, enum gate_stage s);

#endif
