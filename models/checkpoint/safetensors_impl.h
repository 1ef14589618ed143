/*
 * safetensors_impl.h - the parts of safetensors.h.
 */
#ifndef MODELS_CHECKPOINT_SAFETENSORS_IMPL_H
#define MODELS_CHECKPOINT_SAFETENSORS_IMPL_H

#include "models/checkpoint/safetensors.h"

#include <jansson.h>

struct safetensors_file {
    char *path;
    const char *name; /* its last part */
    unsigned char *map;
    size_t size;
    size_t data;    /* where the data area begins */
    json_t *header; /* owns the entries' names */
};

/* safetensors.c: maps a file and adds its tensors.  Takes path. */
int safetensors_add(struct safetensors *s, char *path, struct error *err);
/* Orders the tensors of all files by name, of which none may stand there twice. */
int safetensors_sort(struct safetensors *s, struct error *err);
/* The first `length` bytes of dir, and name in it; the caller frees. */
char *safetensors_path(const char *dir, size_t length, const char *name);

/* safetensors_index.c: the shards of s->path, an index. */
int safetensors_open_index(struct safetensors *s, struct error *err);

#endif
