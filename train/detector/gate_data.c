#include "train/detector/gate_data.h"

#include "data/base/log.h"
#include "data/schema/schema_build.h"
#include "data/schema/schema_search.h"
#include "data/sql/sql.h"
#include "models/embed/schema_finder.h"
#include "models/gatekeeper/schema_input.h"

#include <stdlib.h>
#include <string.h>

struct gate_part {
    struct schema schema;
    struct schema_input input;
    bool *kept; /* [elements of the whole schema] */
};

/* Whether a schema is read in parts, where `elements` (0: all) are read at most. */
static bool gate_part_wanted(const struct schema *s, int elements)
{
    return elements && s->n_columns && s->n_tables + s->n_columns > elements;
}

static void gate_part_free(struct gate_part *p)
{
    if (!p)
        return;
    schema_input_release(&p->input);
    schema_release(&p->schema);
    free(p->kept);
    free(p);
}

/* vector: the question's, see schema_finder.h, or NULL.  The caller frees; NULL with EXIT_CODE_DATA. */
static struct gate_part *gate_part_new(const struct schema *s, const struct schema_finder *finder, const char *question,
                                       const float *vector, int elements, const struct tokenizer *t,
                                       const struct schema_input_settings *settings, struct error *err)
{
    struct gate_part *p = xcalloc(1, sizeof *p);

    p->kept = xmalloc((size_t)(s->n_tables + s->n_columns) * sizeof *p->kept);
    schema_finder_best(finder, question, vector, elements, p->kept);
    schema_part(&p->schema, s, p->kept);
    if (schema_input_init(&p->input, &p->schema, t, settings, err) == 0)
        return p;
    gate_part_free(p);
    return NULL;
}

enum { SQL_ARENA = 64 << 20, VECTORS_AT_ONCE = 256 };

/* Working memory for building examples. */
struct builder {
    struct gate_data *data;
    const struct gate_data_settings *settings;
    struct arena sql;
    struct ids ids;
    float *vectors; /* retriever's vectors of the questions from first_vector on; NULL without a retriever */
    int first_vector;
};

static const struct schema_input *prepare(struct builder *b, const char *db_id, struct error *err)
{
    const struct schema_set *set = &b->data->records->schemas;
    const struct schema *s = schema_find(set, db_id);
    struct schema_input *in = &b->data->inputs[s - set->schemas];

    if (!in->schema && schema_input_init(in, s, b->settings->tokenizer, &b->settings->input, err))
        return NULL;
    return in;
}

/* Sets the schema, or the part of it, that example `number` of its split reads. */
static int read_schema(struct builder *b, struct gate_example *e, int number, struct error *err)
{
    const struct gate_data_settings *set = b->settings;
    const struct schema_set *all = &b->data->records->schemas;
    const struct schema *s = schema_find(all, e->record->db_id);
    struct schema_finder **finder = &b->data->finders[s - all->schemas];

    if (!gate_part_wanted(s, set->elements)) {
        e->item.schema = prepare(b, e->record->db_id, err);
        return e->item.schema ? 0 : -1;
    }
    if (!*finder && !(*finder = schema_finder_open(s, set->retriever, err)))
        return -1;
    const float *vector =
        set->retriever ? b->vectors + (number - b->first_vector) * sentence_encoder_width(set->retriever) : NULL;
    e->part = gate_part_new(s, *finder, e->record->question, vector, set->elements, set->tokenizer, &set->input, err);
    if (!e->part)
        return -1;
    e->item.schema = &e->part->input;
    return 0;
}

static int mark_sql(struct builder *b, const char *text, const struct schema *s, uint8_t *relevant, struct error *err)
{
    struct sql_uses uses;

    arena_reset(&b->sql, 0);
    struct sql_query *q = sql_parse(&b->sql, text, err);
    if (!q || sql_resolve(&b->sql, q, s, &uses, err))
        return -1;
    for (int i = 0; i < uses.n; i++) {
        const struct sql_use *u = &uses.list[i];
        relevant[u->table] = 1;
        if (u->column >= 0)
            relevant[s->n_tables + u->column] = 1;
    }
    return 0;
}

/* Maps relevance from elements to graph nodes. */
static void mark_nodes(struct gate_example *e)
{
    const struct schema_input *in = e->item.schema;
    uint8_t *nodes = xcalloc((size_t)in->n_nodes, 1);

    for (int i = 0; i < in->graph.n_elements; i++)
        nodes[in->graph.node[i]] |= e->relevant[i];
    free(e->relevant);
    e->relevant = nodes;
}

static int mark_relevant(struct builder *b, struct gate_example *e, struct error *err)
{
    const struct schema *s = schema_find(&b->data->records->schemas, e->record->db_id);
    int kept = 0;

    e->relevant = xcalloc((size_t)(s->n_tables + s->n_columns), 1);
    for (int i = 0; i < e->record->n_sql; i++)
        if (mark_sql(b, e->record->sql[i], s, e->relevant, err))
            return -1;
    for (int i = 0; e->part && i < s->n_tables + s->n_columns; i++)
        if (e->part->kept[i])
            e->relevant[kept++] = e->relevant[i];
    mark_nodes(e);
    return 0;
}

/* -1 if the part that is read lacks the element. */
static int alternative_node(const struct gate_example *e, const char *name)
{
    const struct schema *s = e->item.schema->schema;
    int table, column;

    bool there = example_element(s, name, &table, &column) == 0;
    CHECK(there || e->part, "%s: alternative %s", e->record->id, name);
    if (!there)
        return -1;
    return column < 0 ? table : s->n_tables + column;
}

static bool duplicates_hold(const struct duplicates *t, int u, int v)
{
    for (int i = 0; i < t->n; i++)
        if ((t->list[i].u == u && t->list[i].v == v) || (t->list[i].u == v && t->list[i].v == u))
            return true;
    return false;
}

bool gate_data_duplicated(const struct gate_example *e, int u, int v)
{
    return duplicates_hold(e->duplicates, u, v);
}

static struct node_pair nodes_of(const struct gate_example *e, const char *const names[2])
{
    return (struct node_pair){ alternative_node(e, names[0]), alternative_node(e, names[1]) };
}

static void add_duplicate(struct duplicates *t, const struct gate_example *e, struct node_pair p)
{
    if (gate_data_duplicated(e, p.u, p.v))
        return;
    GROW(t->list, t->n, t->cap);
    t->list[t->n++] = p;
}

static void add_duplicates(struct builder *b, struct gate_example *e)
{
    struct duplicates *t = e->part ? NULL : &b->data->duplicates[e->item.schema - b->data->inputs];

    e->duplicates = t;
    if (!t)
        return;
    if (e->record->alternatives[0])
        add_duplicate(t, e, nodes_of(e, e->record->alternatives));
    for (int i = 0; i < e->n_further; i++)
        add_duplicate(t, e, e->further[i]);
}

/* Finds the elements of the ambiguities after the first. A part of a wide schema may lack them. */
static void find_further(struct gate_example *e)
{
    for (int i = 0; i < e->record->n_further; i++) {
        struct node_pair p = nodes_of(e, e->record->further[i]);
        if (p.u >= 0 && p.v >= 0)
            e->further[e->n_further++] = p;
    }
}

static int true_pair(const struct gate_example *e, const struct schema_input *in)
{
    if (!e->record->alternatives[0])
        return -1;
    struct node_pair p = nodes_of(e, e->record->alternatives);
    int a = p.u, b = p.v;
    for (int i = 0; a >= 0 && b >= 0 && i < in->n_pairs; i++)
        if ((in->pairs[i].u == a && in->pairs[i].v == b) || (in->pairs[i].u == b && in->pairs[i].v == a))
            return i;
    return -1;
}

/* A renamed schema whose candidates lack the true pair is left out. */
static int add_forms(struct builder *b, struct gate_example *e, struct error *err)
{
    e->pair = true_pair(e, e->item.schema);
    e->forms[e->n_forms++] = (struct gate_form){ e->item.schema, e->pair, NULL };
    for (int i = 0; i < e->record->n_renamed; i++) {
        struct gate_form f = { prepare(b, e->record->renamed[i], err), -1, NULL };
        if (!f.schema)
            return -1;
        f.pair = true_pair(e, f.schema);
        if (f.pair >= 0 || e->pair < 0)
            e->forms[e->n_forms++] = f;
    }
    return 0;
}

static int tokenise(struct builder *b, struct gate_example *e, struct error *err)
{
    const char *text = e->record->question;
    char where[256];

    snprintf(where, sizeof where, "record %s", e->record->id);
    if (gate_question_tokens(&b->ids, b->settings->tokenizer, text, where, err))
        return -1;
    size_t n = (size_t)b->ids.count;
    int32_t *ids = xmalloc(n * sizeof *ids);
    memcpy(ids, b->ids.items, n * sizeof *ids);
    e->item.text = text;
    e->item.question = ids;
    e->item.n_question = (int)n;
    return 0;
}

static void example_clear(struct gate_example *e)
{
    free((void *)(uintptr_t)e->item.question);
    free(e->relevant);
    gate_part_free(e->part);
    schema_graph_release(&e->drawn);
}

static void hash(struct gate_data *d, const void *p, size_t n)
{
    d->hash = hash_bytes(d->hash, p, n);
}

/* Hashes everything that training sees of an example. Candidate pairs follow from it. */
static void add_hash(struct gate_data *d, const struct gate_example *e)
{
    const struct schema_input *in = e->item.schema;
    const int32_t numbers[] = {
        e->record->ambiguous, (int32_t)e->record->slice, e->pair, e->item.n_question, in->n_nodes, e->n_forms
    };

    hash(d, e->record->id, strlen(e->record->id) + 1);
    hash(d, numbers, sizeof numbers);
    hash(d, e->further, (size_t)e->n_further * sizeof *e->further);
    hash(d, e->item.question, (size_t)e->item.n_question * sizeof *e->item.question);
    hash(d, e->relevant, (size_t)in->n_nodes);
    for (int i = 0; i < e->n_forms; i++) {
        const struct token_table *texts = &e->forms[i].schema->element;
        hash(d, texts->ids, (size_t)texts->start[texts->n] * sizeof *texts->ids);
    }
    hash(d, in->graph.edges, (size_t)in->graph.n_edges * sizeof *in->graph.edges);
}

/* A record whose gold SQL does not resolve is counted and left out. */
static int add_example(struct builder *b, struct gate_split *split, const struct example *record, int number,
                       struct error *err)
{
    struct gate_example e = { .record = record };
    struct error sql = { 0 };

    if (read_schema(b, &e, number, err))
        return -1;
    if (tokenise(b, &e, err)) {
        example_clear(&e);
        return -1;
    }
    if (mark_relevant(b, &e, &sql)) {
        log_debug("record %s left out: %s", record->id, sql.text);
        example_clear(&e);
        split->unresolved++;
        return 0;
    }
    find_further(&e);
    add_duplicates(b, &e);
    if (add_forms(b, &e, err)) {
        example_clear(&e);
        return -1;
    }
    b->data->cut += gate_question_kept(b->settings->layout, &e.item) < e.item.n_question;
    e.knows_relevance = record->n_sql > 0;
    e.knows_pairs = record->slice != EXAMPLE_CUSTOM || e.pair >= 0;
    split->lost_pairs += record->alternatives[0] && e.pair < 0;
    add_hash(b->data, &e);
    struct gate_example *kept = &split->list[split->n++];
    *kept = e;
    gate_draw_graph(&kept->drawn, &kept->item, b->settings->net);
    return 0;
}

/* Embeds a block of questions from `first` on, if one of them reads a part of its schema. */
static int read_vectors(struct builder *b, const struct example_list *records, int first, struct error *err)
{
    struct sentence_encoder *e = b->settings->retriever;
    const char *questions[VECTORS_AT_ONCE];
    bool wide = false;
    int n = records->n - first < VECTORS_AT_ONCE ? records->n - first : VECTORS_AT_ONCE;

    for (int i = 0; i < n; i++) {
        questions[i] = records->items[first + i].question;
        wide |= gate_part_wanted(schema_find(&b->data->records->schemas, records->items[first + i].db_id),
                                 b->settings->elements);
    }
    b->first_vector = first;
    if (!wide)
        return 0;
    if (!b->vectors)
        b->vectors = xmalloc(VECTORS_AT_ONCE * (size_t)sentence_encoder_width(e) * sizeof *b->vectors);
    return sentence_encoder_embed(e, b->vectors, questions, n, err);
}

static int build_fold(struct builder *b, enum data_split f, struct error *err)
{
    const struct example_list *records = &b->data->records->splits[f];
    struct gate_split *split = &b->data->splits[f];

    split->list = xcalloc((size_t)records->n, sizeof *split->list);
    b->data->hash = hash_bytes(b->data->hash, &f, sizeof f);
    for (int i = 0; i < records->n; i++)
        if ((b->settings->retriever && i % VECTORS_AT_ONCE == 0 && read_vectors(b, records, i, err)) ||
            add_example(b, split, &records->items[i], i, err))
            return error_prefix(err, "%s", split_name(f));
    if (split->unresolved)
        log_warn("%s: %d records left out, their SQL does not resolve (AMBIT_LOG=debug names them)", split_name(f),
                 split->unresolved);
    return 0;
}

int gate_data_init(struct gate_data *d, struct dataset *records, const struct gate_data_settings *s, struct error *err)
{
    struct builder b = { .data = d, .settings = s };
    int rc = 0;

    CHECK(!s->elements || s->test_only, "parts of schemas are for tests");
    const int32_t features = SCHEMA_PAIR_FEATURE_SET;
    *d = (struct gate_data){ .records = records, .hash = hash_bytes(HASH_START, &features, sizeof features) };
    d->inputs = xcalloc((size_t)records->schemas.n, sizeof *d->inputs);
    d->duplicates = xcalloc((size_t)records->schemas.n, sizeof *d->duplicates);
    d->finders = xcalloc((size_t)records->schemas.n, sizeof *d->finders);
    if (arena_init(&b.sql, SQL_ARENA, err))
        rc = -1;
    for (int f = s->test_only ? SPLIT_TEST : 0; rc == 0 && f < SPLITS; f++)
        rc = build_fold(&b, (enum data_split)f, err);
    if (d->cut)
        log_warn("%d questions are longer than fits beside their schema in the encoder's %d positions and are cut",
                 d->cut, s->layout->max_positions);
    if (rc == 0 && !s->test_only && (!d->splits[SPLIT_TRAIN].n || !d->splits[SPLIT_VALID].n))
        rc = error_set(err, EXIT_CODE_DATA, "expected at least one training and one validation record, got %d and %d",
                       d->splits[SPLIT_TRAIN].n, d->splits[SPLIT_VALID].n);
    arena_release(&b.sql);
    ids_release(&b.ids);
    free(b.vectors);
    if (rc)
        gate_data_release(d);
    return rc;
}

void gate_data_release(struct gate_data *d)
{
    for (int f = 0; f < SPLITS; f++) {
        for (int i = 0; i < d->splits[f].n; i++)
            example_clear(&d->splits[f].list[i]);
        free(d->splits[f].list);
    }
    for (int i = 0; d->inputs && i < d->records->schemas.n; i++) {
        schema_input_release(&d->inputs[i]);
        schema_finder_close(d->finders[i]);
        free(d->duplicates[i].list);
    }
    free(d->finders);
    free(d->inputs);
    free(d->duplicates);
    *d = (struct gate_data){ 0 };
}

/* ---- distractor tables ---- */

static struct distractor_database *find_source(struct distractor_source *a, const char *source_db)
{
    for (int i = 0; i < a->n_sources; i++)
        if (strcmp(a->sources[i].source_db, source_db) == 0)
            return &a->sources[i];
    GROW(a->sources, a->n_sources, a->cap);
    struct distractor_database *s = &a->sources[a->n_sources++];
    *s = (struct distractor_database){ .source_db = source_db };
    return s;
}

void distractor_source_init(struct distractor_source *a, const struct gate_data *data,
                            const struct gate_data_settings *s, double share, uint64_t seed)
{
    const struct schema_set *set = &data->records->schemas;
    const struct gate_split *train = &data->splits[SPLIT_TRAIN];
    bool *seen = xcalloc((size_t)set->n, sizeof *seen);

    *a = (struct distractor_source){ .data = data, .settings = s, .share = share, .seed = seed };
    for (int i = 0; i < train->n; i++) {
        int number = (int)(schema_find(set, train->list[i].record->db_id) - set->schemas);
        if (seen[number])
            continue;
        seen[number] = true;
        struct distractor_database *source = find_source(a, train->list[i].record->source_db);
        GROW(source->schemas, source->n, source->cap);
        source->schemas[source->n++] = number;
    }
    free(seen);
}

void distractor_source_release(struct distractor_source *a)
{
    for (int i = 0; i < a->n_sources; i++)
        free(a->sources[i].schemas);
    free(a->sources);
    *a = (struct distractor_source){ 0 };
}

static int elements(const struct schema *s)
{
    return s->n_tables + s->n_columns;
}

/* Chooses schemas to add. Sets their numbers and *n; returns their number of elements. out has room for one per
 * database. */
static int choose(const struct distractor_source *a, const struct gate_example *e, uint64_t draw, int *out, int *n)
{
    const struct schema *all = a->data->records->schemas.schemas;
    struct rng rng = { .seed = draw };
    int least = 1 << rng_below(&rng, DISTRACTOR_DOUBLINGS), wanted = least + (int)rng_below(&rng, (uint32_t)least);
    int *order = xmalloc((size_t)a->n_sources * sizeof *order + 1), tables = 0, more = 0;

    *n = 0;
    for (int i = 0; i < a->n_sources; i++)
        order[i] = i;
    rng_shuffle(&rng, order, a->n_sources, sizeof *order);
    for (int i = 0; i < a->n_sources && tables < wanted; i++) {
        const struct distractor_database *source = &a->sources[order[i]];
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

/* The node of an element after tables were added. */
static int moved(const struct gate_distractors *x, const struct schema *own, int node)
{
    return node < own->n_tables ? node : node + x->schema.n_tables - own->n_tables;
}

/* -1 as in struct gate_form; also if distractors displaced the pair from the candidates. */
static int find_pair(const struct gate_distractors *x, const struct gate_form *form)
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

static void join(struct gate_distractors *x, const struct distractor_source *a, const struct gate_form *form)
{
    const struct schema **list = xmalloc((size_t)(1 + x->n) * sizeof *list);

    list[0] = form->schema->schema;
    for (int i = 0; i < x->n; i++)
        list[1 + i] = &a->data->records->schemas.schemas[x->schemas[i]];
    schema_join(&x->schema, list, 1 + x->n);
    free(list);
}

struct gate_distractors *gate_distractors_new(const struct distractor_source *a, const struct gate_example *e,
                                              const struct gate_form *form, uint64_t draw)
{
    struct gate_distractors *x = xcalloc(1, sizeof *x);
    struct error err;

    x->data = a->data;
    x->schemas = xmalloc((size_t)a->n_sources * sizeof *x->schemas + 1);
    choose(a, e, draw, x->schemas, &x->n);
    if (!x->n) {
        gate_distractors_free(x);
        return NULL;
    }
    join(x, a, form);
    int rc = schema_input_init(&x->input, &x->schema, a->settings->tokenizer, &a->settings->input, &err);
    CHECK(rc == 0, "%s: %s", e->record->id, err.text);
    x->form = (struct gate_form){ &x->input, find_pair(x, form), x };
    struct gate_item item = gate_distractors_item(e, x);
    gate_draw_graph(&x->drawn, &item, a->settings->net);
    return x;
}

void gate_distractors_free(struct gate_distractors *x)
{
    if (!x)
        return;
    schema_input_release(&x->input);
    schema_release(&x->schema);
    schema_graph_release(&x->drawn);
    free(x->schemas);
    free(x);
}

struct gate_item gate_distractors_item(const struct gate_example *e, const struct gate_distractors *x)
{
    struct gate_item item = e->item;

    item.schema = &x->input;
    item.drawn = x->drawn.n_nodes ? &x->drawn : NULL;
    return item;
}

bool gate_distractors_fixed(const struct distractor_source *a, const struct gate_example *e, uint64_t *draw)
{
    uint64_t key = hash_bytes(hash_bytes(HASH_START, &a->seed, sizeof a->seed), e->record->id, strlen(e->record->id));
    struct rng rng = { .seed = key };

    bool always = rng_uniform(&rng) < (float)a->share;
    *draw = key ^ rng_u32(&rng);
    return always;
}

int gate_distractors_nodes(const struct distractor_source *a, const struct gate_example *e)
{
    uint64_t draw;
    int n, more = 0;

    if (a && gate_distractors_fixed(a, e, &draw)) {
        int *list = xmalloc((size_t)a->n_sources * sizeof *list + 1);
        more = choose(a, e, draw, list, &n);
        free(list);
    }
    return e->item.schema->n_nodes + more;
}

/* Origin of a node: part 0 is the example's own schema, part k the k-th added one. */
struct origin {
    int part, node;
};

static struct origin find_origin(const struct gate_form *form, const struct gate_example *e, int node)
{
    const struct gate_distractors *x = form->appended;
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

bool gate_form_duplicated(const struct gate_form *form, const struct gate_example *e, int u, int v)
{
    if (!form->appended)
        return gate_data_duplicated(e, u, v);
    struct origin a = find_origin(form, e, u), b = find_origin(form, e, v);
    if (a.part != b.part)
        return false;
    const struct gate_distractors *x = form->appended;
    return duplicates_hold(a.part ? &x->data->duplicates[x->schemas[a.part - 1]] : e->duplicates, a.node, b.node);
}

bool gate_form_meant(const struct gate_form *form, const struct gate_example *e, int pair)
{
    if (pair < 0 || pair == form->pair)
        return pair >= 0;
    const struct schema_pair *p = &form->schema->pairs[pair];
    int u = gate_form_own(form, e, p->u), v = gate_form_own(form, e, p->v);
    for (int i = 0; i < e->n_further; i++)
        if ((e->further[i].u == u && e->further[i].v == v) || (e->further[i].u == v && e->further[i].v == u))
            return true;
    return false;
}
