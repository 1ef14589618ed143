/* Part of tag_data.h: records that a run keeps for those that go on from it. */
#include "data/util/log.h"
#include "kernels/rng.h"
#include "train/tag/tag_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t SAMPLE = 2;

static bool asks(const struct span_record *list, int n, const char *question)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].question, question) == 0)
            return true;
    return false;
}

/* Takes n records whose questions are not asked already, and lets the others go. */
static void add_replay(struct tag_fold *f, struct span_record_list *from, int n)
{
    struct span_record_list *to = &f->records;

    for (int i = 0; i < from->n; i++) {
        struct span_record *r = &from->items[i];
        if (to->n - f->own == n || asks(to->items, f->own, r->question)) {
            span_record_release(r);
            continue;
        }
        GROW(to->items, to->n, to->cap);
        to->items[to->n++] = *r;
    }
    from->n = 0;
}

int tag_data_replay(struct tag_data *d, const char *dir, int n, struct error *err)
{
    struct span_record_list from = { 0 };
    char path[4096];

    if (!n)
        return 0;
    snprintf(path, sizeof path, "%s/" TAG_REPLAY_FILE, dir);
    if (access(path, F_OK) != 0) {
        log_warn("%s is not there: nothing that the model was trained on is learnt again", path);
        return 0;
    }
    int rc = span_records_read(&from, path, err);
    if (rc == 0)
        add_replay(&d->folds[FOLD_TRAIN], &from, n);
    span_records_release(&from);
    return rc;
}

static int write_sample(const struct span_record_list *l, const int *order, const char *path, struct error *err)
{
    struct out_file out;
    int rc = out_file_open(&out, path, err);

    for (int i = 0; i < l->n && i < TAG_REPLAY && rc == 0; i++)
        rc = json_write_line(&out, l->items[order[i]].json, err);
    if (rc == 0)
        rc = out_file_commit(&out, err);
    out_file_abort(&out);
    return rc;
}

int tag_data_save_replay(const struct tag_data *d, const char *dir, struct error *err)
{
    const struct span_record_list *train = &d->folds[FOLD_TRAIN].records;
    int *order = xmalloc((size_t)train->n * sizeof *order);
    char path[4096];

    for (int i = 0; i < train->n; i++)
        order[i] = i;
    rng_shuffle(&(struct rng){ .seed = SAMPLE }, order, train->n, sizeof *order);
    snprintf(path, sizeof path, "%s/" TAG_REPLAY_FILE, dir);
    int rc = write_sample(train, order, path, err);
    free(order);
    return rc;
}
