#include "data/prompt/prompter.h"

#include "data/base/records.h"
#include "data/corpora/ambrosia.h"
#include "data/db/db_path.h"
#include "kernels/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_BYTES = 256 << 20 }; /* bound of cached texts; beyond it, the cache is emptied */

static enum db_text_form form_of(const char *context)
{
    return strcmp(context, "compact") == 0  ? DB_TEXT_COMPACT
           : strcmp(context, "ambiqt") == 0 ? DB_TEXT_AMBIQT
                                            : DB_TEXT_DUMP;
}

int prompter_open(struct prompter *p, const struct prompter_options *o, struct error *err)
{
    *p = (struct prompter){ .form = form_of(o->context), .rows = o->rows };
    return prompts_open(&p->prompts, o->dir, err);
}

static void forget_texts(struct prompter *p)
{
    for (int i = 0; i < p->paths.n; i++)
        free(p->texts[i]);
    free(p->texts);
    strings_release(&p->paths);
    p->texts = NULL;
    p->cap = 0;
    p->bytes = 0;
}

void prompter_release(struct prompter *p)
{
    prompts_release(&p->prompts);
    forget_texts(p);
}

const char *prompter_database(struct prompter *p, const char *path, struct error *err)
{
    if (p->bytes > KEPT_BYTES)
        forget_texts(p);
    int n = p->paths.n, i = strings_add(&p->paths, path);
    if (i == n) {
        GROW(p->texts, i, p->cap);
        p->texts[i] = NULL;
    }
    if (!p->texts[i] && (p->texts[i] = db_text(path, p->form, p->rows, err)))
        p->bytes += strlen(p->texts[i]);
    return p->texts[i];
}

json_t *prompter_messages(const struct prompter *p, enum prompt_kind kind, const char *const *slots, const char *answer)
{
    char *prompt = prompt_fill(&p->prompts, kind, slots);
    json_t *user = json_pack("{s:s, s:s}", "role", "user", "content", prompt), *list = NULL;

    free(prompt);
    if (user)
        list = json_pack("[o]", user);
    if (list && answer)
        json_array_append_new(list, json_pack("{s:s, s:s}", "role", "assistant", "content", answer));
    return list;
}

static int check_golds(const json_t *golds, const char *where, struct error *err)
{
    char inner[640];
    const json_t *gold;
    size_t i;

    json_array_foreach(golds, i, gold)
    {
        snprintf(inner, sizeof inner, "%.500s, gold %zu", where, i + 1);
        if (!json_get_string(gold, "sql", inner, err))
            return -1;
    }
    return 0;
}

/* Takes the record; keeps only ambiguous ones. */
static int keep(struct shots *s, json_t *record, const char *where, struct error *err)
{
    json_t *golds = NULL;
    int records = s->count, rc = -1;

    if (json_get_string(record, "db_id", where, err) && json_get_string(record, "question", where, err) &&
        (golds = json_get_array(record, "golds", where, err)))
        rc = check_golds(golds, where, err);
    if (rc || json_array_size(golds) < 2) {
        json_decref(record);
        return rc;
    }
    GROW(s->records, records, s->cap);
    s->records[s->count++] = record;
    return 0;
}

/* A record_fn. */
static int add_record(void *shots, json_t *record, const char *where, struct error *err)
{
    struct shots *s = shots;
    bool row = ambrosia_is_row(record);

    if (json_object_get(record, "error"))
        return 0;
    json_t *own = row ? ambrosia_record(record, s->count, where, err) : json_deep_copy(record);
    db_path_name(s->q.db, own);
    return own ? keep(s, own, where, err) : -1;
}

int shots_open(struct shots *s, const struct shots_request *q, struct error *err)
{
    *s = (struct shots){ .q = *q };
    if (prompter_open(&s->prompter, q->prompt, err) || records_each_as_is(q->path, RECORDS_AUTO, add_record, s, err))
        return -1;
    s->texts = xcalloc((size_t)s->count + 1, sizeof *s->texts);
    return s->count < q->n ? error_set(err, EXIT_CODE_DATA, "%s: expected at least %lld ambiguous records, got %d",
                                       q->path, (long long)q->n, s->count)
                           : 0;
}

void shots_release(struct shots *s)
{
    for (int i = 0; i < s->count; i++) {
        json_decref(s->records[i]);
        free(s->texts ? s->texts[i] : NULL);
    }
    free(s->records);
    free(s->texts);
    prompter_release(&s->prompter);
    *s = (struct shots){ 0 };
}

static const char *field(const json_t *o, const char *name)
{
    return json_string_value(json_object_get(o, name));
}

/* All SQL of a record, which selects its tables; the caller frees. */
static char *all_sql(const json_t *record)
{
    const json_t *golds = json_object_get(record, "golds");
    char *text = NULL;
    size_t size, i;
    FILE *out = open_memstream(&text, &size);

    CHECK(out, "out of memory");
    for (i = 0; i < json_array_size(golds); i++)
        fprintf(out, "%s\n", field(json_array_get(golds, i), "sql"));
    CHECK(fclose(out) == 0, "out of memory");
    return text;
}

/* The text of the tables in an example's SQL; the caller frees. NULL with an error. */
static char *database_of(const struct shots *s, const json_t *record, struct error *err)
{
    char *path = db_path(s->q.db, field(record, "db_id"), err), *sql = all_sql(record);
    char *text = path ? db_text_of(path, s->prompter.form, s->prompter.rows, sql, err) : NULL;

    free(sql);
    free(path);
    return text;
}

/* An example without its number. */
static char *example_text(const struct shots *s, const json_t *record, struct error *err)
{
    static const char answer[] = "Answer the following:\n%s\n\nSQL query(s):\n";
    const json_t *golds = json_object_get(record, "golds"), *gold;
    char *database = database_of(s, record, err), *text = NULL;
    size_t size, i;
    FILE *out = database ? open_memstream(&text, &size) : NULL;

    if (!database)
        return NULL;
    CHECK(out, "out of memory");
    fprintf(out, "Given the following SQLite database schema:\n\n%s\n", database);
    fprintf(out, answer, field(record, "question"));
    for (i = 0; i < json_array_size(golds); i++)
        fprintf(out, "%s\n\n", field(json_array_get(golds, i), "sql"));
    json_array_foreach(golds, i, gold)
    {
        if (!field(gold, "text"))
            continue;
        fprintf(out, answer, field(gold, "text"));
        fprintf(out, "%s\n\n", field(gold, "sql"));
    }
    CHECK(fclose(out) == 0, "out of memory");
    free(database);
    return text;
}

static const char *show(struct shots *s, int i, struct error *err)
{
    if (!s->texts[i])
        s->texts[i] = example_text(s, s->records[i], err);
    return s->texts[i];
}

/* Samples an order of the examples for a record. Returns their number. */
static int sample_examples(const struct shots *s, const json_t *record, int *order)
{
    const char *question = field(record, "question");
    char id[RECORD_ID_TEXT];
    const char *name = record_id_text(record, id);
    uint64_t seed = hash_bytes(HASH_START, &s->q.seed, sizeof s->q.seed);
    struct rng rng = { .seed = hash_bytes(seed, name, strlen(name)) };
    int n = 0;

    for (int i = 0; i < s->count; i++)
        if (!question || strcmp(field(s->records[i], "question"), question) != 0)
            order[n++] = i;
    rng_shuffle(&rng, order, n, sizeof *order);
    return n;
}

char *shots_text(struct shots *s, const json_t *record, struct error *err)
{
    int *order = xmalloc(((size_t)s->count + 1) * sizeof *order), n = sample_examples(s, record, order), shown = 0;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *one = "";

    CHECK(out, "out of memory");
    if (n < s->q.n)
        error_set(err, EXIT_CODE_DATA, "%s: expected %lld ambiguous records of other questions, got %d", s->q.path,
                  (long long)s->q.n, n);
    for (; n >= s->q.n && shown < s->q.n && (one = show(s, order[shown], err)); shown++)
        fprintf(out, "Example %d:\n%s", shown + 1, one);
    CHECK(fclose(out) == 0, "out of memory");
    free(order);
    if (shown < s->q.n) {
        free(text);
        return NULL;
    }
    for (size_t end = strlen(text); end && text[end - 1] == '\n';)
        text[--end] = '\0';
    return text;
}
