/* The released code of Skadborg and Mortensen: merged nodes, doubled edges, the word for relevance and its place. */
#include "tests/support/support.h"

#include "data/schema/schema_build.h"
#include "tests/support/digest.h"
#include "tests/support/gate_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 64 };

static const struct gate_world_settings compat = { .encode = ENCODE_ELEMENT,
                                                   .classifier = CLASSIFIER_GAT_MEAN,
                                                   .pool = GATE_POOL_MEAN,
                                                   .graph = GRAPH_REPRODUCTION,
                                                   .texts = TEXTS_PUBLISHED };

/* team(id key, name, City), band(id key, name, team, team_id -> team.id). A column has the name of a table. */
static void two_tables(struct schema *s)
{
    struct schema_build b;

    schema_build_init(&b, "twice");
    int team = schema_build_table(&b, "team", NULL), band = schema_build_table(&b, "band", NULL);
    int key = schema_build_column(&b, team, "id", NULL, COLUMN_NUMBER);
    schema_build_primary(&b, key);
    schema_build_column(&b, team, "name", NULL, COLUMN_TEXT);
    schema_build_column(&b, team, "city", "CITY", COLUMN_TEXT);
    schema_build_primary(&b, schema_build_column(&b, band, "id", NULL, COLUMN_NUMBER));
    schema_build_column(&b, band, "name", "Name", COLUMN_TEXT);
    schema_build_column(&b, band, "team", "Team", COLUMN_TEXT);
    schema_build_foreign_key(&b, schema_build_column(&b, band, "team_id", NULL, COLUMN_NUMBER), key);
    schema_build_finish(&b, s);
    schema_build_release(&b);
}

static void open_question(struct gate_world *w, struct gate_question *q, const struct gate_world_settings *kind)
{
    struct schema s;

    two_tables(&s);
    gate_world_open(w, kind);
    gate_question_init(q, w, &s, 1);
}

static void close_question(struct gate_world *w, struct gate_question *q)
{
    gate_question_release(q);
    gate_world_close(w);
}

/* Elements with the same name are one node, tables first, then "*". Texts are bare names in lower case. */
static void test_merged_nodes(void **state)
{
    static const char *const texts[] = { "team", "band", "id", "name", "city", "team id", "*" };
    static const int32_t node[] = { 0, 1, 2, 3, 4, 2, 3, 0, 5 }, first[] = { 0, 1, 2, 3, 4, 8, -1 };
    struct gate_world w;
    struct gate_question q;

    (void)state;
    open_question(&w, &q, &compat);
    assert_int_equal(q.input.n_nodes, ARRAY_LEN(texts));
    assert_int_equal(q.input.graph.n_elements, ARRAY_LEN(node));
    assert_int_equal(q.input.n_pairs, 0);
    assert_memory_equal(q.input.graph.node, node, sizeof node);
    assert_memory_equal(q.input.first, first, sizeof first);
    for (int i = 0; i < ARRAY_LEN(texts); i++)
        assert_string_equal(q.input.texts[i], texts[i]);
    assert_int_equal(schema_input_table(&q.input, 5), 1);
    assert_int_equal(schema_input_table(&q.input, 6), -1);
    close_question(&w, &q);
    struct gate_world_settings plain = compat;
    plain.graph = GRAPH_BI;
    plain.texts = TEXTS_QUALIFIED;
    open_question(&w, &q, &plain);
    assert_int_equal(q.input.n_nodes, 9);
    assert_string_equal(q.input.texts[6], "band : Name : text");
    close_question(&w, &q);
}

/* The classifier's logit on a graph that replaces the schema's. */
static float score_on(struct gate_world *w, const struct gate_question *q, const struct schema_graph *drawn)
{
    float states[16 * WIDTH], relevance[16];
    struct gate_item item = q->item;
    struct gate_result r;
    struct error err;

    item.drawn = drawn;
    assert_int_equal(gate_encode(&w->scorer, &item, 1, states, relevance, &err), 0);
    assert_int_equal(gate_classify(&w->scorer, &item, 1, states, &r, NULL, &err), 0);
    return r.score;
}

/* A doubled edge has double weight. Only the graph of the released code has such edges. */
static void test_doubled_edges(void **state)
{
    struct gate_world_settings plain = compat;
    struct schema_foreign_key keys[2];
    struct gate_world w;
    struct gate_question q;
    struct schema_graph g;

    (void)state;
    open_question(&w, &q, &compat);
    struct schema_graph single = q.input.graph;
    struct schema_edge *edges = xmalloc((size_t)single.n_edges * sizeof *edges);
    int n = 0;
    for (int i = 0; i < q.input.graph.n_edges; i++) { /* each edge is next to its double */
        const struct schema_edge *e = &q.input.graph.edges[i];
        if (!n || memcmp(e, &edges[n - 1], sizeof *e) != 0)
            edges[n++] = *e;
    }
    assert_int_equal(q.input.graph.n_edges - q.input.n_nodes, 2 * (n - q.input.n_nodes));
    single.edges = edges;
    single.n_edges = n;
    assert_true(fabsf(score_on(&w, &q, NULL) - score_on(&w, &q, &single)) > 1e-4f);
    free(edges);
    close_question(&w, &q);

    plain.graph = GRAPH_BI;
    open_question(&w, &q, &plain);
    struct schema doubled = q.schema;
    keys[0] = keys[1] = doubled.foreign_keys[0];
    doubled.foreign_keys = keys;
    doubled.n_foreign_keys = 2;
    schema_graph_init(&g, &doubled, GRAPH_BI);
    assert_true(score_on(&w, &q, NULL) == score_on(&w, &q, &g));
    schema_graph_release(&g);
    close_question(&w, &q);
}

/* Compares a sequence of the builder with the expected tokens and segments. */
static void check_sequence(const struct text_builder *b, const int32_t *tokens, const int32_t *segments, int n)
{
    assert_int_equal(b->lengths.n, 1);
    assert_int_equal(b->lengths.v[0], n);
    assert_int_equal(b->tokens.n, n);
    assert_memory_equal(b->tokens.v, tokens, (size_t)n * sizeof *tokens);
    assert_memory_equal(b->segments.v, segments, (size_t)n * sizeof *segments);
    assert_int_equal(b->rows.n, 1);
    assert_int_equal(b->rows.v[0], 0);
    assert_int_equal(b->n_nodes, 1);
}

struct wanted {
    int32_t tokens[512], segments[512];
    int n;
};

static void want(struct wanted *x, const int32_t *tokens, int n, int segment)
{
    for (int i = 0; i < n; i++) {
        x->tokens[x->n] = tokens[i];
        x->segments[x->n++] = segment;
    }
}

/* Checks the text of node "name" for a question of n tokens, of which `kept` are left. */
static void check_texts(const struct gate_world_settings *kind, int n_question, int kept, bool relevant)
{
    struct gate_world w;
    struct gate_question q;
    struct text_builder b = { 0 };
    struct wanted x = { 0 };
    int32_t question[300];

    open_question(&w, &q, kind);
    const struct gate_layout *l = &w.model.layout;
    for (int i = 0; i < n_question; i++)
        question[i] = 7 + i % 20;
    struct gate_item item = q.item;
    item.question = question;
    item.n_question = n_question;
    int node = q.input.graph.node[3], length = q.input.element.start[node + 1] - q.input.element.start[node];
    const int32_t *name = q.input.element.ids + q.input.element.start[node];
    const struct gate_word *word = &l->words[relevant];
    text_builder_reset(&b, l);
    text_add_judged(&b, &item, node, relevant);
    want(&x, &l->cls, 1, 0);
    if (kind->texts == TEXTS_PUBLISHED)
        want(&x, &l->cls, 1, 0);
    want(&x, question, kept, 0);
    if (kind->texts == TEXTS_RELEVANCE) {
        want(&x, &l->sep, 1, 0);
        want(&x, name, length, 1);
        want(&x, &l->sep, 1, 1);
        want(&x, word->ids, word->n, 1);
    } else if (kept == n_question) {
        want(&x, &l->sep, 1, 0);
        want(&x, name, length, 0);
        want(&x, &l->sep, 1, 0);
        want(&x, word->ids, word->n, 0);
        want(&x, &l->sep, 1, 0);
    }
    if (kind->texts == TEXTS_PUBLISHED)
        want(&x, &l->sep, 1, 0);
    check_sequence(&b, x.tokens, x.segments, x.n);
    text_builder_release(&b);
    close_question(&w, &q);
}

/* In TEXTS_PUBLISHED, texts are truncated at 128 tokens. In TEXTS_RELEVANCE only the question is truncated. */
static void test_texts(void **state)
{
    struct gate_world_settings published = compat, own = { .encode = ENCODE_ELEMENT, .texts = TEXTS_RELEVANCE };

    (void)state;
    check_texts(&published, 3, 3, true);
    check_texts(&published, 3, 3, false);
    published.max_positions = 512;
    check_texts(&published, 90, 90, false);
    check_texts(&published, 200, 125, false); /* 128 without two [CLS] and the last [SEP] */
    check_texts(&own, 3, 3, true);
    struct gate_world w;
    struct gate_question q;
    open_question(&w, &q, &own);
    const struct gate_layout *l = &w.model.layout;
    int word = l->words[0].n > l->words[1].n ? l->words[0].n : l->words[1].n;
    assert_memory_not_equal(&l->words[0], &l->words[1], sizeof l->words[0]);
    int room = 128 - 3 - word - q.input.longest_element;
    close_question(&w, &q);
    check_texts(&own, 300, room, true);
    check_texts(&own, 300, room, false);
}

/* The [CLS] state of one text with the word for relevance. */
struct one_text {
    const struct gate_world *w;
    const struct text_builder *b;
    struct tensor *y;
};

static void run_text(struct ctx *c, void *arg)
{
    struct one_text *t = arg;
    struct gate_text text;

    gate_text_build(c, t->b, &t->w->model.net.config.bert, &text);
    t->y = op_cast(c, gatekeeper_embed(c, &t->w->model.net, &text), F32);
}

/* Shifts the logits so that some nodes are relevant and some are not. */
static void balance(struct gate_world *w, const struct gate_item *item)
{
    struct param *bias = params_find(&w->model.params, "classifier.bias");
    float relevance[16], mean = 0, x;
    struct error err;

    assert_int_equal(gate_encode(&w->scorer, item, 1, NULL, relevance, &err), 0);
    for (int i = 0; i < item->schema->n_nodes; i++)
        mean += relevance[i] / (float)item->schema->n_nodes;
    param_download(bias, &w->device, &x);
    x -= mean;
    param_upload(bias, &w->device, &x);
}

/* States come from texts whose word follows the relevance of the first reading, by the embedder if there is one.
 * Relevance stays that of the first reading. */
static void check_readings(enum gate_texts texts, int embedder)
{
    struct gate_world_settings kind = compat, plain = compat;
    float states[16 * WIDTH], relevance[16], first[16];
    struct gate_world w;
    struct gate_question q;
    struct text_builder b = { 0 };
    struct error err;
    int relevant = 0;

    kind.texts = texts;
    kind.embedder = embedder;
    plain.texts = TEXTS_QUALIFIED;
    open_question(&w, &q, &plain);
    balance(&w, &q.item);
    assert_int_equal(gate_encode(&w.scorer, &q.item, 1, states, first, &err), 0);
    close_question(&w, &q);
    open_question(&w, &q, &kind);
    balance(&w, &q.item);
    assert_int_equal(gate_encode(&w.scorer, &q.item, 1, states, relevance, &err), 0);
    for (int i = 0; i < q.input.n_nodes; i++) {
        if (!embedder) /* its parameters shift the random numbers of the others */
            assert_true(fabsf(relevance[i] - first[i]) < 1e-5f);
        text_builder_reset(&b, &w.model.layout);
        text_add_judged(&b, &q.item, i, relevance[i] > 0);
        struct one_text one = { &w, &b, NULL };
        assert_int_equal(workspace_run(&w.work, run_text, &one, &err), 0);
        float want_state[WIDTH];
        device_download(&w.device, want_state, one.y);
        assert_true(largest_difference(want_state, states + i * WIDTH, WIDTH) < 1e-5);
        relevant += relevance[i] > 0;
    }
    assert_in_range(relevant, 1, q.input.n_nodes - 1);
    text_builder_release(&b);
    close_question(&w, &q);
}

static void test_readings(void **state)
{
    (void)state;
    check_readings(TEXTS_PUBLISHED, 0);
    check_readings(TEXTS_RELEVANCE, 0);
    check_readings(TEXTS_PUBLISHED, 1);
}

/* A checkpoint's meta data have all fields. Without them, the defaults apply. */
static void test_meta(void **state)
{
    struct gate_world_settings kind = compat;
    struct gate_model_spec back;
    struct gate_world w;
    struct error err;

    (void)state;
    kind.embedder = 1;
    gate_world_open(&w, &kind);
    json_t *o = gate_model_to_json(&w.model);
    assert_string_equal(json_string_value(json_object_get(o, "graph")), "reproduction");
    assert_string_equal(json_string_value(json_object_get(o, "texts")), "published");
    assert_int_equal(gate_model_from_json(o, &back, "a model", &err), 0);
    assert_int_equal(back.graph, GRAPH_REPRODUCTION);
    assert_int_equal(back.config.texts, TEXTS_PUBLISHED);
    assert_int_equal(back.config.embedder, 1);
    json_object_del(o, "texts");
    json_object_del(o, "embedder");
    assert_int_equal(gate_model_from_json(o, &back, "a model", &err), 0);
    assert_int_equal(back.config.texts, TEXTS_QUALIFIED);
    assert_int_equal(back.config.embedder, 0);
    json_object_set_new(o, "texts", json_string("bare"));
    assert_int_equal(gate_model_from_json(o, &back, "a model", &err), -1);
    json_decref(o);
    gate_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_merged_nodes), cmocka_unit_test(test_doubled_edges),
                                        cmocka_unit_test(test_texts), cmocka_unit_test(test_readings),
                                        cmocka_unit_test(test_meta) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
