/*
 * ranks.h - data-parallel training over several processes (ranks).
 *
 * Every rank holds the whole model and the whole struct run_state, and takes the same decisions. Each rank computes the
 * gradients of its partition of a batch (sampler_cut). Gradients and losses are summed in the order of ranks, so that
 * the update is the same on every rank, bit for bit. Rank 0 alone validates, reports and writes files. Everything that
 * may differ between ranks (a failure, a signal, a score) is exchanged in a status all-gather. A run with one rank
 * exchanges nothing.
 *
 * Gradients are concatenated and cut into buckets, which bound the memory of a sum. They are summed after the backward,
 * on linked devices or on the host. Updated weights are all-gathered, and rank 0 gathers the optimizer states that it
 * saves.
 */
#ifndef TRAIN_RUN_RANKS_H
#define TRAIN_RUN_RANKS_H

#include "kernels/base.h"
#include "kernels/collective.h"
#include "kernels/links.h"
#include "kernels/param.h"
#include "train/run/trainer.h"

/* The gradients of all trained parameters, concatenated and cut into buckets. The cut depends on the parameters only
 * and is the same on every rank. */

enum { BUCKET_MAX = 1 << 22 /* floats */ };

struct buckets {
    const struct params *params;
    int64_t total, size; /* floats in all, and of one bucket; the last bucket may have fewer */
    int n;
};

/* A position in the concatenated gradients. Zeroed: the start. */
struct bucket_place {
    int done; /* parameters before the position */
    int64_t at;
};
/* Copies between elements [at, at + n) of a parameter and n floats of a bucket. */
typedef void bucket_copy_fn(void *arg, const struct param *p, int64_t at, float *numbers, int64_t n);

struct run;

/* ranks_link connects the devices and takes device memory. ranks_sum replaces the gradients of all trained parameters
 * by their sums over ranks. Both return -1 if communication fails. */
int ranks_link(struct run *r, struct error *err);
int ranks_sum(struct run *r, struct error *err);
/* With a sharded optimizer: every rank receives the weights that the other ranks have updated. Otherwise it does
 * nothing. */
int ranks_gather_weights(struct run *r, struct error *err);
/* ranks_whole_state is a checkpoint_state_fn: rank 0 collects a whole optimizer state while the other ranks run
 * ranks_serve_states. ranks_end_states ends their service. */
int ranks_whole_state(void *run, const struct param *p, int k, float *out, struct error *err);
int ranks_serve_states(struct run *r, struct error *err);
void ranks_end_states(struct run *r);
/* True if each rank keeps one shard of the optimizer's state (optim.h). */
bool ranks_sharded(const struct run *r);

struct run;

/* The status of a rank, which the status all-gather sends to all other ranks. */
struct rank_status {
    enum exit_code code; /* with text: the reason to end; EXIT_CODE_OK: none */
    int stop;            /* the signal that asked this rank to stop, or 0 */
    int rc, n;           /* results of a validation or of finish */
    double score;
    bool final;
    float loss;    /* of this rank's partition of a step */
    int64_t units; /* work units of the step; in ranks_agree: bytes of the settings */
    char text[1024];
};

struct ranks {
    struct collective all;
    struct rank_status *statuses; /* [size] of the newest status all-gather */
    int stop;                     /* the signal that all ranks know of, or 0 */
    bool told;                    /* all ranks know the failure that ends this run */
    bool in_step;              /* from the end of the backward to the update: run_state is that of the previous step */
    double asked;              /* time at which a waiting call first saw a signal; 0: none yet */
    float *in, *out;           /* [size, slice] of a bucket, in host memory, or on linked devices */
    const struct links *links; /* NULL: gradients go through host memory */
    struct arena memory;       /* device memory for in and out */
    struct buckets buckets;
    struct bucket_place from, to; /* where the next bucket is read from, and written to */
    double met, summed, gathered; /* seconds in status all-gathers, sums, and all-gathers of updated weights */
    int64_t bytes, steps;         /* bytes sent for sums; steps that were summed */
};

/* -1 as collective_open. */
int ranks_open(struct run *r, struct error *err);
/* Call before run_close. Sends this rank's error to all others. If communication has failed, rank 0 saves the last
 * common state, and the call does not return. */
void ranks_end(struct run *r, int rc, struct error *err);
void ranks_close(struct run *r);

/* True on the rank that validates, reports and writes. */
bool ranks_first(const struct run *r);
/* The device of this rank. "cuda" becomes the rank's own GPU. "auto" becomes its own GPU, or "cpu" where no GPU is
 * expected. Other values are returned unchanged. `own` is a buffer for the name. */
const char *ranks_device(const struct run *r, const char *device, char own[32]);
/* -1 with EXIT_CODE_USAGE, naming the first setting, data hash or weight hash that differs from rank 0's. */
int ranks_agree(struct run *r, struct error *err);
int ranks_agree_weights(struct run *r, struct error *err);

/* Call the trainer's function of that name: prepare on rank 0 first and then on all ranks, validate and finish on
 * rank 0 only. All ranks return rank 0's result. */
int ranks_prepare(struct run *r, struct error *err);
int ranks_validate(struct run *r, int (*validate)(struct run *r, struct validation *v, struct error *err),
                   struct validation *v, struct error *err);
int ranks_finish(struct run *r, int (*finish)(struct run *r, struct error *err), struct error *err);

/* Gives each rank dropout masks of its own. Call it after the random state of a checkpoint or a stage was set, and
 * once more before that state is saved. */
void ranks_seed(struct run *r);
/* Computes gradients, loss and units of the whole batch. `part` computes those of this rank's partition. */
int ranks_step(struct run *r, int (*part)(struct run *r, struct error *err), struct error *err);
void ranks_unlink(struct run *r);
/* Writes a summary of the time spent on communication. False, for one rank: there is nothing to report. */
enum { RANKS_TEXT = 300 };
bool ranks_tell(const struct run *r, char text[RANKS_TEXT]);

#endif
