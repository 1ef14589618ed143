#include "tests/support/support.h"

#include "data/base/log.h"
#include "data/schema/schema_build.h"
#include "data/schema/schema_graph.h"
#include "kernels/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* head(head_id key, name), department(department_id key, name, head_id -> head): nodes 0, 1; columns 2 to 6. */
static void two_tables(struct schema *s)
{
    struct schema_build b;

    schema_build_init(&b, "staff");
    int head = schema_build_table(&b, "head", NULL), department = schema_build_table(&b, "department", NULL);
    int head_id = schema_build_column(&b, head, "head_id", NULL, COLUMN_NUMBER);
    schema_build_column(&b, head, "name", NULL, COLUMN_TEXT);
    schema_build_primary(&b, schema_build_column(&b, department, "department_id", NULL, COLUMN_NUMBER));
    schema_build_column(&b, department, "name", NULL, COLUMN_TEXT);
    int key = schema_build_column(&b, department, "head_id", NULL, COLUMN_NUMBER);
    schema_build_primary(&b, head_id);
    schema_build_foreign_key(&b, key, head_id);
    schema_build_finish(&b, s);
    schema_build_release(&b);
}

static int count(const struct schema_graph *g, int source, int target, int type)
{
    int n = 0;
    for (int i = 0; i < g->n_edges; i++)
        n += g->edges[i].source == source && g->edges[i].target == target && (type < 0 || g->edges[i].type == type);
    return n;
}

static void check_sorted_unique(const struct schema_graph *g)
{
    for (int i = 1; i < g->n_edges; i++) {
        const struct schema_edge *a = &g->edges[i - 1], *b = &g->edges[i];
        assert_true(a->target < b->target || (a->target == b->target && a->source < b->source));
    }
}

static void test_typed(void **state)
{
    struct schema_graph g;
    struct schema s;

    (void)state;
    two_tables(&s);
    schema_graph_init(&g, &s, GRAPH_TYPED);
    assert_int_equal(g.n_nodes, 7); /* two columns called name, two nodes (T8) */
    check_sorted_unique(&g);
    assert_int_equal(count(&g, 0, 2, EDGE_PK), 1);
    assert_int_equal(count(&g, 2, 0, EDGE_PK_REV), 1);
    assert_int_equal(count(&g, 3, 0, EDGE_BELONGS), 1);
    assert_int_equal(count(&g, 0, 3, EDGE_BELONGS_REV), 1);
    assert_int_equal(count(&g, 6, 2, EDGE_FK), 1);
    assert_int_equal(count(&g, 2, 6, EDGE_FK_REV),
                     1); /* not EDGE_SIMILAR as well, although both have the name head_id */
    assert_int_equal(count(&g, 2, 6, -1), 1);
    assert_int_equal(count(&g, 1, 0, EDGE_TFK), 1);
    assert_int_equal(count(&g, 0, 1, EDGE_TFK_REV), 1);
    assert_int_equal(count(&g, 3, 5, EDGE_SIMILAR), 1);
    assert_int_equal(count(&g, 5, 3, EDGE_SIMILAR), 1);
    assert_int_equal(count(&g, 3, 6, -1), 0);
    for (int i = 0; i < g.n_nodes; i++)
        assert_int_equal(count(&g, i, i, EDGE_SELF), 1);
    schema_graph_release(&g);
    schema_release(&s);
}

/* T4: a key that is declared twice is one edge, except in the published code. */
static void test_double_key(void **state)
{
    struct schema_foreign_key twice[2];
    struct schema_graph g;
    struct schema s;

    (void)state;
    two_tables(&s);
    struct schema doubled = s;
    assert_int_equal(s.n_foreign_keys, 1);
    twice[0] = twice[1] = s.foreign_keys[0];
    doubled.foreign_keys = twice;
    doubled.n_foreign_keys = 2;
    schema_graph_init(&g, &doubled, GRAPH_TYPED);
    check_sorted_unique(&g);
    assert_int_equal(count(&g, 6, 2, EDGE_FK), 1);
    schema_graph_release(&g);
    schema_release(&s);
}

static int edges_of(const struct schema *s, enum graph_mode mode, int *nodes)
{
    struct schema_graph g;

    schema_graph_init(&g, s, mode);
    int n = g.n_edges - g.n_nodes;
    *nodes = g.n_nodes;
    schema_graph_release(&g);
    return n;
}

static void test_modes(void **state)
{
    struct schema s;
    int nodes;

    (void)state;
    two_tables(&s);
    assert_int_equal(edges_of(&s, GRAPH_PAPER, &nodes), 5 + 2 + 1); /* belongs, pk, fk */
    assert_int_equal(edges_of(&s, GRAPH_MONO, &nodes), 5 + 1 + 1);  /* has or pk, fk, tfk */
    assert_int_equal(edges_of(&s, GRAPH_BI, &nodes), 2 * (5 + 1 + 1));
    assert_int_equal(nodes, 7);
    schema_release(&s);
}

/* The released code: one node per name, every edge twice, loops once (T4, T8). */
static void test_reproduction(void **state)
{
    struct schema_graph g;
    struct schema s;

    (void)state;
    two_tables(&s);
    schema_graph_init(&g, &s, GRAPH_REPRODUCTION);
    assert_int_equal(g.n_elements, 7);
    assert_int_equal(g.n_nodes, 6); /* head, department, head_id, name, department_id and the star */
    assert_int_equal(g.node[3], g.node[5]);
    assert_int_equal(g.node[2], g.node[6]);
    assert_int_equal(count(&g, 0, g.node[3], -1), 2);
    assert_int_equal(count(&g, g.node[3], 0, -1), 2);
    assert_int_equal(count(&g, 1, g.node[3], -1), 2);
    assert_int_equal(count(&g, 0, 1, -1), 2);                     /* tables in the same way as their columns */
    assert_int_equal(g.n_edges - g.n_nodes, 2 * 2 * (2 + 3 + 1)); /* the columns of both tables, and the tables' edge */
    assert_int_equal(count(&g, g.node[2], g.node[2], EDGE_SELF), 1); /* the foreign key between namesakes is gone */
    for (int i = 0; i < g.n_nodes; i++)
        assert_int_equal(count(&g, i, i, -1), 1);
    schema_graph_release(&g);
    schema_release(&s);
}

static void check_random(int n, double mult, int least)
{
    struct schema_graph g, again;

    schema_graph_init_random(&g, n, mult, 7);
    schema_graph_init_random(&again, n, mult, 7);
    int edges = g.n_edges - n;
    assert_true(edges == least || edges == least + 1);
    assert_int_equal(edges % 2, 0);
    assert_int_equal(g.n_edges, again.n_edges);
    assert_memory_equal(g.edges, again.edges, (size_t)g.n_edges * sizeof *g.edges);
    check_sorted_unique(&g);
    for (int i = 0; i < g.n_edges; i++) {
        const struct schema_edge *e = &g.edges[i];
        assert_int_equal(count(&g, e->target, e->source, -1), 1);
        assert_int_equal(e->source == e->target, e->type == EDGE_SELF);
    }
    schema_graph_release(&g);
    schema_graph_release(&again);
}

/* T11 */
static void test_random(void **state)
{
    (void)state;
    check_random(27, 0.5, 13);
    check_random(27, 2, 54);
    check_random(100, 2, 200);
    check_random(4, 100, 6); /* half of the twelve possible edges */
    check_random(1, 2, 0);
    check_random(0, 2, 0);
}

static bool similar(const char *a, const char *b)
{
    struct schema_build build;
    struct schema_graph g;
    struct schema s;

    schema_build_init(&build, "x");
    int t = schema_build_table(&build, "t", NULL);
    schema_build_column(&build, t, a, NULL, COLUMN_TEXT);
    schema_build_column(&build, t, b, NULL, COLUMN_NUMBER);
    schema_build_finish(&build, &s);
    schema_graph_init(&g, &s, GRAPH_TYPED);
    bool found = count(&g, 1, 2, EDGE_SIMILAR) == 1 && count(&g, 2, 1, EDGE_SIMILAR) == 1;
    schema_graph_release(&g);
    schema_release(&s);
    schema_build_release(&build);
    return found;
}

static void test_similar_names(void **state)
{
    (void)state;
    assert_true(similar("name_first", "First_Names")); /* same words */
    assert_true(similar("birth_date", "start_date"));  /* head noun */
    assert_true(similar("city", "city_code"));         /* singular and plural */
    assert_true(similar("hometown", "home_town"));     /* same characters */
    assert_true(similar("temperature", "temperatur")); /* trigrams */
    assert_true(similar("countries", "country"));
    assert_false(similar("hometown", "birthplace"));
    assert_false(similar("age", "name"));
}

static void wide_schema(struct schema *s, int tables, int columns)
{
    static const char *const words[] = { "name", "date", "code", "price", "status", "amount", "city", "owner" };
    struct schema_build b;
    struct rng rng = { .seed = 3 };

    schema_build_init(&b, "wide");
    for (int t = 0; t < tables; t++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%d", words[t % 8], t);
        int table = schema_build_table(&b, name, NULL);
        schema_build_primary(&b, schema_build_column(&b, table, "id", NULL, COLUMN_NUMBER));
        for (int c = 1; c < columns; c++) {
            snprintf(name, sizeof name, "%s_%s_%d", words[rng_below(&rng, 8)], words[rng_below(&rng, 8)], c % 40);
            schema_build_column(&b, table, name, NULL, (enum column_type)(c % 3));
        }
    }
    schema_build_finish(&b, s);
    schema_build_release(&b);
}

/* T10: 2,000 columns with few distinct words stay sparse and take negligible time. */
static void test_wide(void **state)
{
    struct schema_graph g;
    struct schema s;

    (void)state;
    wide_schema(&s, 100, 20);
    double start = now_seconds();
    schema_graph_init(&g, &s, GRAPH_TYPED);
    double took = now_seconds() - start;
    check_sorted_unique(&g);
    assert_true(g.n_edges < 20 * g.n_nodes);
    assert_true(took < 2);
    schema_graph_release(&g);
    schema_release(&s);
}

static void test_empty(void **state)
{
    struct schema s = { .db_id = "empty" };
    struct schema_graph g;

    (void)state;
    for (int mode = GRAPH_TYPED; mode <= GRAPH_REPRODUCTION; mode++) {
        schema_graph_init(&g, &s, (enum graph_mode)mode);
        assert_int_equal(g.n_nodes, mode == GRAPH_REPRODUCTION); /* the star and its loop */
        assert_int_equal(g.n_edges, g.n_nodes);
        schema_graph_release(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_typed),         cmocka_unit_test(test_modes),      cmocka_unit_test(test_reproduction),
        cmocka_unit_test(test_random),        cmocka_unit_test(test_wide),       cmocka_unit_test(test_empty),
        cmocka_unit_test(test_similar_names), cmocka_unit_test(test_double_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
