/*
 * train_runs.h - runs of a tiny GATekeeper, each in a process of its own that ends where the test says.
 */
#ifndef TESTS_TRAIN_RUNS_H
#define TESTS_TRAIN_RUNS_H

#include "tests/support/support.h"

#include "models/io/checkpoint.h"
#include "train/detector/gate_trainer.h"

/* What the child process, which trains, shares with the test: where to end, and what it did. */
extern struct shared {
    int saves, steps, evals;   /* counted */
    int end_after, end_before; /* checkpoints after and before which the process ends, 0: none */
    int signal_step;           /* step and */
    int signal_eval;           /* judgement of a fold before which SIGTERM comes, 0: none */
} * shared;

enum { KILLED = 99 };

extern char *data, *work, *whole, *stopped, *run; /* run folders: work/whole, ... */

int train_runs_set_up(void **state);
int train_runs_tear_down(void **state);

/* A tiny network, a few steps of each stage, a checkpoint after every one. */
struct gate_request request(const char *out);
/* Trains in a process of its own, whose exit code it returns. */
int train(const struct gate_request *q);
/* Of the newest run. */
void assert_said(const char *word);
/* work/dir/name */
const char *path_of(const char *dir, const char *name);
void assert_same_model(const char *a, const char *b);
/* No run folders, nothing to end at. */
void clean(void);

#endif
