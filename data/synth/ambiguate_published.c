#include "data/synth/ambiguate_published.h"

#include "data/sql/sql_lex.h"
#include "data/sql/sql_scope.h"
#include "data/synth/sql_edit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A column of the SELECT list and its table, both as written in the query. */
struct use {
    const char *column, *table;
};

struct uses {
    struct use *items;
    int n, cap;
};

/* Returns the table of the alias before a word's dot. The last definition anywhere in the query counts. */
static const char *table_of_alias(const struct ambiqt_words *w, const char *word)
{
    for (int i = w->n - 2; i > 0; i--)
        if (strcmp(w->items[i], "as") == 0 && strncmp(w->items[i + 1], word, 2) == 0 && !w->items[i + 1][2])
            return w->items[i - 1];
    return NULL;
}

/* Compares one item of the SELECT list with a column. The item is the inside of its parentheses, or all of it; its last
 * word counts, without the part before a dot. */
static bool piece_is(const char *begin, const char *end, const char *column)
{
    const char *open = memchr(begin, '(', (size_t)(end - begin));
    const char *close = open ? memchr(open, ')', (size_t)(end - open)) : NULL;

    if (close) {
        begin = open + 1;
        end = close;
    }
    while (end > begin && end[-1] == ' ')
        end--;
    for (const char *p = begin; p < end; p++)
        if (*p == ' ' || *p == '.')
            begin = p + 1;
    size_t n = strlen(column);
    return (size_t)(end - begin) == n && memcmp(begin, column, n) == 0;
}

/* Returns true if an item between the first "select" and the first "from" is this column. */
static bool selects(const char *sql, const char *column)
{
    const char *select = strstr(sql, "select"), *from = strstr(sql, "from");

    if (!select || !from || from < select)
        return false;
    for (const char *p = select + strlen("select"); p < from; p++) {
        const char *comma = memchr(p, ',', (size_t)(from - p)), *end = comma ? comma : from;
        if (piece_is(p, end, column))
            return true;
        p = end;
    }
    return false;
}

static void add_use(struct uses *u, const char *column, const char *table)
{
    for (int i = 0; i < u->n; i++)
        if (strcmp(u->items[i].column, column) == 0 && strcmp(u->items[i].table, table) == 0)
            return;
    GROW(u->items, u->n, u->cap);
    u->items[u->n++] = (struct use){ column, table };
}

static void find_uses(struct uses *u, const struct ambiguate_question *q, int from)
{
    const struct ambiqt_words *w = &q->words;

    for (int i = 0; i < from; i++) {
        const char *word = w->items[i], *column = ambiqt_without_alias(word);
        if (strcmp(column, "*") == 0 || !selects(q->sql, column))
            continue;
        const char *table = column > word ? table_of_alias(w, word) : w->items[from + 1];
        if (table)
            add_use(u, column, table);
    }
}

/* Returns the query with the column renamed. A word without alias belongs to the table behind the first FROM. AmbiQT's
 * mistake is kept: a table with the column's name is renamed too, and no later word then counts as its column. */
static const char *rename_column(struct ambiguities *out, const struct ambiguate_question *q, int from,
                                 const struct use *use, const char *name)
{
    const struct ambiqt_words *w = &q->words;
    const char **words = xmalloc((size_t)w->n * sizeof *words);

    memcpy(words, w->items, (size_t)w->n * sizeof *words);
    for (int i = 0; i < w->n; i++) {
        const char *column = ambiqt_without_alias(words[i]);
        if (strcmp(column, use->column) != 0)
            continue;
        const char *table = column > words[i] ? table_of_alias(w, words[i]) : words[from + 1];
        if (!table || strcmp(table, use->table) != 0)
            continue;
        words[i] = strings_printf(&out->text, "%.*s%s", (int)(column - words[i]), words[i], name);
    }
    const char *sql = ambiguity_join(out, words, w->n);
    free(words);
    return sql;
}

void ambiguate_columns(struct ambiguities *out, const struct ambiguate_question *q)
{
    int from = ambiqt_words_find(&q->words, "from");
    struct uses uses = { 0 };

    if (from < 0 || from + 1 >= q->words.n)
        return;
    find_uses(&uses, q, from);
    for (int i = 0; i < uses.n; i++) {
        const struct use *u = &uses.items[i];
        struct synonym_pair pair;
        if (!synonym_finder_find(q->synonyms, &pair, q->schema, u->table, u->column))
            continue;
        struct ambiguity *a = ambiguity_add(out, q, SIA_COLUMN);
        a->synonyms = pair;
        a->record.table = strings_keep(&out->text, u->table);
        a->record.column = strings_keep(&out->text, u->column);
        for (int k = 0; k < 2; k++) {
            a->record.names[k] = pair.names[k];
            a->record.interpretations[k] = rename_column(out, q, from, u, pair.names[k]);
        }
    }
    free(uses.items);
}

/* Returns the word between two others. The caller frees it. */
static char *between(const char *before, const char *word, const char *behind)
{
    char *text = NULL;
    CHECK(asprintf(&text, "%s%s%s", before, word, behind) >= 0, "cannot format %s", word);
    return text;
}

static bool has(const char *sql, const char *table, const char *behind)
{
    char *text = between(" ", table, behind);
    bool found = strstr(sql, text);
    free(text);
    return found;
}

/* Replaces the table's name between these two texts. Frees the old string and returns the new one. */
static char *rename_between(char *sql, const char *before, const char *table, const char *behind, const char *name)
{
    char *old = between(before, table, behind), *by = between(before, name, behind);
    char *out = text_replace(sql, old, by);

    free(old);
    free(by);
    free(sql);
    return out;
}

/* Renames a table directly behind one of these words and before a blank or parenthesis. The caller frees the result. */
static char *rename_table(const char *sql, const char *table, const char *name)
{
    static const char *const before[] = { "from ", "join ", "intersect ", "union ", "except " };
    char *out = xstrdup(sql);

    for (int i = 0; i < ARRAY_LEN(before); i++) {
        out = rename_between(out, before[i], table, " ", name);
        out = rename_between(out, before[i], table, ")", name);
    }
    return out;
}

static void add_table(struct ambiguities *out, const struct ambiguate_question *q, const char *table,
                      const struct synonym_pair *pair)
{
    struct ambiguity *a = ambiguity_add(out, q, SIA_TABLE);

    a->synonyms = *pair;
    a->record.table = strings_keep(&out->text, table);
    for (int k = 0; k < 2; k++) {
        a->record.names[k] = pair->written[k];
        a->record.interpretations[k] = ambiguity_take(out, rename_table(q->sql, table, pair->names[k]));
    }
}

void ambiguate_tables(struct ambiguities *out, const struct ambiguate_question *q)
{
    for (int t = 0; t < q->schema->n_tables; t++) {
        const char *table = q->schema->tables[t].name;
        struct synonym_pair pair;
        bool used = has(q->sql, table, " ") || has(q->sql, table, ")");
        if (used && synonym_finder_find(q->synonyms, &pair, q->schema, table, NULL))
            add_table(out, q, table, &pair);
    }
}

/* Lists the columns of the table among the words before its name, FROM included, except its key. Returns their number.
 */
static int candidates(int *columns, const struct ambiguate_question *q, int from, int table, const char *key)
{
    int n = 0;
    for (int i = 0; i <= from; i++) {
        int c = ambiguity_column(q->schema, table, q->words.items[i]);
        bool known = c < 0 || strcmp(q->schema->columns[c].name, key) == 0;
        for (int k = 0; k < n && !known; k++)
            known = columns[k] == c;
        if (!known)
            columns[n++] = c;
    }
    return n;
}

/* Replaces the table by a join of both tables in every part of the query, nested ones included. */
static const char *join_both(struct ambiguities *out, const struct ambiguate_question *q, int table, int column,
                             const char *key)
{
    const char *t = q->schema->tables[table].name, *split = q->schema->columns[column].name;
    const char *join = strings_printf(&out->text, "%s as t1 join %s_%s as t2 on t1.%s = t2.%s", t, t, split, key, key);
    const char **words = xmalloc((size_t)q->words.n * sizeof *words);

    for (int i = 0; i < q->words.n; i++) {
        const char *word = q->words.items[i];
        int c = ambiguity_column(q->schema, table, word);
        if (strcmp(word, t) == 0)
            words[i] = join;
        else if (c >= 0)
            words[i] = strings_printf(&out->text, "t%d.%s", c == column ? 2 : 1, word);
        else
            words[i] = word;
    }
    const char *sql = ambiguity_join(out, words, q->words.n);
    free(words);
    return sql;
}

static void add_join_record(struct ambiguities *out, const struct ambiguate_question *q, int table, int column,
                            const char *key)
{
    struct ambiguity *a = ambiguity_add(out, q, SIA_JOIN);
    struct ambiqt_record *r = &a->record;

    r->table = strings_keep(&out->text, q->schema->tables[table].name);
    r->column = strings_keep(&out->text, q->schema->columns[column].name);
    r->key = strings_keep(&out->text, key);
    r->new_table = strings_printf(&out->text, "%s_%s", r->table, r->column);
    r->interpretations[1] = join_both(out, q, table, column, key);
}

void ambiguate_joins(struct ambiguities *out, const struct ambiguate_question *q)
{
    int from = ambiqt_words_find(&q->words, "from");

    if (ambiqt_words_find(&q->words, "join") >= 0 || from < 0 || from + 1 >= q->words.n)
        return;
    int table = ambiguity_table(q->schema, q->words.items[from + 1]);
    const char *key = table < 0 ? NULL : ambiguity_key(q->schema, table);
    if (!key)
        return;
    int *columns = xmalloc((size_t)(from + 1) * sizeof *columns), n = candidates(columns, q, from, table, key);
    for (int i = 0; i < n && n >= 2; i++)
        add_join_record(out, q, table, columns[i], key);
    free(columns);
}

static const char *const functions[] = { "count", "avg", "sum", "min", "max" };

/* The new table, filled while the query is read. */
struct stored {
    struct strings plain, aggregated; /* columns in order of mention */
    bool number;                      /* has count(*) */
};

/* Parses "avg(x)rest". Returns the length of the function's name, or 0 if there is none; sets x and the rest. */
static size_t aggregate_of(const char *word, const char **inside, size_t *n_inside, const char **rest)
{
    for (int i = 0; i < ARRAY_LEN(functions); i++) {
        size_t n = strlen(functions[i]);
        const char *close = strncmp(word, functions[i], n) == 0 && word[n] == '(' ? strchr(word + n, ')') : NULL;
        if (!close)
            continue;
        *inside = word + n + 1;
        *n_inside = (size_t)(close - *inside);
        *rest = close + 1;
        return n;
    }
    return 0;
}

/* Returns the new table's name for a word: number, avg_x, or x without its alias. NULL if the table cannot store it. */
static const char *stored_name(struct ambiguities *out, struct stored *s, const char *word)
{
    const char *inside, *rest;
    size_t n_inside, n = aggregate_of(word, &inside, &n_inside, &rest);

    if (n == 0)
        return ambiqt_without_alias(word);
    if (n_inside == 1 && *inside == '*') {
        s->number = true;
        return *word == 'c' ? strings_printf(&out->text, "number%s", rest) : NULL;
    }
    const char *column = strings_printf(&out->text, "%.*s", (int)n_inside, inside);
    column = strings_keep(&s->aggregated, ambiqt_without_alias(column));
    return strings_printf(&out->text, "%.*s_%s%s", (int)n, word, column, rest);
}

/* Returns one item of the SELECT list under its name in the new table. NULL if type P does not support it. */
static const char *select_item(struct ambiguities *out, struct stored *s, const char *item)
{
    const char *inside, *rest = "";
    size_t n_inside;

    if (!*item || strchr(item, ' ') || strcmp(item, "*") == 0)
        return NULL;
    bool aggregate = aggregate_of(item, &inside, &n_inside, &rest) > 0;
    if (*rest || (!aggregate && strchr(item, '(')))
        return NULL;
    const char *name = stored_name(out, s, item);
    if (name && !aggregate)
        strings_add(&s->plain, name);
    return name;
}

/* Returns the SELECT list of the new query. NULL if type P does not support it. */
static const char *select_list(struct ambiguities *out, struct stored *s, const char *begin, const char *from)
{
    const char *list = "";
    char *text = strndup(begin, (size_t)(from - begin)), *state = NULL;

    CHECK(text, "cannot copy %zu bytes", (size_t)(from - begin));
    for (char *p = strtok_r(text, ",", &state); p && list; p = strtok_r(NULL, ",", &state)) {
        while (isspace((unsigned char)*p))
            p++;
        const char *name = select_item(out, s, p);
        list = name ? strings_printf(&out->text, "%s%s%s", list, *list ? ", " : "", name) : NULL;
    }
    free(text);
    return list && *list ? list : NULL;
}

/* Returns the text behind WHERE or HAVING up to the end, in names of the new table. "" without either clause. */
static const char *condition(struct ambiguities *out, struct stored *s, const char *sql)
{
    const char *where = strstr(sql, " where"), *having = strstr(sql, " having");
    const char *begin = having ? having + strlen(" having") : where ? where + strlen(" where") : NULL;
    char *state = NULL;

    if (!begin)
        return "";
    char *spaced = text_replace(begin, ",", " , ");
    const char **words = xmalloc((strlen(spaced) + 1) * sizeof *words);
    int n = 0;
    bool good = true;
    for (char *p = strtok_r(spaced, " ", &state); p && good; p = strtok_r(NULL, " ", &state)) {
        good = (words[n] = stored_name(out, s, p));
        if (good && words[n] == ambiqt_without_alias(p) && words[n] > p)
            strings_add(&s->plain, words[n]);
        n += good;
    }
    const char *text = good ? strings_printf(&out->text, " where %s", ambiguity_join(out, words, n)) : NULL;
    free(words);
    free(spaced);
    return text;
}

static bool taken(const char *sql)
{
    const char *select = strstr(sql, "select ");
    return select == sql && !strstr(select + 1, "select ") && !strstr(sql, "distinct ") && strstr(sql, " from ") &&
           !(strstr(sql, " where ") && strstr(sql, " having "));
}

/* Lists every mentioned table in order of mention. */
static bool set_tables(struct ambiguity *a, const struct ambiguate_question *q)
{
    for (int i = 0; i < q->words.n; i++) {
        int t = ambiguity_table(q->schema, q->words.items[i]), k = 0;
        if (t < 0)
            continue;
        while (k < a->n_tables && a->tables[k] != q->schema->tables[t].name)
            k++;
        if (k == AMBIGUITY_MAX_TABLES)
            return false;
        a->tables[k] = q->schema->tables[t].name;
        a->n_tables += k == a->n_tables;
    }
    return a->n_tables > 0;
}

/* Names the new table's columns: the plain ones, then sum, avg, min and max of each aggregated one. */
static bool set_columns(struct ambiguities *out, struct ambiguity *a, const struct stored *s)
{
    static const char *const stored_functions[] = { "sum", "avg", "min", "max" };
    struct ambiqt_record *r = &a->record;
    int plain = s->plain.n + s->number;

    if (plain + s->aggregated.n > AMBIGUITY_MAX_STORED || plain + 4 * s->aggregated.n > AMBIQT_MAX_COLUMNS)
        return false;
    for (int i = 0; i < s->plain.n; i++)
        a->stored[a->n_stored++] = strings_keep(&out->text, s->plain.items[i]);
    if (s->number)
        a->stored[a->n_stored++] = "number";
    memcpy(r->new_columns, a->stored, (size_t)plain * sizeof *a->stored);
    r->n_new_columns = plain;
    for (int i = 0; i < s->aggregated.n; i++) {
        const char *column = a->stored[a->n_stored++] = strings_keep(&out->text, s->aggregated.items[i]);
        for (int k = 0; k < ARRAY_LEN(stored_functions); k++)
            r->new_columns[r->n_new_columns++] = strings_printf(&out->text, "%s_%s", stored_functions[k], column);
    }
    a->n_plain = s->plain.n;
    a->number = s->number;
    return true;
}

/* Joins the tables and then the aggregated columns by underscores. */
static const char *table_name(struct ambiguities *out, const struct ambiguity *a)
{
    const char *name = a->tables[0];
    for (int i = 1; i < a->n_tables; i++)
        name = strings_printf(&out->text, "%s_%s", name, a->tables[i]);
    for (int i = a->n_plain + a->number; i < a->n_stored; i++)
        name = strings_printf(&out->text, "%s_%s", name, a->stored[i]);
    return strings_keep(&out->text, name);
}

static void add_aggregates_record(struct ambiguities *out, const struct ambiguate_question *q, const struct stored *s,
                                  const char *list, const char *where)
{
    struct ambiguity *a = ambiguity_add(out, q, SIA_AGGREGATE);
    struct ambiqt_record *r = &a->record;

    if (!set_tables(a, q) || !set_columns(out, a, s)) {
        out->n--;
        return;
    }
    for (int i = 0; i < a->n_tables; i++)
        a->tables[i] = strings_keep(&out->text, a->tables[i]);
    r->new_table = table_name(out, a);
    r->table = a->tables[0];
    r->key = ambiguity_key(q->schema, ambiguity_table(q->schema, r->table));
    r->key = r->key ? strings_keep(&out->text, r->key) : NULL;
    r->column = a->stored[a->n_plain + a->number];
    r->interpretations[1] = strings_printf(&out->text, "select %s from %s%s", list, r->new_table, where);
}

void ambiguate_aggregates(struct ambiguities *out, const struct ambiguate_question *q)
{
    struct stored s = { 0 };

    if (!taken(q->sql))
        return;
    const char *list = select_list(out, &s, q->sql + strlen("select "), strstr(q->sql, " from "));
    const char *where = list ? condition(out, &s, q->sql) : NULL;
    if (where && s.aggregated.n > 0)
        add_aggregates_record(out, q, &s, list, where);
    strings_release(&s.plain);
    strings_release(&s.aggregated);
}

static const char *const one_table_functions[] = { "max", "min", "avg", "sum" };

static const char *const names[] = { "max", "min", "avg", "total" };

/* Formats "max(column)" or "max_column". The caller frees it. */
static char *with_column(const char *before, const char *open, const char *column, const char *close)
{
    char *text = NULL;
    CHECK(asprintf(&text, "%s%s%s%s", before, open, column, close) >= 0, "cannot format %s", column);
    return text;
}

/* Returns the text before " from " with each aggregate of the column replaced by its name in the new table. */
static char *select_stored(const char *sql, size_t n, const char *column)
{
    char *list = strndup(sql, n);

    CHECK(list, "cannot copy %zu bytes", n);
    for (int k = 0; k < ARRAY_LEN(one_table_functions); k++) {
        char *old = with_column(one_table_functions[k], "(", column, ")"), *by = with_column(names[k], "_", column, "");
        char *next = text_replace(list, old, by);
        free(old);
        free(by);
        free(list);
        list = next;
    }
    return list;
}

static void add_one_table_record(struct ambiguities *out, const struct ambiguate_question *q, int table, int column)
{
    const char *from = strstr(q->sql, " from "), *old = q->schema->tables[table].name;
    const char *behind = from + strlen(" from ") + strlen(old);
    struct ambiguity *a = ambiguity_add(out, q, SIA_AGGREGATE);
    struct ambiqt_record *r = &a->record;

    a->one_table = true;
    r->table = strings_keep(&out->text, old);
    r->column = strings_keep(&out->text, q->schema->columns[column].name);
    r->key = strings_keep(&out->text, ambiguity_key(q->schema, table));
    r->new_table = strings_printf(&out->text, "%s_%s", r->table, r->column);
    for (int k = 0; k < ARRAY_LEN(names); k++)
        r->new_columns[r->n_new_columns++] = strings_printf(&out->text, "%s_%s", names[k], r->column);
    char *list = select_stored(q->sql, (size_t)(from - q->sql), r->column);
    r->interpretations[1] = strings_printf(&out->text, "%s from %s%s", list, r->new_table, behind);
    free(list);
}

/* Returns true if the text before `from` has an aggregate of the column. */
static bool has_aggregate(const char *sql, const char *from, const char *column)
{
    for (int k = 0; k < ARRAY_LEN(one_table_functions); k++) {
        char *call = with_column(one_table_functions[k], "(", column, ")");
        const char *p = strstr(sql, call);
        free(call);
        if (p && p < from)
            return true;
    }
    return false;
}

void ambiguate_one_table(struct ambiguities *out, const struct ambiguate_question *q)
{
    const char *from = strstr(q->sql, " from ");
    int at = ambiqt_words_find(&q->words, "from");

    if (!from || strstr(q->sql, " join ") || at < 0 || at + 1 >= q->words.n)
        return;
    int table = ambiguity_table(q->schema, q->words.items[at + 1]);
    if (table < 0 || !ambiguity_key(q->schema, table))
        return;
    const struct schema_table *t = &q->schema->tables[table];
    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (has_aggregate(q->sql, from, q->schema->columns[c].name))
            add_one_table_record(out, q, table, c);
}
