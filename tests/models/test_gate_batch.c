/* Questions and schemas as token sequences: odd names, long names, encoders with few positions. */
#include "tests/support/support.h"

#include "data/schema/schema_build.h"
#include "tests/support/gate_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names that are empty, very long, in other scripts, or without words. */
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

/* Every node of the batch has one span with the tokens of its name, in a sequence that fits. */
static void check_spans(const struct text_builder *b, const struct gate_item *items, int n)
{
    int *seen = xcalloc((size_t)b->n_nodes, sizeof *seen), row = 0, token = 0, first = 0;

    assert_int_equal(b->n_nodes, gate_nodes(items, n));
    int questions = b->layout->asks ? b->lengths.n : 0, asked = -1;
    assert_int_equal(b->span_nodes.n, b->n_nodes + questions);
    assert_int_equal(b->span_lengths.n, b->n_nodes + questions);
    for (int i = 0; i < b->span_nodes.n; i++) {
        int node = b->span_nodes.v[i], item = 0;
        if (node < 0) { /* the span of a question, whose tokens belong to the item of the next span */
            asked = i;
            assert_in_range(i + 1, 1, b->span_nodes.n - 1);
            for (first = 0; b->span_nodes.v[i + 1] - first >= items[item].schema->n_nodes; item++)
                first += items[item].schema->n_nodes;
            assert_int_equal(b->span_lengths.v[i], gate_question_kept(b->layout, &items[item]));
            for (int k = 0; k < b->span_lengths.v[i]; k++)
                assert_int_equal(b->tokens.v[b->rows.v[row + k]], items[item].question[k]);
            row += b->span_lengths.v[i];
            continue;
        }
        assert_true(!questions || b->span_question.v[i] == asked);
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

/* The network runs on the packed batch. */
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

static void check_all_spans(int asks)
{
    static const int positions[] = { 64, 65, 100, 128, 512 };

    for (int i = 0; i < ARRAY_LEN(positions); i++) {
        struct gate_world w;
        struct gate_question q[2];
        struct schema s;
        gate_world_open(
            &w, &(struct gate_world_settings){ ENCODE_SCHEMA, .max_positions = positions[i], .linguistic = asks });
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

static void test_spans(void **state)
{
    (void)state;
    check_all_spans(0);
    check_all_spans(1);
}

/* An element that does not fit beside the question is truncated, never the question. */
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

/* Any positive number of tokens. An error names the record. */
static void test_question_tokens(void **state)
{
    struct gate_world w;
    struct ids ids = { 0 };
    struct error err = { 0 };
    char text[512];
    (void)state;

    gate_world_open(&w, &(struct gate_world_settings){ .max_positions = 64 });
    memset(text, '.', 500); /* punctuation: a token each */
    text[500] = '\0';
    assert_int_equal(gate_question_tokens(&ids, w.model.tokenizer, text, "record q7", &err), 0);
    assert_int_equal(ids.count, 500);
    assert_int_equal(gate_question_tokens(&ids, w.model.tokenizer, " ", "record q7", &err), -1);
    assert_int_equal(err.code, EXIT_CODE_DATA);
    assert_string_equal(err.text, "record q7: question: expected at least one token, got none");
    ids_release(&ids);
    gate_world_close(&w);
}

/* Packs the item and returns the length of its longest sequence. All sequences begin with the kept part of the
 * question. */
static int lay_out(struct text_builder *b, const struct gate_world *w, const struct gate_item *item)
{
    int kept = gate_question_kept(&w->model.layout, item), longest = 0, token = 0;

    text_builder_reset(b, &w->model.layout);
    if (w->model.net.config.encode == ENCODE_SCHEMA) {
        text_add_schema(b, item, NULL);
        check_spans(b, item, 1);
    } else {
        for (int node = 0; node < item->schema->n_nodes; node++)
            text_add_element(b, item, node);
    }
    for (int i = 0; i < b->lengths.n; i++) {
        assert_memory_equal(&b->tokens.v[token + 1], item->question, (size_t)kept * sizeof(int32_t));
        assert_int_equal(b->tokens.v[token + 1 + kept], w->model.layout.sep);
        longest = b->lengths.v[i] > longest ? b->lengths.v[i] : longest;
        token += b->lengths.v[i];
    }
    return longest;
}

/* A question gets at least a quarter of the positions and, beside short names, all that are left. */
static void check_room(enum gate_encode encode, int positions, bool odd)
{
    struct gate_world w;
    struct gate_question q;
    struct schema s;
    struct text_builder b = { 0 };
    int32_t tokens[1024];

    gate_world_open(&w, &(struct gate_world_settings){ encode, .max_positions = positions });
    if (odd)
        odd_schema(&s);
    else
        gate_world_schema(&s, 5, 3);
    gate_question_init(&q, &w, &s, 1);
    for (int i = 0; i < ARRAY_LEN(tokens); i++)
        tokens[i] = w.model.layout.colon;
    struct gate_item item = { .schema = &q.input, .text = q.text, .question = tokens, .n_question = ARRAY_LEN(tokens) };
    int room = gate_question_kept(&w.model.layout, &item);
    assert_true(room >= positions / 4);
    assert_true(odd || room > positions / 2);
    for (item.n_question = 1; item.n_question <= room + 1; item.n_question++) {
        int kept = item.n_question <= room ? item.n_question : room;
        assert_int_equal(gate_question_kept(&w.model.layout, &item), kept);
        assert_true(lay_out(&b, &w, &item) <= positions);
    }
    /* one more token would cut a name; a whole schema has one to spare */
    assert_true(lay_out(&b, &w, &item) >= positions - (encode == ENCODE_SCHEMA ? 2 : 0));
    w.model.layout.max_question = 3;
    assert_int_equal(gate_question_kept(&w.model.layout, &item), 3);
    text_builder_release(&b);
    gate_question_release(&q);
    gate_world_close(&w);
}

static void test_question_room(void **state)
{
    static const int positions[] = { 64, 67, 100, 256, 512 };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(positions); i++)
        for (int odd = 0; odd < 2; odd++) {
            check_room(ENCODE_ELEMENT, positions[i], odd);
            check_room(ENCODE_SCHEMA, positions[i], odd);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_spans), cmocka_unit_test(test_long_elements),
                                        cmocka_unit_test(test_question_tokens), cmocka_unit_test(test_question_room) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
