/* Part of tagger.h: the strategies with a model: DTE's chain of tags, and the ETA form, its links alone. */
#include "infer/tag/tag.h"
#include "infer/tag/tagger.h"
#include "models/dte/dte_tagger.h"

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

/* Questions that the network can read, each with its place among all. */
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

int tagger_open_dte(struct tagger *t, const struct tag_request *q, struct error *err)
{
    struct dte_strategy *s = xcalloc(1, sizeof *s);

    *t = (struct tagger){ .self = s, .tag = tag_all, .close = close_all };
    if (open_all(s, q, err))
        return -1;
    const double settings[] = { s->tagger.settings.threshold, s->tagger.heat, s->tagger.eta };
    t->key = hash_bytes(s->model.sum, settings, sizeof settings);
    return 0;
}
