/*
 * run_request.h - all settings of a run: those of its command line, or, of a run that goes on, those that it began
 * with.
 *
 * OUT/config.yaml keeps every one of them, input paths from the root, so that `--resume --out OUT` says enough.  What
 * is given beside it goes before what is kept; a checkpoint refuses what would change the run (run_meta_check).
 */
#ifndef TRAIN_RUN_RUN_REQUEST_H
#define TRAIN_RUN_RUN_REQUEST_H

#include "data/cli/options.h"
#include "data/cli/yaml.h"

#include <jansson.h>

#define RUN_CONFIG "config.yaml"

struct run_request {
    void *settings; /* the struct that the command's options fill */
    struct texts texts;
};

/* The command has the options out and resume.  -1 with EXIT_CODE_USAGE, also where what is required was neither given
 * nor kept.  The caller releases either way. */
int run_request_init(struct run_request *r, const struct command *c, const struct call *call, struct error *err);
void run_request_release(struct run_request *r);

/* What a checkpoint tells of the run that made it, and whether another run may go on from it. */

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
