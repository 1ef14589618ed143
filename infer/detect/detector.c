#include "infer/detect/detector.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/table_writer.h"
#include "data/base/visible.h"
#include "data/base/whole_file.h"
#include "data/clarify/element_choice.h"
#include "data/schema/schema_build.h"
#include "data/span/span_schema.h"
#include "data/span/tagging.h"
#include "models/gatekeeper/gate_adapter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NULL if unknown. */
static const char *kind_of(const struct prediction *f)
{
    bool known = f->named || f->linguistic != LINGUISTIC_NONE;
    return known ? ambiguity_types[ambiguity_type_of(f->pairs[0].type, f->linguistic)].name : NULL;
}

/* Elements that share a node are read once. */
static struct prediction_element element_of(const struct gate_model *m, const struct schema_input *in, int element,
                                            const float *relevance)
{
    const struct schema *s = in->schema;
    const struct schema_column *c = element < s->n_tables ? NULL : &s->columns[element - s->n_tables];
    const struct schema_table *t = &s->tables[c ? c->table : element];
    const char *name = c ? c->text : t->text;
    int node = in->graph.node[element];

    return (struct prediction_element){ .table = t->name,
                                        .column = c ? c->name : NULL,
                                        .text = m->net.config.encode == ENCODE_ELEMENT ? in->texts[node] : name,
                                        .relevance = 1 / (1 + exp(-(double)relevance[node])) };
}

static const char *alternative_of(struct prediction *f, int node)
{
    const struct prediction_element *e = &f->elements[node];
    return e->column ? strings_printf(&f->names, "%s.%s", e->table, e->column) : e->table;
}

/* The pairs of a question, by the numbers of the schema's pairs. */
struct pair_search {
    struct prediction *f;
    const struct gate_model *m;
    const struct schema_input *in;
    const char *question;
    struct element_choice found[PREDICTION_PAIRS]; /* elements and words of the pairs found */
};

static struct element_choice choice_of(const struct pair_search *p, int pair)
{
    const struct schema_pair *of = &p->in->pairs[pair];
    struct element_choice c = { .elements = { of->u, of->v }, .n = 2 };

    element_words(&c.start, &c.end, p->in->schema, p->question, c.elements, c.n);
    return c;
}

static void add_pair(struct pair_search *p, int pair, double score, const struct element_choice *c)
{
    struct prediction *f = p->f;
    const struct schema_pair *of = &p->in->pairs[pair];

    p->found[f->n_pairs] = *c;
    f->pairs[f->n_pairs++] =
        (struct prediction_pair){ .type = of->type,
                                  .alternatives = { alternative_of(f, of->u), alternative_of(f, of->v) },
                                  .score = score,
                                  .start = c->start,
                                  .end = c->end };
}

static bool is_part(const struct schema *s, int element, int of)
{
    return element == of || schema_table_of(s, element) == of || schema_table_of(s, of) == element;
}

/* Whether a pair has words of its own, and no element that another pair or one of its tables has. */
static bool is_new(const struct pair_search *p, const struct element_choice *c)
{
    bool new = c->end > c->start;

    for (int i = 0; i < p->f->n_pairs; i++) {
        const struct element_choice *other = &p->found[i];
        new = new && other->end > other->start && (c->start >= other->end || other->start >= c->end);
        for (int k = 0; k < 4; k++)
            new = new && !is_part(p->in->schema, c->elements[k / 2], other->elements[k % 2]);
    }
    return new;
}

/* The most probable pair less probable than `below`, or equal to it and behind pair `last`; -1: none. */
static int next_pair(const struct pair_search *p, const float *pairs, float below, int last)
{
    int best = -1;

    for (int i = 0; i < p->in->n_pairs; i++)
        if ((pairs[i] < below || (pairs[i] == below && i > last)) && (best < 0 || pairs[i] > pairs[best]))
            best = i;
    return best;
}

/* Adds the pairs behind the most probable one, in the order of their scores, as far as they reach the threshold. */
static void add_further(struct pair_search *p, const float *pairs, int first)
{
    int i = first;

    while (p->f->n_pairs < PREDICTION_PAIRS && (i = next_pair(p, pairs, pairs[i], i)) >= 0) {
        double score = gate_probability(p->m, (double)pairs[i]);
        if (score < p->m->threshold)
            return;
        struct element_choice c = choice_of(p, i);
        if (is_new(p, &c))
            add_pair(p, i, score, &c);
    }
}

static void fill_pairs(struct prediction *f, const struct gate_model *m, const struct gate_item *item,
                       const struct gate_result *result, const float *pairs)
{
    struct pair_search p = { .f = f, .m = m, .in = item->schema, .question = item->text };
    struct element_choice c = choice_of(&p, result->pair);

    add_pair(&p, result->pair, gate_probability(m, (double)result->score), &c);
    if (pairs)
        add_further(&p, pairs, result->pair);
}

void prediction_fill(struct prediction *f, const struct gate_model *m, const struct gate_item *item,
                     const struct schema *whole, const struct gate_result *result, const float *relevance,
                     const float *pairs)
{
    const struct schema_input *in = item->schema;

    f->db_id = in->schema->db_id;
    f->schema_only = !m->net.config.linguistic;
    f->n_question = item->n_question;
    f->n_read = gate_question_kept(&m->layout, item);
    double words = result->type == LINGUISTIC_NONE ? -HUGE_VAL : (double)result->linguistic;
    f->score = gate_probability(m, gate_join_logits(m, (double)result->score, words));
    f->ambiguous = f->score >= m->threshold;
    f->linguistic =
        f->ambiguous && gate_words_likelier(m, (double)result->score, words) ? result->type : LINGUISTIC_NONE;
    f->n_schema = whole->n_tables + whole->n_columns;
    f->n_elements = in->graph.n_elements;
    f->elements = xcalloc((size_t)f->n_elements, sizeof *f->elements);
    for (int i = 0; i < f->n_elements; i++)
        f->elements[i] = element_of(m, in, i, relevance);
    f->named = f->ambiguous && f->linguistic == LINGUISTIC_NONE && result->pair >= 0;
    if (f->named)
        fill_pairs(f, m, item, result, pairs);
}

void prediction_release(struct prediction *f)
{
    strings_release(&f->names);
    free(f->elements);
    json_decref(f->tagged);
    *f = (struct prediction){ 0 };
}

/* The sentence of the class with the words that are responsible. */
static const char *sentence_of_class(const struct prediction *f, struct strings *text)
{
    double p = triage_class_refused(f->class) ? gate_triage_refusal(f->classes) : f->classes[f->class];
    char *sentence = triage_sentence(&f->signs, f->kind, f->question);
    const char *kept = strings_printf(text, "%s (%.0f %%)", sentence, 100 * p);

    free(sentence);
    return kept;
}

/* Tells whether the class says more than the detector itself does. */
static bool class_says_more(const struct prediction *f)
{
    return f->triaged && (triage_class_refused(f->class) || (f->class == TRIAGE_AMBIGUOUS && !f->ambiguous));
}

static const char *sentence_of(const struct prediction *f, struct strings *text)
{
    if (class_says_more(f))
        return sentence_of_class(f, text);
    if (!f->ambiguous)
        return strings_printf(text,
                              f->schema_only ? "No ambiguity with the schema found: the chance of one is %.0f %%. The "
                                               "question's wording was not examined."
                                             : "No ambiguity found: the chance of one is %.0f %%.",
                              100 * f->score);
    if (f->linguistic != LINGUISTIC_NONE)
        return strings_printf(text, "This question has several readings: %s (%.0f %%).",
                              ambiguity_types[ambiguity_type_of(f->pairs[0].type, f->linguistic)].sentence,
                              100 * f->score);
    if (!f->named)
        return strings_printf(text, "This question is ambiguous for this schema (%.0f %%).", 100 * f->score);
    return strings_printf(text, "This question may mean %s %s or %s (%.0f %%).",
                          ambiguity_types[f->pairs[0].type].sentence, f->pairs[0].alternatives[0],
                          f->pairs[0].alternatives[1], 100 * f->score);
}

/* The words of a pair, which the pool owns. */
static const char *words_of(const struct prediction *f, const struct prediction_pair *p, struct strings *text)
{
    const char *from = text_from_letter(f->question, p->start), *to = text_from_letter(from, p->end - p->start);
    return strings_printf(text, "%.*s", (int)(to - from), from);
}

/* The sentence about all pairs. */
static const char *sentences_of(const struct prediction *f, struct strings *text)
{
    const char *all = sentence_of(f, text);

    for (int i = 1; i < f->n_pairs && !class_says_more(f); i++) {
        const struct prediction_pair *p = &f->pairs[i];
        all = strings_printf(text, "%s \"%s\" may mean %s %s or %s (%.0f %%).", all, words_of(f, p, text),
                             ambiguity_types[p->type].sentence, p->alternatives[0], p->alternatives[1], 100 * p->score);
    }
    return all;
}

static const char *told(const struct prediction *f, struct strings *text)
{
    const char *sentence = sentences_of(f, text);
    bool unsure = f->status && strcmp(f->status, "unsure") == 0;
    return unsure ? strings_printf(text, "Not sure. %s", sentence) : sentence;
}

static void append_element(json_t *list, const struct prediction_element *e)
{
    json_array_append_new(list, json_pack("{s:s, s:s?, s:s, s:f}", "table", e->table, "column", e->column, "text",
                                          e->text, "relevance", e->relevance));
}

/* Index of the most relevant element that is not taken, the first of equal ones. */
static int next_relevant(const struct prediction *f, const bool *taken)
{
    int best = -1;

    for (int i = 0; i < f->n_elements; i++)
        if (!taken[i] && (best < 0 || f->elements[i].relevance > f->elements[best].relevance))
            best = i;
    return best;
}

static json_t *elements_json(const struct prediction *f, int relevance)
{
    json_t *list = json_array();
    bool all = relevance == RELEVANCE_ALL || relevance > f->n_elements;
    int n = all ? f->n_elements : relevance;
    bool *taken = xcalloc((size_t)f->n_elements + 1, sizeof *taken);

    for (int i = 0; i < n; i++) {
        int k = relevance == RELEVANCE_ALL ? i : next_relevant(f, taken);
        taken[k] = true;
        append_element(list, &f->elements[k]);
    }
    free(taken);
    return list;
}

/* The pairs, the most probable first. */
static json_t *pairs_json(const struct prediction *f, struct strings *text)
{
    json_t *list = json_array();

    for (int i = 0; i < f->n_pairs; i++) {
        const struct prediction_pair *p = &f->pairs[i];
        bool known = p->end > p->start;
        json_t *o = json_pack("{s:s, s:[s, s], s:f, s:s?}", "type", ambiguity_types[p->type].name, "alternatives",
                              p->alternatives[0], p->alternatives[1], "score", p->score, "words",
                              known ? words_of(f, p, text) : NULL);
        if (o && known)
            json_object_update_new(o, json_pack("{s:i, s:i}", "start", p->start, "end", p->end));
        json_array_append_new(list, o);
    }
    return list;
}

/* Returns NULL when all were read. */
static json_t *kept_of(int kept, int of)
{
    return kept < of ? json_pack("{s:i, s:i}", "kept", kept, "total", of) : NULL;
}

/* Class and kind, the probability of each class, the responsible words and a sentence; NULL without a head. */
static json_t *triage_json(const struct prediction *f, struct strings *text)
{
    if (!f->triaged)
        return NULL;
    json_t *classes = json_object();
    for (int c = 0; c < TRIAGE_CLASSES; c++)
        json_object_set_new(classes, triage_class_name((enum triage_class)c), json_real(f->classes[c]));
    return json_pack("{s:s, s:s, s:o, s:o, s:s}", "class", triage_class_name(f->class), "kind",
                     triage_kind_name(f->kind), "classes", classes, "words",
                     triage_words_json(&f->signs, f->kind, f->question), "sentence", sentence_of_class(f, text));
}

json_t *prediction_json(const struct prediction *f, int relevance)
{
    if (f->error)
        return json_pack("{s:O?, s:o}", "id", f->id, "error", json_message(f->error));
    struct strings text = { 0 };
    const char *sentence = told(f, &text);
    json_t *alternatives =
        f->named ? json_pack("[s, s]", f->pairs[0].alternatives[0], f->pairs[0].alternatives[1]) : json_array();
    json_t *cut = kept_of(f->n_read, f->n_question), *part = kept_of(f->n_elements, f->n_schema);
    json_t *o = json_pack("{s:O, s:s, s:s, s:o*, s:o*, s:o*, s:f, s:b, s:s*, s:s?, s:o, s:o, s:O*, s:s, s:o*}", "id",
                          f->id, "db_id", f->db_id, "question", f->question, "question_cut", cut, "schema_cut", part,
                          "triage", triage_json(f, &text), "score", f->score, "ambiguous", f->ambiguous, "status",
                          f->status, "type", kind_of(f), "alternatives", alternatives, "ambiguities",
                          pairs_json(f, &text), "spans", json_object_get(f->tagged, "spans"), "sentence", sentence,
                          "relevance", relevance ? elements_json(f, relevance) : NULL);
    strings_release(&text);
    return o;
}

static const char *text_of(const json_t *line, const char *field)
{
    return json_string_value(json_object_get(line, field));
}

/* Tells whether a head for classes refuses the question, in words of its own. */
static bool is_refused(const json_t *line)
{
    const char *class = text_of(json_object_get(line, "triage"), "class");
    return class && triage_class_refused(triage_class_of(class));
}

void prediction_print(FILE *out, const json_t *line)
{
    const char *error = text_of(line, "error");
    const json_t *cut = json_object_get(line, "question_cut"), *part = json_object_get(line, "schema_cut");

    if (error) {
        visible_printf(out, "error: %s\n\n", error);
        return;
    }
    visible_printf(out, "%s\n    [%s] %s\n", text_of(line, "question"), text_of(line, "db_id"),
                   text_of(line, "sentence"));
    if (!is_refused(line))
        tag_print_unanswerable(out, line);
    if (cut)
        fprintf(out, "    The first %lld of the question's %lld tokens were read.\n",
                (long long)json_integer_value(json_object_get(cut, "kept")),
                (long long)json_integer_value(json_object_get(cut, "total")));
    if (part)
        fprintf(out, "    The %lld of the schema's %lld tables and columns that the question may be about were read.\n",
                (long long)json_integer_value(json_object_get(part, "kept")),
                (long long)json_integer_value(json_object_get(part, "total")));
    fputc('\n', out);
}

const char prediction_table_head[] =
    "id,db_id,question,score,ambiguous,status,type,alternative_1,alternative_2,class,sentence,error\n";

void prediction_print_row(FILE *out, const json_t *line)
{
    static const char *const before[] = { "id", "db_id", "question", "score", "ambiguous", "status", "type" };
    const json_t *alternatives = json_object_get(line, "alternatives");

    for (int i = 0; i < ARRAY_LEN(before); i++) {
        table_put(out, json_object_get(line, before[i]));
        fputc(',', out);
    }
    for (size_t i = 0; i < 2; i++) {
        table_put(out, json_array_get(alternatives, i));
        fputc(',', out);
    }
    table_put(out, json_object_get(json_object_get(line, "triage"), "class"));
    fputc(',', out);
    table_put(out, json_object_get(line, "sentence"));
    fputc(',', out);
    table_put(out, json_object_get(line, "error"));
    fputc('\n', out);
}

enum { HOST_BYTES = 64 << 20 };

int detector_open(struct detector *d, const struct detector_settings *s, struct error *err)
{
    *d = (struct detector){ 0 };
    if (device_open(&d->device, s->device, err) || workspace_init(&d->work, &d->device, HOST_BYTES, err))
        return -1;
    d->work.eager = s->no_graph;
    if (gate_model_open(&d->model, &d->device, s->model, err) ||
        (s->adapter ? gate_adapter_apply(&d->model, s->adapter, err)
                    : gate_words_open(&d->words, &d->model, s->model, err) ||
                          gate_triage_open(&d->triage, &d->model, &d->words, s->model, err)))
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

void prepared_schema_free(struct prepared_schema *p)
{
    if (!p)
        return;
    schema_input_release(&p->input);
    schema_finder_close(p->finder);
    triage_names_release(&p->names);
    word_names_release(&p->words);
    if (p->columns)
        tag_source_close(p->columns);
    free(p->columns);
    free(p);
}

void detector_forget(struct detector *d)
{
    for (int i = 0; i < d->db_ids.n; i++)
        prepared_schema_free(d->prepared[i]);
    free(d->prepared);
    strings_release(&d->db_ids);
    d->prepared = NULL;
    d->prepared_cap = 0;
}

void detector_close(struct detector *d)
{
    gate_scorer_release(&d->scorer);
    gate_words_release(&d->words);
    detector_forget(d);
    sentence_encoder_close(&d->retriever);
    gate_model_release(&d->model);
    if (d->work.device)
        workspace_release(&d->work);
    if (d->device.driver)
        device_close(&d->device);
    *d = (struct detector){ 0 };
}

static uint64_t schema_hash(const struct schema *s)
{
    json_t *whole = schema_to_json(s);
    char *text = json_dumps(whole, JSON_COMPACT);
    uint64_t hash = hash_text(HASH_START, text);

    free(text);
    json_decref(whole);
    return hash;
}

static int read_schema(const struct detector *d, struct schema_input *input, const struct schema *s, struct error *err)
{
    struct schema_input_settings settings =
        gate_model_input(&d->model, d->model.net.config.classifier == CLASSIFIER_PAIR);

    return schema_input_init(input, s, d->model.tokenizer, &settings, err);
}

/* Prepares the names and columns that the head for words needs. */
static int prepare_words(struct prepared_schema *p, const struct schema *s, struct error *err)
{
    if (!p->finder)
        word_names_init(&p->words, s);
    p->columns = xcalloc(1, sizeof *p->columns);
    return tag_source_open(p->columns, s, NULL, VALUE_INDEX_BYTES, err);
}

struct prepared_schema *detector_prepare_once(struct detector *d, const struct schema *s, struct error *err)
{
    struct prepared_schema *p = xcalloc(1, sizeof *p);
    bool wide = d->elements && s->n_columns && s->n_tables + s->n_columns > d->elements;

    p->schema = s;
    if (wide)
        p->finder = schema_finder_open(s, sentence_encoder_is_open(&d->retriever) ? &d->retriever : NULL, err);
    if ((wide ? !p->finder : read_schema(d, &p->input, s, err) != 0) || (d->words.known && prepare_words(p, s, err))) {
        prepared_schema_free(p);
        return NULL;
    }
    if (d->triage.known)
        triage_names_init(&p->names, s);
    p->hash = schema_hash(s);
    p->serial = s->serial;
    return p;
}

const struct prepared_schema *detector_prepare(struct detector *d, const char *db_id, const struct schema *s,
                                               struct error *err)
{
    int i = strings_find(&d->db_ids, db_id);

    if (i >= 0 && d->prepared[i]->serial == s->serial)
        return d->prepared[i];
    struct prepared_schema *p = detector_prepare_once(d, s, err);
    if (!p)
        return NULL;
    p->lasting = true;
    if (i >= 0) {
        prepared_schema_free(d->prepared[i]);
        return d->prepared[i] = p;
    }
    GROW(d->prepared, d->db_ids.n, d->prepared_cap);
    return d->prepared[strings_add(&d->db_ids, db_id)] = p;
}

/* --- Groups of questions --- */

enum { GROUP_NODES = 1 << 15 }; /* number of schema elements at which a group is full */

void question_group_init(struct question_group *g, struct detector *d)
{
    g->detector = d;
    g->n = g->nodes = 0;
    g->relevance = g->pairs = g->tokens = g->elements = NULL;
}

void question_group_release(struct question_group *g)
{
    for (int i = 0; i < g->n; i++) {
        struct group_question *q = &g->questions[i];
        free(q->error);
        ids_release(&q->ids);
        schema_graph_release(&q->drawn);
        schema_input_release(&q->input);
        schema_release(&q->part);
    }
    free(g->relevance);
    free(g->pairs);
    free(g->tokens);
    free(g->elements);
    question_group_init(g, g->detector);
}

bool question_group_is_full(const struct question_group *g)
{
    return g->n == DETECTOR_GROUP || g->nodes >= GROUP_NODES;
}

static int read_question(const struct detector *d, struct group_question *q, const char *place, struct error *err)
{
    if (gate_question_tokens(&q->ids, d->model.tokenizer, q->question, place, err))
        return -1;
    q->item = (struct gate_item){ .schema = q->schema->finder ? NULL : &q->schema->input,
                                  .text = q->question,
                                  .question = q->ids.items,
                                  .n_question = (int)q->ids.count };
    if (q->item.schema)
        gate_draw_graph(&q->drawn, &q->item, &d->model.net.config);
    return 0;
}

void question_group_add(struct question_group *g, const char *question, const struct prepared_schema *schema,
                        const char *place, const struct error *why)
{
    struct group_question *q = &g->questions[g->n++];
    struct error bad;

    *q = (struct group_question){ .question = question, .schema = schema };
    if (!schema)
        q->error = xstrdup(why->text);
    else if (read_question(g->detector, q, place, &bad))
        q->error = xstrdup(bad.text);
    else
        g->nodes += schema->finder ? g->detector->elements : schema->input.n_nodes;
}

void question_group_context(struct question_group *g, const json_t *record, const char *place)
{
    struct group_question *q = &g->questions[g->n - 1];
    struct error bad;

    if (g->detector->triage.known && triage_context(&q->context, record, place, &bad) && !q->error)
        q->error = xstrdup(bad.text);
}

/* Tells whether the choice of the question's part needs a vector of the retriever. */
static bool wants_vector(const struct question_group *g, const struct group_question *q)
{
    return !q->error && q->schema->finder && sentence_encoder_is_open(&g->detector->retriever);
}

/* Returns the vectors of the questions that need one, in order, or NULL if there is none. */
static int read_vectors(struct question_group *g, float **vectors, struct error *err)
{
    struct sentence_encoder *retriever = &g->detector->retriever;
    const char *texts[DETECTOR_GROUP];
    int n = 0;

    *vectors = NULL;
    for (int i = 0; i < g->n; i++)
        if (wants_vector(g, &g->questions[i]))
            texts[n++] = g->questions[i].question;
    if (!n)
        return 0;
    *vectors = xmalloc((size_t)n * (size_t)sentence_encoder_width(retriever) * sizeof **vectors + 1);
    return sentence_encoder_embed(retriever, *vectors, texts, n, err);
}

/* Chooses the part of a wide schema that a question reads.  vector is NULL without a retriever. */
static int choose_part(const struct detector *d, struct group_question *q, const float *vector, struct error *err)
{
    const struct schema *s = q->schema->schema;
    bool *kept = xmalloc((size_t)(s->n_tables + s->n_columns) * sizeof *kept);

    schema_finder_best(q->schema->finder, q->question, vector, d->elements, kept);
    schema_part(&q->part, s, kept);
    free(kept);
    if (read_schema(d, &q->input, &q->part, err))
        return -1;
    q->item.schema = &q->input;
    gate_draw_graph(&q->drawn, &q->item, &d->model.net.config);
    return 0;
}

int question_group_choose(struct question_group *g, struct error *err)
{
    float *vectors;
    int rc = read_vectors(g, &vectors, err);
    const float *vector = vectors;

    for (int i = 0; rc == 0 && i < g->n; i++) {
        struct group_question *q = &g->questions[i];
        struct error bad;
        bool wants = wants_vector(g, q);
        if (!q->error && q->schema->finder && choose_part(g->detector, q, wants ? vector : NULL, &bad))
            q->error = xstrdup(bad.text);
        if (wants)
            vector += sentence_encoder_width(&g->detector->retriever);
    }
    free(vectors);
    return rc ? -1 : 0;
}

/* Packs the items of the questions that can be scored.  Returns their number. */
static int pack_items(struct question_group *g, struct gate_item *items)
{
    int n = 0;

    for (int i = 0; i < g->n; i++)
        if (!g->questions[i].error) {
            g->questions[i].result = n;
            items[n++] = g->questions[i].item;
        }
    return n;
}

/* Encodes n items in one pass, for scores (states [nodes, C], relevance [nodes]; or both NULL) and for words. */
static int encode(struct question_group *g, const struct gate_item *items, int n, float *states, float *relevance,
                  struct error *err)
{
    struct detector *d = g->detector;
    size_t width = (size_t)d->model.net.config.bert.hidden_size;

    if (!d->words.known)
        return gate_encode(&d->scorer, items, n, states, relevance, err);
    g->tokens = xmalloc((size_t)gate_asked(&d->scorer, items, n) * width * sizeof *g->tokens + 1);
    g->elements = xmalloc((size_t)gate_nodes(items, n) * width * sizeof *g->elements + 1);
    const struct gate_layer_states words = { d->words.layer, g->tokens, g->elements };
    return gate_encode_words(&d->scorer, items, n, states, relevance, &words, err);
}

/* Gives each question its part of the group's results. */
static void share_results(struct question_group *g)
{
    struct detector *d = g->detector;
    size_t width = (size_t)d->model.net.config.bert.hidden_size;
    const float *relevance = g->relevance, *pairs = g->pairs, *tokens = g->tokens, *elements = g->elements;

    for (int i = 0; i < g->n; i++) {
        struct group_question *q = &g->questions[i];
        if (q->error)
            continue;
        size_t nodes = (size_t)q->item.schema->n_nodes;
        q->relevance = relevance;
        q->pairs = pairs;
        q->tokens = tokens;
        q->elements = elements;
        relevance += relevance ? nodes : 0;
        pairs += pairs ? q->item.schema->n_pairs : 0;
        tokens += tokens ? (size_t)gate_asked(&d->scorer, &q->item, 1) * width : 0;
        elements += elements ? nodes * width : 0;
    }
}

int question_group_score(struct question_group *g, struct error *err)
{
    struct detector *d = g->detector;
    struct gate_item items[DETECTOR_GROUP];
    int n = pack_items(g, items);

    if (!n)
        return 0;
    size_t nodes = (size_t)gate_nodes(items, n), width = (size_t)d->model.net.config.bert.hidden_size;
    bool has_pairs = d->model.net.config.classifier == CLASSIFIER_PAIR;
    float *states = xmalloc(nodes * width * sizeof *states);
    g->relevance = xmalloc(nodes * sizeof *g->relevance);
    g->pairs = has_pairs ? xmalloc(((size_t)gate_sizes_of(items, n).pairs + 1) * sizeof *g->pairs) : NULL;
    int rc = encode(g, items, n, states, g->relevance, err) ||
             gate_classify(&d->scorer, items, n, states, g->results, g->pairs, err);

    free(states);
    share_results(g);
    return rc ? -1 : 0;
}

int question_group_read_words(struct question_group *g, struct error *err)
{
    struct gate_item items[DETECTOR_GROUP];
    int n = pack_items(g, items), rc = n ? encode(g, items, n, NULL, NULL, err) : 0;

    share_results(g);
    return rc;
}

/* Tags with the names of the schema that the model has read. */
static void tag_with(struct tag_answer *a, const struct question_group *g, const struct group_question *q,
                     const struct tag_question *asked, const struct word_names *names)
{
    const struct schema *read = q->item.schema->schema;
    struct word_signs signs;
    int *element = xmalloc((size_t)asked->n_columns * sizeof *element + 1);
    const struct word_input in = { &g->detector->model, &q->item, q->tokens, q->elements, &signs };
    const struct word_question words = { asked, read, element, names, &signs };
    struct word_reading reading;

    span_schema_elements(element, asked->columns, asked->n_columns, read);
    word_signs_read(&signs, q->question, names, asked->values, asked->n_values, asked->has_values);
    gate_words_read(&reading, &g->detector->words, &in);
    gate_words_answer(a, &g->detector->words, &reading, &words);
    word_reading_release(&reading);
    free(element);
}

void question_group_tag(const struct question_group *g, int i, const struct tag_question *q, struct tag_answer *a)
{
    const struct group_question *of = &g->questions[i];
    struct word_names part;

    if (!of->schema->finder) {
        tag_with(a, g, of, q, &of->schema->words);
        return;
    }
    word_names_init(&part, &of->part);
    tag_with(a, g, of, q, &part);
    word_names_release(&part);
}

/* The labels of the question's words, for the head for classes. */
static void read_labels(struct word_reading *r, const struct detector *d, const struct group_question *q,
                        const struct triage_question *asked)
{
    struct word_names part = { 0 };
    struct word_signs signs;
    const struct word_input in = { &d->model, &q->item, q->tokens, q->elements, &signs };

    if (q->schema->finder)
        word_names_init(&part, &q->part);
    word_signs_read(&signs, q->question, q->schema->finder ? &part : &q->schema->words, asked->values, asked->n_values,
                    asked->has_values);
    gate_words_read(r, &d->words, &in);
    word_names_release(&part);
}

static void classify(struct prediction *f, const struct detector *d, const struct group_question *q,
                     const struct gate_result *result, const struct triage_question *asked)
{
    float features[TRIAGE_FEATURES];
    double kinds[TRIAGE_KINDS];
    struct word_reading words = { 0 };
    const struct gate_triage_input in = { q->relevance, q->item.schema, f->n_question,
                                          result,       &f->signs,      d->words.known ? &words : NULL };

    triage_read(&f->signs, asked, &q->schema->names);
    if (d->words.known)
        read_labels(&words, d, q, asked);
    gate_triage_features(features, &in);
    word_reading_release(&words);
    gate_triage_predict_kinds(&d->triage, features, kinds);
    gate_triage_classes(f->classes, kinds);
    f->triaged = true;
    f->class = gate_triage_decide(&d->triage, f->classes, f->ambiguous);
    f->kind = gate_triage_kind(kinds, f->class);
}

/* The values of the question's database, or NULL. */
static struct tag_source *values_of(const struct detector *d, const struct group_question *q)
{
    const char *db_id = q->schema->schema->db_id;
    struct error bad;

    if (!d->values || !q->schema->lasting)
        return NULL;
    struct tag_database *of = tag_databases_find(d->values, db_id, db_id, &bad);
    struct tag_source *source = of && of->path ? tag_database_source(d->values, of, &bad) : NULL;
    if (!of || (of->path && !source))
        log_warn("%s; the words of the question are not looked up", bad.text);
    return source;
}

/* A question with the columns of its schema. */
struct asked_columns {
    struct tag_question question; /* zeroed until somebody asks */
    struct tag_matches matches;
    bool stored; /* its words were looked up in a database */
};

/* Looks the words of a question up in its database, if there is one. */
static bool look_up(struct asked_columns *l, const struct detector *d, const struct group_question *q)
{
    struct tag_source *source = values_of(d, q);

    if (source)
        l->question = tag_source_ask(source, q->question, &l->matches);
    return l->stored = source != NULL;
}

/* Classifies.  Looks the words of the question up in its database before it is refused.  Reading the values of a large
 * database takes seconds, so other questions do without. */
static void fill_class(struct prediction *f, const struct detector *d, const struct group_question *q,
                       const struct gate_result *result, struct asked_columns *l)
{
    struct triage_question words = { .text = q->question, .context = q->context };

    classify(f, d, q, result, &words);
    if (!triage_class_refused(f->class) || !look_up(l, d, q))
        return;
    words.values = l->question.values;
    words.n_values = l->question.n_values;
    words.has_values = true;
    classify(f, d, q, result, &words);
}

/* Tags the words, with stored values if they are looked up. */
static void fill_tagged(struct prediction *f, const struct question_group *g, int i, struct asked_columns *l)
{
    const struct group_question *q = &g->questions[i];
    struct tag_answer answer;

    if (!l->stored && !(g->detector->looks_up && look_up(l, g->detector, q)))
        l->question = tag_source_ask(q->schema->columns, q->question, &l->matches);
    question_group_tag(g, i, &l->question, &answer);
    f->tagged = tag_json(f->id, f->db_id, &l->question, &answer);
    tag_answer_release(&answer);
}

void question_group_predict(const struct question_group *g, int i, struct prediction *f)
{
    const struct group_question *q = &g->questions[i];
    const struct gate_result *result = &g->results[q->result];
    struct asked_columns l = { 0 };

    f->question = q->question;
    f->error = q->error;
    if (q->error)
        return;
    prediction_fill(f, &g->detector->model, &q->item, q->schema->schema, result, q->relevance, q->pairs);
    if (g->detector->triage.known)
        fill_class(f, g->detector, q, result, &l);
    if (g->detector->words.known)
        fill_tagged(f, g, i, &l);
    tag_matches_release(&l.matches);
    if (l.stored)
        tag_databases_trim(g->detector->values);
}

/* --- Single questions --- */

/* Predicts for the only question of a group. */
static json_t *find_in(struct question_group *g, const json_t *id, json_t **tagged, const char *place,
                       struct error *err)
{
    struct prediction f = { .id = id };

    if (question_group_choose(g, err) || question_group_score(g, err))
        return NULL;
    question_group_predict(g, 0, &f);
    json_t *line = f.error ? NULL : prediction_json(&f, RELEVANCE_ALL);
    if (f.error)
        error_set(err, EXIT_CODE_DATA, "%s", f.error);
    else if (!line)
        error_set(err, EXIT_CODE_DATA, "%s: the prediction cannot be written as JSON", place);
    if (tagged)
        *tagged = line ? json_incref(f.tagged) : NULL;
    prediction_release(&f);
    return line;
}

static json_t *find(struct detector *d, const json_t *record, const struct prepared_schema *p, json_t **tagged,
                    const char *place, struct error *err)
{
    const char *question = json_get_string(record, "question", place, err);

    if (!question)
        return NULL;
    struct question_group *g = xmalloc(sizeof *g);
    question_group_init(g, d);
    question_group_add(g, question, p, place, NULL);
    question_group_context(g, record, place);
    json_t *line = find_in(g, json_object_get(record, "id"), tagged, place, err);
    question_group_release(g);
    free(g);
    return line;
}

json_t *detector_find(struct detector *d, const json_t *record, const struct schema *s, bool lasting, json_t **tagged,
                      const char *where, struct error *err)
{
    const char *db_id = json_get_string(record, "db_id", where, err);
    const struct prepared_schema *p = db_id && lasting ? detector_prepare(d, db_id, s, err) : NULL;

    if (!db_id || lasting)
        return p ? find(d, record, p, tagged, where, err) : NULL;
    struct prepared_schema *once = detector_prepare_once(d, s, err);
    json_t *line = once ? find(d, record, once, tagged, where, err) : NULL;
    prepared_schema_free(once);
    return line;
}
