#include "infer/detect/detect_group.h"

#include "infer/detect/detect.h"

#include <stdlib.h>
#include <string.h>

enum { GROUP = DETECT_GROUP, GROUP_NODES = 1 << 15 }; /* maximum numbers of questions and of schema elements at once */

/* Questions [n] that are scored together. */
struct scored_group {
    const struct group_question *questions;
    struct question_input inputs[GROUP];
    struct gate_item items[GROUP];
    struct error errors[GROUP]; /* code EXIT_CODE_OK: the item can be scored */
    int n;
};

static bool is_good(const struct scored_group *g, int i)
{
    return g->errors[i].code == EXIT_CODE_OK;
}

/* Tells whether the question needs a vector of the retriever. */
static bool wants_vector(const struct detector *d, const struct scored_group *g, int i)
{
    return is_good(g, i) && detector_wants_vector(d, g->questions[i].schema);
}

static void read_question(struct detector *d, struct scored_group *g, int i)
{
    const struct group_question *q = &g->questions[i];

    if (q->schema)
        detector_item(d, &g->items[i], &g->inputs[i], q->schema, q->question, "question", &g->errors[i]);
    else
        error_set(&g->errors[i], EXIT_CODE_DATA, "%s", q->error);
}

/* Number of elements that the model reads of a question's schema, at most. */
static int nodes_of(const struct detector *d, const struct group_question *q)
{
    return !q->schema ? 0 : q->schema->finder ? d->elements : q->schema->input.n_nodes;
}

static int read_vectors(struct detector *d, const struct scored_group *g, float **vectors, struct error *err)
{
    const char *texts[GROUP];
    int n = 0;

    for (int i = 0; i < g->n; i++)
        if (wants_vector(d, g, i))
            texts[n++] = g->questions[i].question;
    *vectors = n ? detector_vectors(d, texts, n, err) : NULL;
    return n && !*vectors ? -1 : 0;
}

/* Chooses the parts of wide schemas. */
static int choose_parts(struct detector *d, struct scored_group *g, struct error *err)
{
    float *vectors;

    if (read_vectors(d, g, &vectors, err))
        return -1;
    const float *vector = vectors;
    for (int i = 0; i < g->n; i++) {
        bool wants = wants_vector(d, g, i);
        if (is_good(g, i) && g->questions[i].schema->finder)
            detector_part(d, &g->items[i], &g->inputs[i], g->questions[i].schema, wants ? vector : NULL, &g->errors[i]);
        if (wants)
            vector += sentence_encoder_width(&d->retriever);
    }
    free(vectors);
    return 0;
}

/* Returns the number of items, packed in order. */
static int pack_items(const struct scored_group *g, struct gate_item *packed)
{
    int n = 0;

    for (int i = 0; i < g->n; i++)
        if (is_good(g, i))
            packed[n++] = g->items[i];
    return n;
}

static json_t *line_of(struct prediction *f, bool relevance)
{
    json_t *line = prediction_json(f, relevance ? RELEVANCE_ALL : RELEVANCE_NONE);

    if (line)
        return line;
    const struct prediction bad = { .id = f->id, .error = "a name of the schema is not UTF-8" };
    return prediction_json(&bad, RELEVANCE_NONE);
}

static void write_lines(const struct detector *d, const struct scored_group *g, json_t **lines,
                        const struct gate_result *results, const float *relevance, bool wanted)
{
    for (int i = 0, k = 0; i < g->n; i++) {
        const struct group_question *q = &g->questions[i];
        struct prediction f = { .id = q->id, .question = q->question };
        if (is_good(g, i)) {
            prediction_fill(&f, &d->model, &g->items[i], q->schema->schema, &results[k++], relevance);
            relevance += g->items[i].schema->n_nodes;
        } else
            f.error = g->errors[i].text;
        lines[i] = line_of(&f, wanted);
        prediction_release(&f);
    }
}

static int score(struct detector *d, struct scored_group *g, json_t **lines, bool relevance, struct error *err)
{
    struct gate_item packed[GROUP];
    struct gate_result results[GROUP];

    if (choose_parts(d, g, err))
        return -1;
    int n = pack_items(g, packed);
    float *scores = xmalloc((size_t)gate_nodes(packed, n) * sizeof *scores + 1);
    int rc = n ? detector_score(d, packed, n, results, scores, err) : 0;
    if (rc == 0)
        write_lines(d, g, lines, results, scores, relevance);
    free(scores);
    return rc;
}

/* Reads questions until the group is full.  Returns their number. */
static int read_group(struct detector *d, struct scored_group *g, const struct group_question *questions, int n)
{
    int nodes = 0;

    memset(g, 0, sizeof *g);
    g->questions = questions;
    while (g->n < n && g->n < GROUP && nodes < GROUP_NODES) {
        nodes += nodes_of(d, &questions[g->n]);
        read_question(d, g, g->n++);
    }
    return g->n;
}

int detect_group(struct detector *d, json_t **lines, const struct group_question *questions, int n, bool relevance,
                 struct error *err)
{
    struct scored_group *g = xmalloc(sizeof *g);
    int rc = 0;

    memset(lines, 0, (size_t)n * sizeof(json_t *));
    for (int at = 0, step; rc == 0 && at < n; at += step) {
        step = read_group(d, g, questions + at, n - at);
        rc = score(d, g, lines + at, relevance, err);
        for (int i = 0; i < step; i++)
            question_input_release(&g->inputs[i]);
    }
    for (int i = 0; rc && i < n; i++) {
        json_decref(lines[i]);
        lines[i] = NULL;
    }
    free(g);
    return rc;
}
