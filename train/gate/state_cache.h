/*
 * state_cache.h - the element states of a frozen encoder, computed once for all questions of a list.
 *
 * Rows are kept as IEEE half floats in HDF5, in a folder of the encoder's hash, keyed by what was read, so that a
 * second run or a resumed one finds them, but not two at once; states pass through half precision whether they were
 * found or computed.
 */
#ifndef TRAIN_GATE_STATE_CACHE_H
#define TRAIN_GATE_STATE_CACHE_H

#include "models/gate/gate_score.h"
#include "train/gate/gate_data.h"

struct state_cache;

/* For n examples of the fold, given by their numbers; reorders them.  Those that always have tables of other databases
 * behind their schema (appender NULL: none) are read with them.  Computes what the folder does not hold yet; shows
 * progress.
 * A signal to stop ends it early: what was computed is in the folder, but nothing may be gathered. */
struct state_cache *state_cache_open(const char *dir, struct gate_scorer *scorer, const struct gate_fold *fold,
                                     const struct distractor_source *appender, int *examples, int n, struct error *err);
void state_cache_close(struct state_cache *k);
/* States [nodes of the examples, C] in the order of the batch, all of them from the list; valid until the next call. */
const float *state_cache_gather(struct state_cache *k, const int *examples, int n);

#endif
