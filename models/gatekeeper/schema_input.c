#include "models/gatekeeper/schema_input.h"

#include "data/base/text_fold.h"
#include "data/schema/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME_TOKENS = 64 };

static const char *element_name(const struct schema *s, int element)
{
    if (element < 0)
        return SCHEMA_STAR;
    return element < s->n_tables ? s->tables[element].text : s->columns[element - s->n_tables].text;
}

/* The caller frees. */
static char *element_text(const struct schema *s, int element)
{
    char *text = NULL;

    if (element < s->n_tables)
        return xstrdup(s->tables[element].text);
    const struct schema_column *c = &s->columns[element - s->n_tables];
    CHECK(asprintf(&text, "%s : %s : %s", s->tables[c->table].text, c->text, column_type_name(c->type)) >= 0,
          "column %d cannot be written out", element - s->n_tables);
    return text;
}

/* Appends at least one token and at most MAX_NAME_TOKENS. A name without words is [UNK]; long names are truncated. */
static void add_text(struct ids *ids, const struct tokenizer *t, const char *text)
{
    int64_t before = ids->count;

    if (tokenizer_encode(t, text, strlen(text), 0, ids, NULL) == 0)
        ids_push(ids, tokenizer_special(t, SPECIAL_UNK));
    if (ids->count - before > MAX_NAME_TOKENS)
        ids->count = before + MAX_NAME_TOKENS;
}

static void table_init(struct token_table *table, int n)
{
    *table = (struct token_table){ .start = xcalloc((size_t)n + 1, sizeof *table->start), .n = n };
}

static void name_nodes(struct schema_input *in)
{
    in->first = xmalloc((size_t)in->n_nodes * sizeof *in->first);
    for (int i = 0; i < in->n_nodes; i++)
        in->first[i] = -1;
    for (int element = in->graph.n_elements - 1; element >= 0; element--)
        in->first[in->graph.node[element]] = element;
}

/* Tokenises the text and the bare name of every node. */
static void tokenise(struct schema_input *in, const struct tokenizer *t, bool bare)
{
    struct ids element = { 0 }, name = { 0 };

    in->texts = xcalloc((size_t)in->n_nodes, sizeof *in->texts);
    table_init(&in->element, in->n_nodes);
    table_init(&in->name, in->n_nodes);
    for (int i = 0; i < in->n_nodes; i++) {
        const char *text = element_name(in->schema, in->first[i]);
        in->texts[i] = bare ? text_lower(text) : element_text(in->schema, in->first[i]);
        add_text(&element, t, in->texts[i]);
        add_text(&name, t, text);
        in->element.start[i + 1] = (int32_t)element.count;
        in->name.start[i + 1] = (int32_t)name.count;
    }
    in->element.ids = element.items;
    in->name.ids = name.items;
}

static int text_length(const struct token_table *t, int i)
{
    return t->start[i + 1] - t->start[i];
}

static void measure(struct schema_input *in)
{
    for (int i = 0; i < in->n_nodes; i++) {
        int names = text_length(&in->name, i), element = text_length(&in->element, i);
        if (in->first[i] >= in->schema->n_tables)
            names += text_length(&in->name, in->graph.node[schema_input_table(in, i)]);
        in->longest_names = names > in->longest_names ? names : in->longest_names;
        in->longest_element = element > in->longest_element ? element : in->longest_element;
    }
}

int schema_input_init(struct schema_input *in, const struct schema *s, const struct tokenizer *t,
                      const struct schema_input_settings *settings, struct error *err)
{
    bool merged = settings->graph == GRAPH_REPRODUCTION;

    *in = (struct schema_input){ .schema = s };
    if (!s->n_tables || !s->n_columns)
        return error_set(err, EXIT_CODE_DATA,
                         "schema %s: expected at least one table and one column, got %d tables and %d columns",
                         s->db_id, s->n_tables, s->n_columns);
    schema_graph_init(&in->graph, s, settings->graph);
    in->n_nodes = in->graph.n_nodes;
    in->group = schema_groups(s);
    name_nodes(in);
    tokenise(in, t, settings->bare || merged);
    measure(in);
    if (settings->pairs && !merged) {
        in->pairs = schema_pairs(s, &in->n_pairs);
        in->match = match_names_new(s);
    }
    return 0;
}

void schema_input_release(struct schema_input *in)
{
    for (int i = 0; in->texts && i < in->n_nodes; i++)
        free(in->texts[i]);
    free(in->texts);
    free(in->first);
    free(in->element.ids);
    free(in->element.start);
    free(in->name.ids);
    free(in->name.start);
    schema_graph_release(&in->graph);
    free(in->group);
    free(in->pairs);
    match_names_free(in->match);
    *in = (struct schema_input){ 0 };
}

int schema_input_table(const struct schema_input *in, int node)
{
    int element = in->first[node], n_tables = in->schema->n_tables;

    return element < n_tables ? element : in->schema->columns[element - n_tables].table;
}

bool schema_input_similar(const struct schema_input *in, int a, int b)
{
    int low = 0, high = in->graph.n_edges;

    while (low < high) { /* edges are sorted by target, then source */
        int mid = low + (high - low) / 2;
        const struct schema_edge *e = &in->graph.edges[mid];
        if (e->target == b && e->source == a)
            return e->type == EDGE_SIMILAR;
        if (e->target < b || (e->target == b && e->source < a))
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}
