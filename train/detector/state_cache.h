/*
 * state_cache.h - the element states of a frozen encoder, computed once for a list of questions.
 *
 * Rows are stored as IEEE half floats in HDF5. The folder's name is a hash of the encoder, and a row's key is a hash
 * of its tokens, so that other runs and resumed runs find them. Only one run may use a folder at a time. States pass
 * through half precision whether they were found or computed.
 */
#ifndef TRAIN_DETECTOR_STATE_CACHE_H
#define TRAIN_DETECTOR_STATE_CACHE_H

#include "models/gatekeeper/gate_score.h"
#include "train/detector/gate_data.h"

struct state_cache;

/* Opens the cache for n examples of the split, given by their numbers, which it reorders. Questions with fixed
 * distractors (appender NULL: none) are read with them. Computes missing states and shows progress. A signal ends it
 * early: computed states are saved, but nothing may be gathered. NULL on failure. */
struct state_cache *state_cache_open(const char *dir, struct gate_scorer *scorer, const struct gate_split *split,
                                     const struct distractor_source *appender, int *examples, int n, struct error *err);
void state_cache_close(struct state_cache *k);
/* States [nodes of the examples, C] in the order of the batch, whose examples must be in the cache. Valid until the
 * next call. */
const float *state_cache_gather(struct state_cache *k, const int *examples, int n);

#endif
