/* Tables that no key joins with a question's tables do not change its scores. If they contain words of the question,
 * their pairs compete with the others and may change them. */
#include "tests/support/support.h"

#include "data/schema/schema_build.h"
#include "tests/support/gate_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 3, OWN = 2 * PART, MORE = 5, COLUMNS = 4 /* of a table */ };

struct answer {
    struct gate_question q;
    float *relevance, *pairs;
};

/* Takes the schema. */
static void answer(struct answer *a, struct gate_world *w, struct schema *s)
{
    int64_t width = w->model.net.config.bert.hidden_size;
    struct gate_result result;
    struct error err;

    gate_question_init(&a->q, w, s, 4);
    float *states = xmalloc((size_t)(a->q.input.n_nodes * width) * sizeof *states);
    a->relevance = xmalloc((size_t)a->q.input.n_nodes * sizeof *a->relevance);
    a->pairs = xmalloc((size_t)(a->q.input.n_pairs + 1) * sizeof *a->pairs);
    assert_int_equal(gate_encode(&w->scorer, &a->q.item, 1, states, a->relevance, &err), 0);
    assert_int_equal(gate_classify(&w->scorer, &a->q.item, 1, states, &result, a->pairs, &err), 0);
    free(states);
}

static void answer_release(struct answer *a)
{
    gate_question_release(&a->q);
    free(a->relevance);
    free(a->pairs);
}

/* Number of the same element in the wider schema. */
static int moved(int node)
{
    return node < OWN ? node : node + MORE;
}

static int find_pair(const struct schema_input *in, int u, int v, enum sia_type type)
{
    for (int i = 0; i < in->n_pairs; i++)
        if (in->pairs[i].u == u && in->pairs[i].v == v && in->pairs[i].type == type)
            return i;
    return -1;
}

static float differ(float a, float b)
{
    return fabsf(a - b) / fmaxf(1, fabsf(a));
}

/* Largest change of relevance and, if they count, of the pairs' logits. */
static float largest_move(const struct answer *alone, const struct answer *wide, bool count_pairs)
{
    float most = 0;
    int pairs = 0;

    for (int i = 0; i < OWN * (1 + COLUMNS); i++)
        most = fmaxf(most, differ(alone->relevance[i], wide->relevance[moved(i)]));
    for (int i = 0; i < alone->q.input.n_pairs; i++) {
        const struct schema_pair *p = &alone->q.input.pairs[i];
        int k = find_pair(&wide->q.input, moved(p->u), moved(p->v), p->type);
        pairs += k >= 0;
        if (k >= 0 && count_pairs)
            most = fmaxf(most, differ(alone->pairs[i], wide->pairs[k]));
    }
    assert_true(pairs > 0);
    return most;
}

/* Appends b to a. key: b's second table refers to a's first table instead of its own. */
static void join(struct schema *out, const struct schema *a, const struct schema *b, bool key)
{
    schema_join(out, (const struct schema *const[]){ a, b }, 2);
    for (int i = 0; key && i < out->n_foreign_keys; i++)
        if (out->columns[out->foreign_keys[i].to].table == a->n_tables)
            out->foreign_keys[i].to = 0;
}

/* Replaces letters of a name, except in keys. */
static void disguise(const char *name)
{
    for (char *c = (char *)(uintptr_t)name; strcmp(name, "id") != 0 && *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)('a' + (*c - 'a' + 13) % 26);
}

static void disguise_all(struct schema *s)
{
    for (int i = 0; i < s->n_tables + s->n_columns; i++) {
        const char *name = i < s->n_tables ? s->tables[i].name : s->columns[i - s->n_tables].name;
        const char *text = i < s->n_tables ? s->tables[i].text : s->columns[i - s->n_tables].text;
        disguise(name);
        if (text != name)
            disguise(text);
    }
}

enum strange { SAME_WORDS, OTHER_WORDS, JOINED };

/* SAME_WORDS: the same words everywhere, so that many names are equal and whole tables are similar. JOINED: with a
 * key between the two schemas. */
static float move(const struct gate_world_settings *kind, uint64_t seed, enum strange how)
{
    struct gate_world w;
    struct schema part, own, strange, both;
    struct answer alone, wide;

    gate_world_open(&w, kind);
    gate_world_schema(&part, PART, seed);
    gate_world_schema(&strange, MORE, seed);
    if (how == OTHER_WORDS)
        disguise_all(&strange);
    join(&own, &part, &part, true);
    join(&both, &own, &strange, how == JOINED);
    schema_release(&part);
    schema_release(&strange);
    answer(&alone, &w, &own);
    answer(&wide, &w, &both);
    float most = largest_move(&alone, &wide, how != SAME_WORDS);
    answer_release(&alone);
    answer_release(&wide);
    gate_world_close(&w);
    return most;
}

static void test_strange_tables(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++)
        for (int linguistic = 0; linguistic < 2; linguistic++) {
            struct gate_world_settings kind = { ENCODE_SCHEMA, .max_positions = 512, .linguistic = linguistic };
            assert_true(move(&kind, seed, SAME_WORDS) < 1e-5f);
            assert_true(move(&kind, seed, OTHER_WORDS) < 1e-5f);
            assert_true(move(&kind, seed, JOINED) > 1e-3f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_strange_tables) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
