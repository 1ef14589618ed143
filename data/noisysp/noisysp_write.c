/* Part of noisysp.h: a record with marked words in the published form. */
#include "data/noisysp/noisysp.h"
#include "data/span/spoken.h"
#include "data/span/tag_source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TYPE_COLUMN = 2, TYPE_VALUE = 3, FIELD_SELECT = 0, FIELD_WHERE = 3 }; /* of its SQL */

/* A word, or one letter of what stands between words. */
struct token {
    int from, to, start, end; /* bytes, code points */
};

struct tokens {
    const char *text;
    struct token *items;
    int n, cap;
};

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static void read_tokens(struct tokens *t, const char *text)
{
    int letters = 0;

    *t = (struct tokens){ .text = text };
    for (int i = 0, to; text[i]; i = to) {
        to = i + 1;
        while (in_word(text[i]) && in_word(text[to]))
            to++;
        int n = text_letters(text + i, (size_t)(to - i));
        if (!isspace((unsigned char)text[i])) {
            GROW(t->items, t->n, t->cap);
            t->items[t->n++] = (struct token){ i, to, letters, letters + n };
        }
        letters += n;
    }
}

static json_t *token_text(const struct tokens *t, int i)
{
    return json_stringn(t->text + t->items[i].from, (size_t)(t->items[i].to - t->items[i].from));
}

/* In lower case and without the ending of a plural. */
static json_t *lemma_of(const struct tokens *t, int i)
{
    json_t *text = token_text(t, i);
    struct spoken word;

    spoken_read(&word, json_string_value(text));
    json_t *lemma = word.n == 1 && word.words[0].to < SPOKEN_STEM ? json_string(word.words[0].stem) : NULL;
    return lemma ? (json_decref(text), lemma) : text;
}

/* Tokens from..to, the last included. */
static json_t *tokens_json(const struct tokens *t, int from, int to)
{
    json_t *list = json_array();

    for (int i = from; i <= to; i++)
        json_array_append_new(list, json_pack("{s:o, s:o}", "token", token_text(t, i), "lemma", lemma_of(t, i)));
    return list;
}

static json_t *name_json(const char *name)
{
    struct tokens t;

    read_tokens(&t, name);
    json_t *list = tokens_json(&t, 0, t.n - 1);
    free(t.items);
    return list;
}

/* The tokens that lie in a run of letters; false where none does. */
static bool find_tokens(const struct tokens *t, int start, int end, int *from, int *to)
{
    *from = t->n;
    *to = -1;
    for (int i = 0; i < t->n; i++)
        if (t->items[i].end > start && t->items[i].start < end) {
            *from = i < *from ? i : *from;
            *to = i;
        }
    return *to >= 0;
}

static char *identifier_of(const struct span_record *r, int column, const char *value)
{
    const struct span_column *c = &r->columns[column];
    char *name;

    CHECK(asprintf(&name, "%s%s%s%s%s", c->table ? c->table : "", c->table ? NOISYSP_COLUMN : "", c->name,
                   value ? NOISYSP_COLUMN : "", value ? value : "") >= 0,
          "no memory for a name");
    return name;
}

static json_t *columns_json(const struct span_record *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->n_columns; i++) {
        const struct span_column *c = &r->columns[i];
        int type = c->type == COLUMN_OTHERS ? COLUMN_TEXT : (int)c->type;
        json_t *o = json_pack("{s:s, s:o, s:i, s:s*}", "name", c->name, "tokens", name_json(c->name), "data_type", type,
                              "table", c->table);
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *table_json(const struct span_record *r, const char *table)
{
    json_t *columns = json_array();

    for (int i = 0; i < r->n_columns; i++)
        if (r->columns[i].table && strcmp(r->columns[i].table, table) == 0) {
            char *name = identifier_of(r, i, NULL);
            json_array_append_new(columns, json_string(name));
            free(name);
        }
    return json_pack("{s:s, s:o, s:o}", "name", table, "tokens", name_json(table), "columns", columns);
}

/* null of a record about one table. */
static json_t *tables_json(const struct span_record *r)
{
    json_t *list = json_array(), *seen = json_object();

    for (int i = 0; i < r->n_columns; i++) {
        const char *table = r->columns[i].table;
        if (table && !json_object_get(seen, table)) {
            json_object_set_new(seen, table, json_true());
            json_array_append_new(list, table_json(r, table));
        }
    }
    json_decref(seen);
    if (json_array_size(list))
        return list;
    json_decref(list);
    return json_null();
}

static json_t *binding(const struct tokens *t, int i, const char *type, const char *term)
{
    return json_pack("{s:o, s:s, s:s, s:f}", "token", token_text(t, i), "term_type", type, "term_value", term,
                     "confidence", 1.0);
}

/* What a span means: identifiers, one after the other; the caller frees. */
static char *term_of(const struct span_record *r, const struct marked_span *s)
{
    char *term = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&term, &size);

    CHECK(out, "no memory for a name");
    for (int i = 0; i < s->n_alternatives; i++) {
        char *name = identifier_of(r, s->alternatives[i].column, s->alternatives[i].value);
        fprintf(out, "%s%s", i ? NOISYSP_OR : "", name);
        free(name);
    }
    CHECK(fclose(out) == 0, "no memory for a name");
    return term;
}

static json_t *bindings_json(const struct span_record *r, const struct tokens *t)
{
    static const char *const types[SPAN_LABELS] = { "Column", "Value", "Ambiguity", "Unknown" };
    json_t *list = json_array();
    int from, to;

    for (int i = 0; i < t->n; i++)
        json_array_append_new(list, binding(t, i, "Null", ""));
    for (int i = 0; i < r->n_spans; i++) {
        char *term = term_of(r, &r->spans[i]);
        if (find_tokens(t, r->spans[i].start, r->spans[i].end, &from, &to))
            for (int k = from; k <= to; k++)
                json_array_set_new(list, (size_t)k, binding(t, k, types[r->spans[i].label], term));
        free(term);
    }
    return list;
}

static void add_match(json_t *list, const struct span_record *r, const struct tokens *t, const struct tag_value *v)
{
    char *column = identifier_of(r, v->column, NULL);
    int from, to;

    if (find_tokens(t, v->start, v->end, &from, &to))
        json_array_append_new(list, json_pack("{s:s, s:o, s:s, s:{s:i, s:i}, s:f}", "name", v->text, "tokens",
                                              tokens_json(t, from, to), "column", column, "span", "start", from, "end",
                                              to, "score", v->score));
    free(column);
}

static bool is_found(const struct tag_question *q, const struct span_concept *c)
{
    for (int i = 0; i < q->n_values; i++)
        if (q->values[i].column == c->column && strcmp(q->values[i].text, c->value) == 0)
            return true;
    return false;
}

/* What the question says of the values, as they are looked up, and those that the marked words name. */
static json_t *matches_json(const struct span_record *r, const struct tokens *t)
{
    struct tag_source source;
    struct tag_matches found;
    json_t *list = json_array();

    tag_source_of(&source, r->columns, r->n_columns);
    struct tag_question q = tag_source_ask(&source, r->question, &found);
    for (int i = 0; i < q.n_values; i++)
        add_match(list, r, t, &q.values[i]);
    for (int i = 0; i < r->n_spans; i++)
        for (int k = 0; k < r->spans[i].n_alternatives; k++) {
            const struct span_concept *c = &r->spans[i].alternatives[k];
            struct tag_value v = { c->column, c->value, r->spans[i].start, r->spans[i].end, 1 };
            if (c->value && !is_found(&q, c))
                add_match(list, r, t, &v);
        }
    tag_matches_release(&found);
    tag_source_close(&source);
    return list;
}

static bool same_token(const struct tokens *a, int i, const struct tokens *b, int k)
{
    size_t n = (size_t)(a->items[i].to - a->items[i].from);

    return n == (size_t)(b->items[k].to - b->items[k].from) &&
           strncasecmp(a->text + a->items[i].from, b->text + b->items[k].from, n) == 0;
}

/* Whether n tokens of the question from `from` on stand in the name, in this order. */
static bool is_in_name(const struct tokens *t, int from, int n, const struct tokens *name)
{
    for (int i = 0; i + n <= name->n; i++) {
        int same = 0;
        while (same < n && same_token(t, from + same, name, i + same))
            same++;
        if (same == n)
            return true;
    }
    return false;
}

static json_t *run_json(int from, int to)
{
    return json_pack("{s:i, s:i}", "start", from, "end", to);
}

/* The longest run from each token on that a name has, but for those in the run before. */
static void add_runs(json_t *list, const struct tokens *t, const struct tokens *names, int n_names)
{
    for (int i = 0, covered = 0; i < t->n; i++) {
        int longest = 1;
        for (int c = 0; c < n_names; c++)
            while (i + longest < t->n && is_in_name(t, i, longest + 1, &names[c]))
                longest++;
        if (longest > 1 && i + longest > covered)
            json_array_append_new(list, run_json(i, (covered = i + longest) - 1));
    }
}

/* Each token, and each run of several that a column's name has too. */
static json_t *erased_json(const struct span_record *r, const struct tokens *t)
{
    struct tokens *names = xcalloc((size_t)r->n_columns + 1, sizeof *names);
    json_t *list = json_array();

    for (int c = 0; c < r->n_columns; c++)
        read_tokens(&names[c], r->columns[c].name);
    for (int i = 0; i < t->n; i++)
        json_array_append_new(list, run_json(i, i));
    add_runs(list, t, names, r->n_columns);
    for (int c = 0; c < r->n_columns; c++)
        free(names[c].items);
    free(names);
    return list;
}

static json_t *sql_json(const struct span_record *r)
{
    json_t *tokens = json_array();

    for (int i = 0; i < r->n_spans; i++) {
        const struct marked_span *s = &r->spans[i];
        if (s->label != SPAN_COL && s->label != SPAN_VAL)
            continue;
        bool value = s->label == SPAN_VAL;
        char *name = identifier_of(r, s->alternatives[0].column, s->alternatives[0].value);
        json_array_append_new(tokens, json_pack("{s:i, s:i, s:s}", "type", value ? TYPE_VALUE : TYPE_COLUMN, "field",
                                                value ? FIELD_WHERE : FIELD_SELECT, "value", name));
        free(name);
    }
    return json_pack("{s:s, s:o, s:{}}", "db_id", r->db_id, "tokens", tokens, "sql_dict");
}

/* The published code takes only names that begin so. */
static json_t *dataset_json(const char *source)
{
    bool known = strncmp(source, "wikisql", 7) == 0 || strncmp(source, "wikitq", 6) == 0;
    return json_sprintf("%s%s", known ? "" : "wikisql__", source);
}

json_t *noisysp_write(const struct span_record *r)
{
    struct tokens t;

    read_tokens(&t, r->question);
    json_t *o =
        json_pack("{s:o, s:{s:s, s:o}, s:{s:s, s:o, s:o}, s:o, s:o, s:o, s:o, s:s, s:s, s:b}", "dataset",
                  dataset_json(r->source), "question", "text", r->question, "tokens", tokens_json(&t, 0, t.n - 1),
                  "schema", "db_id", r->db_id, "columns", columns_json(r), "tables", tables_json(r), "sql", sql_json(r),
                  "matched_values", matches_json(r, &t), "erased_ngrams", erased_json(r, &t), "binding_result",
                  bindings_json(r, &t), "uuid", r->id, "unique_str", r->id, "value_resolved", true);
    free(t.items);
    return o;
}
