#include "models/gatekeeper/gate_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_POSITIONS = 64, QUESTION_SHARE = 4 };

static int32_t separator_token(const struct tokenizer *t, const char *text)
{
    struct ids ids = { 0 };

    tokenizer_encode(t, text, 1, 0, &ids, NULL);
    int32_t id = ids.count == 1 ? ids.items[0] : tokenizer_special(t, SPECIAL_SEP);
    ids_release(&ids);
    return id;
}

static void take_word(struct gate_word *word, const struct tokenizer *t, const char *text)
{
    struct ids ids = { 0 };

    if (tokenizer_encode(t, text, strlen(text), 0, &ids, NULL) == 0)
        ids_push(&ids, tokenizer_special(t, SPECIAL_UNK));
    word->n = ids.count < GATE_WORD_TOKENS ? (int)ids.count : GATE_WORD_TOKENS;
    memcpy(word->ids, ids.items, (size_t)word->n * sizeof *word->ids);
    ids_release(&ids);
}

void gate_layout_words(struct gate_layout *layout, const struct tokenizer *t, enum gate_texts texts)
{
    layout->texts = texts;
    take_word(&layout->words[false], t, "irrelevant");
    take_word(&layout->words[true], t, "relevant");
}

int gate_layout_init(struct gate_layout *layout, const struct tokenizer *t, int max_positions, enum gate_encode encode,
                     struct error *err)
{
    int least_room = max_positions / QUESTION_SHARE;

    if (max_positions < LEAST_POSITIONS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "encoder: expected at least %d positions, got %d", LEAST_POSITIONS,
                         max_positions);
    *layout = (struct gate_layout){ .encode = encode,
                                    .cls = tokenizer_special(t, SPECIAL_CLS),
                                    .sep = tokenizer_special(t, SPECIAL_SEP),
                                    .colon = separator_token(t, ":"),
                                    .comma = separator_token(t, ","),
                                    .semicolon = separator_token(t, ";"),
                                    .max_positions = max_positions,
                                    .least_room = least_room,
                                    .max_name = (max_positions - least_room - GATE_SEPARATORS) / 2 };
    return 0;
}

/* Sizes for each power of two: fine for tokens, which all layers compute, coarser for cheaper parts. */
enum { TOKEN_STEPS = 12, ROW_STEPS = 2, NODE_STEPS = 2, EDGE_STEPS = 1, PAIR_STEPS = 1, SEQUENCE_STEPS = 1 };

/* Padding edges of a padding node, so that no node is a hub. */
enum { ADDED_DEGREE = 16 };

static const struct schema_graph *graph_of(const struct gate_item *item)
{
    return item->drawn ? item->drawn : &item->schema->graph;
}

void gate_draw_graph(struct schema_graph *g, struct gate_item *item, const struct gatekeeper_config *config)
{
    uint64_t seed = hash_bytes(HASH_START, item->text, strlen(item->text));

    *g = (struct schema_graph){ 0 };
    if (config->random_edges <= 0)
        return;
    schema_graph_init_random(g, item->schema->n_nodes, (double)config->random_edges, seed);
    item->drawn = g;
}

struct gate_sizes gate_sizes_of(const struct gate_item *items, int n)
{
    struct gate_sizes s = { .items = n, .nodes = gate_nodes(items, n) };

    for (int i = 0; i < n; i++) {
        s.edges += graph_of(&items[i])->n_edges;
        s.pairs += items[i].schema->n_pairs;
    }
    return s;
}

int gate_nodes_padded(int nodes)
{
    return (int)batch_bucket(nodes + 1, NODE_STEPS);
}

struct gate_sizes gate_sizes_padded(struct gate_sizes s)
{
    struct gate_sizes p = { .items = (int)batch_bucket(s.items + 1, SEQUENCE_STEPS),
                            .edges = (int)batch_bucket(s.edges, EDGE_STEPS),
                            .pairs = (int)batch_bucket(s.pairs, PAIR_STEPS) };

    p.nodes = (int)batch_bucket(s.nodes + 1 + (p.edges - s.edges) / ADDED_DEGREE, NODE_STEPS);
    return p;
}

struct graph_lists {
    struct edge *edges;
    int32_t *nodes, *pairs, *u, *v;
    float *features;
    int n_edges, n_nodes, n_pairs;
};

static void lists_init(struct graph_lists *l, const struct gate_sizes *s)
{
    size_t items = (size_t)s->items, pairs = (size_t)s->pairs;

    *l = (struct graph_lists){ .edges = xmalloc((size_t)s->edges * sizeof *l->edges),
                               .nodes = xcalloc(items, sizeof *l->nodes),
                               .pairs = xcalloc(items, sizeof *l->pairs),
                               .u = xmalloc(pairs * sizeof *l->u),
                               .v = xmalloc(pairs * sizeof *l->v),
                               .features = xcalloc(pairs * GATE_PAIR_FEATURES, sizeof *l->features) };
}

static void lists_add(struct graph_lists *l, const struct gate_item *of, int item)
{
    const struct schema_input *in = of->schema;
    const struct schema_graph *graph = graph_of(of);
    float *features = l->features + (size_t)l->n_pairs * GATE_PAIR_FEATURES;

    for (int i = 0; i < graph->n_edges; i++) {
        const struct schema_edge *e = &graph->edges[i];
        l->edges[l->n_edges++] = (struct edge){ l->n_nodes + e->source, l->n_nodes + e->target, e->type };
    }
    for (int i = 0; i < in->n_pairs; i++) {
        const struct schema_pair *p = &in->pairs[i];
        l->u[l->n_pairs] = l->n_nodes + p->u;
        l->v[l->n_pairs] = l->n_nodes + p->v;
        memcpy(features + (size_t)i * GATE_PAIR_FEATURES, p->features, sizeof p->features);
        l->n_pairs++;
    }
    if (in->n_pairs) {
        mention_features(in->schema, of->text, in->pairs, in->n_pairs, features + GATE_MENTION_FEATURES,
                         GATE_PAIR_FEATURES);
        match_features(in->match, of->text, in->pairs, in->n_pairs, features + GATE_MATCH_FEATURES, GATE_PAIR_FEATURES);
    }
    l->nodes[item] = in->n_nodes;
    l->pairs[item] = in->n_pairs;
    l->n_nodes += in->n_nodes;
}

/* Adds the missing items, nodes, edges and pairs, evenly distributed. Edges stay sorted by target. */
static void lists_pad(struct graph_lists *l, const struct gate_sizes *s, int items)
{
    int first = l->n_nodes, nodes = s->nodes - first, edges = s->edges - l->n_edges;

    for (int i = 0; l->n_nodes < s->nodes; i++, l->n_nodes++)
        l->nodes[items + i % (s->items - items)]++;
    for (int i = 0; i < edges; i++) {
        int node = first + (int)((int64_t)i * nodes / edges);
        l->edges[l->n_edges++] = (struct edge){ node, node, 0 };
    }
    for (int i = 0; l->n_pairs < s->pairs; i++) {
        l->pairs[items + i % (s->items - items)]++;
        l->u[l->n_pairs] = l->v[l->n_pairs] = first + i % nodes;
        l->n_pairs++;
    }
}

static void lists_release(struct graph_lists *l)
{
    free(l->edges);
    free(l->nodes);
    free(l->pairs);
    free(l->u);
    free(l->v);
    free(l->features);
}

/* degree[node]: number of edges into each node, of one relation or of all (-1). */
static void count_degrees(int32_t *degree, const struct edge *edges, int n_edges, int relation)
{
    for (int e = 0; e < n_edges; e++)
        degree[edges[e].target] += relation < 0 || edges[e].type == relation;
}

/* Weights of edges between nodes of degree d and e, with loops: 1 / sqrt(d e) (Kipf and Welling 2017, section 2).
 * For a relation: 1 / d, where d counts the relation's edges into the target (Schlichtkrull et al. 2018, eq. 2 with
 * c = |N|). */
static struct tensor *edge_weights(struct ctx *c, const struct edge *edges, int n_edges, int n_nodes, int relation)
{
    int32_t *degree = xcalloc((size_t)n_nodes, sizeof *degree);
    float *w = xcalloc((size_t)n_edges, sizeof *w);

    count_degrees(degree, edges, n_edges, relation);
    for (int e = 0; e < n_edges; e++) {
        float d = (float)degree[edges[e].target], from = (float)degree[edges[e].source];
        if (relation < 0)
            w[e] = from > 0 ? 1 / sqrtf(d * from) : 0;
        else if (edges[e].type == relation)
            w[e] = 1 / d;
    }
    struct tensor *t = batch_f32(c, w, n_edges, 1, F32);
    free(degree);
    free(w);
    return t;
}

void gate_graph_weights(struct ctx *c, const struct edge *edges, int n_edges, int n_nodes,
                        const struct gatekeeper_config *config, struct gate_graph *graph)
{
    if (config->classifier == CLASSIFIER_GCN)
        graph->weights[0] = edge_weights(c, edges, n_edges, n_nodes, -1);
    for (int r = 0; config->classifier == CLASSIFIER_RGCN && r < config->edge_types; r++)
        graph->weights[r] = edge_weights(c, edges, n_edges, n_nodes, r);
}

void gate_graph_build(struct ctx *c, const struct gate_item *items, int n, const struct gatekeeper_config *config,
                      struct gate_graph *graph)
{
    struct gate_sizes s = gate_sizes_of(items, n);
    struct graph_lists l;

    if (c->buckets)
        s = gate_sizes_padded(s);
    *graph = (struct gate_graph){ 0 };
    lists_init(&l, &s);
    for (int i = 0; i < n; i++)
        lists_add(&l, &items[i], i);
    lists_pad(&l, &s, n);
    graph->graph = batch_graph(c, l.edges, s.edges, s.nodes);
    graph->nodes = batch_segments(c, l.nodes, s.items);
    gate_graph_weights(c, l.edges, s.edges, s.nodes, config, graph);
    if (config->classifier == CLASSIFIER_PAIR) {
        graph->u = batch_index(c, l.u, s.pairs, s.nodes);
        graph->v = batch_index(c, l.v, s.pairs, s.nodes);
        graph->features = batch_f32(c, l.features, s.pairs, GATE_PAIR_FEATURES, F32);
        graph->pairs = batch_segments(c, l.pairs, s.items);
    }
    lists_release(&l);
}

static void push(struct int_list *l, int32_t x)
{
    GROW(l->v, l->n, l->cap);
    l->v[l->n++] = x;
}

enum { ELEMENT_SEPARATORS = 3 };

int gate_question_tokens(struct ids *ids, const struct tokenizer *t, const char *text, const char *where,
                         struct error *err)
{
    ids->count = 0;
    if (tokenizer_encode(t, text, strlen(text), 0, ids, NULL) > 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: question: expected at least one token, got none", where);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Tokens of the longer of the two words. */
static int word_room(const struct gate_layout *layout)
{
    int no = layout->words[0].n, yes = layout->words[1].n;

    return layout->texts != TEXTS_RELEVANCE ? 0 : no > yes ? no : yes;
}

int gate_question_kept(const struct gate_layout *layout, const struct gate_item *item)
{
    const struct schema_input *in = item->schema;
    bool whole = layout->encode == ENCODE_SCHEMA;
    int room = layout->max_positions - (whole ? GATE_SEPARATORS : ELEMENT_SEPARATORS + word_room(layout));
    int texts =
        whole ? least(in->longest_names, 2 * layout->max_name) : least(in->longest_element, room - layout->least_room);
    int kept = least(item->n_question, room - texts);

    return layout->max_question ? least(kept, layout->max_question) : kept;
}

void text_builder_reset(struct text_builder *b, const struct gate_layout *layout)
{
    struct int_list *lists[] = { &b->tokens,        &b->positions, &b->segments,     &b->lengths,
                                 &b->row_counts,    &b->rows,      &b->span_lengths, &b->span_nodes,
                                 &b->span_question, &b->asked,     &b->asked_to };
    for (int i = 0; i < ARRAY_LEN(lists); i++)
        lists[i]->n = 0;
    b->layout = layout;
    b->n_nodes = b->n_asked = 0;
}

void text_builder_release(struct text_builder *b)
{
    struct int_list *lists[] = { &b->tokens,        &b->positions, &b->segments,     &b->lengths,
                                 &b->row_counts,    &b->rows,      &b->span_lengths, &b->span_nodes,
                                 &b->span_question, &b->asked,     &b->asked_to };
    for (int i = 0; i < ARRAY_LEN(lists); i++)
        free(lists[i]->v);
    free(b->mentions);
    *b = (struct text_builder){ 0 };
}

/* Appends a token to the current sequence; its position is the length so far. */
static void put(struct text_builder *b, int32_t token, int segment)
{
    push(&b->tokens, token);
    push(&b->positions, b->lengths.v[b->lengths.n - 1]++);
    push(&b->segments, segment);
}

/* Tokens left in the sequence before its last one. */
static int room_left(const struct text_builder *b)
{
    return b->layout->max_positions - 1 - b->lengths.v[b->lengths.n - 1];
}

static void want_row(struct text_builder *b, int token)
{
    push(&b->rows, token);
    b->row_counts.v[b->row_counts.n - 1]++;
}

/* Appends a span of n tokens of a node, or of the question. Later spans belong to the newest question. */
static void add_span(struct text_builder *b, int n, int node)
{
    int asked = node < 0 ? b->span_nodes.n : b->span_question.n ? b->span_question.v[b->span_question.n - 1] : 0;

    push(&b->span_lengths, n);
    push(&b->span_nodes, node);
    push(&b->span_question, asked);
}

static void begin_sequence(struct text_builder *b, const struct gate_item *item)
{
    int n = gate_question_kept(b->layout, item);

    push(&b->lengths, 0);
    push(&b->row_counts, 0);
    put(b, b->layout->cls, 0);
    if (b->layout->asks && b->layout->encode == ENCODE_SCHEMA)
        add_span(b, n, -1);
    for (int i = 0; i < n; i++) {
        if (b->layout->asks && b->layout->encode == ENCODE_SCHEMA)
            want_row(b, b->tokens.n);
        push(&b->asked, b->tokens.n);
        push(&b->asked_to, b->n_asked + i);
        put(b, item->question[i], 0);
    }
    put(b, b->layout->sep, 0);
}

static void end_sequence(struct text_builder *b)
{
    put(b, b->layout->sep, 1);
}

/* Writes the sequence up to the last [SEP], leaving `left` tokens free before it. */
static void begin_element(struct text_builder *b, const struct gate_item *item, int node, int free_tokens)
{
    const struct token_table *t = &item->schema->element;
    int n = t->start[node + 1] - t->start[node], cls = b->tokens.n;

    begin_sequence(b, item);
    want_row(b, cls);
    n = least(n, room_left(b) - free_tokens);
    for (int i = 0; i < n; i++)
        put(b, t->ids[t->start[node] + i], 1);
    end_sequence(b);
    b->n_nodes++;
}

void text_add_element(struct text_builder *b, const struct gate_item *item, int node)
{
    begin_element(b, item, node, 0);
}

/* Appends as many of n tokens as fit before the last one. */
static void put_cut(struct text_builder *b, const int32_t *tokens, int n)
{
    int room = least(GATE_PUBLISHED_TOKENS, b->layout->max_positions) - 1 - b->lengths.v[b->lengths.n - 1];

    for (int i = 0; i < least(n, room); i++)
        put(b, tokens[i], 0);
}

/* Writes the text as a string with special tokens, to which the tokenizer adds its own. */
static void add_published(struct text_builder *b, const struct gate_item *item, int node, const struct gate_word *word)
{
    const struct gate_layout *l = b->layout;
    const struct token_table *t = &item->schema->element;
    int asked = l->max_question ? least(item->n_question, l->max_question) : item->n_question;

    push(&b->lengths, 0);
    push(&b->row_counts, 0);
    want_row(b, b->tokens.n);
    put(b, l->cls, 0);
    put_cut(b, &l->cls, 1);
    put_cut(b, item->question, asked);
    put_cut(b, &l->sep, 1);
    put_cut(b, t->ids + t->start[node], t->start[node + 1] - t->start[node]);
    put_cut(b, &l->sep, 1);
    put_cut(b, word->ids, word->n);
    put_cut(b, &l->sep, 1);
    put(b, l->sep, 0);
    b->n_nodes++;
}

void text_add_judged(struct text_builder *b, const struct gate_item *item, int node, bool relevant)
{
    const struct gate_word *word = &b->layout->words[relevant];

    if (b->layout->texts == TEXTS_PUBLISHED) {
        add_published(b, item, node, word);
        return;
    }
    begin_element(b, item, node, word->n);
    for (int i = 0; i < word->n; i++)
        put(b, word->ids[i], 1);
}

static int name_length(const struct text_builder *b, const struct token_table *t, int name)
{
    return least(t->start[name + 1] - t->start[name], b->layout->max_name);
}

/* Appends a name; if node is not negative, its tokens are that node's span. */
static void put_name(struct text_builder *b, const struct token_table *t, int name, int node)
{
    int n = name_length(b, t, name);

    if (node >= 0)
        add_span(b, n, node);
    for (int i = 0; i < n; i++) {
        if (node >= 0)
            want_row(b, b->tokens.n);
        put(b, t->ids[t->start[name] + i], 1);
    }
}

/* Appends a table. Columns that do not fit continue in another sequence, after the table's name. */
static void put_table(struct text_builder *b, const struct gate_item *item, int table, const int *columns)
{
    const struct schema_input *in = item->schema;
    const struct schema_table *t = &in->schema->tables[table];
    int first_node = b->n_nodes, n_tables = in->schema->n_tables;

    if (room_left(b) < name_length(b, &in->name, table) + 2) {
        end_sequence(b);
        begin_sequence(b, item);
    }
    put_name(b, &in->name, table, first_node + table);
    put(b, b->layout->colon, 1);
    for (int i = 0; i < t->n_columns; i++) {
        int node = n_tables + columns[i];
        if (room_left(b) < name_length(b, &in->name, node) + 2) {
            end_sequence(b);
            begin_sequence(b, item);
            put_name(b, &in->name, table, -1);
            put(b, b->layout->colon, 1);
        }
        put_name(b, &in->name, node, first_node + node);
        put(b, i + 1 < t->n_columns ? b->layout->comma : b->layout->semicolon, 1);
    }
}

/* Makes room for the mentions of n more elements. */
static float *more_mentions(struct text_builder *b, int n)
{
    while (b->n_nodes + n > b->mentions_cap) {
        b->mentions_cap = b->mentions_cap ? 2 * b->mentions_cap : 256;
        b->mentions = xrealloc(b->mentions, (size_t)b->mentions_cap * ELEMENT_MENTIONS * sizeof *b->mentions);
    }
    return b->mentions + (size_t)b->n_nodes * ELEMENT_MENTIONS;
}

/* The order of the tables, followed by that of the columns within their tables. The caller frees it. */
static int *order_schema(const struct schema *s, struct rng *rng)
{
    int *tables = xmalloc((size_t)(s->n_tables + s->n_columns) * sizeof *tables), *columns = tables + s->n_tables;

    for (int i = 0; i < s->n_tables; i++)
        tables[i] = i;
    for (int i = 0; i < s->n_columns; i++)
        columns[i] = i;
    if (rng) {
        rng_shuffle(rng, tables, s->n_tables, sizeof *tables);
        for (int i = 0; i < s->n_tables; i++)
            rng_shuffle(rng, columns + s->tables[i].first_column, s->tables[i].n_columns, sizeof *columns);
    }
    return tables;
}

/* Moves tables of one group together; groups are in the order of their first tables. */
static void gather_groups(const struct schema *s, const int *group, int *tables)
{
    int *from = xmalloc(3 * (size_t)s->n_tables * sizeof *from), *size = from + s->n_tables,
        *place = size + s->n_tables, next = 0;

    memset(size, 0, (size_t)s->n_tables * sizeof *size);
    for (int i = 0; i < s->n_tables; i++) {
        from[i] = tables[i];
        size[group[i]]++;
    }
    for (int i = 0; i < s->n_tables; i++) {
        int g = group[from[i]];
        if (size[g]) {
            place[g] = next;
            next += size[g];
            size[g] = 0;
        }
        tables[place[g]++] = from[i];
    }
    free(from);
}

void text_skip_schema(const struct gate_item *item, struct rng *rng)
{
    free(order_schema(item->schema->schema, rng));
}

void text_add_schema(struct text_builder *b, const struct gate_item *item, struct rng *rng)
{
    const struct schema *s = item->schema->schema;
    const int *group = item->schema->group;
    int *tables = order_schema(s, rng), *columns = tables + s->n_tables;

    gather_groups(s, group, tables);
    for (int i = 0; i < s->n_tables; i++) {
        if (i == 0 || group[tables[i]] != group[tables[i - 1]])
            begin_sequence(b, item);
        put_table(b, item, tables[i], columns + s->tables[tables[i]].first_column);
        if (i == s->n_tables - 1 || group[tables[i]] != group[tables[i + 1]])
            end_sequence(b);
    }
    mention_elements(s, group, item->text, more_mentions(b, item->schema->n_nodes));
    b->n_nodes += item->schema->n_nodes;
    b->n_asked += gate_question_kept(b->layout, item);
    free(tables);
}

static int longest(const struct int_list *l)
{
    int most = 1;
    for (int i = 0; i < l->n; i++)
        most = l->v[i] > most ? l->v[i] : most;
    return most;
}

static int share_of(int n, int parts, int part)
{
    return (int)((int64_t)n * (part + 1) / parts - (int64_t)n * part / parts);
}

static void add_dummy_sequence(struct text_builder *b, int tokens, int rows)
{
    int first = b->tokens.n;

    push(&b->lengths, 0);
    push(&b->row_counts, 0);
    for (int i = 0; i < tokens; i++)
        put(b, b->layout->cls, 0);
    for (int i = 0; i < rows; i++)
        want_row(b, first);
}

/* Appends sequences with tokens and rows, none longer than an existing one. */
static void pad_sequences(struct text_builder *b, int rows)
{
    int length = longest(&b->lengths), counts = longest(&b->row_counts), with_rows = (rows + counts - 1) / counts;
    int tokens = (int)batch_bucket(b->tokens.n + with_rows, TOKEN_STEPS) - b->tokens.n;
    int n = (tokens + length - 1) / length;

    n = n > with_rows ? n : with_rows;
    for (int i = 0; i < n; i++)
        add_dummy_sequence(b, share_of(tokens, n, i), share_of(rows, n, i));
    for (int seqs = (int)batch_bucket(b->lengths.n, SEQUENCE_STEPS); b->lengths.n < seqs;)
        add_dummy_sequence(b, 0, 0);
}

/* Distributes the remaining rows to elements. */
static void pad_spans(struct text_builder *b, int nodes, int rows)
{
    memset(more_mentions(b, nodes), 0, (size_t)nodes * ELEMENT_MENTIONS * sizeof *b->mentions);
    for (int i = 0; i < nodes; i++)
        add_span(b, share_of(rows, nodes, i), b->n_nodes + i);
    int questions = b->span_nodes.n - b->n_nodes - nodes, padded = (int)batch_bucket(questions, SEQUENCE_STEPS);
    for (int i = questions; questions && i < padded; i++)
        add_span(b, 0, -1);
}

void text_builder_pad(struct text_builder *b, int nodes)
{
    int more = nodes - b->n_nodes, rows = more;

    if (b->span_nodes.n) {
        rows = (int)batch_bucket(b->rows.n, ROW_STEPS) - b->rows.n;
        pad_spans(b, more, rows);
    }
    pad_sequences(b, rows);
    b->n_nodes = nodes;
}

/* [node] index of its span, or of its question's span */
static struct index build_places(struct ctx *c, const struct text_builder *b, bool question)
{
    int32_t *place = xmalloc((size_t)b->n_nodes * sizeof *place);
    int placed = 0;

    for (int i = 0; i < b->span_nodes.n; i++)
        if (b->span_nodes.v[i] >= 0) {
            place[b->span_nodes.v[i]] = question ? b->span_question.v[i] : i;
            placed++;
        }
    CHECK(placed == b->n_nodes, "%d spans for %d nodes", placed, b->n_nodes);
    struct index index = batch_index(c, place, b->n_nodes, b->span_nodes.n);
    free(place);
    return index;
}

void gate_text_build(struct ctx *c, const struct text_builder *b, const struct bert_config *config,
                     struct gate_text *text)
{
    *text = (struct gate_text){ 0 };
    bert_input_ids(c, &text->bert, config, b->tokens.v, b->positions.v, b->segments.v, b->tokens.n);
    text->bert.seqs = batch_seqs(c, b->lengths.v, b->lengths.n);
    text->bert.row_seqs = batch_seqs(c, b->row_counts.v, b->row_counts.n);
    text->rows = batch_index(c, b->rows.v, b->rows.n, b->tokens.n);
    text->bert.rows = &text->rows;
    if (!b->span_nodes.n)
        return;
    text->spans = batch_segments(c, b->span_lengths.v, b->span_lengths.n);
    text->place = build_places(c, b, false);
    if (b->layout->asks)
        text->question = build_places(c, b, true);
    text->mentions = batch_f32(c, b->mentions, b->n_nodes, ELEMENT_MENTIONS, F32);
}

int gate_nodes(const struct gate_item *items, int n)
{
    int nodes = 0;
    for (int i = 0; i < n; i++)
        nodes += items[i].schema->n_nodes;
    return nodes;
}
