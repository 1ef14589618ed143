#include "infer/tag/tagger.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/whole_file.h"
#include "data/span/tagging.h"
#include "infer/tag/detector_tagger.h"
#include "infer/tag/tag.h"
#include "models/io/model_folder.h"
#include "models/tagger/dte_tagger.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 16384, HOST_BYTES = 64 << 20 };

struct dte_strategy {
    struct device device;
    struct workspace work;
    struct dte_model model;
    struct dte_tagger tagger;
};

/* Questions that the network can read, with their indices. */
struct dte_group {
    struct dte_item *items;
    int *place;
    int n;
};

static void group_init(struct dte_group *g, const struct dte_strategy *s, char **errors,
                       const struct tag_question *questions, int n)
{
    *g = (struct dte_group){ xcalloc((size_t)n + 1, sizeof *g->items), xcalloc((size_t)n + 1, sizeof *g->place), 0 };
    for (int i = 0; i < n; i++) {
        struct error err = { 0 };
        g->place[g->n] = i;
        if (dte_item_init(&g->items[g->n], &questions[i], &s->tagger.layout, "record", &err))
            errors[i] = xstrdup(err.text);
        else
            g->n++;
    }
}

static void group_release(struct dte_group *g)
{
    for (int i = 0; i < g->n; i++)
        dte_item_release(&g->items[i]);
    free(g->items);
    free(g->place);
}

static int tag_all(void *self, struct tag_answer *answers, char **errors, const struct tag_question *questions, int n,
                   struct error *err)
{
    struct dte_strategy *s = self;
    struct dte_group g;

    group_init(&g, s, errors, questions, n);
    struct tag_answer *got = xcalloc((size_t)n + 1, sizeof *got);
    int rc = dte_tag(&s->tagger, g.items, g.n, got, err);
    for (int i = 0; i < g.n; i++)
        answers[g.place[i]] = got[i];
    free(got);
    group_release(&g);
    return rc;
}

static void close_all(void *self)
{
    struct dte_strategy *s = self;

    dte_model_release(&s->model);
    workspace_release(&s->work);
    device_close(&s->device);
    free(s);
}

static int open_all(struct dte_strategy *s, const struct tag_request *q, struct error *err)
{
    if (device_open(&s->device, q->device, err) || workspace_init(&s->work, &s->device, HOST_BYTES, err) ||
        dte_model_open(&s->model, &s->device, q->model, err) ||
        dte_tagger_init(&s->tagger, &s->model, &s->work, MAX_TOKENS, err))
        return -1;
    s->work.eager = q->no_graph;
    s->tagger.eta = q->strategy == TAG_ETA;
    s->tagger.heat = q->format == TAG_HTML;
    if (!isnan(q->threshold))
        s->tagger.settings.threshold = q->threshold;
    return 0;
}

static int tagger_open_dte(struct tagger *t, const struct tag_request *q, struct error *err)
{
    struct dte_strategy *s = xcalloc(1, sizeof *s);

    *t = (struct tagger){ .self = s, .tag = tag_all, .close = close_all };
    if (open_all(s, q, err))
        return -1;
    const double settings[] = { s->tagger.settings.threshold, s->tagger.heat, s->tagger.eta };
    t->key = hash_bytes(s->model.hash, settings, sizeof settings);
    return 0;
}

static int tag_by_words(void *self, struct tag_answer *answers, char **errors, const struct tag_question *questions,
                        int n, struct error *err)
{
    (void)errors, (void)err;
    for (int i = 0; i < n; i++)
        heuristic_tag(&answers[i], self, &questions[i]);
    return 0;
}

static int tune(struct heuristic *h, const char *path, struct error *err)
{
    struct span_record_list records = { 0 };
    int rc = span_records_read(&records, path, err);

    if (rc == 0) {
        double reached = heuristic_tune(h, records.items, records.n);
        log_info(
            "%s: %d records, F1 less twice the false alarms %.3f with --name %g --value %g --margin %g --unknown %g",
            path, records.n, reached, h->name, h->value, h->margin, h->unknown);
    }
    span_records_release(&records);
    return rc;
}

static int tagger_open_heuristic(struct tagger *t, const struct tag_request *q, struct error *err)
{
    struct heuristic *h = xmalloc(sizeof *h);

    *h = q->heuristic;
    *t = (struct tagger){ .self = h, .tag = tag_by_words, .close = free };
    if (q->tune && tune(h, q->tune, err))
        return -1;
    t->key = hash_bytes(hash_text(HASH_START, "heuristic"), h, sizeof *h);
    return 0;
}

int tagger_open(struct tagger *t, const struct tag_request *q, struct error *err)
{
    static tagger_open_fn *const strategies[] = {
        [TAG_DTE] = tagger_open_dte, [TAG_ETA] = tagger_open_dte, [TAG_HEURISTIC] = tagger_open_heuristic
    };
    bool shared = q->strategy == TAG_DTE && model_folder_is(q->model, "gatekeeper");
    return (shared ? tagger_open_detector : strategies[q->strategy])(t, q, err);
}

int question_tagger_open(struct question_tagger *m, const struct tag_request *q, struct error *err)
{
    *m = (struct question_tagger){ 0 };
    return tag_databases_open(&m->databases, q->schema, q->db, q->index_mib << 20, err) ||
                   tagger_open(&m->tagger, q, err)
               ? -1
               : 0;
}

void question_tagger_close(struct question_tagger *m)
{
    tag_databases_close(&m->databases);
    if (m->tagger.close)
        m->tagger.close(m->tagger.self);
    *m = (struct question_tagger){ 0 };
}

/* Writes the tagger's answer as a line. */
static json_t *mark(struct question_tagger *m, const json_t *record, struct tag_source *source, const char *where,
                    struct error *err)
{
    struct tag_matches values;
    const char *text = json_string_value(json_object_get(record, "question")), *why = NULL;
    struct tag_question question = tag_source_ask(source, text, &values);
    struct tag_answer answer = { 0 };
    char *bad = NULL;
    json_t *line = NULL;
    int rc = m->tagger.tag(m->tagger.self, &answer, &bad, &question, 1, err);

    if (rc == 0 && !bad)
        line = tag_json(json_object_get(record, "id"), json_string_value(json_object_get(record, "db_id")), &question,
                        &answer);
    if (rc == 0 && !line)
        why = bad ? bad : "a name or a value of its database is no UTF-8";
    if (why)
        error_set(err, EXIT_CODE_DATA, "%s: %s", where, why);
    tag_answer_release(&answer);
    tag_matches_release(&values);
    free(bad);
    return line;
}

json_t *question_tagger_mark(struct question_tagger *m, const json_t *record, const struct schema *own,
                             const char *where, struct error *err)
{
    const char *db_id = json_get_string(record, "db_id", where, err);
    struct tag_source once = { 0 }, *source = NULL;

    if (!db_id || !json_get_string(record, "question", where, err))
        return NULL;
    if (own) {
        source = tag_source_open(&once, own, NULL, m->databases.max_bytes, err) ? NULL : &once;
    } else {
        struct tag_database *database = tag_databases_find(&m->databases, db_id, where, err);
        source = database ? tag_database_source(&m->databases, database, err) : NULL;
    }
    json_t *line = source ? mark(m, record, source, where, err) : NULL;
    tag_source_close(&once);
    tag_databases_trim(&m->databases);
    return line;
}
