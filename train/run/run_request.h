/*
 * run_request.h - all settings of a run: from its command line, in its folder and in its checkpoints.
 *
 * OUT/config.yaml keeps all settings, with absolute input paths, so that `--resume --out OUT` is enough to resume.
 * The command line overrides the file. A checkpoint refuses settings that would change the run (run_meta_check).
 */
#ifndef TRAIN_RUN_RUN_REQUEST_H
#define TRAIN_RUN_RUN_REQUEST_H

#include "data/base/options.h"
#include "data/base/yaml.h"

#include <jansson.h>

#define RUN_CONFIG "config.yaml"

struct run_request {
    void *settings; /* the struct that the command's options fill */
    struct texts texts;
};

/* The command has the options out and resume. -1 with EXIT_CODE_USAGE, also if a required option is missing on the
 * command line and in the folder. The caller releases r either way. */
int run_request_init(struct run_request *r, const struct command *c, const struct call *call, struct error *err);
void run_request_release(struct run_request *r);

/* The meta data of a checkpoint: {"kind", "version", "commit", "seed", "data_hash", "settings": {...}}. Settings are
 * the options whose field lies at offset `from` or later. The caller owns the object and may add fields. */
json_t *run_meta(const char *kind, int64_t seed, uint64_t data_hash, const struct option *table, const void *request,
                 size_t from);

/* Reads the settings of a checkpoint's meta data into the request. Strings are borrowed from meta. Settings that
 * meta lacks keep their values. -1 with EXIT_CODE_CHECKPOINT, naming a setting of the wrong type. */
int run_meta_settings(const json_t *meta, const struct option *table, void *request, size_t from, const char *where,
                      struct error *err);

/* -1 with EXIT_CODE_USAGE if the run asks for fewer epochs than the saved one. */
int run_meta_check_epochs(const json_t *now, const json_t *saved, const char *where, struct error *err);

/* Compares all settings except those in `free`, and the fields in `same`; both lists end with NULL. -1 with
 * EXIT_CODE_USAGE, naming the difference and both values. */
int run_meta_check(const json_t *now, const json_t *saved, const char *const *free, const char *const *same,
                   const char *where, struct error *err);

#endif
