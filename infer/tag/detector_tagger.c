#include "infer/tag/detector_tagger.h"

#include "data/base/whole_file.h"
#include "data/span/span_schema.h"
#include "infer/detect/detector.h"

#include <math.h>
#include <stdlib.h>

/* Questions that are read together. */
struct tag_group {
    struct question_group group;
    struct schema own[DETECTOR_GROUP];            /* of the columns that records have brought */
    struct prepared_schema *once[DETECTOR_GROUP]; /* schemas of one question */
};

/* Returns the schema of the group's next question, or NULL with err. */
static const struct prepared_schema *prepare(struct tag_group *g, const struct tag_question *q, struct error *err)
{
    struct detector *d = g->group.detector;
    struct schema *own = &g->own[g->group.n];

    if (q->lasting)
        return detector_prepare(d, q->schema->db_id, q->schema, err);
    if (!q->schema)
        span_schema_init(own, "record", q->columns, q->n_columns, NULL, NULL);
    return g->once[g->group.n] = detector_prepare_once(d, q->schema ? q->schema : own, err);
}

/* Fills the group from the first of n questions.  Returns their number. */
static int fill(struct tag_group *g, const struct tag_question *questions, int n)
{
    for (int i = 0; i < n && !question_group_is_full(&g->group); i++) {
        struct error why;
        const struct prepared_schema *p = prepare(g, &questions[i], &why);
        question_group_add(&g->group, questions[i].question, p, "record", &why);
    }
    return g->group.n;
}

/* Starts the next group. */
static void clear(struct tag_group *g)
{
    for (int i = 0; i < g->group.n; i++) {
        prepared_schema_free(g->once[i]);
        schema_release(&g->own[i]);
        g->once[i] = NULL;
    }
    question_group_release(&g->group);
}

static int tag_group(struct tag_group *g, struct tag_answer *answers, char **errors,
                     const struct tag_question *questions, struct error *err)
{
    if (question_group_choose(&g->group, err) || question_group_read_words(&g->group, err))
        return -1;
    for (int i = 0; i < g->group.n; i++) {
        const char *error = g->group.questions[i].error;
        if (error)
            errors[i] = xstrdup(error);
        else
            question_group_tag(&g->group, i, &questions[i], &answers[i]);
    }
    return 0;
}

static int tag_all(void *self, struct tag_answer *answers, char **errors, const struct tag_question *questions, int n,
                   struct error *err)
{
    struct tag_group *g = xcalloc(1, sizeof *g);
    int rc = 0;

    question_group_init(&g->group, self);
    for (int first = 0, some; rc == 0 && first < n; first += some) {
        some = fill(g, questions + first, n - first);
        rc = tag_group(g, answers + first, errors + first, questions + first, err);
        clear(g);
    }
    free(g);
    return rc;
}

static void close_all(void *self)
{
    detector_close(self);
    free(self);
}

static int open_all(struct detector *d, const struct tag_request *q, struct error *err)
{
    const struct detector_settings settings = { .model = q->model,
                                                .device = q->device,
                                                .tokens = DETECTOR_TOKENS,
                                                .elements = DETECTOR_ELEMENTS,
                                                .threshold = NAN,
                                                .no_graph = q->no_graph };

    if (detector_open(d, &settings, err))
        return -1;
    if (!d->words.known)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: the detector has no head for words, the file " WORD_HEAD_FILE
                         "; train one with ambit-train words, or give a tagger of ambit-train tag with --model",
                         q->model);
    if (!isnan(q->threshold))
        d->words.threshold[SPAN_AMB] = d->words.threshold[SPAN_UNK] = q->threshold;
    return 0;
}

int tagger_open_detector(struct tagger *t, const struct tag_request *q, struct error *err)
{
    struct detector *d = xcalloc(1, sizeof *d);

    *t = (struct tagger){ .self = d, .tag = tag_all, .close = close_all };
    if (open_all(d, q, err))
        return -1;
    t->key = hash_bytes(d->model.hash, &d->words.hash, sizeof d->words.hash);
    t->key = hash_bytes(t->key, d->words.threshold, sizeof d->words.threshold);
    return 0;
}
