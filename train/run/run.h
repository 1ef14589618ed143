/*
 * run.h - a training run from its command line to the finished model: the loop that every trainer shares.
 *
 * Everything a run will do is a function of its settings, its data and struct run_state, so a run that was stopped in
 * whatever way goes on exactly where its checkpoint stood and ends with the same bits.  What is written goes through
 * here alone, and run_batch alone says which examples a step is about.
 *
 *   OUT/config.yaml     the command line
 *   OUT/metrics.jsonl   loss, learning rate and validations, step by step
 *   OUT/checkpoint-N/   weights, moments, counters, cursor and metrics.jsonl after step N; the newest one only
 *   OUT/best/           weights of the best validation so far
 *   OUT/ambit.h5        the finished model: the best weights, written last
 */
#ifndef TRAIN_RUN_RUN_H
#define TRAIN_RUN_RUN_H

#include "data/cli/options.h"
#include "kernels/optim.h"
#include "kernels/workspace.h"
#include "train/run/ranks.h"
#include "train/run/sampler.h"
#include "train/run/trainer.h"

/* Bytes of the largest of many steps, without running any.
 *
 * What a step takes grows with a few sizes of its batch, so one that has no more of any of them than a step that is
 * known already need not be built: of thousands a few dozen are. */

enum { EXTENT_SIZES = 8 };

/* All that the memory of a step grows with, each by itself; those not used are 0. */
struct extent {
    int64_t size[EXTENT_SIZES];
};

/* Steps of one form of network; the workspace's ctx says whether they record and train. */
struct measurement {
    struct workspace *work;
    struct extent *known;
    int n, cap;
    struct workspace_bytes most; /* of the largest */
};

void measurement_add(struct measurement *m, const struct extent *e, step_fn *fn, void *arg);
void measurement_release(struct measurement *m);

/* What a command line says of the run itself. */
struct run_settings {
    const char *out, *device;
    uint64_t seed;
    bool resume, dry_run, force, no_graph;
    bool shard_optimizer; /* over ranks, where there are others */
    int64_t eval_every;   /* steps between validations, 0: once an epoch */
    int64_t save_every;   /* steps between checkpoints, 0: at validations only */
    int64_t patience;     /* validations without a better one before a stage ends, 0: any number */
    const struct option *table;
    const void *request; /* the struct that table fills; what lies at offset `from` or behind changes the result */
    size_t from, size;
    const char *data; /* what data_hash is of, in messages */
};

/* Those of a trainer's request, whose fields have these names, the last of them `settings`. */
#define RUN_SETTINGS(q, table_)                                                                                        \
    (struct run_settings)                                                                                              \
    {                                                                                                                  \
        .out = (q)->out, .device = (q)->device, .seed = (uint64_t)(q)->seed, .resume = (q)->resume,                    \
        .dry_run = (q)->dry_run, .force = (q)->force, .no_graph = (q)->no_graph,                                       \
        .shard_optimizer = (q)->shard_optimizer, .eval_every = (q)->settings.eval_every,                               \
        .save_every = (q)->settings.save_every, .patience = (q)->settings.patience, .table = (table_), .request = (q), \
        .from = offsetof(__typeof__(*(q)), settings), .size = sizeof *(q), .data = (q)->data,                          \
    }

/* What a checkpoint must bring back besides weights, moments and random numbers. */
struct run_state {
    int stage;            /* n_stages when all are done */
    int64_t epoch, batch; /* the next batch of this stage */
    int64_t step;         /* of all stages */
    double best;          /* best figure of this stage so far */
    int64_t best_step;
    int64_t worse;    /* validations since */
    int64_t units;    /* of work done, where the trainer counts them */
    bool unvalidated; /* a signal came before the validation that is due */
};

struct run {
    const struct trainer *trainer;
    void *self; /* the struct that the trainer's functions get */
    struct run_settings set;
    struct ranks ranks;
    struct device device;
    struct workspace work;
    struct run_state state;

    /* The trainer's to fill, in open but for what start or enter_stage has. */
    const struct stage *stages;
    int n_stages;
    struct params *params;            /* what is trained and saved */
    struct sampler sampler;           /* of the current stage */
    uint64_t data_hash;               /* of everything that is learnt and chosen by */
    size_t model_bytes, copied_bytes; /* beside a step; those of them that are copies for faster products */
    bool *recompute;                  /* set where memory is short: layers again in the backward.  May be NULL */
    char hint[96];                    /* how less memory would do */
    struct optim optim;               /* memory by run_take */
    struct tensor *loss_total;        /* F32 [1]: sum of the steps' losses since they were last logged */

    /* The loop's own. */
    int64_t loss_steps, saved_step, units_before;
    int64_t saved_best; /* the step whose weights are in OUT/best, 0: none are */
    struct workspace_bytes step_bytes;
    struct metrics_log metrics;
};

/* 0 when the model is finished (or the run a dry one), 1 when a signal stopped it after saving, -1 on failure.  The
 * caller has filled trainer, self and set of a zeroed run. */
int run_train(struct run *r, struct error *err);

/* The batch at the cursor: n examples, of which those from first to end are this rank's to compute.  Losses are means
 * over all n, and random choices those that are made where one rank goes through all of them. */
struct batch_partition {
    const int *examples;
    int n, first, end;
};
/* For a trainer's functions. */
struct batch_partition run_batch(struct run *r);
int64_t run_batches(const struct run *r); /* of an epoch */
int64_t run_stage_steps(const struct run *r);
/* Memory of optim, and, beside the parameters, that of loss_total: at most RUN_BYTES.  params are set. */
enum { RUN_BYTES = 4096 };
int run_take(struct run *r, const struct param_arenas *a, struct error *err);
/* What its parameters are declared for: o, its state cut over ranks where the run asks for that. */
enum optimizer run_optimizer(const struct run *r, enum optimizer o);
/* AdamW with its usual momenta. */
void run_plan(struct run *r, struct schedule schedule, double decay, double clip);

/* For this folder and tests */

/* everything before the first step, but for a checkpoint: device, trainer, estimate, memory. */
int run_open(struct run *r, struct error *err);
void run_close(struct run *r);

/* bytes of the largest step of all batches of all stages; then whether they and the model fit. */
int run_measure(struct run *r, struct workspace_bytes *bytes, struct error *err);

/* one optimizer step on the batch at the cursor, which does not move. */
int run_step(struct run *r, struct error *err);
/* A checkpoint, unless the newest is of this step. */
int run_save(struct run *r, struct error *err);

#endif
