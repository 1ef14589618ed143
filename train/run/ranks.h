/*
 * ranks.h - a run over several processes: who computes what, who writes, and how all of them keep to one state.
 *
 * Every rank holds the whole model and the whole run_state and comes to the same decisions.  Of a batch each has the
 * part that sampler_cut gives it; gradients and losses are added up in the order of ranks, so that the update is the
 * same everywhere, bit for bit.  Rank 0 alone validates, reports and writes.  Whatever may go otherwise than on another
 * rank (a failure, a signal, a figure) is told in a meeting; one rank alone meets nobody.
 */
#ifndef TRAIN_RUN_RANKS_H
#define TRAIN_RUN_RANKS_H

#include "kernels/collective.h"
#include "kernels/grad_watch.h"
#include "kernels/links.h"
#include "train/run/ranks_sum.h"
#include "train/run/trainer.h"

struct run;

/* What a rank tells all others in a meeting. */
struct rank_status {
    enum exit_code code; /* and text: why it ends; EXIT_CODE_OK: it does not */
    int stop;            /* the signal that asked it to stop */
    int rc, n;           /* of a validation, or of finish */
    double score;
    bool final;
    float loss;    /* of its part of a step */
    int64_t units; /* likewise; of settings: bytes */
    char text[1024];
};

struct ranks {
    struct collective all;
    struct rank_status *notes; /* [size] of the newest meeting */
    int stop;                  /* the signal that all know of */
    bool told;                 /* the failure that ends this run is known to all */
    bool in_step;              /* between a part and the update: the state is that of the step before */
    double asked;              /* when a call that waits saw a signal first, 0: not yet */
    float *in, *out;           /* [size, slice] of a bucket, on the host, or on devices that are linked */
    const struct links *links; /* NULL: gradients go through the host */
    struct arena memory;       /* the device's */
    struct buckets buckets;
    struct bucket_place from, to; /* where the next bucket is taken from, and goes to */
    struct sum_thread thread;     /* sums beside the backward; not running: behind it */
    struct grad_watch watch;
    struct collective own;       /* the thread's: that of all, which waits without a word */
    struct rank_status *come;    /* [size]: who comes to the sums, or why not */
    double met, summed, exposed; /* seconds of meetings, of sums, and of those that the step waited for */
    double gathered;             /* of weights that others have updated */
    int64_t bytes, steps;        /* that left this rank for sums; that were summed */
};

/* -1 as collective_open. */
int ranks_open(struct run *r, struct error *err);
/* Before run_close: tells others why this one ends.  After a lost rank it saves what all had, and does not return. */
void ranks_end(struct run *r, int rc, struct error *err);
void ranks_close(struct run *r);

/* One rank writes. */
bool ranks_first(const struct run *r);
/* The GPU of this rank, where `device` leaves that open; the cpu of a machine without any, where it may. */
const char *ranks_device(const struct run *r, const char *device, char own[32]);
/* Of notes [size] that were taken; all know by then. */
int ranks_check_status(struct ranks *x, const struct rank_status *notes, struct error *err);
/* -1 with EXIT_CODE_USAGE naming what a rank has otherwise than rank 0: settings or data; weights. */
int ranks_agree(struct run *r, struct error *err);
int ranks_agree_weights(struct run *r, struct error *err);

/* Functions that rank 0 calls, or calls first; `validate` returns what the trainer's own does. */
int ranks_prepare(struct run *r, struct error *err);
int ranks_validate(struct run *r, int (*validate)(struct run *r, struct validation *v, struct error *err),
                   struct validation *v, struct error *err);
int ranks_finish(struct run *r, int (*finish)(struct run *r, struct error *err), struct error *err);

/* Dropout of its own for each rank: once after the numbers of a checkpoint or of a stage were set, once before they are
 * saved. */
void ranks_seed(struct run *r);
/* Gradients, loss and units of the whole batch, of which `part` computes those of this rank. */
int ranks_step(struct run *r, int (*part)(struct run *r, struct error *err), struct error *err);
/* Once the device is open; until run_close. */
int ranks_open_links(struct run *r, struct error *err);
void ranks_unlink(struct run *r);
/* "2 ranks: ..."; false, and nothing, for one alone. */
enum { RANKS_TEXT = 300 };
bool ranks_tell(const struct run *r, char text[RANKS_TEXT]);

#endif
