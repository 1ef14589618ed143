/* Part of safetensors.h: tensors in shards, which an index lists. */
#include "data/util/log.h"
#include "models/checkpoint/mismatch.h"
#include "models/checkpoint/safetensors_impl.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_SHARDS = 10000, MAX_INDEX = 100000000 };

/* A shard's name is a plain file name beside the index. */
static bool plain_name(const char *name)
{
    return *name && !strchr(name, '/') && !strchr(name, '\\') && strcmp(name, ".") && strcmp(name, "..");
}

static int add_shard(struct safetensors *s, size_t dir, const char *tensor, const json_t *value, struct error *err)
{
    const char *name = json_string_value(value);

    if (!name || !plain_name(name))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: weight_map: \"%.200s\": \"%.200s\" is not a plain file name",
                         s->path, tensor, name ? name : "(not a string)");
    for (int i = 0; i < s->n_files; i++)
        if (!strcmp(s->files[i].name, name))
            return 0;
    if (s->n_files == MAX_SHARDS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: more than %d shards", s->path, MAX_SHARDS);
    return safetensors_add(s, safetensors_path(s->path, dir, name), err);
}

/* Every name the index lists is in the shard it lists. */
static int check_index(const struct safetensors *s, json_t *map, struct error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach(map, name, value)
    {
        const struct safetensors_entry *e = safetensors_find(s, name);
        if (!e || strcmp(s->files[e->file].name, json_string_value(value)))
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: tensor \"%.200s\" is not in %.200s", s->path, name,
                             json_string_value(value));
    }
    return 0;
}

/* Tensors of the shards that the index leaves out are read all the same, as transformers does. */
static void tell_unlisted(const struct safetensors *s, const json_t *map)
{
    struct name_list unlisted = { 0 };

    for (int i = 0; i < s->n; i++)
        if (!json_object_get(map, s->entries[i].name))
            name_list_add(&unlisted, "%.100s", s->entries[i].name);
    if (unlisted.n)
        log_warn("%s: %d tensors of its shards are not in weight_map, and are read all the same: %s", s->path,
                 unlisted.n, unlisted.text);
}

/* NAME-00002-of-00003.safetensors: how long NAME is, or 0. */
static size_t shard_name(const char *file)
{
    const char *of = strstr(file, "-of-"), *dash = of;

    while (dash && dash > file && dash[-1] >= '0' && dash[-1] <= '9')
        dash--;
    return dash && dash < of && dash > file && dash[-1] == '-' && text_ends_with(file, ".safetensors")
               ? (size_t)(dash - file)
               : 0;
}

static bool opened(const struct safetensors *s, const char *name)
{
    for (int i = 0; i < s->n_files; i++)
        if (!strcmp(s->files[i].name, name))
            return true;
    return false;
}

/* A file of the shards' name that the index leaves out is not read: it may be left of another model, or belong here. */
static void tell_unread(const struct safetensors *s, size_t dir)
{
    const char *own = s->files[0].name;
    size_t n = shard_name(own);
    char *folder = dir ? safetensors_path(s->path, dir, "") : xstrdup(".");
    DIR *d = n ? opendir(folder) : NULL;
    struct name_list unread = { 0 };

    for (struct dirent *e; d && (e = readdir(d));)
        if (shard_name(e->d_name) == n && !strncmp(e->d_name, own, n) && !opened(s, e->d_name))
            name_list_add(&unread, "%.100s", e->d_name);
    if (unread.n)
        log_warn("%s: %d files named as its shards are not in weight_map, and are not read: %s", s->path, unread.n,
                 unread.text);
    if (d)
        closedir(d);
    free(folder);
}

int safetensors_open_index(struct safetensors *s, struct error *err)
{
    const char *slash = strrchr(s->path, '/'), *name;
    size_t dir = slash ? (size_t)(slash - s->path) + 1 : 0;
    struct stat st;
    json_error_t e;
    json_t *value;
    int rc = -1;

    if (stat(s->path, &st) == 0 && st.st_size > MAX_INDEX)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: larger than %d bytes", s->path, MAX_INDEX);
    json_t *root = json_load_file(s->path, JSON_REJECT_DUPLICATES, &e);
    json_t *map = json_object_get(root, "weight_map");
    if (!root)
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: line %d: %s", s->path, e.line, e.text);
    else if (!json_is_object(map) || !json_object_size(map))
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: no object \"weight_map\"", s->path);
    else
        rc = 0;
    json_object_foreach(map, name, value)
    {
        if (rc == 0)
            rc = add_shard(s, dir, name, value, err);
    }
    if (rc == 0 && (rc = safetensors_sort(s, err)) == 0)
        rc = check_index(s, map, err);
    if (rc == 0) {
        tell_unlisted(s, map);
        tell_unread(s, dir);
    }
    json_decref(root);
    return rc;
}
