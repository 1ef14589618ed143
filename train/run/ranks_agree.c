/* Part of ranks.h: whether all ranks are of one run. */
#include "models/checkpoint/checksum.h"
#include "train/run/run_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORM = JSON_ENCODE_ANY | JSON_REAL_PRECISION(9) };

/* What must be alike, first of all what tells most. */
static char *describe(const struct run *r)
{
    json_t *o = json_pack("{s:s, s:b, s:b, s:b, s:s, s:o}", "out", r->set.out, "resume", r->set.resume, "dry_run",
                          r->set.dry_run, "shard-optimizer", r->set.shard_optimizer, "device", r->device.driver->name,
                          "checkpoint", run_make_meta(r));
    char *text = json_dumps(o, JSON_COMPACT);

    json_decref(o);
    CHECK(text, "settings that are no JSON");
    return text;
}

static int refuse(const char *name, const json_t *own, const json_t *first, const char *data, struct error *err)
{
    char *got = json_dumps(own, FORM), *expected = json_dumps(first, FORM);

    if (strcmp(name, "data_hash") == 0)
        error_set(err, EXIT_CODE_USAGE, "%s: expected the data that rank 0 has, got others", data);
    else
        error_set(err, EXIT_CODE_USAGE, "%s: expected %.200s as rank 0 has, got %.200s", name,
                  expected ? expected : "none", got ? got : "none");
    free(got);
    free(expected);
    return -1;
}

/* -1 naming the first field that differs; of `settings` the setting. */
static int compare(json_t *own, const json_t *first, const char *data, struct error *err)
{
    const char *name;
    json_t *value;

    /* clang-format off */
    json_object_foreach(own, name, value) {
        const json_t *other = json_object_get(first, name);
        if (json_is_object(value) && json_is_object(other) && compare(value, other, data, err))
            return -1;
        if (!json_equal(value, other))
            return refuse(name, value, other, data, err);
    }
    /* clang-format on */
    return 0;
}

/* own against the first of [size, most]. */
static int compare_texts(const char *own, const char *first, const char *data, struct error *err)
{
    json_t *a = json_loads(own, 0, NULL), *b = json_loads(first, 0, NULL);
    int rc = compare(a, b, data, err);

    if (rc == 0 && strcmp(own, first))
        rc = error_set(err, EXIT_CODE_USAGE, "expected the command of rank 0, got another");
    json_decref(a);
    json_decref(b);
    return rc;
}

static int gather_texts(struct run *r, const char *own, struct error *err)
{
    struct ranks *x = &r->ranks;
    struct rank_note note = { .units = (int64_t)strlen(own) + 1 };
    int64_t most = 0;

    if (ranks_meet(r, note, err))
        return -1;
    for (int i = 0; i < x->all.size; i++)
        most = x->notes[i].units > most ? x->notes[i].units : most;
    char *mine = xcalloc(1, (size_t)most), *all = xmalloc((size_t)most * (size_t)x->all.size);
    memcpy(mine, own, strlen(own));
    int rc = collective_gather(&x->all, all, mine, (size_t)most, err);
    if (rc == 0)
        rc = compare_texts(own, all, r->set.data, err);
    free(mine);
    free(all);
    return rc;
}

/* A rank that differs tells so in the meeting that the others hold at the end. */
int ranks_agree(struct run *r, struct error *err)
{
    if (r->ranks.all.size < 2)
        return 0;
    char *own = describe(r);
    int rc = gather_texts(r, own, err);
    free(own);
    return rc ? -1 : ranks_meet(r, (struct rank_note){ 0 }, err);
}

/* Values, not states: those come from the same file, or are zero. */
static uint64_t weights_hash(struct run *r)
{
    struct checksum sum;
    float *values = params_buffer(r->params);

    checksum_init(&sum);
    for (int i = 0; i < r->params->n; i++) {
        const struct param *p = &r->params->list[i];
        param_download(p, &r->device, values);
        checksum_update(&sum, values, (size_t)tensor_size(p->t) * sizeof *values);
    }
    free(values);
    return checksum_final(&sum);
}

int ranks_agree_weights(struct run *r, struct error *err)
{
    const struct ranks *x = &r->ranks;

    if (x->all.size < 2)
        return 0;
    struct rank_note note = { .units = (int64_t)weights_hash(r), .n = (int)r->state.step };
    if (ranks_meet(r, note, err))
        return -1;
    if (x->notes->n != note.n)
        return error_set(err, EXIT_CODE_USAGE, "%s: expected a run after step %d as rank 0 has, got step %d",
                         r->set.out, x->notes->n, note.n);
    if (x->notes->units != note.units)
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected the weights that rank 0 starts with, got others");
    return ranks_meet(r, (struct rank_note){ 0 }, err);
}
