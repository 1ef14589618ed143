#include "infer/detect/detector.h"

#include "data/schema/schema_build.h"
#include "data/util/json.h"
#include "data/util/log.h"
#include "data/util/sums.h"
#include "models/gate/gate_adapter.h"

#include <math.h>
#include <stdlib.h>

enum { HOST_BYTES = 64 << 20 };

int detector_open(struct detector *d, const struct detector_settings *s, struct error *err)
{
    *d = (struct detector){ 0 };
    if (device_open(&d->device, s->device, err) || workspace_init(&d->work, &d->device, HOST_BYTES, err))
        return -1;
    d->work.eager = s->no_graph;
    if (gate_model_open(&d->model, &d->device, s->model, err) ||
        (s->adapt && gate_adapter_apply(&d->model, s->adapt, err)))
        return -1;
    d->model.layout.max_question = (int)s->max_question;
    d->elements = (int)s->elements;
    if (!isnan(s->threshold))
        d->model.threshold = s->threshold;
    if (*d->model.note)
        log_info("%s: %s", s->model, d->model.note);
    gate_scorer_init(&d->scorer, &d->model, &d->work, (int)s->tokens);
    return s->retriever ? sentence_encoder_open(&d->retriever, &d->work, s->retriever, (int)s->tokens, err) : 0;
}

static void forget(struct prepared_schema *p)
{
    schema_input_release(&p->input);
    schema_finder_close(p->finder);
    free(p);
}

void detector_close(struct detector *d)
{
    gate_scorer_release(&d->scorer);
    for (int i = 0; i < d->db_ids.n; i++)
        forget(d->prepared[i]);
    free(d->prepared);
    strings_release(&d->db_ids);
    sentence_encoder_close(&d->retriever);
    gate_model_release(&d->model);
    if (d->work.device)
        workspace_release(&d->work);
    if (d->device.driver)
        device_close(&d->device);
    *d = (struct detector){ 0 };
}

static uint64_t schema_sum(const struct schema *s)
{
    json_t *whole = schema_to_json(s);
    char *text = json_dumps(whole, JSON_COMPACT);
    uint64_t sum = sum_text(HASH_START, text);

    free(text);
    json_decref(whole);
    return sum;
}

static int read_schema(const struct detector *d, struct schema_input *input, const struct schema *s, struct error *err)
{
    struct schema_input_settings settings =
        gate_model_input(&d->model, d->model.net.config.classifier == CLASSIFIER_PAIR);

    return schema_input_init(input, s, d->model.tokenizer, &settings, err);
}

static struct prepared_schema *prepare(struct detector *d, const struct schema *s, struct error *err)
{
    struct prepared_schema *p = xcalloc(1, sizeof *p);
    bool wide = d->elements && s->n_columns && s->n_tables + s->n_columns > d->elements;

    p->schema = s;
    if (wide)
        p->finder = schema_finder_open(s, sentence_encoder_is_open(&d->retriever) ? &d->retriever : NULL, err);
    if (wide ? !p->finder : read_schema(d, &p->input, s, err) != 0) {
        forget(p);
        return NULL;
    }
    p->sum = schema_sum(s);
    p->serial = s->serial;
    return p;
}

const struct prepared_schema *detector_prepare(struct detector *d, const char *db_id, const struct schema *s,
                                               struct error *err)
{
    int i = strings_find(&d->db_ids, db_id);

    if (i >= 0 && d->prepared[i]->serial == s->serial)
        return d->prepared[i];
    struct prepared_schema *p = prepare(d, s, err);
    if (!p)
        return NULL;
    if (i >= 0) {
        forget(d->prepared[i]);
        return d->prepared[i] = p;
    }
    GROW(d->prepared, d->db_ids.n, d->prepared_cap);
    return d->prepared[strings_add(&d->db_ids, db_id)] = p;
}

int detector_item(const struct detector *d, struct gate_item *item, struct question_input *q,
                  const struct prepared_schema *p, const char *question, const char *where, struct error *err)
{
    if (gate_question_tokens(&q->ids, d->model.tokenizer, question, where, err))
        return -1;
    *item = (struct gate_item){ .schema = p->finder ? NULL : &p->input,
                                .text = question,
                                .question = q->ids.items,
                                .n_question = (int)q->ids.count };
    if (item->schema)
        gate_draw_graph(&q->drawn, item, &d->model.net.config);
    return 0;
}

int detector_part(const struct detector *d, struct gate_item *item, struct question_input *q,
                  const struct prepared_schema *p, const float *vector, struct error *err)
{
    bool *kept = xmalloc((size_t)(p->schema->n_tables + p->schema->n_columns) * sizeof *kept);

    schema_finder_best(p->finder, item->text, vector, d->elements, kept);
    schema_part(&q->part, p->schema, kept);
    free(kept);
    if (read_schema(d, &q->input, &q->part, err))
        return -1;
    item->schema = &q->input;
    gate_draw_graph(&q->drawn, item, &d->model.net.config);
    return 0;
}

bool detector_wants_vector(const struct detector *d, const struct prepared_schema *p)
{
    return p->finder && sentence_encoder_is_open(&d->retriever);
}

float *detector_vectors(struct detector *d, const char *const *questions, int n, struct error *err)
{
    float *vectors = xmalloc((size_t)n * (size_t)sentence_encoder_width(&d->retriever) * sizeof *vectors + 1);

    if (sentence_encoder_embed(&d->retriever, vectors, questions, n, err) == 0)
        return vectors;
    free(vectors);
    return NULL;
}

void question_input_release(struct question_input *q)
{
    ids_release(&q->ids);
    schema_graph_release(&q->drawn);
    schema_input_release(&q->input);
    schema_release(&q->part);
}

int detector_score(struct detector *d, const struct gate_item *items, int n, struct gate_result *results,
                   float *relevance, struct error *err)
{
    size_t nodes = (size_t)gate_nodes(items, n), width = (size_t)d->model.net.config.bert.hidden_size;
    float *states = xmalloc(nodes * width * sizeof *states);
    int rc = gate_encode(&d->scorer, items, n, states, relevance, err) ||
             gate_classify(&d->scorer, items, n, states, results, NULL, err);

    free(states);
    return rc ? -1 : 0;
}

/* One question as an item, its part of a wide schema with it. */
static int read_question(struct detector *d, struct gate_item *item, struct question_input *q,
                         const struct prepared_schema *p, const char *question, const char *where, struct error *err)
{
    if (detector_item(d, item, q, p, question, where, err))
        return -1;
    if (!p->finder)
        return 0;
    float *vector = detector_wants_vector(d, p) ? detector_vectors(d, &question, 1, err) : NULL;
    bool found = vector || !detector_wants_vector(d, p);
    int rc = found ? detector_part(d, item, q, p, vector, err) : -1;
    free(vector);
    return rc;
}

static json_t *find(struct detector *d, const json_t *record, const struct prepared_schema *p, const char *where,
                    struct error *err)
{
    const char *question = json_get_string(record, "question", where, err);
    struct finding f = { .id = json_object_get(record, "id"), .question = question };
    struct gate_item item;
    struct gate_result result;
    struct question_input words = { 0 };
    json_t *line = NULL;
    float *relevance = xmalloc((size_t)(p->schema->n_tables + p->schema->n_columns) * sizeof *relevance + 1);

    if (question && read_question(d, &item, &words, p, question, where, err) == 0 &&
        detector_score(d, &item, 1, &result, relevance, err) == 0) {
        finding_fill(&f, &d->model, &item, p->schema, &result, relevance);
        line = finding_json(&f, true);
        if (!line)
            error_set(err, EXIT_CODE_DATA, "%s: the finding cannot be written as JSON", where);
    }
    finding_release(&f);
    question_input_release(&words);
    free(relevance);
    return line;
}

json_t *detector_find(struct detector *d, const json_t *record, const struct schema *s, bool lasting, const char *where,
                      struct error *err)
{
    const char *db_id = json_get_string(record, "db_id", where, err);
    const struct prepared_schema *p = db_id && lasting ? detector_prepare(d, db_id, s, err) : NULL;

    if (!db_id || lasting)
        return p ? find(d, record, p, where, err) : NULL;
    struct prepared_schema *once = prepare(d, s, err);
    json_t *line = once ? find(d, record, once, where, err) : NULL;
    if (once)
        forget(once);
    return line;
}
