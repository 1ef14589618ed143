/* Part of counterfactual.h: WikiSQL's questions, and WikiTableQuestions' headers. */
#include "data/counterfactual/counterfactual_impl.h"
#include "data/span/tagging.h"
#include "data/util/records.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int asked_table_find(struct counterfactual *c, const char *key, bool *is_new)
{
    int before = c->table_keys.n, at = strings_add(&c->table_keys, key);

    *is_new = at == before;
    if (*is_new) {
        GROW(c->tables, c->n_tables, c->tables_cap);
        c->tables[c->n_tables++] = (struct asked_table){ .group = at };
    }
    return at;
}

void asked_column_add_value(struct asked_column *column, const char *value)
{
    for (int i = 0; i < column->n_values; i++)
        if (strcasecmp(column->values[i], value) == 0)
            return;
    GROW(column->values, column->n_values, column->cap);
    column->values[column->n_values++] = value;
}

bool asked_question_add(struct counterfactual *c, const struct asked_question *q)
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

/* The names of a header; NULL with EXIT_CODE_DATA.  The caller frees the array. */
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

/* Neither empty, nor one twice, nor more than fit. */
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

/* Whether the letters [start, end) neither begin nor end within a word. */
static bool is_whole(const char *text, int start, int end)
{
    const char *from = text_from_letter(text, start), *to = text_from_letter(text, end);

    return !(start && in_word(from) && in_word(text_from_letter(text, start - 1))) &&
           !(in_word(to) && in_word(text_from_letter(text, end - 1)));
}

/* Where a value stands as words of its own: WikiSQL marks the first letters that are like it, "f" in "found".  -1:
 * nowhere. */
static int whole_words(const char *text, int start, int end)
{
    const char *said = text_from_letter(text, start);
    size_t bytes = (size_t)(text_from_letter(text, end) - said);
    int letters = text_letters(text, strlen(text)), n = end - start;

    if (is_whole(text, start, end))
        return start;
    for (int at = start + 1; at + n <= letters; at++)
        if (is_whole(text, at, at + n) && strncasecmp(text_from_letter(text, at), said, bytes) == 0)
            return at;
    return -1;
}

/* A condition: its column is used, and its value stands in the question or does not. */
static int read_condition(struct asked_question *q, struct counterfactual *c, const json_t *condition, int n_columns,
                          const char *where, struct error *err)
{
    int64_t column, at[2] = { 0, 0 };
    json_t *span = json_object_get(condition, "span");
    int letters = text_letters(q->text, strlen(q->text));

    if (json_get_int(condition, "col", 0, n_columns - 1, &column, where, err))
        return -1;
    q->used[column] = true;
    for (int i = 0; i < 2 && json_array_size(span) == 2; i++)
        at[i] = json_integer_value(json_array_get(span, (size_t)i));
    if (span && !json_is_null(span) && (at[0] < 0 || at[1] <= at[0] || at[1] > letters))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"span\": expected start and end within %d letters, or null",
                         where, letters);
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

/* Renamings that people made of this header's columns: {"position": ["rank", ...]}. */
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

/* Whether the columns that the question uses are known: some of the published conditions and selections are missing. */
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
        c->left_out++;
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

/* What the values of all questions show of each table's columns. */
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

int counterfactual_read_wikisql(struct counterfactual *c, const char *dir, struct error *err)
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

/* A record_fn: a header and a table's first rows. */
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

int counterfactual_read_wtq(struct counterfactual *c, const char *dir, struct error *err)
{
    char *path = path_in(dir, "wtq_tables_head.jsonl");
    int rc = records_each_as_is(path, RECORDS_AUTO, read_wtq, c, err);
    free(path);
    return rc;
}
