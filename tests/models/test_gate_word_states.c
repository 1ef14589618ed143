/*
 * The states that the head for words reads, on every device: scores of the same pass do not change, and the states are
 * those of the encoder's tokens.
 */
#include "tests/support/support.h"

#include "data/schema/schema_build.h"
#include "tests/support/gate_world.h"
#include "tests/support/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUESTIONS = 4, WIDTH = 64, LAYER = 1 /* of two */ };

/* Questions on schemas of one sequence, of several groups of tables, and too long for one sequence. */
struct asked {
    struct gate_world w;
    struct gate_question q[QUESTIONS];
    struct gate_item items[QUESTIONS];
    int nodes, tokens;
};

static void two_groups(struct schema *out)
{
    struct schema a, b;

    gate_world_schema(&a, 2, 5);
    gate_world_schema(&b, 3, 6);
    schema_join(out, (const struct schema *const[]){ &a, &b }, 2);
    schema_release(&a);
    schema_release(&b);
}

static void open_asked(struct asked *a, int max_question)
{
    const struct gate_world_settings kind = { ENCODE_SCHEMA, .linguistic = 1 };
    static const int tables[QUESTIONS] = { 1, 0, 9, 2 };

    gate_world_open_on(&a->w, &kind, test_device_name());
    a->w.model.layout.max_question = max_question;
    for (int i = 0; i < QUESTIONS; i++) {
        struct schema s;
        if (tables[i])
            gate_world_schema(&s, tables[i], (uint64_t)i);
        else
            two_groups(&s);
        gate_question_init(&a->q[i], &a->w, &s, (uint64_t)(3 + i));
        a->items[i] = a->q[i].item;
    }
    a->nodes = gate_nodes(a->items, QUESTIONS);
    a->tokens = gate_asked(&a->w.scorer, a->items, QUESTIONS);
}

static void close_asked(struct asked *a)
{
    for (int i = 0; i < QUESTIONS; i++)
        gate_question_release(&a->q[i]);
    gate_world_close(&a->w);
}

static float *room(int rows)
{
    return xcalloc((size_t)(rows + 1) * WIDTH, sizeof(float));
}

static void encode_words(struct asked *a, float *tokens, float *elements)
{
    const struct gate_layer_states words = { LAYER, tokens, elements };
    struct error err;

    assert_int_equal(gate_encode_words(&a->w.scorer, a->items, QUESTIONS, NULL, NULL, &words, &err), 0);
}

static void check_same_scores(struct asked *a)
{
    float *states = room(a->nodes), *plain = room(a->nodes), *relevance = room(a->nodes), *wanted = room(a->nodes);
    float *tokens = room(a->tokens), *elements = room(a->nodes), *alone = room(a->tokens), *names = room(a->nodes);
    const struct gate_layer_states words = { LAYER, tokens, elements };
    size_t bytes = (size_t)a->nodes * WIDTH * sizeof *states;
    struct error err;

    assert_int_equal(gate_encode(&a->w.scorer, a->items, QUESTIONS, plain, wanted, &err), 0);
    assert_int_equal(gate_encode_words(&a->w.scorer, a->items, QUESTIONS, states, relevance, &words, &err), 0);
    assert_memory_equal(states, plain, bytes);
    assert_memory_equal(relevance, wanted, (size_t)a->nodes * sizeof *wanted);
    encode_words(a, alone, names);
    assert_memory_equal(alone, tokens, (size_t)a->tokens * WIDTH * sizeof *tokens);
    assert_memory_equal(names, elements, bytes);
    float *const all[] = { states, plain, relevance, wanted, tokens, elements, alone, names };
    for (int i = 0; i < ARRAY_LEN(all); i++)
        free(all[i]);
}

/* One pass gives bitwise the scores of the detector alone, and the words alone have bitwise the states of that pass. */
static void test_scores(void **state)
{
    struct asked a;

    (void)state;
    open_asked(&a, 0);
    check_same_scores(&a);
    close_asked(&a);
}

/* Adds row x to the mean of n rows. */
static void add_row(float *to, const float *x, int n)
{
    for (int i = 0; i < WIDTH; i++)
        to[i] += x[i] / (float)n;
}

/* The states of the question's tokens, which follow [CLS] in every sequence, and of the names, as in the text. */
static void expect(const struct text_builder *b, const float *all, int kept, float *tokens, float *elements)
{
    int start = 0, row = 0, sequences = b->lengths.n;

    for (int s = 0; s < sequences; start += b->lengths.v[s++])
        for (int k = 0; k < kept; k++)
            add_row(tokens + (size_t)k * WIDTH, all + (size_t)(start + 1 + k) * WIDTH, sequences);
    for (int s = 0; s < b->span_lengths.n; row += b->span_lengths.v[s++])
        for (int k = 0; k < b->span_lengths.v[s] && b->span_nodes.v[s] >= 0; k++)
            add_row(elements + (size_t)b->span_nodes.v[s] * WIDTH, all + (size_t)b->rows.v[row + k] * WIDTH,
                    b->span_lengths.v[s]);
}

static void assert_rows(const float *got, const float *wanted, int rows, const char *what)
{
    for (int i = 0; i < rows * WIDTH; i++)
        if (!(fabsf(got[i] - wanted[i]) <= 1e-5F * fmaxf(1, fabsf(wanted[i]))))
            fail_msg("%s %d: channel %d is %g, expected %g", what, i / WIDTH, i % WIDTH, (double)got[i],
                     (double)wanted[i]);
}

static int check_question(struct asked *a, int i, const float *tokens, const float *elements)
{
    int nodes = a->items[i].schema->n_nodes, kept = gate_question_kept(&a->w.model.layout, &a->items[i]);
    float *own = room(kept), *names = room(nodes);
    struct text_builder b = { 0 };
    struct error err;

    text_builder_reset(&b, &a->w.model.layout);
    text_add_schema(&b, &a->items[i], NULL);
    int sequences = b.lengths.n;
    float *all = room(b.tokens.n);
    assert_int_equal(gate_encode_before(&a->w.scorer, &a->items[i], 1, LAYER, all, &err), 0);
    expect(&b, all, kept, own, names);
    assert_rows(tokens, own, kept, "token");
    assert_rows(elements, names, nodes, "element");
    text_builder_release(&b);
    free(own);
    free(names);
    free(all);
    return sequences;
}

static void check_states(int max_question)
{
    struct asked a;
    int most = 0, several = 0;

    open_asked(&a, max_question);
    float *tokens = room(a.tokens), *elements = room(a.nodes);
    encode_words(&a, tokens, elements);
    const float *own = tokens, *names = elements;
    for (int i = 0; i < QUESTIONS; i++) {
        int n = check_question(&a, i, own, names);
        own += (size_t)gate_question_kept(&a.w.model.layout, &a.items[i]) * WIDTH;
        names += (size_t)a.items[i].schema->n_nodes * WIDTH;
        most = n > most ? n : most;
        several += n > 1;
    }
    assert_true(most > 1 && several > 1); /* else the mean of sequences is not tested */
    free(tokens);
    free(elements);
    close_asked(&a);
}

/* The questions' lengths are whole, two tokens and one. */
static void test_states(void **state)
{
    (void)state;
    check_states(0);
    check_states(2);
    check_states(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_scores), cmocka_unit_test(test_states) };
    return test_devices(tests, ARRAY_LEN(tests));
}
