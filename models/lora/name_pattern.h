/*
 * name_pattern.h - regular expressions over the names of modules, as Python's re.fullmatch has them.
 *
 * They come with adapters of strangers: what a match may cost is bounded, and one that costs more is an error.
 */
#ifndef MODELS_LORA_NAME_PATTERN_H
#define MODELS_LORA_NAME_PATTERN_H

#include "kernels/base.h"

struct name_pattern;

/* Compiles before + pattern + after.  NULL with EXIT_CODE_CHECKPOINT: too long, or not a pattern. */
struct name_pattern *name_pattern_open(const char *before, const char *pattern, const char *after, struct error *err);
void name_pattern_close(struct name_pattern *p);

/* 1 when the whole name matches, 0 when it does not, -1 with EXIT_CODE_CHECKPOINT when that would take too long. */
int name_pattern_match(const struct name_pattern *p, const char *name, struct error *err);
/* The same, and what the group called idx matched as a number: -1 when that is none or a large one. */
int name_pattern_number(const struct name_pattern *p, const char *name, int64_t *number, struct error *err);

#endif
