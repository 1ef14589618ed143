/* Compares relevance and states of 20 pairs with transformers (gold/make_gate.py), including texts with two [CLS]. */
#include "tests/support/support.h"

#include "data/schema/schema_build.h"
#include "models/gatekeeper/gate_score.h"
#include "tests/support/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 64, QUESTIONS = 4, NODES = 5, PAIRS = QUESTIONS * NODES, HOST_BYTES = 16 << 20, LONG_PARTS = 45 };

static const char *const questions[QUESTIONS - 1] = { "What are the names of the heads born in Utah?", "budget",
                                                      "How many departments' budgets are > 10.5 billion?" };

/* The weights of the script. */
static float weight(const char *name, int64_t i)
{
    float x = formula_value(name, i);
    if (text_ends_with(name, "LayerNorm.weight"))
        return 1 + x / 4;
    return text_ends_with(name, "bias") || strstr(name, "embeddings") ? x / 4 : x / 8;
}

static void fill(struct gate_model *m, float bias)
{
    for (int i = 0; i < m->params.n; i++) {
        struct param *p = &m->params.list[i];
        int64_t n = tensor_size(p->t);
        float *x = xmalloc((size_t)n * sizeof *x);
        for (int64_t k = 0; k < n; k++)
            x[k] = strcmp(p->name, "classifier.bias") ? weight(p->name, k) : bias;
        param_upload(p, m->device, x);
        free(x);
    }
}

static void open_model(struct gate_model *m, struct device *device, float bias)
{
    struct gatekeeper_config g = { .bert = { .hidden_size = WIDTH,
                                             .layers = 2,
                                             .heads = 2,
                                             .intermediate_size = 96,
                                             .max_positions = 256,
                                             .type_vocab_size = 2,
                                             .activation = ACT_GELU,
                                             .layer_norm_eps = 1e-12f },
                                   .encode = ENCODE_ELEMENT,
                                   .classifier = CLASSIFIER_BERT_ONLY,
                                   .pool = GATE_POOL_MEAN,
                                   .texts = TEXTS_PUBLISHED,
                                   .embedder = 1,
                                   .gat_hidden = 8,
                                   .gat_heads = 1,
                                   .edge_types = SCHEMA_EDGE_TYPES,
                                   .pair_hidden = 8,
                                   .pair_features = GATE_PAIR_FEATURES };
    struct error err;
    struct tokenizer *t = tokenizer_open("tests/gold/gate", &err);

    assert_non_null(t);
    g.bert.vocab_size = tokenizer_vocab_size(t);
    assert_int_equal(gate_model_init(m, device, &g, F32, GRAPH_REPRODUCTION, OPTIMIZER_NONE, t, &err), 0);
    fill(m, bias);
}

/* department, head, born state, budget in billions. A column has the name of a table. */
static void make_schema(struct schema *s)
{
    struct schema_build b;

    schema_build_init(&b, "staff");
    schema_build_table(&b, "department", NULL);
    int head = schema_build_table(&b, "head", NULL);
    schema_build_column(&b, head, "Head", NULL, COLUMN_TEXT);
    schema_build_column(&b, head, "born_state", "Born State", COLUMN_TEXT);
    schema_build_column(&b, head, "budget", "budget in billions", COLUMN_NUMBER);
    schema_build_finish(&b, s);
    schema_build_release(&b);
}

static void long_question(char *text, size_t size)
{
    int n = snprintf(text, size, "which head of a department ");

    for (int i = 0; i < LONG_PARTS; i++)
        n += snprintf(text + n, size - (size_t)n, "or its name, ");
    snprintf(text + n, size - (size_t)n, "?");
}

/* Checks the tokens of the second reading. */
static void check_tokens(const struct safetensors *gold, const struct gate_model *m, const struct gate_item *items,
                         const float *relevance)
{
    struct text_builder b = { 0 };
    float *lengths = gold_numbers(gold, "lengths", PAIRS);
    int total = 0;

    text_builder_reset(&b, &m->layout);
    for (int i = 0; i < PAIRS; i++)
        text_add_judged(&b, &items[i / NODES], i % NODES, relevance[i] > 0);
    assert_int_equal(b.lengths.n, PAIRS);
    for (int i = 0; i < PAIRS; i++) {
        assert_int_equal(b.lengths.v[i], (int)lengths[i]);
        total += b.lengths.v[i];
    }
    float *ids = gold_numbers(gold, "ids", total);
    for (int i = 0; i < total; i++) {
        assert_int_equal(b.tokens.v[i], (int)ids[i]);
        assert_int_equal(b.segments.v[i], 0);
    }
    free(ids);
    free(lengths);
    text_builder_release(&b);
}

static void check_near(const char *what, const float *got, const struct safetensors *gold, int64_t n)
{
    float *want = gold_numbers(gold, what, n);
    double off = largest_difference(got, want, n);

    if (!(off <= 1e-4))
        fail_msg("%s: off by %g, 1e-4 allowed", what, off);
    free(want);
}

static void test_pairs(void **state)
{
    char text[LONG_PARTS * 16 + 64];
    float relevance[PAIRS], *states = xmalloc(PAIRS * WIDTH * sizeof *states);
    struct gate_item items[QUESTIONS];
    struct ids ids[QUESTIONS] = { 0 };
    struct device device;
    struct workspace work;
    struct gate_model m;
    struct gate_scorer scorer;
    struct schema s;
    struct schema_input input;
    struct safetensors gold;
    struct error err;

    (void)state;
    long_question(text, sizeof text);
    assert_int_equal(safetensors_open(&gold, "tests/gold/gate/pairs.safetensors", &err), 0);
    test_device_open(&device);
    assert_int_equal(workspace_init(&work, &device, HOST_BYTES, &err), 0);
    float *bias = gold_numbers(&gold, "bias", 1);
    open_model(&m, &device, *bias);
    gate_scorer_init(&scorer, &m, &work, 1024);
    make_schema(&s);
    struct schema_input_settings settings = gate_model_input(&m, false);
    assert_int_equal(schema_input_init(&input, &s, m.tokenizer, &settings, &err), 0);
    assert_int_equal(input.n_nodes, NODES);
    for (int i = 0; i < QUESTIONS; i++) {
        const char *question = i < QUESTIONS - 1 ? questions[i] : text;
        assert_int_equal(gate_question_tokens(&ids[i], m.tokenizer, question, "a question", &err), 0);
        items[i] = (struct gate_item){
            .schema = &input, .text = question, .question = ids[i].items, .n_question = (int)ids[i].count
        };
    }
    assert_int_equal(gate_encode(&scorer, items, QUESTIONS, states, relevance, &err), 0);
    check_near("relevance", relevance, &gold, PAIRS);
    check_tokens(&gold, &m, items, relevance);
    check_near("states", states, &gold, PAIRS * WIDTH);
    for (int i = 0; i < QUESTIONS; i++) { /* each question alone */
        float alone[NODES * WIDTH], judged[NODES];
        assert_int_equal(gate_encode(&scorer, &items[i], 1, alone, judged, &err), 0);
        assert_true(largest_difference(alone, states + i * NODES * WIDTH, NODES * WIDTH) <= 1e-5);
    }

    m.net.config.texts = TEXTS_QUALIFIED; /* the cross-encoder's own states: texts are read once */
    assert_int_equal(gate_encode(&scorer, items, QUESTIONS, states, relevance, &err), 0);
    check_near("first", states, &gold, PAIRS * WIDTH);
    for (int i = 0; i < QUESTIONS; i++)
        ids_release(&ids[i]);
    schema_input_release(&input);
    schema_release(&s);
    gate_scorer_release(&scorer);
    gate_model_release(&m);
    workspace_release(&work);
    device_close(&device);
    safetensors_close(&gold);
    free(bias);
    free(states);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_pairs) };
    return test_devices(tests, ARRAY_LEN(tests));
}
