/*
 * run_meta.h - what a checkpoint tells of the run that made it, and whether another run may go on from it.
 */
#ifndef TRAIN_RUN_RUN_META_H
#define TRAIN_RUN_RUN_META_H

#include "data/cli/options.h"

#include <jansson.h>

/* {"kind", "version", "commit", "seed", "data_hash", "settings": {...}}: settings are the request's options whose field
 * lies at offset `from` or behind.  The caller adds what else it has, and owns the object. */
json_t *run_meta(const char *kind, int64_t seed, uint64_t data_hash, const struct option *table, const void *request,
                 size_t from);

/* The other way round: the settings of a file's meta into the request's fields, whose strings are borrowed from meta.
 * What the file does not name keeps its value.  -1 with EXIT_CODE_CHECKPOINT names a setting that is not of its type.
 */
int run_meta_settings(const json_t *meta, const struct option *table, void *request, size_t from, const char *where,
                      struct error *err);

/* -1 with EXIT_CODE_USAGE when a run is to have fewer epochs than it began with: its last steps are taken already. */
int run_meta_check_epochs(const json_t *now, const json_t *saved, const char *where, struct error *err);

/* Whether settings but those listed in `free`, and the fields listed in `same`, are equal; both lists end with NULL.
 * -1 with EXIT_CODE_USAGE names what differs and both values. */
int run_meta_check(const json_t *now, const json_t *saved, const char *const *free, const char *const *same,
                   const char *where, struct error *err);

#endif
