#include "train/tagger/tag_data.h"

#include "data/base/log.h"
#include "data/span/value_match.h"
#include "kernels/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t SAMPLE = 1;

static int read_split(struct tag_split *f, const char *path, bool optional, struct error *err)
{
    if (optional && access(path, F_OK) != 0)
        return 0;
    if (span_records_read(&f->records, path, err))
        return -1;
    f->own = f->records.n;
    return f->own ? 0 : error_set(err, EXIT_CODE_DATA, "%s: expected records, got none", path);
}

static int read_folder(struct tag_data *d, const char *dir, bool few, struct error *err)
{
    const bool optional[SPLITS] = { [SPLIT_VALID] = few, [SPLIT_TEST] = true };
    char path[4096];

    for (enum data_split f = 0; f < SPLITS; f++) {
        snprintf(path, sizeof path, "%s/%s.jsonl", dir, split_name(f));
        if (read_split(&d->splits[f], path, optional[f], err))
            return -1;
    }
    return 0;
}

static int read_file(struct tag_data *d, const char *path, bool few, struct error *err)
{
    if (few)
        return read_split(&d->splits[SPLIT_TRAIN], path, false, err);
    return error_set(err, EXIT_CODE_DATA,
                     "%s: expected a folder with train.jsonl and valid.jsonl; a file is enough only with --init", path);
}

static uint64_t hash_record(uint64_t h, const struct span_record *r)
{
    char *line = json_dumps(r->json, JSON_COMPACT | JSON_SORT_KEYS);

    h = hash_bytes(h, line, strlen(line));
    free(line);
    return h;
}

static uint64_t hash_of(const struct tag_data *d)
{
    uint64_t h = HASH_START;

    for (enum data_split f = 0; f < SPLITS; f++)
        for (int i = 0; i < d->splits[f].records.n; i++)
            h = hash_record(h, &d->splits[f].records.items[i]);
    return h;
}

int tag_data_read(struct tag_data *d, const char *path, bool few, struct error *err)
{
    struct stat st;
    bool is_file = stat(path, &st) == 0 && !S_ISDIR(st.st_mode);

    return (is_file ? read_file : read_folder)(d, path, few, err);
}

/* Matches the question against the record's values, as against a database of them. */
static void match_values(struct tag_example *e, struct strings *texts)
{
    const struct span_record *r = e->record;
    struct value_index index;
    struct value_matches found = { 0 };

    value_index_init(&index, VALUE_INDEX_BYTES);
    for (int c = 0; c < r->n_columns; c++)
        for (int i = 0; i < r->columns[c].n_values; i++)
            value_index_add(&index, c, r->columns[c].values[i]);
    value_index_finish(&index);
    value_match(&found, &index, r->question, r->columns, r->n_columns, VALUE_RATIO);
    e->values = xmalloc((size_t)(found.n + 1) * sizeof *e->values);
    for (int i = 0; i < found.n; i++) {
        e->values[i] = found.items[i];
        e->values[i].text = strings_keep(texts, found.items[i].text);
    }
    e->question.values = e->values;
    e->question.n_values = found.n;
    value_matches_release(&found);
    value_index_release(&index);
}

static int pack_example(struct tag_example *e, const struct span_record *r, const struct dte_layout *layout,
                        struct strings *texts, struct error *err)
{
    *e = (struct tag_example){ .record = r };
    e->question = (struct tag_question){ .question = r->question, .columns = r->columns, .n_columns = r->n_columns };
    match_values(e, texts);
    return dte_item_init(&e->item, &e->question, layout, r->id, err);
}

static void release_example(struct tag_example *e)
{
    dte_item_release(&e->item);
    free(e->values);
}

int tag_data_pack(struct tag_data *d, const struct dte_layout *layout, struct error *err)
{
    d->hash = hash_of(d);
    for (enum data_split split = 0; split < SPLITS; split++) {
        struct tag_split *f = &d->splits[split];
        if (split == SPLIT_VALID) /* so that the first ones are a random sample */
            rng_shuffle(&(struct rng){ .seed = SAMPLE }, f->records.items, f->records.n, sizeof *f->records.items);
        f->list = xcalloc((size_t)f->records.n + 1, sizeof *f->list);
        for (int i = 0; i < f->records.n; i++) {
            struct tag_example *e = &f->list[f->n];
            if (pack_example(e, &f->records.items[i], layout, &d->texts, err)) {
                release_example(e);
                return -1;
            }
            bool wide = split == SPLIT_TRAIN && e->item.n_windows > 1;
            f->wide += wide;
            f->n += !wide;
            if (wide)
                release_example(e);
        }
        for (int i = 0; i < f->n; i++)
            f->list[i].item.question = &f->list[i].question;
    }
    if (d->splits[SPLIT_TRAIN].n)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "expected a training record whose columns fit into one sequence, got none");
}

void tag_data_release(struct tag_data *d)
{
    for (enum data_split f = 0; f < SPLITS; f++) {
        for (int i = 0; i < d->splits[f].n; i++)
            release_example(&d->splits[f].list[i]);
        free(d->splits[f].list);
        span_records_release(&d->splits[f].records);
    }
    strings_release(&d->texts);
    *d = (struct tag_data){ 0 };
}

/* ---- replay ---- */

static const uint64_t REPLAY_SAMPLE = 2;

static bool asks(const struct span_record *list, int n, const char *question)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].question, question) == 0)
            return true;
    return false;
}

/* Moves up to n records with new questions, and releases the others. */
static void add_replay(struct tag_split *f, struct span_record_list *from, int n)
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
        add_replay(&d->splits[SPLIT_TRAIN], &from, n);
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
    const struct span_record_list *train = &d->splits[SPLIT_TRAIN].records;
    int *order = xmalloc((size_t)train->n * sizeof *order);
    char path[4096];

    for (int i = 0; i < train->n; i++)
        order[i] = i;
    rng_shuffle(&(struct rng){ .seed = REPLAY_SAMPLE }, order, train->n, sizeof *order);
    snprintf(path, sizeof path, "%s/" TAG_REPLAY_FILE, dir);
    int rc = write_sample(train, order, path, err);
    free(order);
    return rc;
}
