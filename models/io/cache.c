#include "models/io/cache.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "models/io/half.h"
#include "models/io/hdf5.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART_BYTES = 32 << 20 }; /* size of a part that is written */

/* A text of a part: its hash, its first row and its number of rows. */
struct cache_item {
    int64_t text, first, rows;
};

/* The rows of one part in memory. `rows` is never reallocated, because callers keep pointers into it. */
struct cache_part {
    uint16_t *rows;
    struct cache_item *items;
    int64_t n_rows, cap_rows;
    int n_items, cap_items;
};

/* Position of a text: part and item. item is -1 for a free slot. */
struct cache_place {
    int part, item;
};

struct row_cache {
    char *dir;
    uint64_t model;
    int64_t width, next;      /* next: number of the next part file */
    struct cache_part *parts; /* the last part may be open, that is not written yet */
    int n_parts, cap_parts;
    bool open;
    struct cache_place *table; /* hash table with open addressing, at most half full; n_places is a power of two */
    int64_t n_places, used;
};

/* ---- texts in memory ---- */

static const struct cache_item *item_at(const struct row_cache *c, struct cache_place p)
{
    return &c->parts[p.part].items[p.item];
}

/* Returns the slot of a text, or the free slot where it belongs. The multiplication mixes the bits of the hash. */
static int64_t slot_of(const struct row_cache *c, int64_t text)
{
    uint64_t i = (uint64_t)text * 0x9E3779B97F4A7C15u >> 20;

    for (;; i++) {
        int64_t slot = (int64_t)(i & (uint64_t)(c->n_places - 1));
        if (c->table[slot].item < 0 || item_at(c, c->table[slot])->text == text)
            return slot;
    }
}

static void resize_table(struct row_cache *c, int64_t n_places)
{
    struct cache_place *old = c->table;
    int64_t n_old = c->n_places;

    c->table = xmalloc((size_t)n_places * sizeof *c->table);
    c->n_places = n_places;
    for (int64_t i = 0; i < n_places; i++)
        c->table[i].item = -1;
    for (int64_t i = 0; i < n_old; i++)
        if (old[i].item >= 0)
            c->table[slot_of(c, item_at(c, old[i])->text)] = old[i];
    free(old);
}

static void enter(struct row_cache *c, int part, int item)
{
    struct cache_place p = { part, item };

    if (2 * (c->used + 1) > c->n_places)
        resize_table(c, c->n_places ? 2 * c->n_places : 1024);
    int64_t slot = slot_of(c, item_at(c, p)->text);
    c->used += c->table[slot].item < 0;
    c->table[slot] = p;
}

static struct cache_part *new_part(struct row_cache *c)
{
    GROW(c->parts, c->n_parts, c->cap_parts);
    c->parts[c->n_parts] = (struct cache_part){ 0 };
    return &c->parts[c->n_parts++];
}

static void part_release(struct cache_part *p)
{
    free(p->rows);
    free(p->items);
}

/* ---- parts on disk ---- */

static const char rows_name[] = "rows", items_name[] = "items", model_name[] = "model";

static char *part_path(const struct row_cache *c, int64_t number)
{
    size_t n = strlen(c->dir) + 40;
    char *path = xmalloc(n);
    snprintf(path, n, "%s/part-%" PRId64 ".hdf5", c->dir, number);
    return path;
}

/* Returns the number in the name of a part file with this ending, or -1. */
static int64_t part_number(const char *name, const char *ending)
{
    char again[64];
    int64_t number;

    if (sscanf(name, "part-%18" SCNd64, &number) != 1 || number < 0)
        return -1;
    snprintf(again, sizeof again, "part-%" PRId64 "%s", number, ending);
    return strcmp(name, again) ? -1 : number;
}

/* Checks that the rows of each item lie within the part. */
static int check_items(const struct cache_part *p, const char *path, struct error *err)
{
    for (int i = 0; i < p->n_items; i++) {
        const struct cache_item *t = &p->items[i];
        if (t->first < 0 || t->rows < 0 || t->rows > p->n_rows - t->first)
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: item %d: rows %" PRId64 " + %" PRId64 " of %" PRId64, path,
                             i, t->first, t->rows, p->n_rows);
    }
    return 0;
}

static int fill_part(const struct row_cache *c, const struct hdf5_reader *r, struct cache_part *p, struct error *err)
{
    const struct hdf5_tensor *model = hdf5_find(r, model_name), *rows = hdf5_find(r, rows_name),
                             *items = hdf5_find(r, items_name);
    int64_t hash;

    if (!model || model->type != HDF5_I64 || model->ndim != 1 || model->shape[0] != 1 || !rows ||
        rows->type != HDF5_F16 || rows->ndim != 2 || !items || items->type != HDF5_I64 || items->ndim != 2 ||
        items->shape[1] != 3 || items->shape[0] > INT32_MAX)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected a part of a row cache", r->path);
    if (hdf5_get(r, model, &hash, NULL, err))
        return -1;
    if ((uint64_t)hash != c->model || rows->shape[1] != c->width)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: belongs to another model", r->path);
    p->n_rows = rows->shape[0];
    p->n_items = (int)items->shape[0];
    p->rows = xmalloc((size_t)(p->n_rows * c->width) * sizeof *p->rows);
    p->items = xmalloc((size_t)p->n_items * sizeof *p->items);
    return hdf5_get(r, rows, p->rows, NULL, err) || hdf5_get(r, items, p->items, NULL, err) ||
                   check_items(p, r->path, err)
               ? -1
               : 0;
}

/* Reads a part into memory. Removes the file if it cannot be read. */
static int load_part(struct row_cache *c, int64_t number, struct error *err)
{
    char *path = part_path(c, number);
    struct cache_part p = { 0 };
    struct hdf5_reader r;
    struct error why = { 0 };
    int rc = 0, read = hdf5_open(&r, path, &why);

    if (read == 0) {
        read = fill_part(c, &r, &p, &why);
        hdf5_close(&r);
    }
    if (read == 0) {
        *new_part(c) = p;
        for (int i = 0; i < p.n_items; i++)
            enter(c, c->n_parts - 1, i);
    } else {
        log_debug("computing rows again: %s", why.text);
        part_release(&p);
        if (unlink(path) != 0)
            rc = error_set(err, EXIT_CODE_FAILURE, "%s: cannot remove: %s", path, strerror(errno));
    }
    free(path);
    return rc;
}

static int write_part(struct row_cache *c, const struct cache_part *p, struct error *err)
{
    const struct hdf5_tensor rows = { rows_name, HDF5_F16, 2, { p->n_rows, c->width } },
                             items = { items_name, HDF5_I64, 2, { p->n_items, 3 } },
                             model = { model_name, HDF5_I64, 1, { 1 } };
    int64_t hash = (int64_t)c->model;
    char *path = part_path(c, c->next);
    struct hdf5_writer *w = hdf5_create(path, err);
    bool failed =
        !w || hdf5_put(w, &model, &hash, err) || hdf5_put(w, &items, p->items, err) || hdf5_put(w, &rows, p->rows, err);
    int rc = hdf5_finish(w, failed ? -1 : 0, err);

    free(path);
    if (rc == 0)
        c->next++;
    return rc;
}

/* Returns the numbers of the parts in the folder. Removes temporary files of interrupted runs. */
static int64_t *list_parts(const struct row_cache *c, int *n, struct error *err)
{
    int64_t *numbers = xmalloc(sizeof *numbers);
    int cap = 1;
    DIR *d = opendir(c->dir);

    *n = 0;
    if (!d) {
        error_set(err, EXIT_CODE_FAILURE, "%s: %s", c->dir, strerror(errno));
        free(numbers);
        return NULL;
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        int64_t number = part_number(e->d_name, ".hdf5");
        if (number >= 0) {
            GROW(numbers, *n, cap);
            numbers[(*n)++] = number;
        } else if (part_number(e->d_name, ".hdf5.tmp") >= 0) {
            unlinkat(dirfd(d), e->d_name, 0); /* if this fails, the file is overwritten later or ignored */
        }
    }
    closedir(d);
    return numbers;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

struct row_cache *row_cache_open(const char *dir, uint64_t model, int64_t width, struct error *err)
{
    struct row_cache *c = xcalloc(1, sizeof *c);
    int n = 0, rc = -1;
    int64_t *numbers = NULL;

    c->dir = xstrdup(dir);
    c->model = model;
    c->width = width;
    resize_table(c, 1024);
    if (make_dirs(dir, err) == 0)
        numbers = list_parts(c, &n, err);
    if (numbers) {
        qsort(numbers, (size_t)n, sizeof *numbers, ascending);
        rc = 0;
    }
    for (int i = 0; i < n && rc == 0; i++) {
        rc = load_part(c, numbers[i], err);
        c->next = numbers[i] + 1;
    }
    free(numbers);
    if (rc == 0)
        return c;
    row_cache_close(c);
    return NULL;
}

const uint16_t *row_cache_find(const struct row_cache *c, uint64_t text, int64_t n)
{
    struct cache_place p = c->table[slot_of(c, (int64_t)text)];

    if (p.item < 0 || item_at(c, p)->rows != n)
        return NULL;
    return c->parts[p.part].rows + item_at(c, p)->first * c->width;
}

int row_cache_add(struct row_cache *c, uint64_t text, const float *rows, int64_t n, struct error *err)
{
    struct cache_part *p = c->open ? &c->parts[c->n_parts - 1] : NULL;

    if (p && p->n_rows + n > p->cap_rows) {
        if (row_cache_flush(c, err))
            return -1;
        p = NULL;
    }
    if (!p) {
        p = new_part(c);
        c->open = true;
        p->cap_rows = PART_BYTES / (c->width * (int64_t)sizeof *p->rows);
        p->cap_rows = n > p->cap_rows ? n : p->cap_rows;
        p->rows = xmalloc((size_t)(p->cap_rows * c->width) * sizeof *p->rows);
    }
    for (int64_t i = 0; i < n * c->width; i++)
        p->rows[p->n_rows * c->width + i] = f16_from_f32(rows[i]);
    GROW(p->items, p->n_items, p->cap_items);
    p->items[p->n_items++] = (struct cache_item){ (int64_t)text, p->n_rows, n };
    p->n_rows += n;
    enter(c, c->n_parts - 1, p->n_items - 1);
    return 0;
}

int row_cache_flush(struct row_cache *c, struct error *err)
{
    if (!c->open)
        return 0;
    c->open = false; /* a part that cannot be written stays in memory, and is not written again */
    return write_part(c, &c->parts[c->n_parts - 1], err);
}

void row_cache_close(struct row_cache *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->n_parts; i++)
        part_release(&c->parts[i]);
    free(c->parts);
    free(c->table);
    free(c->dir);
    free(c);
}
