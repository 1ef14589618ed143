#include "data/synth/counterfactual_read.h"

#include "data/base/records.h"
#include "data/base/strings.h"
#include "data/corpora/dataset.h"
#include "data/corpora/spider.h"
#include "data/db/column_values.h"
#include "data/db/db_path.h"
#include "data/schema/schema.h"
#include "data/span/span_record.h"
#include "data/span/spoken.h"
#include "data/span/tagging.h"
#include "data/synth/counterfactual.h"
#include "data/synth/sql_edit.h"
#include "kernels/rng.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MODIFIER_WORDS = 2, MODIFIER_CHARACTERS = 24 };

/* Returns the words before the head that ends the name: "home " of "home team". NULL if there are none or too many. */
static const char *modifier_of(struct header_pool *p, const char *name, const struct spoken *words,
                               const struct spoken_word *head)
{
    if (!head || head != &words->words[words->n - 1] || words->n < 2 || words->n > 1 + MODIFIER_WORDS ||
        head->from > MODIFIER_CHARACTERS || strchr(name, '\n'))
        return NULL;
    return strings_printf(&p->text, "%.*s", words->words[words->n - 2].to - words->words[0].from,
                          name + words->words[0].from);
}

static void add_pair(struct header_pool *p, const char *head, const char *a, const char *b, enum column_type type)
{
    int before = p->seen.n;

    if (strings_add(&p->seen, strings_printf(&p->text, "%s\x1f%s\x1f%s\x1f%d", head, a, b, (int)type)) < before)
        return;
    GROW(p->items, p->n, p->cap);
    p->items[p->n++] = (struct modifier_pair){ strings_add(&p->heads, head), type, { a, b } };
}

static void header_pool_add(struct header_pool *p, const char *const *names, const enum column_type *types, int n)
{
    const char **modifiers = xcalloc((size_t)n + 1, sizeof *modifiers), **heads = xcalloc((size_t)n + 1, sizeof *heads);

    for (int i = 0; i < n; i++) {
        struct spoken words;
        spoken_read(&words, names[i]);
        const struct spoken_word *head = spoken_head(&words);
        modifiers[i] = modifier_of(p, names[i], &words, head);
        heads[i] = modifiers[i] ? strings_keep(&p->text, head->stem) : NULL;
        for (int j = 0; heads[i] && j < i; j++)
            if (heads[j] && types[i] == types[j] && strcmp(heads[i], heads[j]) == 0 &&
                strcmp(modifiers[i], modifiers[j]) != 0)
                add_pair(p, heads[i], modifiers[j], modifiers[i], types[i]);
    }
    free(modifiers);
    free(heads);
}

/* Guards: an edit of an accepted column or value changes the question's label as intended. */

static const double ALIKE = 0.8;

bool asked_mention(const struct asked_table *t, const struct asked_question *q, int column, int *start, int *end)
{
    struct spoken question, name;
    int first, n;

    spoken_read(&question, q->text);
    spoken_read(&name, t->columns[column].name);
    n = spoken_locate(&question, &name, &first);
    if (n == 0)
        return false;
    *start = question.words[first].start;
    *end = question.words[first + n - 1].end;
    for (int i = 0; i < q->n_values; i++)
        if (*start < q->values[i].end && q->values[i].start < *end)
            return false;
    return true;
}

/* Joins both names in lower case. The caller frees the key. */
static char *pair_key(const char *a, const char *b)
{
    char *key = NULL;

    CHECK(asprintf(&key, "%s\x1f%s", a, b) >= 0, "cannot join %s and %s", a, b);
    for (char *p = key; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return key;
}

/* Records that two names have the same meaning. */
static void counterfactual_add_synonym(struct counterfactual *c, const char *a, const char *b)
{
    for (int k = 0; k < 2; k++) {
        char *key = pair_key(k ? b : a, k ? a : b);
        strings_add(&c->synonyms, key);
        free(key);
    }
}

static bool are_synonyms(const struct counterfactual *c, const char *a, const char *b)
{
    char *key = pair_key(a, b);
    bool found = strings_find(&c->synonyms, key) >= 0;

    free(key);
    return found;
}

static bool value_is_like(const struct asked_column *column, const char *text)
{
    struct spoken_pattern pattern;

    spoken_pattern_init(&pattern, text);
    for (int i = 0; i < column->n_values; i++)
        if (spoken_pattern_ratio(&pattern, column->values[i]) >= ALIKE)
            return true;
    return false;
}

/* Returns true if the question's words for this column could mean another column. */
static bool is_like(const struct counterfactual *c, const struct asked_column *other, const struct asked_column *column,
                    const char *said)
{
    struct spoken words, name;

    spoken_read(&words, said);
    spoken_read(&name, other->name);
    return spoken_share(&words, &name) || spoken_ratio(other->name, said) >= ALIKE ||
           spoken_ratio(other->name, column->name) >= ALIKE || are_synonyms(c, column->name, other->name) ||
           value_is_like(other, said);
}

/* Returns true if these words could mean a table of the database. */
static bool is_like_table(const struct asked_column *column, const char *said)
{
    struct spoken words, name;

    if (!column->table)
        return false;
    spoken_read(&words, said);
    spoken_read(&name, column->table);
    const struct spoken_word *a = spoken_head(&words), *b = spoken_head(&name);
    return (a && b && strcmp(a->stem, b->stem) == 0) || spoken_ratio(column->table, said) >= ALIKE;
}

/* Copies the question's text between two code points. */
static void copy_span(char *said, size_t size, const char *question, int start, int end)
{
    size_t n = 0;

    for (int characters = -1; *question; question++) {
        characters += ((unsigned char)*question & 0xc0) != 0x80;
        if (characters >= start && characters < end && n + 1 < size)
            said[n++] = *question;
    }
    said[n] = 0;
}

bool counterfactual_may_edit(const struct counterfactual *c, const struct asked_question *q, int column)
{
    const struct asked_table *t = &c->tables[q->table];
    char said[256];
    int start, end;

    if (!q->used[column] || q->joined[column] || q->unlocated[column] || !asked_mention(t, q, column, &start, &end))
        return false;
    for (int i = 0; i < q->n_values; i++)
        if (q->values[i].column == column)
            return false;
    copy_span(said, sizeof said, q->text, start, end);
    for (int i = 0; i < t->n_columns; i++)
        if ((i != column && is_like(c, &t->columns[i], &t->columns[column], said)) ||
            is_like_table(&t->columns[i], said))
            return false;
    return true;
}

bool counterfactual_unrelated(const struct counterfactual *c, const struct asked_question *q, int column)
{
    struct spoken question, name;

    spoken_read(&question, q->text);
    spoken_read(&name, c->tables[q->table].columns[column].name);
    return !q->used[column] && !q->joined[column] && !spoken_share(&question, &name);
}

bool counterfactual_may_edit_value(const struct counterfactual *c, const struct asked_question *q, int value)
{
    const struct asked_table *t = &c->tables[q->table];
    const struct asked_value *v = &q->values[value];
    struct spoken question, name;

    spoken_read(&question, q->text);
    spoken_read(&name, t->columns[v->column].name);
    if (spoken_share(&question, &name) || t->columns[v->column].type != COLUMN_TEXT)
        return false;
    for (int i = 0; i < t->n_columns; i++) {
        if (i != v->column &&
            (value_is_like(&t->columns[i], v->text) || spoken_ratio(t->columns[i].name, v->text) >= ALIKE))
            return false;
        for (int k = 0; i == v->column && k < t->columns[i].n_values; k++)
            if (strcasecmp(t->columns[i].values[k], v->text) != 0 &&
                spoken_ratio(t->columns[i].values[k], v->text) >= ALIKE)
                return false;
    }
    return true;
}

/* Questions of WikiSQL and WikiTableQuestions. */

const char *counterfactual_plain(struct counterfactual *c, const char *text)
{
    char *copy = xmalloc(strlen(text) + 1), *to = copy;

    for (; *text; text++)
        if (!isspace((unsigned char)*text))
            *to++ = (char)tolower((unsigned char)*text);
        else if (to > copy && to[-1] != ' ')
            *to++ = ' ';
    to -= to > copy && to[-1] == ' ';
    *to = 0;
    const char *kept = strings_keep(&c->text, copy);
    free(copy);
    return kept;
}

const char *counterfactual_blanks(struct counterfactual *c, const char *name)
{
    char *copy = xstrdup(name);

    for (char *p = copy; *p; p++)
        *p = *p == '_' ? ' ' : *p;
    const char *kept = strings_keep(&c->text, copy);
    free(copy);
    return kept;
}

/* Returns the index of the table with this key. *is_new: it was added without columns. */
static int asked_table_find(struct counterfactual *c, const char *key, bool *is_new)
{
    int before = c->table_keys.n, at = strings_add(&c->table_keys, key);

    *is_new = at == before;
    if (*is_new) {
        GROW(c->tables, c->n_tables, c->tables_cap);
        c->tables[c->n_tables++] = (struct asked_table){ .group = at };
    }
    return at;
}

static void asked_column_add_value(struct asked_column *column, const char *value)
{
    for (int i = 0; i < column->n_values; i++)
        if (strcasecmp(column->values[i], value) == 0)
            return;
    GROW(column->values, column->n_values, column->cap);
    column->values[column->n_values++] = value;
}

/* Adds a copy of the question. Returns false if the table has it already. */
static bool asked_question_add(struct counterfactual *c, const struct asked_question *q)
{
    struct asked_table *t = &c->tables[q->table];
    const char *key = strings_printf(&c->text, "%d\x1f%s", q->table, counterfactual_plain(c, q->text));
    int before = c->asked.n;

    if (strings_add(&c->asked, key) < before)
        return false;
    GROW(t->questions, t->n_questions, t->cap);
    t->questions[t->n_questions++] = c->n_questions;
    GROW(c->questions, c->n_questions, c->questions_cap);
    c->questions[c->n_questions++] = *q;
    return true;
}

/* Dates and years have a name that says so, whatever the corpus calls them. */
static enum column_type type_of(const char *name, enum column_type published)
{
    struct spoken words;

    spoken_read(&words, name);
    return spoken_find(&words, "date") || spoken_find(&words, "year") ? COLUMN_TIME : published;
}

/* Returns true if the names are not empty, distinct and at most ASKED_COLUMNS. */
static bool header_is_usable(const char *const *names, int n)
{
    for (int i = 0; i < n; i++) {
        struct spoken words;
        spoken_read(&words, names[i]);
        if (!words.n)
            return false;
        for (int j = 0; j < i; j++)
            if (strcasecmp(names[i], names[j]) == 0)
                return false;
    }
    return n > 1 && n <= ASKED_COLUMNS;
}

static bool in_word(const char *letter)
{
    return isalnum((unsigned char)*letter) || (unsigned char)*letter >= 0x80;
}

/* Returns true if the code points [start, end) are whole words. */
static bool is_whole(const char *text, int start, int end)
{
    const char *from = text_from_letter(text, start), *to = text_from_letter(text, end);

    return !(start && in_word(from) && in_word(text_from_letter(text, start - 1))) &&
           !(in_word(to) && in_word(text_from_letter(text, end - 1)));
}

/* Finds n bytes of a value from the question's byte `from` on as whole words, with the same case or with any. Returns
 * its place in bytes, or -1. */
static int find_whole(const char *text, int from, const char *value, bool any_case)
{
    for (const char *at = text + from; (at = any_case ? strcasestr(at, value) : strstr(at, value)); at++) {
        int start = text_letters(text, (size_t)(at - text));
        if (is_whole(text, start, start + text_letters(value, strlen(value))))
            return (int)(at - text);
    }
    return -1;
}

enum { SURE_CHARACTERS = 3 }; /* shorter values must have the same case and occur once */

/* Finds a value in the question. Returns its start in code points, or -1. */
static int locate_value(const char *text, const char *value)
{
    bool is_short = text_letters(value, strlen(value)) < SURE_CHARACTERS;
    int at = *value ? find_whole(text, 0, value, false) : -1;

    if (at >= 0 && is_short && find_whole(text, at + 1, value, false) >= 0)
        return -1;
    if (at < 0 && *value && !is_short)
        at = find_whole(text, 0, value, true);
    return at < 0 ? -1 : text_letters(text, (size_t)at);
}

static void state_value(struct asked_question *q, int column, const char *text)
{
    if (q->n_stated < ASKED_VALUES)
        q->stated[q->n_stated++] = (struct stated_value){ column, text };
}

static int header_table(struct counterfactual *c, const char *const *names, int n)
{
    const char *key = "";
    bool is_new;

    for (int i = 0; i < n; i++)
        key = strings_printf(&c->text, "%s\x1f%s", key, counterfactual_plain(c, names[i]));
    int at = asked_table_find(c, key, &is_new);
    struct asked_table *t = &c->tables[at];
    if (is_new) {
        t->n_columns = n;
        t->columns = xcalloc((size_t)n, sizeof *t->columns);
        for (int i = 0; i < n; i++)
            t->columns[i].name = names[i];
    }
    return at;
}

/* Adds a column of the SQL, and locates the value that it is compared with. */
static void add_use(struct asked_question *q, const struct corpus_use *use)
{
    q->used[use->column] = true;
    if (!use->value)
        return;
    state_value(q, use->column, use->value);
    int start = locate_value(q->text, use->value), end = start + text_letters(use->value, strlen(use->value));
    if (start < 0 || q->n_values == ASKED_VALUES)
        q->unlocated[use->column] = true;
    else
        q->values[q->n_values++] = (struct asked_value){ use->column, start, end, use->value };
}

static void add_table_question(struct counterfactual *c, const char *source, const struct corpus_question *from,
                               const struct corpus_table *t, int table)
{
    struct asked_question q = { .source = source,
                                .db_id = strings_keep(&c->text, t->id),
                                .text = strings_keep(&c->text, from->text),
                                .table = table,
                                .keywords = from->keywords };

    for (int i = 0; i < from->n_uses; i++) {
        const struct corpus_use use = { from->uses[i].column,
                                        from->uses[i].value ? strings_keep(&c->text, from->uses[i].value) : NULL };
        add_use(&q, &use);
    }
    for (int i = 0; i < q.n_values; i++)
        asked_column_add_value(&c->tables[table].columns[q.values[i].column], q.values[i].text);
    asked_question_add(c, &q);
}

/* Adds the cells of a table to the columns of the table with its header. */
static void add_cells(struct counterfactual *c, struct asked_table *to, const struct corpus_table *from)
{
    for (int i = 0; i < from->n_columns; i++) {
        struct asked_column *column = &to->columns[i];
        column->type = type_of(column->name, from->columns[i].type);
        for (int k = 0; k < from->columns[i].n_values && column->n_values < KNOWN_VALUES; k++)
            asked_column_add_value(column, strings_keep(&c->text, from->columns[i].values[k]));
    }
}

/* Finds the tables with the headers of the corpus; -1: the header cannot be used. Adds all headers to the pool. */
static int *add_tables(struct counterfactual *c, const struct table_corpus *corpus, bool asked)
{
    int *tables = xmalloc((size_t)(corpus->n_tables + 1) * sizeof *tables);

    for (int i = 0; i < corpus->n_tables; i++) {
        const struct corpus_table *t = &corpus->tables[i];
        const char *names[CORPUS_COLUMNS];
        enum column_type types[CORPUS_COLUMNS];
        for (int k = 0; k < t->n_columns; k++) {
            names[k] = strings_keep(&c->text, t->columns[k].name);
            types[k] = type_of(names[k], t->columns[k].type);
        }
        header_pool_add(&c->pool, names, types, t->n_columns);
        tables[i] = asked && header_is_usable(names, t->n_columns) ? header_table(c, names, t->n_columns) : -1;
        if (tables[i] >= 0)
            add_cells(c, &c->tables[tables[i]], t);
    }
    return tables;
}

static int read_tables_of(struct counterfactual *c, const char *source, const char *dir,
                          int (*read)(struct table_corpus *, const char *, struct error *), struct error *err)
{
    struct table_corpus corpus;
    int rc = read(&corpus, dir, err), *tables = rc ? NULL : add_tables(c, &corpus, corpus.n_questions > 0);

    for (int i = 0; i < corpus.n_questions && rc == 0; i++) {
        const struct corpus_question *q = &corpus.questions[i];
        int table = tables[q->table];
        if (table < 0)
            c->rejected++;
        else
            add_table_question(c, source, q, &corpus.tables[q->table], table);
    }
    free(tables);
    table_corpus_release(&corpus);
    return rc;
}

/* Questions of Spider about one table or a whole database, with values of both. */

enum { SQL_ARENA_BYTES = 16 << 20, MIN_VALUE_CHARACTERS = 3, WHOLE_COLUMNS = 40 };

/* A value that the statement compares with a column, without surrounding blanks and the % of a pattern. */
struct compared_value {
    int column;
    const char *text;
};

struct spider_reader {
    struct counterfactual *c;
    unsigned keywords;             /* of the current statement */
    struct compared_value *values; /* of the current statement */
    int n_values, values_cap;
    struct schema_set schemas;
    const char *db; /* NULL: no databases */
    struct arena sql;
};

/* Returns a value without the quotes that mark text. *is_text: it had them. */
static const char *bare(struct counterfactual *c, const char *shown, bool *is_text)
{
    size_t n = strlen(shown);

    *is_text = n >= 2 && *shown == '"';
    return *is_text ? strings_printf(&c->text, "%.*s", (int)n - 2, shown + 1) : strings_keep(&c->text, shown);
}

/* A range of a schema's columns: one table, or all. */
struct schema_part {
    const struct schema *schema;
    int first, n;
    const char *name; /* of the table; "" for all */
};

static struct schema_part part_of(const struct schema *schema, int table)
{
    if (table < 0)
        return (struct schema_part){ schema, 0, schema->n_columns, "" };
    return (struct schema_part){ schema, schema->tables[table].first_column, schema->tables[table].n_columns,
                                 schema->tables[table].name };
}

static int read_values(struct spider_reader *s, struct asked_table *t, const struct schema_part *part,
                       struct error *err)
{
    struct column_values v;
    char *path = db_path(s->db, part->schema->db_id, NULL);
    bool is_text;

    if (!path)
        return 0;
    int rc = column_values_read(&v, part->schema, path, err);
    for (int i = 0; i < t->n_columns && rc == 0; i++)
        for (int k = 0; k < v.counts[part->first + i]; k++) {
            const char *value = bare(s->c, v.columns[part->first + i][k], &is_text);
            if (*value)
                asked_column_add_value(&t->columns[i], value);
        }
    column_values_release(&v);
    free(path);
    return rc;
}

static void describe_column(struct spider_reader *s, struct asked_column *to, const struct schema *schema, int column,
                            bool whole)
{
    const struct schema_column *from = &schema->columns[column];
    const struct schema_table *table = &schema->tables[from->table];

    to->name = strings_keep(&s->c->text, from->text);
    to->table = whole ? strings_keep(&s->c->text, table->text) : NULL;
    to->type = from->type;
    to->synonyms = synonyms_find(&s->c->listed.dictionary, schema->db_id, table->name, from->name);
    for (int k = 0; to->synonyms && k < 2; k++)
        counterfactual_add_synonym(s->c, to->name, counterfactual_blanks(s->c, to->synonyms[k]));
}

/* Finds or adds a table, or the whole database if table is -1. Returns its index, -1 with err, or -2 if it has too many
 * columns. */
static int find_table(struct spider_reader *s, const struct schema *schema, int table, struct error *err)
{
    struct schema_part part = part_of(schema, table);
    bool is_new, whole = table < 0;

    if (part.n > (whole ? WHOLE_COLUMNS : ASKED_COLUMNS) || part.n < 2 || (whole && schema->n_tables < 2))
        return -2;
    int at = asked_table_find(s->c, strings_printf(&s->c->text, "\x1f%s\x1f%s", schema->db_id, part.name), &is_new);
    struct asked_table *t = &s->c->tables[at];
    if (!is_new)
        return at;
    t->whole = whole;
    t->n_columns = part.n;
    t->columns = xcalloc((size_t)t->n_columns, sizeof *t->columns);
    for (int i = 0; i < t->n_columns; i++)
        describe_column(s, &t->columns[i], schema, part.first + i, whole);
    return s->db && read_values(s, t, &part, err) ? -1 : at;
}

static void add_compared(struct spider_reader *s, int column, const struct sql_expr *e, bool pattern)
{
    for (; e; e = e->next) {
        if (e->kind != SQL_EXPR_STRING && e->kind != SQL_EXPR_LITERAL)
            continue;
        const char *around = pattern ? " \t%" : " \t";
        size_t skip = strspn(e->text, around), n = strlen(e->text);
        while (n > skip && strchr(around, e->text[n - 1]))
            n--;
        GROW(s->values, s->n_values, s->values_cap);
        s->values[s->n_values++] =
            (struct compared_value){ column, strings_printf(&s->c->text, "%.*s", (int)(n - skip), e->text + skip) };
    }
}

/* The keywords of an expression, in bits. BETWEEN has two comparisons. A comparison of two columns joins tables and
 * has none. */
static unsigned keywords_of(const struct sql_expr *e)
{
    int found = -1;

    if (e->kind == SQL_EXPR_BETWEEN)
        return 1u << SQL_KEYWORD_GREATER_EQUAL | 1u << SQL_KEYWORD_LESS_EQUAL;
    if (e->kind == SQL_EXPR_CALL && !e->over)
        found = sql_keyword_find(e->name.text);
    if (e->kind == SQL_EXPR_BINARY && !(e->left->kind == SQL_EXPR_COLUMN && e->right->kind == SQL_EXPR_COLUMN))
        found = e->op == SQL_EQUAL           ? SQL_KEYWORD_EQUAL
                : e->op == SQL_LESS          ? SQL_KEYWORD_LESS
                : e->op == SQL_LESS_EQUAL    ? SQL_KEYWORD_LESS_EQUAL
                : e->op == SQL_GREATER       ? SQL_KEYWORD_GREATER
                : e->op == SQL_GREATER_EQUAL ? SQL_KEYWORD_GREATER_EQUAL
                                             : -1;
    return found < 0 ? 0 : 1u << found;
}

/* Records the keywords of an expression, and the values that a comparison has on the other side of a column. */
static void read_expression(void *reader, struct sql_expr *e, struct sql_core *core)
{
    struct spider_reader *s = reader;
    bool binary = e->kind == SQL_EXPR_BINARY, pattern = binary && (e->op == SQL_LIKE || e->op == SQL_GLOB);

    (void)core;
    s->keywords |= keywords_of(e);
    if (!binary && e->kind != SQL_EXPR_BETWEEN && e->kind != SQL_EXPR_IN)
        return;
    if (e->left->kind == SQL_EXPR_COLUMN && e->left->column >= 0) {
        add_compared(s, e->left->column, e->right, pattern);
        add_compared(s, e->left->column, e->kind == SQL_EXPR_BETWEEN ? e->third : NULL, false);
        add_compared(s, e->left->column, e->list, false);
    }
    if (binary && e->right->kind == SQL_EXPR_COLUMN && e->right->column >= 0)
        add_compared(s, e->right->column, e->left, false);
}

static bool is_compared(const struct spider_reader *s, int column, const char *value)
{
    for (int i = 0; i < s->n_values; i++)
        if (s->values[i].column == column && strcasecmp(s->values[i].text, value) == 0)
            return true;
    return false;
}

/* Returns the only table of the statement, or -1. */
static int one_table(const struct sql_uses *uses)
{
    for (int i = 1; i < uses->n; i++)
        if (uses->list[i].table != uses->list[0].table)
            return -1;
    return uses->n ? uses->list[0].table : -1;
}

/* Marks the used columns. Returns false if the statement uses all of them, as "*" does. */
static bool read_uses(struct asked_question *q, bool *compared, const struct schema_part *part,
                      const struct sql_uses *uses)
{
    int n = 0;

    for (int i = 0; i < uses->n; i++) {
        const struct sql_use *use = &uses->list[i];
        int column = use->column - part->first;
        if (use->column < 0 || column >= ASKED_COLUMNS)
            continue;
        bool *of = use->clause == SQL_ON ? q->joined : q->used;
        n += !q->joined[column] && !q->used[column];
        of[column] = true;
        compared[column] |= use->clause == SQL_WHERE || use->clause == SQL_HAVING;
    }
    return uses->n && n < part->n;
}

/* Returns true if the question contains the value as whole words, in any case. *start is in code points. */
static bool says(const char *question, const char *value, int *start)
{
    size_t n = strlen(value);

    for (const char *at = strcasestr(question, value); at; at = strcasestr(at + 1, value))
        if ((at == question || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n])) {
            *start = text_letters(question, (size_t)(at - question));
            return true;
        }
    return false;
}

/* Finds the longest value of the column that the question contains and the statement compares. first: the schema index
 * of the table's first column. */
static void find_value(const struct spider_reader *s, struct asked_question *q, const struct asked_table *t, int column,
                       int first)
{
    struct asked_value best = { .column = column };

    for (int i = 0; i < t->columns[column].n_values; i++) {
        const char *value = t->columns[column].values[i];
        int characters = text_letters(value, strlen(value)), start;
        if (characters >= MIN_VALUE_CHARACTERS && characters > best.end - best.start &&
            is_compared(s, first + column, value) && says(q->text, value, &start)) {
            best.start = start;
            best.end = start + characters;
            best.text = value;
        }
    }
    if (best.text && q->n_values < ASKED_VALUES)
        q->values[q->n_values++] = best;
    else
        q->unlocated[column] = true;
}

static bool stands_elsewhere(const struct asked_table *t, const struct asked_value *v)
{
    for (int i = 0; i < t->n_columns; i++)
        for (int k = 0; k < t->columns[i].n_values && i != v->column; k++)
            if (strcasecmp(t->columns[i].values[k], v->text) == 0)
                return true;
    return false;
}

/* Returns true if the same words mention two columns, so that the mention is undecided. */
static bool says_twice(const struct asked_table *t, const struct asked_question *q)
{
    int said[2] = { 0, 0 }, start, end;

    for (int i = 0; i < t->n_columns; i++)
        for (int k = 0; k < i && q->used[i] && asked_mention(t, q, i, &said[0], &said[1]); k++)
            if (q->used[k] && asked_mention(t, q, k, &start, &end) && start < said[1] && said[0] < end)
                return true;
    return false;
}

/* Locates values and columns in the question. Returns false if that is ambiguous. */
static bool locate(const struct spider_reader *s, struct asked_question *q, const bool *compared, int first)
{
    const struct asked_table *t = &s->c->tables[q->table];

    for (int i = 0; i < t->n_columns; i++)
        if (compared[i])
            find_value(s, q, t, i, first);
    for (int i = 0; i < q->n_values; i++)
        if (stands_elsewhere(t, &q->values[i]))
            return false;
    return !t->whole || !says_twice(t, q);
}

/* Adds the question for a table, or for the whole database if table is -1. Returns 1, 0 if it does not fit, -1 with
 * err. */
static int ask_of(struct spider_reader *s, const struct schema *schema, int table, const struct sql_uses *uses,
                  const struct asked_question *from, struct error *err)
{
    struct schema_part part = part_of(schema, table);
    struct asked_question q = *from;
    bool compared[ASKED_COLUMNS] = { false };

    if (!read_uses(&q, compared, &part, uses))
        return 0;
    q.table = find_table(s, schema, table, err);
    if (q.table < 0)
        return q.table == -1 ? -1 : 0;
    for (int i = 0; i < s->n_values; i++)
        if (s->values[i].column >= part.first && s->values[i].column < part.first + part.n)
            state_value(&q, s->values[i].column - part.first, s->values[i].text);
    if (!locate(s, &q, compared, part.first))
        return 0;
    asked_question_add(s->c, &q);
    return 1;
}

static int ask_all(struct spider_reader *s, const struct schema *schema, const struct sql_uses *uses,
                   const struct asked_question *q, struct error *err)
{
    int table = one_table(uses), alone = table < 0 ? 0 : ask_of(s, schema, table, uses, q, err);
    int whole = alone < 0 ? -1 : s->c->options->databases ? ask_of(s, schema, -1, uses, q, err) : 0;

    s->c->rejected += alone == 0 && whole == 0;
    return whole < 0 ? -1 : 0;
}

static int add_question(struct spider_reader *s, const struct spider_question *from, bool test, struct error *err)
{
    const struct schema *schema = schema_find(&s->schemas, from->db_id);
    const struct sql_walker walker = { .context = s, .expr = read_expression };
    struct sql_uses uses = { 0 };
    size_t mark = arena_mark(&s->sql);

    if (!schema)
        return error_set(err, EXIT_CODE_DATA, "field \"db_id\": expected a database of tables.json, got \"%s\"",
                         from->db_id);
    struct sql_query *query = sql_parse(&s->sql, from->query, NULL);
    s->n_values = 0;
    s->keywords = 0;
    if (!query || sql_resolve(&s->sql, query, schema, &uses, NULL))
        uses.n = 0;
    else
        sql_walk(&walker, query->select);
    const struct asked_question q = { .source = "spider",
                                      .db_id = strings_keep(&s->c->text, from->db_id),
                                      .text = strings_keep(&s->c->text, from->question),
                                      .keywords = s->keywords,
                                      .test = test };
    int rc = ask_all(s, schema, &uses, &q, err);
    arena_reset(&s->sql, mark);
    return rc;
}

static int read_questions(struct spider_reader *s, const char *dir, const char *name, bool test, struct error *err)
{
    struct spider_corpus questions;
    char *path = path_in(dir, name);
    int rc = spider_read(&questions, path, err);

    for (int i = 0; i < questions.n && rc == 0; i++)
        if ((rc = add_question(s, &questions.items[i], test, err)))
            error_prefix(err, "%s: record %d", path, i + 1);
    spider_release(&questions);
    free(path);
    return rc;
}

static void add_headers(struct spider_reader *s)
{
    for (int i = 0; i < s->schemas.n; i++) {
        const struct schema *schema = &s->schemas.schemas[i];
        for (int t = 0; t < schema->n_tables; t++) {
            const struct schema_table *table = &schema->tables[t];
            const char **names = xcalloc((size_t)table->n_columns + 1, sizeof *names);
            enum column_type *types = xcalloc((size_t)table->n_columns + 1, sizeof *types);
            for (int k = 0; k < table->n_columns; k++) {
                names[k] = schema->columns[table->first_column + k].text;
                types[k] = schema->columns[table->first_column + k].type;
            }
            header_pool_add(&s->c->pool, names, types, table->n_columns);
            free(types);
            free(names);
        }
    }
}

static int counterfactual_read_spider(struct counterfactual *c, const char *dir, struct error *err)
{
    struct spider_reader s = { .c = c };
    char *tables = path_in(dir, "tables.json"), *db = path_in(dir, "db");

    s.db = db_path_is_folder(db) ? db : NULL;
    int rc = schema_set_open(&s.schemas, tables, err);
    if (rc == 0)
        rc = arena_init(&s.sql, SQL_ARENA_BYTES, err);
    if (rc == 0) {
        add_headers(&s);
        rc = read_questions(&s, dir, "train_spider.json", false, err);
    }
    if (rc == 0)
        rc = read_questions(&s, dir, "dev.json", true, err);
    arena_release(&s.sql);
    free(s.values);
    schema_set_close(&s.schemas);
    free(tables);
    free(db);
    return rc;
}

int counterfactual_read(struct counterfactual *c, struct error *err)
{
    const struct counterfactual_options *o = c->options;
    int rc = o->synonyms ? synonyms_read(&c->listed.dictionary, o->synonyms, err) : 0;

    if (rc == 0 && o->wikisql)
        rc = read_tables_of(c, "wikisql", o->wikisql, wikisql_read, err);
    if (rc == 0 && o->wtq)
        rc = read_tables_of(c, "wikitq", o->wtq, squall_read, err);
    if (rc == 0 && o->spider)
        rc = counterfactual_read_spider(c, o->spider, err);
    if (rc == 0 && !c->n_questions)
        rc = error_set(err, EXIT_CODE_DATA, "expected questions with SQL in the folders, got none");
    return rc;
}
