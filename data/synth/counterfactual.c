#include "data/synth/counterfactual.h"

#include "data/base/strings.h"
#include "data/corpora/dataset.h"
#include "data/corpora/spider.h"
#include "data/schema/schema_build.h"
#include "data/span/problem.h"
#include "data/span/span_record.h"
#include "data/span/spoken.h"
#include "data/span/tagging.h"
#include "data/synth/counterfactual_read.h"
#include "data/synth/synonym_finder.h"
#include "kernels/rng.h"

#include <stdlib.h>
#include <string.h>

struct edited_column {
    const char *name, *table; /* table: NULL in a single table */
    int origin;               /* index of the original column, also of a replacement */
    enum column_type type;
    const char *values[EDITED_VALUES];
    int n_values;
};

struct edited_table {
    const struct asked_table *from;
    struct edited_column columns[ASKED_COLUMNS + 2];
    int n;
    enum table_edit edit;
    json_t *deleted, *added; /* names of columns, or [column, value] for values */
};

/* Names of the two columns that replace one. */

enum { DRAWS = 12, SYNONYMS_ONE_IN = 5 };

/* Modifier pairs that fit most names of a type. */
static const struct modifier_pair general[] = {
    { -1, COLUMN_NUMBER, { "home", "away" } },       { -1, COLUMN_NUMBER, { "minimum", "maximum" } },
    { -1, COLUMN_NUMBER, { "first", "second" } },    { -1, COLUMN_NUMBER, { "planned", "actual" } },
    { -1, COLUMN_NUMBER, { "gross", "net" } },       { -1, COLUMN_NUMBER, { "previous", "current" } },
    { -1, COLUMN_NUMBER, { "opening", "closing" } }, { -1, COLUMN_NUMBER, { "expected", "final" } },
    { -1, COLUMN_NUMBER, { "our", "opponent" } },    { -1, COLUMN_TIME, { "start", "end" } },
    { -1, COLUMN_TIME, { "first", "last" } },        { -1, COLUMN_TIME, { "planned", "actual" } },
    { -1, COLUMN_TIME, { "arrival", "departure" } }, { -1, COLUMN_TIME, { "original", "revised" } },
    { -1, COLUMN_TEXT, { "home", "away" } },         { -1, COLUMN_TEXT, { "our", "opponent" } },
    { -1, COLUMN_TEXT, { "first", "second" } },      { -1, COLUMN_TEXT, { "primary", "secondary" } },
    { -1, COLUMN_TEXT, { "former", "current" } },    { -1, COLUMN_TEXT, { "official", "local" } },
    { -1, COLUMN_TEXT, { "old", "new" } },           { -1, COLUMN_TEXT, { "original", "alternative" } },
};

static void header_pool_release(struct header_pool *p)
{
    strings_release(&p->heads);
    strings_release(&p->seen);
    strings_release(&p->text);
    free(p->items);
    *p = (struct header_pool){ 0 };
}

/* Draws one of the pairs for this head and type. NULL if there are none. */
static const struct modifier_pair *draw_from(struct rng *rng, const struct modifier_pair *items, int n, int head,
                                             enum column_type type)
{
    int fit = 0;

    for (int i = 0; i < n; i++)
        fit += items[i].head == head && items[i].type == type;
    int left = fit ? (int)rng_below(rng, (uint32_t)fit) : 0;
    for (int i = 0; i < n && fit; i++)
        if (items[i].head == head && items[i].type == type && left-- == 0)
            return &items[i];
    return NULL;
}

static bool draw_modified(struct counterfactual *c, enum column_type type, const char *spoken, const char *names[2])
{
    struct spoken words;

    spoken_read(&words, spoken);
    const struct spoken_word *head = spoken_head(&words);
    int number = head ? strings_find(&c->pool.heads, head->stem) : -1;
    const struct modifier_pair *pair =
        number >= 0 && rng_below(&c->rng, 4) ? draw_from(&c->rng, c->pool.items, c->pool.n, number, type) : NULL;
    if (!pair)
        pair = draw_from(&c->rng, general, ARRAY_LEN(general), -1,
                         type == COLUMN_NUMBER || type == COLUMN_TIME ? type : COLUMN_TEXT);
    for (int k = 0; k < 2; k++)
        names[k] = strings_printf(&c->text, "%s %s", pair->words[k], spoken);
    return true;
}

/* Collects the dictionary's names of all columns. Call it after every group has its split. */
static void synonym_pool_fill(struct counterfactual *c)
{
    struct synonym_pool *p = &c->listed;

    for (int t = 0; t < c->n_tables; t++)
        for (int i = 0; i < c->tables[t].n_columns; i++) {
            const struct asked_column *column = &c->tables[t].columns[i];
            if (!column->synonyms)
                continue;
            GROW(p->items, p->n, p->cap);
            p->items[p->n++] = (struct listed_pair){ strings_add(&p->names, counterfactual_plain(c, column->name)),
                                                     c->tables[t].group, column->synonyms };
        }
}

static void synonym_pool_release(struct synonym_pool *p)
{
    synonyms_release(&p->dictionary);
    strings_release(&p->names);
    free(p->items);
    *p = (struct synonym_pool){ 0 };
}

/* A pair may name a column of its own databases, or of any table if it comes from the training split. */
static bool pair_fits(const struct counterfactual *c, const struct listed_pair *pair, const struct asked_table *t,
                      int name)
{
    return pair->name == name && (pair->group == t->group || c->split[pair->group] == SPLIT_TRAIN);
}

/* Draws two names that the dictionary has for a column of this name. */
static bool draw_listed(struct counterfactual *c, const struct asked_table *t, int column, const char *names[2])
{
    const struct synonym_pool *p = &c->listed;
    int name = strings_find(&p->names, counterfactual_plain(c, t->columns[column].name)), fit = 0;

    for (int i = 0; i < p->n && name >= 0; i++)
        fit += pair_fits(c, &p->items[i], t, name);
    int left = fit ? (int)rng_below(&c->rng, (uint32_t)fit) : 0;
    for (int i = 0; i < p->n && fit; i++)
        if (pair_fits(c, &p->items[i], t, name) && left-- == 0)
            for (int k = 0; k < 2; k++)
                names[k] = counterfactual_blanks(c, p->items[i].names[k]);
    return fit > 0;
}

/* Takes two names from WordNet. */
static bool draw_synonyms(struct counterfactual *c, const struct asked_table *t, int column, const char *names[2])
{
    struct synonym_finder finder = { 0 };
    struct synonym_pair pair;
    struct schema_build b;
    struct schema s;

    schema_build_init(&b, "table");
    int table = schema_build_table(&b, "table", NULL);
    for (int i = 0; i < t->n_columns; i++)
        schema_build_column(&b, table, t->columns[i].name, t->columns[i].name, t->columns[i].type);
    schema_build_finish(&b, &s);
    bool found =
        synonym_finder_find(&finder, &pair, &s, "table", t->columns[column].name) && pair.source == SYNONYM_WORDNET;
    for (int k = 0; k < 2 && found; k++)
        names[k] = counterfactual_blanks(c, pair.names[k]);
    synonym_finder_release(&finder);
    schema_release(&s);
    return found;
}

/* Returns true if no column has the name and no question contains its words, except words that name the replaced
 * column. */
static bool name_is_free(const struct asked_table *t, int column, const char *spoken, const char *const questions[2],
                         const char *name)
{
    struct spoken new_words, said, question;

    spoken_read(&new_words, name);
    spoken_read(&said, spoken);
    for (int i = 0; i < t->n_columns; i++)
        if (spoken_ratio(t->columns[i].name, name) > (i == column ? 0.99 : 0.9))
            return false;
    for (int k = 0; k < 2; k++) {
        spoken_read(&question, questions[k]);
        for (int i = 0; i < new_words.n; i++)
            if (!spoken_find(&said, new_words.words[i].stem) && spoken_find(&question, new_words.words[i].stem))
                return false;
    }
    return new_words.n > 0;
}

/* Half of the names come from a dictionary if there is one. */
static bool draw_names(struct counterfactual *c, const struct asked_table *t, int column, const char *spoken,
                       const char *names[2])
{
    if (c->listed.n && rng_below(&c->rng, 2) && draw_listed(c, t, column, names))
        return true;
    return rng_below(&c->rng, SYNONYMS_ONE_IN) == 0 ? draw_synonyms(c, t, column, names)
                                                    : draw_modified(c, t->columns[column].type, spoken, names);
}

/* Draws two names for the words by which a question calls the column. Neither occurs in the table, and their new words
 * occur in no question. */
static bool counterfactual_names(struct counterfactual *c, const struct asked_table *t, int column, const char *spoken,
                                 const char *const questions[2], const char *names[2])
{
    for (int i = 0; i < DRAWS; i++) {
        bool drawn = draw_names(c, t, column, spoken, names);
        if (drawn && name_is_free(t, column, spoken, questions, names[0]) &&
            name_is_free(t, column, spoken, questions, names[1]) && spoken_ratio(names[0], names[1]) < 0.95)
            return true;
    }
    return false;
}

enum { SHOWN_VALUES = 3 };

static const char *const edit_names[TABLE_EDITS] = { "plain",       "doubled",      "doubled-and-replaced",
                                                     "deleted",     "value-copied", "value-deleted",
                                                     "calculation", "out-of-scope" };

/* Returns "plain", "doubled" and so on. */
static const char *table_edit_name(enum table_edit edit)
{
    return edit_names[edit];
}

static bool column_has(const struct edited_column *column, const char *value)
{
    for (int i = 0; i < column->n_values; i++)
        if (strcasecmp(column->values[i], value) == 0)
            return true;
    return false;
}

static void show_value(struct edited_column *column, const char *value)
{
    if (column->n_values < EDITED_VALUES && !column_has(column, value))
        column->values[column->n_values++] = value;
}

/* Draws a few values, anew for each replacement column. */
static void show_values(struct edited_column *to, struct counterfactual *c, const struct asked_column *from)
{
    for (int i = 0; i < SHOWN_VALUES && from->n_values; i++)
        show_value(to, from->values[rng_below(&c->rng, (uint32_t)from->n_values)]);
}

/* Copies the table with a few values of every column, among them those that both questions contain. */
static void edited_table_init(struct edited_table *e, struct counterfactual *c, const struct asked_question *const q[2])
{
    const struct asked_table *t = &c->tables[q[0]->table];

    *e = (struct edited_table){ .from = t, .n = t->n_columns };
    for (int i = 0; i < t->n_columns; i++) {
        e->columns[i] = (struct edited_column){
            .name = t->columns[i].name, .table = t->columns[i].table, .origin = i, .type = t->columns[i].type
        };
        for (int k = 0; k < 2; k++)
            for (int v = 0; v < q[k]->n_values; v++)
                if (q[k]->values[v].column == i)
                    show_value(&e->columns[i], q[k]->values[v].text);
        show_values(&e->columns[i], c, &t->columns[i]);
    }
    e->deleted = json_array();
    e->added = json_array();
}

static void edited_table_copy(struct edited_table *e, const struct edited_table *from)
{
    *e = *from;
    e->deleted = json_copy(from->deleted);
    e->added = json_copy(from->added);
}

static void edited_table_release(struct edited_table *e)
{
    json_decref(e->deleted);
    json_decref(e->added);
}

static int place_of(const struct edited_table *e, int column)
{
    int i = 0;
    while (e->columns[i].origin != column)
        i++;
    return i;
}

static void insert_column(struct edited_table *e, int at, struct edited_column column)
{
    memmove(&e->columns[at + 1], &e->columns[at], (size_t)(e->n++ - at) * sizeof *e->columns);
    e->columns[at] = column;
}

/* Deletes the column and inserts n replacements (0 to 2). */
static void edited_table_replace(struct edited_table *e, struct counterfactual *c, const struct asked_table *t,
                                 int column, const char *const *names, int n)
{
    int at = place_of(e, column);

    json_array_append_new(e->deleted, json_string(t->columns[column].name));
    memmove(&e->columns[at], &e->columns[at + 1], (size_t)(--e->n - at) * sizeof *e->columns);
    for (int k = 0; k < n; k++) {
        struct edited_column new_column = {
            .name = names[k], .table = t->columns[column].table, .origin = column, .type = t->columns[column].type
        };
        show_values(&new_column, c, &t->columns[column]);
        insert_column(e, at + k, new_column);
        json_array_append_new(e->added, json_string(names[k]));
    }
}

static json_t *cell(const char *column, const char *value)
{
    return json_pack("{s:s, s:s}", "column", column, "value", value);
}

static void edited_table_add_value(struct edited_table *e, int column, const char *value)
{
    struct edited_column *to = &e->columns[place_of(e, column)];

    to->n_values -= to->n_values == EDITED_VALUES;
    show_value(to, value);
    json_array_append_new(e->added, cell(to->name, value));
}

static void edited_table_remove_value(struct edited_table *e, int column, const char *value)
{
    struct edited_column *from = &e->columns[place_of(e, column)];
    int left = 0;

    for (int i = 0; i < from->n_values; i++)
        if (strcasecmp(from->values[i], value) != 0)
            from->values[left++] = from->values[i];
    from->n_values = left;
    json_array_append_new(e->deleted, cell(from->name, value));
}

/* Returns true if no other split has a table with these columns. */
static bool counterfactual_is_apart(struct counterfactual *c, const struct edited_table *e, int split)
{
    const char *key = "";

    for (int i = 0; i < e->n; i++)
        key = strings_printf(&c->text, "%s\x1f%s", key, counterfactual_plain(c, e->columns[i].name));
    int before = c->edited.n, at = strings_add(&c->edited, key);
    if (at == before) {
        GROW(c->edited_split, before, c->edited_cap);
        c->edited_split[at] = split;
    }
    return c->edited_split[at] == split;
}

static json_t *columns_json(const struct edited_table *e)
{
    json_t *list = json_array();

    for (int i = 0; i < e->n; i++) {
        const struct edited_column *column = &e->columns[i];
        json_t *values = json_array();
        for (int v = 0; v < column->n_values; v++)
            json_array_append_new(values, json_string(column->values[v]));
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s*, s:o}", "name", column->name, "type",
                                        column_type_name(column->type), "table", column->table, "values", values));
    }
    return list;
}

static json_t *span_json(int start, int end, enum span_label one, json_t *alternatives)
{
    size_t n = json_array_size(alternatives);
    enum span_label label = n == 0 ? SPAN_UNK : n == 1 ? one : SPAN_AMB;

    return json_pack("{s:i, s:i, s:s, s:o}", "start", start, "end", end, "label", span_label_name(label),
                     "alternatives", alternatives);
}

static json_t *column_span(const struct edited_table *e, int column, int start, int end)
{
    json_t *alternatives = json_array();

    for (int i = 0; i < e->n; i++)
        if (e->columns[i].origin == column)
            json_array_append_new(alternatives, json_pack("{s:i}", "column", i));
    return span_json(start, end, SPAN_COL, alternatives);
}

static json_t *value_span(const struct edited_table *e, const struct asked_value *v)
{
    json_t *alternatives = json_array();

    for (int i = 0; i < e->n; i++)
        if (column_has(&e->columns[i], v->text))
            json_array_append_new(alternatives, json_pack("{s:i, s:s}", "column", i, "value", v->text));
    return span_json(v->start, v->end, SPAN_VAL, alternatives);
}

static int64_t start_of(const json_t *span)
{
    return json_integer_value(json_object_get(span, "start"));
}

/* Inserts the span in order of the question, unless it overlaps another one. */
static void add_span(json_t *spans, json_t *span)
{
    size_t at = 0, n = json_array_size(spans);
    int64_t start = start_of(span), end = json_integer_value(json_object_get(span, "end"));

    while (at < n && start_of(json_array_get(spans, at)) < start)
        at++;
    json_t *before = at ? json_array_get(spans, at - 1) : NULL;
    if ((before && json_integer_value(json_object_get(before, "end")) > start) ||
        (at < n && start_of(json_array_get(spans, at)) < end))
        json_decref(span);
    else
        json_array_insert_new(spans, at, span);
}

static json_t *spans_json(const struct edited_table *e, const struct asked_question *q)
{
    const struct asked_table *t = e->from;
    json_t *spans = json_array();
    int start, end;

    if (q->request_end)
        add_span(spans, span_json(q->request, q->request_end, SPAN_UNK, json_array()));
    for (int i = 0; i < q->n_values; i++)
        add_span(spans, value_span(e, &q->values[i]));
    for (int i = 0; i < t->n_columns; i++)
        if (q->used[i] && asked_mention(t, q, i, &start, &end))
            add_span(spans, column_span(e, i, start, end));
    return spans;
}

static void add_concept(json_t *list, int column, const char *value)
{
    json_array_append_new(list, json_pack("{s:i, s:s*}", "column", column, "value", value));
}

/* Whether the column shows a value that the question contains. */
static bool shows_value(const struct edited_column *column, const struct asked_question *q)
{
    for (int v = 0; v < q->n_values; v++)
        if (column_has(column, q->values[v].text))
            return true;
    return false;
}

/* Whether an interpretation of the question compares the column with the value. */
static bool is_compared(const struct edited_column *column, const struct asked_question *q,
                        const struct stated_value *value)
{
    bool said = false;

    for (int v = 0; v < q->n_values; v++)
        said |= strcasecmp(q->values[v].text, value->text) == 0;
    return column_has(column, value->text) && (said || column->origin == value->column);
}

/* The concepts of the SQL of all interpretations on the edited table: keywords, columns and values. A column counts if
 * it came from a column of the SQL, or if it shows a value of the question. */
static json_t *concepts_json(const struct edited_table *e, const struct asked_question *q)
{
    json_t *list = json_array();

    for (int k = 0; k < SQL_KEYWORDS; k++)
        if (q->keywords >> k & 1)
            json_array_append_new(list, json_pack("{s:s}", "keyword", sql_keyword_name((enum sql_keyword)k)));
    for (int i = 0; i < e->n; i++) {
        const struct edited_column *column = &e->columns[i];
        if (q->used[column->origin] || q->joined[column->origin] || shows_value(column, q))
            add_concept(list, i, NULL);
        for (int v = 0; v < q->n_stated; v++)
            if (is_compared(column, q, &q->stated[v]))
                add_concept(list, i, q->stated[v].text);
    }
    return list;
}

static void count(struct counterfactual *c, enum table_edit edit, const struct span_record *r)
{
    int source = r->columns[0].table                 ? 3
                 : strcmp(r->source, "wikisql") == 0 ? 0
                 : strcmp(r->source, "wikitq") == 0  ? 1
                                                     : 2;
    struct counterfactual_counts *to = &c->counts[source][edit];
    enum span_label label = SPAN_COL;

    for (int i = 0; i < r->n_spans; i++)
        if (r->spans[i].label == SPAN_AMB || r->spans[i].label == SPAN_UNK)
            label = r->spans[i].label;
    if (label == SPAN_COL)
        to->control++;
    else
        to->problem[label]++;
}

/* Adds the record of a question on a table. The table determines its labels. */
static void counterfactual_emit(struct counterfactual *c, const struct edited_table *e, const struct asked_question *q)
{
    struct span_record r;
    struct error err;
    const char *id = strings_printf(&c->text, "%s-%d", q->source, ++c->number);
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:{s:O, s:O}}", "id", id, "source", q->source, "db_id",
                  q->db_id, "question", q->text, "type", edit_names[e->edit], "columns", columns_json(e), "spans",
                  spans_json(e, q), "concepts", concepts_json(e, q), "edit", "deleted", e->deleted, "added", e->added);

    CHECK(json && span_record_init(&r, json_incref(json), id, &err) == 0, "%s is no record: %s", id, err.text);
    count(c, e->edit, &r);
    span_record_release(&r);
    json_array_append_new(c->records[c->split[c->tables[q->table].group]], json);
}

/* Pairs of questions about different columns of a table. Each question is the other's control. */

/* Two questions with the edited column or value of each. */
struct asked_pair {
    const struct asked_question *q[2];
    int column[2], value[2];
};

static int split_of(const struct counterfactual *c, const struct asked_question *q)
{
    return c->split[c->tables[q->table].group];
}

/* Returns true if every value of the question occurs in exactly one column. */
static bool values_are_single(const struct edited_table *e, const struct asked_question *q)
{
    for (int v = 0; v < q->n_values; v++)
        for (int i = 0, found = 0; i < e->n; i++) {
            for (int k = 0; k < e->columns[i].n_values; k++)
                found += strcasecmp(e->columns[i].values[k], q->values[v].text) == 0;
            if (found > 1 || (i + 1 == e->n && found == 0))
                return false;
        }
    return true;
}

/* Emits all tables with both questions. Emits nothing if another split has one of the tables. */
static bool emit_all(struct counterfactual *c, const struct edited_table *tables, int n, const struct asked_pair *p)
{
    bool apart = true;

    for (int i = 0; i < n; i++)
        apart &= counterfactual_is_apart(c, &tables[i], split_of(c, p->q[0]));
    for (int i = 0; i < n && apart; i++)
        for (int k = 0; k < 2; k++)
            counterfactual_emit(c, &tables[i], p->q[k]);
    return apart;
}

static bool start_pair(struct edited_table *base, struct counterfactual *c, const struct asked_pair *p)
{
    edited_table_init(base, c, p->q);
    if (values_are_single(base, p->q[0]) && values_are_single(base, p->q[1]))
        return true;
    edited_table_release(base);
    return false;
}

static const char *spoken_column(struct counterfactual *c, const struct asked_question *q, int column)
{
    const struct asked_table *t = &c->tables[q->table];
    struct spoken question, name;
    const char *text = "";
    int first = 0;

    spoken_read(&question, q->text);
    spoken_read(&name, t->columns[column].name);
    int n = spoken_locate(&question, &name, &first);
    struct spoken said = { .n = n };
    memcpy(said.words, question.words + first, (size_t)n * sizeof *said.words);
    for (int i = 0; i < name.n; i++)
        if (spoken_find(&said, name.words[i].stem))
            text = strings_printf(&c->text, "%s%s%.*s", text, *text ? " " : "", name.words[i].to - name.words[i].from,
                                  t->columns[column].name + name.words[i].from);
    return text;
}

/* Makes the three edits of each column: doubled, doubled with the other column replaced, and deleted. */
static void edit_columns(struct edited_table *tables, const struct edited_table *base, struct counterfactual *c,
                         const struct asked_pair *p, const char *names[2][2])
{
    static const enum table_edit edits[] = { EDIT_DOUBLED, EDIT_REPLACED, EDIT_DELETED };
    const struct asked_table *t = &c->tables[p->q[0]->table];

    for (int i = 0; i < ARRAY_LEN(edits); i++)
        for (int k = 0; k < 2; k++, tables++) {
            edited_table_copy(tables, base);
            tables->edit = edits[i];
            edited_table_replace(tables, c, t, p->column[k], names[k], edits[i] == EDIT_DELETED ? 0 : 2);
            if (edits[i] == EDIT_REPLACED)
                edited_table_replace(tables, c, t, p->column[!k], names[!k], 1);
        }
}

static bool pair_columns(struct counterfactual *c, const struct asked_pair *p)
{
    const struct asked_table *t = &c->tables[p->q[0]->table];
    const char *questions[2] = { p->q[0]->text, p->q[1]->text }, *names[2][2];
    struct edited_table *tables = xcalloc(7, sizeof *tables), *base = &tables[6];
    bool done = false;

    for (int k = 0; k < 2; k++)
        if (!counterfactual_names(c, t, p->column[k], spoken_column(c, p->q[k], p->column[k]), questions, names[k]))
            goto out;
    for (int k = 0; k < 2; k++) {
        if (spoken_ratio(names[0][k], names[1][0]) > 0.9 || spoken_ratio(names[0][k], names[1][1]) > 0.9)
            goto out;
    }
    if (!start_pair(base, c, p))
        goto out;
    edit_columns(tables, base, c, p, names);
    bool single = true;
    for (int i = 0; i < 6; i++)
        single &= values_are_single(&tables[i], p->q[0]) && values_are_single(&tables[i], p->q[1]);
    done = single && emit_all(c, tables, 6, p);
    for (int i = 0; i < 7; i++)
        edited_table_release(&tables[i]);
out:
    free(tables);
    return done;
}

/* Draws a text column that neither question refers to. -1 if there is none. */
static int draw_column(struct counterfactual *c, const struct asked_pair *p)
{
    const struct asked_table *t = &c->tables[p->q[0]->table];
    int fit[ASKED_COLUMNS], n = 0;

    for (int i = 0; i < t->n_columns; i++)
        if (t->columns[i].type == COLUMN_TEXT && counterfactual_unrelated(c, p->q[0], i) &&
            counterfactual_unrelated(c, p->q[1], i))
            fit[n++] = i;
    return n ? fit[rng_below(&c->rng, (uint32_t)n)] : -1;
}

static bool pair_values(struct counterfactual *c, const struct asked_pair *p)
{
    struct edited_table *tables = xcalloc(5, sizeof *tables), *base = &tables[4];
    int other = draw_column(c, p);
    bool done = false;

    if (other >= 0 && start_pair(base, c, p)) {
        for (int k = 0; k < 4; k++) {
            const struct asked_value *v = &p->q[k % 2]->values[p->value[k % 2]];
            edited_table_copy(&tables[k], base);
            tables[k].edit = k < 2 ? EDIT_COPIED : EDIT_MISSING;
            if (k < 2)
                edited_table_add_value(&tables[k], other, v->text);
            else
                edited_table_remove_value(&tables[k], v->column, v->text);
        }
        done = emit_all(c, tables, 4, p);
        for (int k = 0; k < 5; k++)
            edited_table_release(&tables[k]);
    }
    free(tables);
    return done;
}

static bool same_text(const struct asked_value *a, const struct asked_question *q)
{
    for (int i = 0; i < q->n_values; i++)
        if (spoken_ratio(a->text, q->values[i].text) > 0.8)
            return true;
    return false;
}

static bool try_values(struct counterfactual *c, struct asked_pair *p)
{
    for (p->value[0] = 0; p->value[0] < p->q[0]->n_values; p->value[0]++)
        for (p->value[1] = 0; p->value[1] < p->q[1]->n_values; p->value[1]++)
            if (counterfactual_may_edit_value(c, p->q[0], p->value[0]) &&
                counterfactual_may_edit_value(c, p->q[1], p->value[1]) &&
                !same_text(&p->q[0]->values[p->value[0]], p->q[1]) &&
                !same_text(&p->q[1]->values[p->value[1]], p->q[0]) && pair_values(c, p))
                return true;
    return false;
}

static bool try_columns(struct counterfactual *c, struct asked_pair *p)
{
    int n = c->tables[p->q[0]->table].n_columns;

    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            if (p->q[0]->editable[a] && p->q[1]->editable[b] && counterfactual_unrelated(c, p->q[0], b) &&
                counterfactual_unrelated(c, p->q[1], a)) {
                p->column[0] = a;
                p->column[1] = b;
                if (pair_columns(c, p))
                    return true;
            }
    return false;
}

/* Pairs each question of a table with the first later one that fits, in random order. No question is used twice. */
static void pair_table(struct counterfactual *c, const struct asked_table *t,
                       bool (*try)(struct counterfactual *, struct asked_pair *))
{
    bool *spent = xcalloc((size_t)t->n_questions + 1, sizeof *spent);

    rng_shuffle(&c->rng, t->questions, t->n_questions, sizeof *t->questions);
    for (int i = 0; i < t->n_questions; i++)
        for (int j = i + 1; j < t->n_questions && !spent[i]; j++) {
            struct asked_pair p = { .q = { &c->questions[t->questions[i]], &c->questions[t->questions[j]] } };
            if (!spent[j] && try(c, &p))
                spent[i] = spent[j] = true;
        }
    free(spent);
}

/* Emits the question on its unedited table. Returns whether it does. */
static bool emit_plain(struct counterfactual *c, const struct asked_question *q)
{
    const struct asked_pair p = { .q = { q, q } };
    struct edited_table e;

    if (!start_pair(&e, c, &p))
        return false;
    bool apart = counterfactual_is_apart(c, &e, split_of(c, q));
    if (apart)
        counterfactual_emit(c, &e, q);
    edited_table_release(&e);
    return apart;
}

/* Calculations: the words of a numeric column become the name of a quantity that is computed from it. One of two tables
 * has a column of this name. */

/* The quantities and requests of a split, so that no two splits share one. */
static const char *draw_of_split(struct counterfactual *c, const char *const *list, int n, enum data_split split)
{
    int at = (int)rng_below(&c->rng, (uint32_t)(n / 5)) * 5;

    return list[at + (split == SPLIT_TEST ? 4 : split == SPLIT_VALID ? 3 : (int)rng_below(&c->rng, 3))];
}

/* Replaces the code points from start to end of the question by a text. */
static void reword(struct counterfactual *c, struct asked_question *q, int start, int end, const char *text)
{
    int longer = text_letters(text, strlen(text)) - (end - start);
    const char *from = text_from_letter(q->text, start), *to = text_from_letter(q->text, end);

    q->text = strings_printf(&c->text, "%.*s%s%s", (int)(from - q->text), q->text, text, to);
    for (int v = 0; v < q->n_values; v++)
        if (q->values[v].start >= end) {
            q->values[v].start += longer;
            q->values[v].end += longer;
        }
}

/* Makes the question ask for a quantity in place of the column. `wide` has the quantity as column `at`. Returns false
 * if another name or the other question has the quantity's word. */
static bool ask_quantity(struct counterfactual *c, struct asked_question *q, struct asked_table *wide, int column,
                         int at, const char *other)
{
    const char *quantity = draw_of_split(c, problem_quantities, PROBLEM_QUANTITIES, (enum data_split)split_of(c, q));
    const char *said = spoken_column(c, q, column), *questions[2] = { q->text, other };
    int start, end;

    wide->columns[at] = wide->columns[column];
    wide->columns[at].name = strings_printf(&c->text, "%s %s", said, quantity);
    if (!*said || !asked_mention(wide, q, column, &start, &end) ||
        !name_is_free(&c->tables[q->table], column, said, questions, wide->columns[at].name))
        return false;
    reword(c, q, start, end, wide->columns[at].name);
    q->used[column] = false;
    q->used[at] = true;
    return asked_mention(wide, q, at, &start, &end);
}

/* Copies the table and adds a column of `wide` at a random place. */
static void add_quantity(struct edited_table *e, struct counterfactual *c, const struct edited_table *base,
                         const struct asked_table *wide, int at)
{
    struct edited_column added = {
        .name = wide->columns[at].name, .table = wide->columns[at].table, .origin = at, .type = COLUMN_NUMBER
    };

    edited_table_copy(e, base);
    e->edit = EDIT_CALCULATION;
    e->from = wide;
    show_values(&added, c, &wide->columns[at]);
    insert_column(e, (int)rng_below(&c->rng, (uint32_t)base->n + 1), added);
    json_array_append_new(e->added, json_string(added.name));
}

/* Emits both questions on the table with the quantity of either. The last two columns of `wide` are the quantities. */
static bool emit_quantities(struct counterfactual *c, const struct asked_table *wide, const struct asked_pair *p)
{
    struct edited_table *tables = xcalloc(3, sizeof *tables), *base = &tables[2];
    bool done = false;

    if (start_pair(base, c, p)) {
        bool single = true;
        for (int k = 0; k < 2; k++) {
            add_quantity(&tables[k], c, base, wide, wide->n_columns - 2 + k);
            single &= values_are_single(&tables[k], p->q[0]) && values_are_single(&tables[k], p->q[1]);
        }
        done = single && emit_all(c, tables, 2, p);
        for (int k = 0; k < 3; k++)
            edited_table_release(&tables[k]);
    }
    free(tables);
    return done;
}

static bool pair_quantities(struct counterfactual *c, const struct asked_pair *p)
{
    const struct asked_table *t = &c->tables[p->q[0]->table];
    struct asked_question *q = xmalloc(2 * sizeof *q);
    struct asked_table wide = *t;

    q[0] = *p->q[0];
    q[1] = *p->q[1];
    wide.n_columns += 2;
    wide.columns = xcalloc((size_t)wide.n_columns, sizeof *wide.columns);
    memcpy(wide.columns, t->columns, (size_t)t->n_columns * sizeof *wide.columns);
    const struct asked_pair pair = { .q = { &q[0], &q[1] } };
    bool done = true;
    for (int k = 0; k < 2 && done; k++)
        done = ask_quantity(c, &q[k], &wide, p->column[k], t->n_columns + k, q[!k].text);
    done = done && spoken_ratio(wide.columns[t->n_columns].name, wide.columns[t->n_columns + 1].name) < 0.9 &&
           emit_quantities(c, &wide, &pair);
    free(wide.columns);
    free(q);
    return done;
}

static bool try_quantities(struct counterfactual *c, struct asked_pair *p)
{
    const struct asked_table *t = &c->tables[p->q[0]->table];

    for (int a = 0; a < t->n_columns && t->n_columns + 2 <= ASKED_COLUMNS; a++)
        for (int b = 0; b < t->n_columns; b++)
            if (p->q[0]->editable[a] && p->q[1]->editable[b] && t->columns[a].type == COLUMN_NUMBER &&
                t->columns[b].type == COLUMN_NUMBER && counterfactual_unrelated(c, p->q[0], b) &&
                counterfactual_unrelated(c, p->q[1], a)) {
                p->column[0] = a;
                p->column[1] = b;
                if (pair_quantities(c, p))
                    return true;
            }
    return false;
}

/* Requests beyond SQL: a few questions with a plain record go on with one. The question alone tells the label. */

enum { REQUESTS_ONE_IN = 25 };

/* Returns whether a word of the text occurs in a name or a value of the table. */
static bool table_says(const struct asked_table *t, const char *text)
{
    struct spoken words, name;

    spoken_read(&words, text);
    for (int i = 0; i < t->n_columns; i++) {
        spoken_read(&name, t->columns[i].name);
        if (spoken_share(&words, &name))
            return true;
        for (int k = 0; k < t->columns[i].n_values; k++) {
            spoken_read(&name, t->columns[i].values[k]);
            if (spoken_share(&words, &name))
                return true;
        }
    }
    return false;
}

static void emit_request(struct counterfactual *c, const struct asked_question *from)
{
    const char *request = draw_of_split(c, problem_requests, PROBLEM_REQUESTS, (enum data_split)split_of(c, from));
    int n = text_letters(from->text, strlen(from->text)), end = n;
    struct asked_question q = *from;
    const struct asked_pair p = { .q = { &q, &q } };
    struct edited_table e;

    while (end > 0 && strchr(" ?.!", *text_from_letter(from->text, end - 1)))
        end--;
    if (table_says(&c->tables[from->table], request) || end < n - 2 || !end)
        return;
    reword(c, &q, end, end, strings_printf(&c->text, " and %s", request));
    q.request = end + 5;
    q.request_end = q.request + text_letters(request, strlen(request));
    if (!start_pair(&e, c, &p))
        return;
    e.edit = EDIT_REQUEST;
    if (counterfactual_is_apart(c, &e, split_of(c, from)))
        counterfactual_emit(c, &e, &q);
    edited_table_release(&e);
}

/* Makes the pairs of single tables, or those of whole databases. */
static void make_pairs(struct counterfactual *c, bool whole)
{
    for (int i = 0; i < c->n_questions; i++) {
        struct asked_question *q = &c->questions[i];
        if (c->tables[q->table].whole != whole)
            continue;
        for (int column = 0; column < c->tables[q->table].n_columns; column++)
            q->editable[column] = counterfactual_may_edit(c, q, column);
        q->plain = emit_plain(c, q);
    }
    for (int i = 0; i < c->n_tables; i++)
        if (c->tables[i].whole == whole) {
            pair_table(c, &c->tables[i], try_columns);
            pair_table(c, &c->tables[i], try_values);
        }
}

static void counterfactual_pairs(struct counterfactual *c)
{
    make_pairs(c, false);
    make_pairs(c, true);
    for (int i = 0; i < c->n_tables; i++)
        pair_table(c, &c->tables[i], try_quantities);
    for (int i = 0; i < c->n_questions; i++)
        if (rng_below(&c->rng, REQUESTS_ONE_IN) == 0 && c->questions[i].plain)
            emit_request(c, &c->questions[i]);
}

static const double VALID_SHARE = 0.1, TEST_SHARE = 0.1;

static int find_root(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* The first table of each question and database. */
struct first_tables {
    struct strings met;
    int *first, cap;
    int *parent; /* [n_tables] union-find parents; a root is its own parent */
};

static void join_question(struct first_tables *f, struct counterfactual *c, const struct asked_question *q)
{
    const char *keys[] = { strings_printf(&c->text, "?%s", counterfactual_plain(c, q->text)), q->db_id };

    for (int k = 0; k < ARRAY_LEN(keys); k++) {
        int before = f->met.n, at = strings_add(&f->met, keys[k]);
        if (at == before) {
            GROW(f->first, before, f->cap);
            f->first[at] = q->table;
        }
        f->parent[find_root(f->parent, q->table)] = find_root(f->parent, f->first[at]);
    }
}

/* Groups the tables that share a question, a header or a database. Whole databases come last, so that they do not
 * change the groups of their tables. */
static void join_tables(struct counterfactual *c)
{
    struct first_tables f = { .parent = xmalloc((size_t)(c->n_tables + 1) * sizeof *f.parent) };

    for (int i = 0; i < c->n_tables; i++)
        f.parent[i] = i;
    for (int whole = 0; whole < 2; whole++)
        for (int i = 0; i < c->n_questions; i++)
            if (c->tables[c->questions[i].table].whole == (whole == 1))
                join_question(&f, c, &c->questions[i]);
    for (int i = 0; i < c->n_tables; i++)
        c->tables[i].group = find_root(f.parent, i);
    free(f.first);
    free(f.parent);
    strings_release(&f.met);
}

/* Assigns groups to splits in random order until each split has its share of the questions. Groups with test questions
 * go to the test split. A whole database follows its tables, or goes to training. */
static void counterfactual_split(struct counterfactual *c)
{
    int *order = xmalloc((size_t)(c->n_tables + 1) * sizeof *order), n = 0,
        *size = xcalloc((size_t)c->n_tables + 1, sizeof *size);
    const double wanted[] = { [SPLIT_TRAIN] = 1, [SPLIT_VALID] = VALID_SHARE, [SPLIT_TEST] = TEST_SHARE };
    int64_t got = 0, all = 0;
    enum data_split split = SPLIT_TEST;

    c->split = xcalloc((size_t)c->n_tables + 1, sizeof *c->split);
    for (int i = 0; i < c->n_tables; i++)
        if (!c->tables[i].whole)
            order[n++] = i;
    for (int i = 0; i < c->n_questions; i++) {
        int group = c->tables[c->questions[i].table].group;
        size[group] += !c->tables[c->questions[i].table].whole;
        all += !c->tables[c->questions[i].table].whole;
        if (c->questions[i].test)
            c->split[group] = SPLIT_TEST;
    }
    rng_shuffle(&c->rng, order, n, sizeof *order);
    for (int i = 0; i < n; i++) {
        int group = order[i];
        if (!size[group] || c->split[group] == SPLIT_TEST)
            continue;
        while (split != SPLIT_TRAIN && (double)got >= wanted[split] * (double)all) {
            split = split == SPLIT_TEST ? SPLIT_VALID : SPLIT_TRAIN;
            got = 0;
        }
        c->split[group] = (int)split;
        got += size[group];
    }
    free(order);
    free(size);
}

static int write_splits(struct counterfactual *c, struct error *err)
{
    const struct counterfactual_options *o = c->options;
    struct out_file files[SPLITS] = { 0 };
    int rc = make_dirs(o->out, err);

    for (int f = 0; f < SPLITS && rc == 0; f++) {
        char *name = NULL;
        CHECK(asprintf(&name, "%s/%s.jsonl", o->out, split_name((enum data_split)f)) >= 0, "cannot format %s", o->out);
        rc = out_file_open(&files[f], name, err);
        free(name);
        for (size_t i = 0; i < json_array_size(c->records[f]) && rc == 0; i++)
            rc = json_write_line(&files[f], json_array_get(c->records[f], i), err);
    }
    if (rc == 0)
        rc = out_files_commit(files, SPLITS, o->force, err);
    for (int f = 0; f < SPLITS; f++)
        out_file_abort(&files[f]);
    return rc;
}

static void print_counts(const struct counterfactual *c, FILE *table)
{
    static const char *const sources[] = { "wikisql", "wikitq", "spider", "database" };

    fprintf(table, "%-8s %-21s %8s %8s %8s\n", "source", "edit", "AMB", "UNK", "neither");
    for (int s = 0; s < ARRAY_LEN(sources); s++)
        for (int k = 0; k < TABLE_EDITS; k++) {
            const struct counterfactual_counts *n = &c->counts[s][k];
            if (n->problem[SPAN_AMB] + n->problem[SPAN_UNK] + n->control)
                fprintf(table, "%-8s %-21s %8lld %8lld %8lld\n", sources[s], table_edit_name((enum table_edit)k),
                        (long long)n->problem[SPAN_AMB], (long long)n->problem[SPAN_UNK], (long long)n->control);
        }
    for (int f = 0; f < SPLITS; f++)
        fprintf(table, "%s: %zu records\n", split_name((enum data_split)f), json_array_size(c->records[f]));
    fprintf(table, "rejected: %lld questions with unknown columns\n", (long long)c->rejected);
}

static void counterfactual_release(struct counterfactual *c)
{
    for (int i = 0; i < c->n_tables; i++) {
        for (int k = 0; k < c->tables[i].n_columns; k++)
            free(c->tables[i].columns[k].values);
        free(c->tables[i].columns);
        free(c->tables[i].questions);
    }
    for (int f = 0; f < SPLITS; f++)
        json_decref(c->records[f]);
    free(c->tables);
    free(c->questions);
    free(c->edited_split);
    free(c->split);
    header_pool_release(&c->pool);
    synonym_pool_release(&c->listed);
    strings_release(&c->text);
    strings_release(&c->synonyms);
    strings_release(&c->table_keys);
    strings_release(&c->asked);
    strings_release(&c->edited);
}

int counterfactual_make(const struct counterfactual_options *o, FILE *table, struct error *err)
{
    struct counterfactual c = { .options = o, .rng = { .seed = o->seed } };
    int rc = counterfactual_read(&c, err);

    for (int f = 0; f < SPLITS; f++)
        c.records[f] = json_array();
    if (rc == 0) {
        join_tables(&c);
        counterfactual_split(&c);
        synonym_pool_fill(&c);
        counterfactual_pairs(&c);
        rc = write_splits(&c, err);
    }
    if (rc == 0)
        print_counts(&c, table);
    counterfactual_release(&c);
    return rc;
}
