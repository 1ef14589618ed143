/*
 * run.h - a training run: the loop that all trainers share, from the request to the finished model.
 *
 * All steps are a function of settings, data and struct run_state. A stopped run therefore resumes exactly at its
 * checkpoint and ends with the same bits. All files of a run are written here, and run_batch() alone selects the
 * examples of a step.
 *
 *   OUT/config.yaml     all settings
 *   OUT/metrics.jsonl   loss, learning rate, validation metrics, time, speed and memory
 *   OUT/checkpoint-N/   weights, optimizer state, counters and metrics.jsonl after step N; only the newest is kept
 *   OUT/best/           weights of the best validation so far
 *   OUT/ambit.h5        the finished model: the best weights, written last
 */
#ifndef TRAIN_RUN_RUN_H
#define TRAIN_RUN_RUN_H

#include "data/base/options.h"
#include "kernels/optim.h"
#include "kernels/workspace.h"
#include "train/run/ranks.h"
#include "train/run/sampler.h"
#include "train/run/trainer.h"

/* Memory of the largest step, found without running one. The memory of a step grows with a few sizes of its batch. A
 * step whose sizes are all covered by a known step need not be built, so that of thousands of steps a few dozen are. */

enum { EXTENT_SIZES = 8 };

/* All sizes that the memory of a step depends on; unused ones are 0. */
struct extent {
    int64_t size[EXTENT_SIZES];
};

/* Steps of one kind of network. The workspace's ctx says whether they record and train. */
struct measurement {
    struct workspace *work;
    struct extent *known;
    int n, cap;
    struct workspace_bytes most; /* of the largest step */
};

void measurement_add(struct measurement *m, const struct extent *e, step_fn *fn, void *arg);

/* Settings of the run itself. */
struct run_settings {
    const char *out, *device;
    uint64_t seed;
    bool resume, dry_run, force, no_graph;
    bool shard_optimizer; /* keep one shard of the optimizer's state on each rank */
    int64_t eval_every;   /* steps between validations; 0: once an epoch */
    int64_t save_every;   /* steps between checkpoints; 0: at validations only */
    int64_t patience;     /* validations without improvement before a stage ends; 0: no limit */
    const struct option *table;
    const void *request; /* the struct that table fills; fields at offset `from` or later change the result */
    size_t from, size;
    const char *data; /* name of the data in messages */
};

/* The run_settings of a trainer's request. The request has fields of these names, and `settings` is its last field. */
#define RUN_SETTINGS(q, table_)                                                                                        \
    (struct run_settings)                                                                                              \
    {                                                                                                                  \
        .out = (q)->out, .device = (q)->device, .seed = (uint64_t)(q)->seed, .resume = (q)->resume,                    \
        .dry_run = (q)->dry_run, .force = (q)->force, .no_graph = (q)->no_graph,                                       \
        .shard_optimizer = (q)->shard_optimizer, .eval_every = (q)->settings.train.eval_every,                         \
        .save_every = (q)->settings.train.save_every, .patience = (q)->settings.train.patience, .table = (table_),     \
        .request = (q), .from = offsetof(__typeof__(*(q)), settings), .size = sizeof *(q), .data = (q)->data,          \
    }

/* State that a checkpoint restores besides weights, moments and random numbers. */
struct run_state {
    int stage;            /* n_stages after the last stage */
    int64_t epoch, batch; /* the next batch of this stage */
    int64_t step;         /* over all stages */
    double best;          /* best validation score of this stage */
    int64_t best_step;
    int64_t worse;    /* validations since the best one */
    int64_t units;    /* work done, if the trainer counts it */
    bool unvalidated; /* a signal interrupted the validation that is due */
};

struct run {
    const struct trainer *trainer;
    void *self; /* argument of the trainer's functions */
    struct run_settings set;
    struct ranks ranks;
    struct device device;
    struct workspace work;
    struct run_state state;

    /* Filled by the trainer in open, and in start or enter_stage. */
    const struct stage *stages;
    int n_stages;
    struct params *params;            /* trained and saved */
    struct sampler sampler;           /* of the current stage */
    uint64_t data_hash;               /* of training and validation data */
    size_t model_bytes, copied_bytes; /* bytes besides a step, and those of them that are packed copies of weights */
    bool *recompute;                  /* set to save memory: the backward recomputes layers. May be NULL */
    char hint[96];                    /* advice for less memory, in an error message */
    struct optim optim;               /* its memory is taken by run_take */
    struct tensor *loss_total;        /* F32 [1]: sum of the losses since the last log line */

    /* Private to the loop. */
    int64_t loss_steps, saved_step, units_before;
    int64_t saved_best; /* the step whose weights are in OUT/best; 0: none */
    struct workspace_bytes step_bytes;
    struct metrics_log metrics;
    struct {
        double before, opened; /* seconds of earlier processes; the time at which this one opened the log */
        double seconds;        /* of the steps since the last log line, without validation and checkpoints */
        int64_t examples;      /* of these steps, on all ranks */
    } speed;
    int lock; /* descriptor of the locked folder; 0: none */
};

/* Trains. The caller has filled trainer, self and set of a zeroed run. Returns 0 when the model is finished or a dry
 * run has ended, 1 when a signal stopped the run after saving, -1 on failure. */
int run_train(struct run *r, struct error *err);

/* The current batch: n examples. This rank computes examples [first, end). Losses are means over all n examples.
 * Random choices are those of a single rank that goes through all n examples. */
struct batch_partition {
    const int *examples;
    int n, first, end;
};
/* For a trainer's `finish`: writes the numbers of an object with test metrics for TensorBoard. */
int run_log_test(struct run *r, const json_t *metrics, struct error *err);

/* The current batch, for a trainer's functions. */
struct batch_partition run_batch(struct run *r);
int64_t run_batches(const struct run *r); /* batches of an epoch */
int64_t run_stage_steps(const struct run *r);
/* Takes the memory of the optimizer and, from the parameters' arena, at most RUN_BYTES for loss_total. params are
 * set. -1 with EXIT_CODE_MEMORY. */
enum { RUN_BYTES = 4096 };
int run_take(struct run *r, const struct param_arenas *a, struct error *err);
/* The optimizer that parameters are declared with: o, sharded over ranks if the run asks for that. */
enum optimizer run_optimizer(const struct run *r, enum optimizer o);
/* Sets schedule, weight decay and gradient clipping of AdamW (beta 0.9 and 0.999) and Adafactor. */
void run_plan(struct run *r, struct schedule schedule, double decay, double clip);

/* Opens device and trainer, estimates the memory and takes it. Restores no checkpoint. run_close releases all, also
 * after a failure. */
int run_open(struct run *r, struct error *err);
void run_close(struct run *r);

/* Bytes of the largest step among all batches of all stages. */
int run_measure(struct run *r, struct workspace_bytes *bytes, struct error *err);

/* Runs one optimizer step on the current batch. The cursor stays. */
int run_step(struct run *r, struct error *err);
/* Writes a checkpoint, unless the newest one is of this step. */
int run_save(struct run *r, struct error *err);

#endif
