/*
 * train_runs.h - runs of a tiny GATekeeper, each in a process that ends at a point that the test chooses.
 */
#ifndef TESTS_TRAIN_RUNS_H
#define TESTS_TRAIN_RUNS_H

#include "tests/support/support.h"

#include "models/io/checkpoint.h"
#include "train/detector/gate_trainer.h"

/* Shared with the child process that trains: where to end, and counts of its progress. */
extern struct shared {
    int saves, steps, evals;   /* counters */
    int end_after, end_before; /* number of the checkpoint after or before which the process ends; 0: none */
    int signal_step;           /* number of the step and */
    int signal_eval;           /* of the evaluation before which SIGTERM arrives; 0: none */
} * shared;

enum { KILLED = 99 };

extern char *data, *work, *whole, *stopped, *run; /* run folders: work/whole, ... */

int train_runs_set_up(void **state);
int train_runs_tear_down(void **state);

/* A tiny network, a few steps of each stage, a checkpoint after each step. */
struct gate_request request(const char *out);
/* Trains in another process and returns its exit code. */
int train(const struct gate_request *q);
/* Checks the messages of the newest run. */
void assert_said(const char *word);
/* work/dir/name */
const char *path_of(const char *dir, const char *name);
void assert_same_model(const char *a, const char *b);
/* Removes the run folders and resets the points of ending. */
void clean(void);

#endif
