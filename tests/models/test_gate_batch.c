/* Questions and schemas as sequences of tokens: odd names, long names, encoders with few positions. */
#include "tests/support/support.h"

#include "data/schema/schema_build.h"
#include "tests/support/gate_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names that are empty, endless, of other scripts, of no word at all. */
static void odd_schema(struct schema *s)
{
    static const char *const names[] = { "",         " ",  "名前 番号", "größe_der_straße", "имя", "👩‍👩‍👧",
                                         "\x01\x02", "##", "a" };
    char endless[4000];
    struct schema_build b;

    for (size_t i = 0; i < sizeof endless - 1; i++)
        endless[i] = i % 8 == 7 ? ' ' : "abcdefg"[i % 7];
    endless[sizeof endless - 1] = '\0';
    schema_build_init(&b, "odd");
    for (int t = 0; t < 4; t++) {
        int table = schema_build_table(&b, t == 2 ? endless : names[t], t == 2 ? endless : names[t]);
        for (int i = 0; i < 60; i++) {
            const char *name = i % 10 == 9 ? endless : names[i % 10];
            schema_build_column(&b, table, name, name, (enum column_type)(i % 5));
        }
    }
    schema_build_table(&b, "without columns", NULL);
    schema_build_finish(&b, s);
}

/* Every node of the batch has one span, of the tokens of its name, inside a sequence that fits. */
static void check_spans(const struct text_builder *b, const struct gate_item *items, int n)
{
    int *seen = xcalloc((size_t)b->n_nodes, sizeof *seen), row = 0, token = 0, first = 0;

    assert_int_equal(b->n_nodes, gate_nodes(items, n));
    assert_int_equal(b->span_nodes.n, b->n_nodes);
    assert_int_equal(b->span_lengths.n, b->n_nodes);
    for (int i = 0; i < b->span_nodes.n; i++) {
        int node = b->span_nodes.v[i], item = 0;
        seen[node]++;
        for (first = 0; node - first >= items[item].schema->n_nodes; item++)
            first += items[item].schema->n_nodes;
        const struct token_table *names = &items[item].schema->name;
        const int32_t *ids = names->ids + names->start[node - first];
        int whole = names->start[node - first + 1] - names->start[node - first];
        assert_int_equal(b->span_lengths.v[i], whole < b->layout->max_name ? whole : b->layout->max_name);
        assert_true(b->span_lengths.v[i] > 0);
        for (int k = 0; k < b->span_lengths.v[i]; k++)
            assert_int_equal(b->tokens.v[b->rows.v[row + k]], ids[k]);
        row += b->span_lengths.v[i];
    }
    assert_int_equal(row, b->rows.n);
    for (int i = 0; i < b->n_nodes; i++)
        assert_int_equal(seen[i], 1);
    row = 0;
    for (int i = 0; i < b->lengths.n; i++) {
        assert_true(b->lengths.v[i] <= b->layout->max_positions);
        for (int k = 0; k < b->lengths.v[i]; k++)
            assert_int_equal(b->positions.v[token + k], k);
        for (int k = 0; k < b->row_counts.v[i]; k++, row++)
            assert_true(b->rows.v[row] > token && b->rows.v[row] < token + b->lengths.v[i] - 1);
        assert_int_equal(b->tokens.v[token], b->layout->cls);
        token += b->lengths.v[i];
        assert_int_equal(b->tokens.v[token - 1], b->layout->sep);
    }
    assert_int_equal(token, b->tokens.n);
    assert_int_equal(row, b->rows.n);
    free(seen);
}

/* The network reads what was built. */
static void check_relevance(struct gate_world *w, const struct gate_item *items, int n)
{
    int nodes = gate_nodes(items, n);
    float *relevance = xcalloc((size_t)nodes, sizeof *relevance);
    struct error err;

    assert_int_equal(gate_encode(&w->scorer, items, n, NULL, relevance, &err), 0);
    for (int i = 0; i < nodes; i++)
        assert_true(isfinite(relevance[i]) && relevance[i] != 0);
    free(relevance);
}

static void test_spans(void **state)
{
    static const int positions[] = { 64, 65, 100, 128, 512 };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(positions); i++) {
        struct gate_world w;
        struct gate_question q[2];
        struct schema s;
        gate_world_open(&w, &(struct gate_world_settings){ ENCODE_SCHEMA, .max_positions = positions[i] });
        odd_schema(&s);
        gate_question_init(&q[0], &w, &s, 1);
        gate_world_schema(&s, 30, 3);
        gate_question_init(&q[1], &w, &s, 2);
        struct gate_item items[2] = { q[0].item, q[1].item };
        struct rng rng = { .seed = 5 };
        struct text_builder b = { 0 };
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            text_builder_reset(&b, &w.model.layout);
            for (int k = 0; k < 2; k++)
                text_add_schema(&b, &items[k], shuffled ? &rng : NULL);
            check_spans(&b, items, 2);
        }
        text_builder_release(&b);
        check_relevance(&w, items, 2);
        gate_question_release(&q[0]);
        gate_question_release(&q[1]);
        gate_world_close(&w);
    }
}

/* An element's text that does not fit beside the question is cut, never the question. */
static void test_long_elements(void **state)
{
    struct gate_world w;
    struct gate_question q;
    struct schema s;
    struct text_builder b = { 0 };

    (void)state;
    gate_world_open(&w, &(struct gate_world_settings){ ENCODE_ELEMENT, .max_positions = 64 });
    odd_schema(&s);
    gate_question_init(&q, &w, &s, 1);
    text_builder_reset(&b, &w.model.layout);
    for (int node = 0; node < q.input.n_nodes; node++)
        text_add_element(&b, &q.item, node);
    assert_int_equal(b.lengths.n, q.input.n_nodes);
    int token = 0, full = 0;
    for (int i = 0; i < b.lengths.n; i++) {
        assert_true(b.lengths.v[i] <= 64);
        full += b.lengths.v[i] == 64;
        assert_int_equal(b.rows.v[i], token);
        assert_memory_equal(&b.tokens.v[token + 1], q.ids.items, (size_t)q.ids.count * sizeof(int32_t));
        token += b.lengths.v[i];
        assert_int_equal(b.tokens.v[token - 1], w.model.layout.sep);
    }
    assert_true(full > 0);
    text_builder_release(&b);
    gate_question_release(&q);
    gate_world_close(&w);
}

/* 1 to max_question tokens; what is wrong with others names the record. */
static void test_question_tokens(void **state)
{
    const struct gate_world_settings settings = { .max_positions = 64 };
    struct gate_world w;
    struct ids ids = { 0 };
    struct error err = { 0 };
    char text[64];
    (void)state;

    gate_world_open(&w, &settings);
    const struct gate_layout *layout = &w.model.layout;
    assert_int_equal(layout->max_question, 16);
    for (int n = 0; n <= 17; n++) {
        memset(text, '.', (size_t)n); /* punctuation: a token each */
        text[n] = '\0';
        int rc = gate_question_tokens(&ids, layout, w.model.tokenizer, text, "record q7", &err);
        assert_int_equal(rc, n >= 1 && n <= 16 ? 0 : -1);
        assert_int_equal(ids.count, n);
        if (rc) {
            assert_int_equal(err.code, EXIT_CODE_DATA);
            snprintf(text, sizeof text, "record q7: question: expected 1 to 16 tokens, got %d", n);
            assert_string_equal(err.text, text);
        }
    }
    ids_release(&ids);
    gate_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_spans), cmocka_unit_test(test_long_elements),
                                        cmocka_unit_test(test_question_tokens) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
