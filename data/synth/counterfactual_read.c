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
    for (int i = 0; i < column->n_values; i++)
        if (spoken_ratio(column->values[i], text) >= ALIKE)
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

/* Questions of WikiSQL, and headers of WikiTableQuestions. */

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

static bool is_number(const char *text)
{
    int digits = 0;

    for (; *text; text++)
        if (isdigit((unsigned char)*text))
            digits++;
        else if (!strchr(" ,.+-$%", *text))
            return false;
    return digits > 0;
}

static enum column_type type_of(const char *name, int numbers, int values)
{
    struct spoken words;

    spoken_read(&words, name);
    if (spoken_find(&words, "date") || spoken_find(&words, "year"))
        return COLUMN_TIME;
    return values > 0 && numbers == values ? COLUMN_NUMBER : COLUMN_TEXT;
}

/* Returns the names of a header, or NULL with EXIT_CODE_DATA. The caller frees the array. */
static const char **read_header(struct counterfactual *c, const json_t *record, int *n, const char *where,
                                struct error *err)
{
    json_t *header = json_get_array(record, "header", where, err), *name;
    size_t i;

    *n = 0;
    if (!header)
        return NULL;
    const char **names = xcalloc(json_array_size(header) + 1, sizeof *names);
    json_array_foreach(header, i, name)
    {
        if (!json_is_string(name)) {
            error_set(err, EXIT_CODE_DATA, "%s: field \"header\": expected strings, got %s", where,
                      json_type_name(name));
            free(names);
            return NULL;
        }
        names[(*n)++] = strings_keep(&c->text, json_string_value(name));
    }
    return names;
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

/* Finds a value as whole words: WikiSQL marks the first matching characters, such as "f" in "found". Returns the start
 * or -1. */
static int whole_words(const char *text, int start, int end)
{
    const char *said = text_from_letter(text, start);
    size_t bytes = (size_t)(text_from_letter(text, end) - said);
    int characters = text_letters(text, strlen(text)), n = end - start;

    if (is_whole(text, start, end))
        return start;
    for (int at = start + 1; at + n <= characters; at++)
        if (is_whole(text, at, at + n) && strncasecmp(text_from_letter(text, at), said, bytes) == 0)
            return at;
    return -1;
}

/* Reads a condition: it marks the column as used and locates its value in the question. */
static int read_condition(struct asked_question *q, struct counterfactual *c, const json_t *condition, int n_columns,
                          const char *where, struct error *err)
{
    int64_t column, at[2] = { 0, 0 };
    json_t *span = json_object_get(condition, "span");
    int characters = text_letters(q->text, strlen(q->text));

    if (json_get_int(condition, "col", 0, n_columns - 1, &column, where, err))
        return -1;
    q->used[column] = true;
    for (int i = 0; i < 2 && json_array_size(span) == 2; i++)
        at[i] = json_integer_value(json_array_get(span, (size_t)i));
    if (span && !json_is_null(span) && (at[0] < 0 || at[1] <= at[0] || at[1] > characters))
        return error_set(err, EXIT_CODE_DATA,
                         "%s: field \"span\": expected start and end within %d characters, or null", where, characters);
    int start = at[1] ? whole_words(q->text, (int)at[0], (int)at[1]) : -1, end = start + (int)(at[1] - at[0]);
    if (start < 0 || q->n_values == ASKED_VALUES) {
        q->unlocated[column] = true;
        return 0;
    }
    const char *from = text_from_letter(q->text, start), *to = text_from_letter(q->text, end);
    q->values[q->n_values++] =
        (struct asked_value){ (int)column, start, end, strings_printf(&c->text, "%.*s", (int)(to - from), from) };
    return 0;
}

/* Reads ADVETA's renamings of this header's columns: {"position": ["rank", ...]}. */
static void read_renamings(struct counterfactual *c, const json_t *record)
{
    const char *name;
    json_t *others, *other;
    size_t i;

    json_object_foreach(json_object_get(record, "adveta_rpl"), name, others)
    {
        json_array_foreach(others, i, other)
        {
            if (json_is_string(other))
                counterfactual_add_synonym(c, name, json_string_value(other));
        }
    }
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

static int read_question(struct asked_question *q, struct counterfactual *c, const json_t *record, int n_columns,
                         const char *where, struct error *err)
{
    const char *table_id = json_get_string(record, "table_id", where, err);
    const char *text = table_id ? json_get_string(record, "question", where, err) : NULL;
    json_t *conditions = text ? json_get_array(record, "conds", where, err) : NULL, *condition;
    int64_t selected;
    size_t i;

    if (!conditions || json_get_int(record, "sel", 0, n_columns - 1, &selected, where, err))
        return -1;
    *q = (struct asked_question){ .source = "wikisql",
                                  .db_id = strings_keep(&c->text, table_id),
                                  .text = strings_keep(&c->text, text) };
    q->used[selected] = true;
    json_array_foreach(conditions, i, condition) if (read_condition(q, c, condition, n_columns, where, err)) return -1;
    return 0;
}

/* Returns true if the used columns are known. Some published conditions and selections are missing. */
static bool tells_columns(const json_t *record)
{
    const json_t *conditions = json_object_get(record, "conds"), *condition;
    size_t i;

    json_array_foreach(conditions, i, condition) if (json_is_null(json_object_get(condition, "col"))) return false;
    if (!conditions || json_is_null(conditions) || json_is_null(json_object_get(record, "sel")))
        return false;
    return !json_is_array(conditions) || json_array_size(conditions) > 0;
}

/* A record_fn. */
static int read_wikisql(void *user, json_t *record, const char *where, struct error *err)
{
    struct counterfactual *c = user;
    struct asked_question q;
    int n, rc = 0;
    const char **names = read_header(c, record, &n, where, err);

    if (!names)
        return -1;
    if (!header_is_usable(names, n) || !tells_columns(record))
        c->rejected++;
    else if ((rc = read_question(&q, c, record, n, where, err)) == 0) {
        q.table = header_table(c, names, n);
        for (int i = 0; i < q.n_values; i++)
            asked_column_add_value(&c->tables[q.table].columns[q.values[i].column], q.values[i].text);
        read_renamings(c, record);
        asked_question_add(c, &q);
    }
    free(names);
    return rc;
}

/* Infers the types of each table's columns from the values of all questions. */
static void type_columns(struct counterfactual *c)
{
    for (int t = 0; t < c->n_tables; t++)
        for (int i = 0; i < c->tables[t].n_columns; i++) {
            struct asked_column *column = &c->tables[t].columns[i];
            int numbers = 0;
            for (int v = 0; v < column->n_values; v++)
                numbers += is_number(column->values[v]);
            column->type = type_of(column->name, numbers, column->n_values);
        }
}

/* Reads the questions of WikiSQL, the headers of WikiTableQuestions, or both of Spider. */
static int counterfactual_read_wikisql(struct counterfactual *c, const char *dir, struct error *err)
{
    static const char *const files[] = { "wikisql_with_headers_dev.jsonl", "wikisql_with_headers_extra.jsonl" };
    int rc = 0, read = 0;

    for (int i = 0; i < ARRAY_LEN(files) && rc == 0; i++) {
        char *path = path_in(dir, files[i]);
        if (access(path, F_OK) == 0) {
            rc = records_each_as_is(path, RECORDS_AUTO, read_wikisql, c, err);
            read++;
        }
        free(path);
    }
    if (rc == 0 && !read)
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected %s or %s, got neither", dir, files[0], files[1]);
    type_columns(c);
    return rc;
}

/* A record_fn for a header with the table's first rows. */
static int read_wtq(void *user, json_t *record, const char *where, struct error *err)
{
    struct counterfactual *c = user;
    int n;
    const char **names = read_header(c, record, &n, where, err);
    json_t *rows = names ? json_get_array(record, "rows", where, err) : NULL, *row;
    enum column_type *types = rows ? xcalloc((size_t)n + 1, sizeof *types) : NULL;

    for (int i = 0; i < n && rows; i++) {
        int numbers = 0, values = 0;
        size_t r;
        json_array_foreach(rows, r, row)
        {
            const char *cell = json_string_value(json_array_get(row, (size_t)i));
            values += cell && *cell;
            numbers += cell && is_number(cell);
        }
        types[i] = type_of(names[i], numbers, values);
    }
    if (rows)
        header_pool_add(&c->pool, names, types, n);
    free(types);
    free(names);
    return rows ? 0 : -1;
}

static int counterfactual_read_wtq(struct counterfactual *c, const char *dir, struct error *err)
{
    char *path = path_in(dir, "wtq_tables_head.jsonl");
    int rc = records_each_as_is(path, RECORDS_AUTO, read_wtq, c, err);
    free(path);
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

/* Records the values that a comparison has on the other side of a column. */
static void read_comparison(void *reader, struct sql_expr *e, struct sql_core *core)
{
    struct spider_reader *s = reader;
    bool binary = e->kind == SQL_EXPR_BINARY, pattern = binary && (e->op == SQL_LIKE || e->op == SQL_GLOB);

    (void)core;
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
    const struct sql_walker walker = { .context = s, .expr = read_comparison };
    struct sql_uses uses = { 0 };
    size_t mark = arena_mark(&s->sql);

    if (!schema)
        return error_set(err, EXIT_CODE_DATA, "field \"db_id\": expected a database of tables.json, got \"%s\"",
                         from->db_id);
    struct sql_query *query = sql_parse(&s->sql, from->query, NULL);
    s->n_values = 0;
    if (!query || sql_resolve(&s->sql, query, schema, &uses, NULL))
        uses.n = 0;
    else
        sql_walk(&walker, query->select);
    const struct asked_question q = { .source = "spider",
                                      .db_id = strings_keep(&s->c->text, from->db_id),
                                      .text = strings_keep(&s->c->text, from->question),
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
        rc = counterfactual_read_wikisql(c, o->wikisql, err);
    if (rc == 0 && o->wtq)
        rc = counterfactual_read_wtq(c, o->wtq, err);
    for (int i = 0; i < c->n_tables && rc == 0; i++) {
        const struct asked_table *t = &c->tables[i];
        const char *names[ASKED_COLUMNS];
        enum column_type types[ASKED_COLUMNS];
        for (int k = 0; k < t->n_columns; k++) {
            names[k] = t->columns[k].name;
            types[k] = t->columns[k].type;
        }
        header_pool_add(&c->pool, names, types, t->n_columns);
    }
    if (rc == 0 && o->spider)
        rc = counterfactual_read_spider(c, o->spider, err);
    if (rc == 0 && !c->n_questions)
        rc = error_set(err, EXIT_CODE_DATA, "expected questions of WikiSQL or Spider, got none");
    return rc;
}
