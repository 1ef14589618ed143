#include "train/gate/gate_appended.h"

#include "data/schema/schema_build.h"
#include "data/schema/schema_search.h"

#include <stdlib.h>
#include <string.h>

static struct appended_source *find_source(struct gate_appender *a, const char *source_db)
{
    for (int i = 0; i < a->n_sources; i++)
        if (strcmp(a->sources[i].source_db, source_db) == 0)
            return &a->sources[i];
    GROW(a->sources, a->n_sources, a->cap);
    struct appended_source *s = &a->sources[a->n_sources++];
    *s = (struct appended_source){ .source_db = source_db };
    return s;
}

void gate_appender_init(struct gate_appender *a, const struct gate_data *data, const struct gate_data_settings *s,
                        double share, uint64_t seed)
{
    const struct schema_set *set = &data->records->schemas;
    const struct gate_fold *train = &data->folds[FOLD_TRAIN];
    bool *seen = xcalloc((size_t)set->n, sizeof *seen);

    *a = (struct gate_appender){ .data = data, .settings = s, .share = share, .seed = seed };
    for (int i = 0; i < train->n; i++) {
        int number = (int)(schema_find(set, train->list[i].record->db_id) - set->schemas);
        if (seen[number])
            continue;
        seen[number] = true;
        struct appended_source *source = find_source(a, train->list[i].record->source_db);
        GROW(source->schemas, source->n, source->cap);
        source->schemas[source->n++] = number;
    }
    free(seen);
}

void gate_appender_release(struct gate_appender *a)
{
    for (int i = 0; i < a->n_sources; i++)
        free(a->sources[i].schemas);
    free(a->sources);
    *a = (struct gate_appender){ 0 };
}

static int elements(const struct schema *s)
{
    return s->n_tables + s->n_columns;
}

/* Numbers of the schemas to append and their elements; out has room for one of each source. */
static int choose(const struct gate_appender *a, const struct gate_example *e, uint64_t draw, int *out, int *n)
{
    const struct schema *all = a->data->records->schemas.schemas;
    struct rng rng = { .seed = draw };
    int least = 1 << rng_below(&rng, APPENDED_DOUBLINGS), wanted = least + (int)rng_below(&rng, (uint32_t)least);
    int *order = xmalloc((size_t)a->n_sources * sizeof *order + 1), tables = 0, more = 0;

    *n = 0;
    for (int i = 0; i < a->n_sources; i++)
        order[i] = i;
    rng_shuffle(&rng, order, a->n_sources, sizeof *order);
    for (int i = 0; i < a->n_sources && tables < wanted; i++) {
        const struct appended_source *source = &a->sources[order[i]];
        int number = source->schemas[rng_below(&rng, (uint32_t)source->n)];
        bool own = strcmp(source->source_db, e->record->source_db) == 0;
        if (own || e->item.schema->n_nodes + more + elements(&all[number]) > SCHEMA_SEARCH_ELEMENTS)
            continue;
        out[(*n)++] = number;
        more += elements(&all[number]);
        tables += all[number].n_tables;
    }
    free(order);
    return more;
}

/* The node of a form that an element of its schema without appended tables is. */
static int moved(const struct gate_appended *x, const struct schema *own, int node)
{
    return node < own->n_tables ? node : node + x->schema.n_tables - own->n_tables;
}

/* -1 as in struct gate_form; where appended tables drove the pair off the list of candidates, so is it. */
static int find_pair(const struct gate_appended *x, const struct gate_form *form)
{
    if (form->pair < 0)
        return -1;
    const struct schema_pair *p = &form->schema->pairs[form->pair];
    int u = moved(x, form->schema->schema, p->u), v = moved(x, form->schema->schema, p->v);
    for (int i = 0; i < x->input.n_pairs; i++)
        if (x->input.pairs[i].u == u && x->input.pairs[i].v == v)
            return i;
    return -1;
}

static void join(struct gate_appended *x, const struct gate_appender *a, const struct gate_form *form)
{
    const struct schema **list = xmalloc((size_t)(1 + x->n) * sizeof *list);

    list[0] = form->schema->schema;
    for (int i = 0; i < x->n; i++)
        list[1 + i] = &a->data->records->schemas.schemas[x->schemas[i]];
    schema_join(&x->schema, list, 1 + x->n);
    free(list);
}

struct gate_appended *gate_appended_new(const struct gate_appender *a, const struct gate_example *e,
                                        const struct gate_form *form, uint64_t draw)
{
    struct gate_appended *x = xcalloc(1, sizeof *x);
    struct error err;

    x->data = a->data;
    x->schemas = xmalloc((size_t)a->n_sources * sizeof *x->schemas + 1);
    choose(a, e, draw, x->schemas, &x->n);
    if (!x->n) {
        gate_appended_free(x);
        return NULL;
    }
    join(x, a, form);
    int rc = schema_input_init(&x->input, &x->schema, a->settings->tokenizer, &a->settings->input, &err);
    CHECK(rc == 0, "%s: %s", e->record->id, err.text);
    x->form = (struct gate_form){ &x->input, find_pair(x, form), x };
    struct gate_item item = gate_appended_item(e, x);
    gate_draw_graph(&x->drawn, &item, a->settings->net);
    return x;
}

void gate_appended_free(struct gate_appended *x)
{
    if (!x)
        return;
    schema_input_release(&x->input);
    schema_release(&x->schema);
    schema_graph_release(&x->drawn);
    free(x->schemas);
    free(x);
}

struct gate_item gate_appended_item(const struct gate_example *e, const struct gate_appended *x)
{
    struct gate_item item = e->item;

    item.schema = &x->input;
    item.drawn = x->drawn.n_nodes ? &x->drawn : NULL;
    return item;
}

bool gate_appended_always(const struct gate_appender *a, const struct gate_example *e, uint64_t *draw)
{
    uint64_t key = hash_bytes(hash_bytes(HASH_START, &a->seed, sizeof a->seed), e->record->id, strlen(e->record->id));
    struct rng rng = { .seed = key };

    bool always = rng_uniform(&rng) < (float)a->share;
    *draw = key ^ rng_u32(&rng);
    return always;
}

int gate_appended_nodes(const struct gate_appender *a, const struct gate_example *e)
{
    uint64_t draw;
    int n, more = 0;

    if (a && gate_appended_always(a, e, &draw)) {
        int *list = xmalloc((size_t)a->n_sources * sizeof *list + 1);
        more = choose(a, e, draw, list, &n);
        free(list);
    }
    return e->item.schema->n_nodes + more;
}

/* Where a node of a form with appended tables comes from: 0 the example's own schema, k the k-th appended one. */
struct origin {
    int part, node;
};

static struct origin find_origin(const struct gate_form *form, const struct gate_example *e, int node)
{
    const struct gate_appended *x = form->appended;
    const struct schema *all = x->data->records->schemas.schemas, *s = e->item.schema->schema;
    int tables = 0, columns = x->schema.n_tables;

    for (int i = 0;; i++, s = &all[x->schemas[i - 1]]) {
        if (node >= tables && node < tables + s->n_tables)
            return (struct origin){ i, node - tables };
        if (node >= columns && node < columns + s->n_columns)
            return (struct origin){ i, node - columns + s->n_tables };
        CHECK(i < x->n, "node %d of %d", node, x->input.n_nodes);
        tables += s->n_tables;
        columns += s->n_columns;
    }
}

int gate_form_own(const struct gate_form *form, const struct gate_example *e, int node)
{
    if (!form->appended)
        return node;
    struct origin o = find_origin(form, e, node);
    return o.part ? -1 : o.node;
}

bool gate_form_twins(const struct gate_form *form, const struct gate_example *e, int u, int v)
{
    if (!form->appended)
        return gate_data_twins(e, u, v);
    struct origin a = find_origin(form, e, u), b = find_origin(form, e, v);
    if (a.part != b.part)
        return false;
    const struct gate_appended *x = form->appended;
    return twins_hold(a.part ? &x->data->twins[x->schemas[a.part - 1]] : e->twins, a.node, b.node);
}
