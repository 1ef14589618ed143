#include "data/published/ambiqt_map.h"

#include "data/corpora/ambiqt_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The published mapping. */

/* The words of a query, and their replacements. */
struct rewrite {
    struct ambiqt_words words;
    const char **as;
    struct strings text; /* owns new words */
};

static void rewrite_start(struct rewrite *r, const char *sql, void (*split)(struct ambiqt_words *w, const char *sql))
{
    *r = (struct rewrite){ 0 };
    split(&r->words, sql);
    r->as = xcalloc((size_t)r->words.n + 1, sizeof *r->as);
    for (int i = 0; i < r->words.n; i++)
        r->as[i] = r->words.items[i];
}

/* The words separated by single blanks; the caller frees. */
static char *rewrite_finish(struct rewrite *r)
{
    size_t size = 1;

    for (int i = 0; i < r->words.n; i++)
        size += strlen(r->as[i]) + 1;
    char *out = xmalloc(size), *to = out;
    for (int i = 0; i < r->words.n; i++) {
        to = i ? mempcpy(to, " ", 1) : to;
        to = mempcpy(to, r->as[i], strlen(r->as[i]));
    }
    *to = 0;
    ambiqt_words_release(&r->words);
    strings_release(&r->text);
    free(r->as);
    return out;
}

/* f(s); frees s. */
static char *then(char *(*f)(const char *s), char *s)
{
    char *out = f(s);
    free(s);
    return out;
}

static char *replace(char *s, const char *old, const char *by)
{
    char *out = text_replace(s, old, by);
    free(s);
    return out;
}

static char *lower(const char *s)
{
    char *out = xstrdup(s);
    for (char *p = out; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return out;
}

/* The text after the last "@" without blanks around it, or all of s; the caller frees. */
static char *behind_at(const char *s)
{
    const char *at = strrchr(s, '@');
    if (!at)
        return xstrdup(s);
    for (at++; isspace((unsigned char)*at); at++)
        continue;
    size_t n = strlen(at);
    while (n && isspace((unsigned char)at[n - 1]))
        n--;
    return strndup(at, n);
}

/* A pair of names of C and T: the old one and the alternative. */
struct swap {
    char *old, *alternative;
};

static const char *swapped(const struct swap *s, const char *word)
{
    if (strcmp(word, s->alternative) == 0)
        return s->old;
    return strcmp(word, s->old) == 0 ? s->alternative : NULL;
}

static void swap_column(struct rewrite *w, int i, const struct swap *s)
{
    const char *word = w->words.items[i];
    int prefix = ambiqt_has_alias(word) ? 3 : 0;
    char *name = lower(word + prefix);
    const char *other = swapped(s, name);

    free(name);
    if (other)
        w->as[i] = strings_printf(&w->text, "%.*s%s", prefix, word, other);
}

static void swap_table(struct rewrite *w, int i, const struct swap *s)
{
    const char *word = w->words.items[i], *point = strchr(word, '.');

    if (!point || strchr(point + 1, '.')) {
        const char *other = swapped(s, word);
        w->as[i] = other ? other : word;
        return;
    }
    const char *prefix = strings_printf(&w->text, "%.*s", (int)(point - word), word);
    const char *other = swapped(s, prefix);
    if (other)
        w->as[i] = strings_printf(&w->text, "%s%s", other, prefix); /* a bug of the published program */
}

static char *map_name(const char *sql, const char *old, const char *alternative,
                      void (*swap)(struct rewrite *w, int i, const struct swap *s))
{
    struct swap s = { lower(old), lower(alternative) };
    struct rewrite w;

    char *normal = ambiqt_normalize(sql);
    rewrite_start(&w, normal, ambiqt_words_split);
    free(normal);
    for (int i = 0; i < w.words.n; i++)
        swap(&w, i, &s);
    char *out = then(ambiqt_normalize, rewrite_finish(&w)); /* normalise before the names change */
    free(s.old);
    free(s.alternative);
    return out;
}

static char *squeeze(char *s)
{
    static const char *const changes[][2] = {
        { " )", ")" },       { "( ", "(" },       { " ,", "," },       { "count (", "count(" }, { "avg (", "avg(" },
        { "sum (", "sum(" }, { "min (", "min(" }, { "max (", "max(" }, { ") ,", ")," },
    };
    for (int i = 0; i < ARRAY_LEN(changes); i++)
        s = replace(s, changes[i][0], changes[i][1]);
    return s;
}

static char *swap_join(const struct ambiqt_record *r, const char *sql)
{
    struct strings text = { 0 };
    char *table = lower(r->table), *column = lower(r->column), *s = ambiqt_normalize(sql);
    const char *joins[] = { strings_printf(&text, "%s as t1 join %s_%s as t2", table, table, column),
                            strings_printf(&text, "%s_%s as t1 join %s as t2", table, column, column) };
    const char *on[] = { strings_printf(&text, " on t1.%s = t2.%s", r->key, r->key),
                         strings_printf(&text, " on t2.%s = t1.%s", r->key, r->key) };
    struct rewrite w;

    for (int j = 0; j < 2; j++)
        for (int o = 0; o < 2; o++)
            s = replace(s, strings_printf(&text, "%s%s", joins[j], on[o]), table);
    rewrite_start(&w, s, ambiqt_words_split);
    for (int i = 0; i < w.words.n; i++)
        w.as[i] = ambiqt_without_alias(w.words.items[i]);
    free(s);
    free(table);
    free(column);
    strings_release(&text);
    return squeeze(rewrite_finish(&w));
}

/* Replacements of words in predictions of type P; the later of two entries counts. */
struct meanings {
    const char *(*items)[2];
    int n, cap;
    struct strings text;
};

static void mean(struct meanings *m, const char *word, const char *stands_for)
{
    GROW(m->items, m->n, m->cap);
    m->items[m->n][0] = word;
    m->items[m->n++][1] = stands_for;
}

static const char *meaning(const struct meanings *m, const char *word)
{
    for (int i = m->n - 1; i >= 0; i--)
        if (strcmp(m->items[i][0], word) == 0)
            return m->items[i][1];
    return NULL;
}

/* Python's s[from:to]; to -1 drops the last byte. */
static const char *slice(struct strings *text, const char *s, long from, long to)
{
    long n = (long)strlen(s);
    to = to < 0 ? n + to : to;
    return from < to ? strings_printf(text, "%.*s", (int)(to - from), s + from) : "";
}

/* The position of old in s, or -1. */
static long find(const char *s, const char *old)
{
    const char *at = strstr(s, old);
    return at ? at - s : -1;
}

static void mean_word(struct meanings *m, const char *word)
{
    const char *open = strchr(word, '('), *close = strrchr(word, ')');

    if (open) {
        const char *column = slice(&m->text, word, open - word + 1, close ? close - word : -1);
        if (strlen(column) > 2 && column[0] == 't' && column[2] == '.')
            column += 3;
        mean(m, strings_printf(&m->text, "%.*s_%s", (int)(open - word), word, column), strings_keep(&m->text, word));
    } else if (strlen(word) > 2 && word[0] == 't' && word[2] == '.') {
        mean(m, strings_keep(&m->text, word + 3), strings_keep(&m->text, word));
    }
}

static void mean_all(struct meanings *m, const char *gold, const char *new_table)
{
    static const char *const ends[] = { " where ", " group by ", " having " };
    char *normal = ambiqt_normalize(gold), *s = text_replace(normal, ",", " , ");
    long end = -1;
    struct ambiqt_words w;

    free(normal);
    for (int i = 0; i < ARRAY_LEN(ends) && end < 0; i++)
        end = find(s, ends[i]);
    if (strstr(s, "count(*)"))
        mean(m, "number", "count(*)");
    const char *from = slice(&m->text, s, find(s, " from ") + (long)strlen(" from "), end < 0 ? (long)strlen(s) : end);
    mean(m, strings_keep(&m->text, new_table), from);
    if (strstr(s, " having "))
        mean(m, "where", "having");
    ambiqt_words_split_blanks(&w, s);
    for (int i = 0; i < w.n; i++)
        mean_word(m, w.items[i]);
    ambiqt_words_release(&w);
    free(s);
}

/* The first item of the select list without a parenthesis, perhaps ""; NULL if there is none. */
static const char *plain_item(struct strings *text, const char *sql)
{
    const char *list = slice(text, sql, find(sql, "select") + (long)strlen("select"), find(sql, "from"));

    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        const char *item = p + strspn(p, " ");
        size_t n = strcspn(item, ",");
        while (n && item[n - 1] == ' ')
            n--;
        if (!memchr(item, '(', n))
            return strings_printf(text, "%.*s", (int)n, item);
    }
    return NULL;
}

/* The published program has exceptions for two queries. */
static const char *group_column(struct strings *text, const char *gold, const char *sql)
{
    static const char group[] = "group by countrycode";

    if (strstr(gold, group) && !strstr(slice(text, gold, 0, find(gold, " from")), "countrycode"))
        return "countrycode";
    if (strncmp(gold, "select language,", strlen("select language,")) == 0 && strstr(gold, group))
        return "countrycode";
    return plain_item(text, sql);
}

static char *add_group(char *sql, const char *gold)
{
    struct strings text = { 0 };
    const char *column = group_column(&text, gold, sql);
    long at = find(sql, " having ");

    if (column) {
        at = at < 0 ? (long)strlen(sql) : at;
        const char *grouped = strings_printf(&text, "%.*s group by %s%s", (int)at, sql, column, sql + at);
        free(sql);
        sql = ambiqt_normalize(grouped);
    }
    strings_release(&text);
    return sql;
}

static char *map_aggregate(const struct ambiqt_record *r, const char *sql)
{
    struct meanings m = { 0 };
    struct rewrite w;
    char *gold = ambiqt_normalize(r->original), *s = replace(ambiqt_normalize(sql), ",", " , ");

    mean_all(&m, gold, r->new_table);
    rewrite_start(&w, s, ambiqt_words_split_blanks);
    for (int i = 0; i < w.words.n; i++) {
        const char *other = meaning(&m, w.words.items[i]);
        w.as[i] = other ? other : w.words.items[i];
    }
    char *out = add_group(then(ambiqt_normalize, rewrite_finish(&w)), gold);
    free(s);
    free(gold);
    free(m.items);
    strings_release(&m.text);
    return out;
}

struct ambiqt_interpretations ambiqt_map_published(const struct ambiqt_record *r, const char *prediction)
{
    struct ambiqt_interpretations out = { 0 };

    for (int i = 0; i < 2 && r->type == SIA_COLUMN; i++)
        out.sql[i] = then(behind_at, map_name(prediction, r->column, r->names[i], swap_column));
    for (int i = 0; i < 2 && r->type == SIA_TABLE; i++)
        out.sql[i] = map_name(prediction, r->table, r->names[i], swap_table);
    if (out.sql[0])
        return out;
    out.sql[0] = behind_at(prediction);
    out.sql[1] = r->type == SIA_JOIN ? swap_join(r, out.sql[0]) : map_aggregate(r, out.sql[0]);
    return out;
}

void ambiqt_interpretations_release(struct ambiqt_interpretations *r)
{
    free(r->sql[0]);
    free(r->sql[1]);
    *r = (struct ambiqt_interpretations){ 0 };
}

/* Our mapping of type P. */

/* The pieces from a word to the first of its possible successors, or to the end; n is 0 without the word. */
struct clause {
    int first, n;
};

static struct clause find_clause(const struct draft *d, const char *word, const char *const *ends)
{
    struct clause c = { 0, 0 };

    while (c.first < d->n && !draft_is(d, c.first, word))
        c.first++;
    if (c.first == d->n)
        return c;
    for (c.n = 1; c.first + c.n < d->n; c.n++)
        for (int k = 0; ends[k]; k++)
            if (draft_is(d, c.first + c.n, ends[k]))
                return c;
    return c;
}

/* The text of a clause without its first `skip` pieces, owned by the draft `to`. */
static const char *clause_text(struct draft *to, const struct draft *from, struct clause c, int skip)
{
    if (c.n <= skip)
        return "";
    const char *begin = from->pieces[c.first + skip].s;
    const struct draft_piece *last = &from->pieces[c.first + c.n - 1];
    return strings_printf(&to->text, "%.*s", (int)(last->s + last->n - begin), begin);
}

/* The gold query's word for a column, with its alias. */
static const char *gold_column(struct draft *gold, const char *column)
{
    for (int i = 0; i < gold->n; i++) {
        const char *prefix, *name = draft_column(gold, i, &prefix);
        if (*prefix && strcasecmp(name, column) == 0)
            return gold->pieces[i].word;
    }
    return column;
}

static bool is_new_column(const struct ambiqt_record *r, const char *name)
{
    bool found = false;
    for (int i = 0; i < r->n_new_columns; i++)
        found = found || strcasecmp(r->new_columns[i], name) == 0;
    return found;
}

static const char *const aggregates[] = { "avg", "sum", "min", "max", "count" };

/* Whether a query aggregates the new table again, such as avg(avg_age). Such a query is no interpretation. */
static bool aggregates_again(const struct draft *d)
{
    bool again = false;

    for (int i = 0; i + 1 < d->n; i++)
        for (int k = 0; k < ARRAY_LEN(aggregates); k++)
            again = again || (draft_is(d, i, aggregates[k]) && d->pieces[i + 1].s[0] == '(');
    return again;
}

/* Rewrites "avg_age" to avg(age) if the new table has any aggregate of age; count_age is never listed. */
static bool write_aggregate(struct draft *d, int i, const struct ambiqt_record *r, struct draft *gold, const char *name)
{
    for (int k = 0; k < ARRAY_LEN(aggregates); k++) {
        size_t n = strlen(aggregates[k]);
        if (strncasecmp(name, aggregates[k], n) != 0 || name[n] != '_')
            continue;
        if (!is_new_column(r, name) && !is_new_column(r, strings_printf(&d->text, "sum_%s", name + n + 1)))
            continue;
        draft_write(d, i, "%s(%s)", aggregates[k], gold_column(gold, name + n + 1));
        return true;
    }
    return false;
}

static void write_column(struct draft *d, int i, const struct ambiqt_record *r, struct draft *gold)
{
    const char *prefix, *name = draft_column(d, i, &prefix);

    if (*prefix && strcasecmp(draft_table(d, prefix), r->new_table) != 0)
        return;
    if (strcasecmp(name, "number") == 0 && is_new_column(r, name))
        draft_write(d, i, "count(*)");
    else if (!write_aggregate(d, i, r, gold, name) && (*prefix || is_new_column(r, name)))
        draft_write(d, i, "%s", gold_column(gold, name));
}

/* Replaces the new table and its alias by the gold's tables. */
static int write_tables(struct draft *d, int i, const char *tables)
{
    int alias = i + 1 + draft_is(d, i + 1, "as");

    draft_write(d, i, "%s", tables);
    if (!draft_is_alias(d, alias))
        return i;
    for (int k = i + 1; k <= alias; k++)
        draft_write(d, k, "%s", "");
    return alias;
}

/* Adds the gold's GROUP BY, since rows of the new table are the gold's groups. */
static void write_group(struct draft *d, struct draft *gold)
{
    static const char *const after[] = { "having", "order", "limit", "union", "intersect", "except", NULL };
    const char *group = clause_text(d, gold, find_clause(gold, "group", after), 0);
    bool having = find_clause(gold, "having", after).n > 0;
    int at = d->n;

    if (find_clause(d, "group", after).n)
        group = "";
    for (int i = d->n - 1; i >= 0; i--)
        for (int k = 0; after[k]; k++)
            at = draft_is(d, i, after[k]) ? i : at;
    for (int i = 0; having && i < d->n; i++)
        if (draft_is(d, i, "where")) {
            draft_write(d, i, "%s having", group);
            return;
        }
    if (!*group)
        return;
    if (at < d->n)
        draft_write(d, at, "%s %s", group, d->pieces[at].word);
    else if (d->n)
        draft_write(d, d->n - 1, "%s %s",
                    d->pieces[d->n - 1].as
                        ? d->pieces[d->n - 1].as
                        : strings_printf(&d->text, "%.*s", d->pieces[d->n - 1].n, d->pieces[d->n - 1].s),
                    group);
}

/* Maps type P; NULL if the prediction is not the second interpretation. The caller frees. */
static char *ambiqt_map_aggregate(const struct ambiqt_record *r, const char *sql)
{
    static const char *const after[] = { "where", "group", "having", "order", "limit", NULL };
    struct draft d, gold;
    char *out = NULL;

    draft_init(&d, sql);
    draft_init(&gold, r->original);
    if (draft_has_table(&d, r->new_table) && !aggregates_again(&d)) {
        const char *tables = clause_text(&d, &gold, find_clause(&gold, "from", after), 1);
        for (int i = 0; i < d.n; i++) {
            if (draft_is_table(&d, i) && draft_is(&d, i, r->new_table))
                i = write_tables(&d, i, tables);
            else if (d.pieces[i].name && !draft_is_table(&d, i))
                write_column(&d, i, r, &gold);
        }
        write_group(&d, &gold);
        out = draft_finish(&d);
    }
    draft_release(&d);
    draft_release(&gold);
    return out;
}

const char *ambiqt_query_of(const struct ambiqt_record *r, const char *prediction)
{
    static const char plan[] = "selects @";
    const char *s = prediction + strspn(prediction, " \t\r\n"), *at;
    size_t n = strlen(r->db_id);

    if (strncasecmp(s, r->db_id, n) == 0 && s[n + strspn(s + n, " ")] == '|')
        s = strchr(s + n, '|') + 1;
    while ((at = strstr(s, plan)))
        s = at + strlen(plan);
    return s + strspn(s, " \t\r\n");
}

/* Whether another table of the query has a column of this name. */
static bool elsewhere(const struct draft *d, const struct schema *s, const struct ambiqt_record *r, const char *column)
{
    bool found = false;

    for (int t = 0; t < s->n_tables; t++)
        found = found || (strcasecmp(s->tables[t].name, r->table) != 0 && schema_column_find(s, t, column) >= 0 &&
                          draft_has_table(d, s->tables[t].name));
    return found;
}

/* The original name of a name of the altered schema, or NULL; *touched: it is the alternative. */
static const char *original_name(const char *name, const char *old, const char *alternative, bool *touched)
{
    if (strcasecmp(name, alternative) == 0) {
        *touched = true;
        return old;
    }
    return strcasecmp(name, old) == 0 ? alternative
                                      : NULL; /* the old name no longer exists; the alternative takes its meaning */
}

/* A draft in which the alternative is one word, returned in *alternative. Synonyms like "lift-off_time" are no
 * identifiers but are unquoted in the benchmark's own queries. */
static void draft_with(struct draft *d, const char *sql, const char **alternative)
{
    static const char stand_in[] = "the_alternative";
    struct draft name;

    draft_init(&name, *alternative);
    if (name.n < 2) {
        draft_init(d, sql);
    } else {
        char *lower = ambiqt_normalize(*alternative), *normal = ambiqt_normalize(sql);
        char *text = text_replace(normal, lower, stand_in);
        draft_init(d, text);
        free(lower);
        free(normal);
        free(text);
        *alternative = stand_in;
    }
    draft_release(&name);
}

static char *finish_if(struct draft *d, bool touched)
{
    char *sql = touched ? draft_finish(d) : NULL;
    draft_release(d);
    return sql;
}

static char *map_column(const struct ambiqt_record *r, const struct schema *s, const char *alternative, const char *sql)
{
    struct draft d;
    bool touched = false;

    draft_with(&d, sql, &alternative);
    bool present = draft_has_table(&d, r->table), shared = elsewhere(&d, s, r, r->column);
    for (int i = 0; i < d.n; i++) {
        const char *prefix, *column = draft_column(&d, i, &prefix);
        if (draft_is_table(&d, i) || draft_is(&d, i - 1, "as") || draft_is_sql(&d, i))
            continue;
        if (*prefix ? strcasecmp(draft_table(&d, prefix), r->table) != 0 : !present)
            continue;
        const char *name = original_name(column, r->column, alternative, &touched);
        if (name && !(!*prefix && shared && strcasecmp(column, r->column) == 0))
            draft_write(&d, i, "%s%s%s", prefix, *prefix ? "." : "", name);
    }
    return finish_if(&d, touched);
}

static char *map_table(const struct ambiqt_record *r, const char *alternative, const char *sql)
{
    struct draft d;
    bool touched = false;

    draft_with(&d, sql, &alternative);
    for (int i = 0; i < d.n; i++) {
        const char *prefix, *column = draft_column(&d, i, &prefix);
        const char *name = NULL;
        if (*prefix)
            name = original_name(prefix, r->table, alternative, &touched);
        else if (draft_is_table(&d, i))
            name = original_name(column, r->table, alternative, &touched);
        if (name)
            draft_write(&d, i, *prefix ? "%s.%s" : "%s", name, column);
    }
    return finish_if(&d, touched);
}

/* The join of a table with the table split from it: n pieces from `first`, and the aliases. */
struct split_join {
    int first, n;
    const char *aliases[2];
};

/* Reads an alias at piece i, with or without AS, into *alias. Returns the next piece. */
static int take_alias(const struct draft *d, int i, const char **alias)
{
    int at = i + draft_is(d, i, "as");
    *alias = draft_is_alias(d, at) ? d->pieces[at].word : "";
    return **alias ? at + 1 : i;
}

static bool is_key(struct draft *d, int i, const char *key)
{
    const char *prefix;
    return i < d->n && strcasecmp(draft_column(d, i, &prefix), key) == 0;
}

static bool is_byte(const struct draft *d, int i, char c)
{
    return i < d->n && d->pieces[i].n == 1 && d->pieces[i].s[0] == c;
}

/* The piece after the condition at piece i that joins on the key, or -1. */
static int take_condition(struct draft *d, int i, const char *key)
{
    if (draft_is(d, i, "on") && is_key(d, i + 1, key) && is_byte(d, i + 2, '=') && is_key(d, i + 3, key))
        return i + 4;
    if (draft_is(d, i, "using") && is_byte(d, i + 1, '(') && draft_is(d, i + 2, key) && is_byte(d, i + 3, ')'))
        return i + 4;
    return -1;
}

static bool find_join(struct draft *d, const struct ambiqt_record *r, int first, struct split_join *join)
{
    bool swapped = draft_is(d, first, r->new_table);

    if (!draft_is_table(d, first) || !(swapped || draft_is(d, first, r->table)))
        return false;
    int i = take_alias(d, first + 1, &join->aliases[0]);
    bool natural = draft_is(d, i, "natural");
    i += natural;
    i += draft_is(d, i, "inner");
    if (!draft_is(d, i, "join") || !draft_is(d, i + 1, swapped ? r->table : r->new_table))
        return false;
    i = take_alias(d, i + 2, &join->aliases[1]);
    i = natural ? i : take_condition(d, i, r->key);
    join->first = first;
    join->n = i - first;
    return i >= 0;
}

/* Removes the prefixes of columns that the join introduced. */
static void drop_prefixes(struct draft *d, const struct ambiqt_record *r, const struct split_join *join)
{
    const char *const gone[] = { join->aliases[0], join->aliases[1], r->table, r->new_table };

    for (int i = 0; i < d->n; i++) {
        const char *prefix, *column = draft_column(d, i, &prefix);
        for (int k = 0; k < ARRAY_LEN(gone); k++)
            if (*prefix && !d->pieces[i].as && strcasecmp(prefix, gone[k]) == 0)
                draft_write(d, i, "%s", column);
    }
}

/* Renames other uses of the new table to the old table, which has all its columns. */
static void rename_new_table(struct draft *d, const struct ambiqt_record *r)
{
    for (int i = 0; i < d->n; i++) {
        const char *prefix, *column = draft_column(d, i, &prefix);
        if (d->pieces[i].as)
            continue;
        if (draft_is_table(d, i) && draft_is(d, i, r->new_table))
            draft_write(d, i, "%s", r->table);
        else if (strcasecmp(prefix, r->new_table) == 0)
            draft_write(d, i, "%s.%s", r->table, column);
    }
}

static char *map_join(const struct ambiqt_record *r, const char *sql)
{
    struct draft d;
    struct split_join join;

    draft_init(&d, sql);
    bool touched = draft_has_table(&d, r->new_table);
    for (int i = 0; i < d.n; i++) {
        if (!find_join(&d, r, i, &join))
            continue;
        draft_write(&d, i, "%s", r->table);
        for (int k = 1; k < join.n; k++)
            draft_write(&d, i + k, "%s", "");
        drop_prefixes(&d, r, &join);
        i += join.n - 1;
    }
    rename_new_table(&d, r);
    return finish_if(&d, touched);
}

/* The prefix of columns of a table in the query, or NULL if the query does not use it. */
static const char *qualifier(const struct draft *d, const char *table)
{
    const char *alias;

    for (int i = 0; i < d->n; i++)
        if (draft_is_table(d, i) && draft_is(d, i, table)) {
            take_alias(d, i + 1, &alias);
            return *alias ? alias : table;
        }
    return NULL;
}

static bool has_column(const struct schema *s, const char *table, const char *column)
{
    int t = schema_table_find(s, table);
    return t >= 0 && schema_column_find(s, t, column) >= 0;
}

/* The correct prefix of a column, or NULL if it need not change. */
static const char *better_prefix(const struct draft *d, const struct ambiqt_record *r, const struct schema *s,
                                 const char *prefix, const char *column)
{
    if (!*prefix) {
        bool both = has_column(s, r->table, column) && has_column(s, r->new_table, column);
        return both && draft_has_table(d, r->table) ? qualifier(d, r->new_table) : NULL;
    }
    const char *table = draft_table(d, prefix), *found = NULL;
    if (schema_table_find(s, table) < 0 || has_column(s, table, column))
        return NULL;
    for (int t = 0; t < s->n_tables && !found; t++)
        if (schema_column_find(s, t, column) >= 0)
            found = qualifier(d, s->tables[t].name);
    return found;
}

char *ambiqt_qualify(const struct ambiqt_record *r, const struct schema *altered, const char *sql)
{
    struct draft d;

    draft_init(&d, sql);
    for (int i = 0; i < d.n; i++) {
        const char *prefix, *column = draft_column(&d, i, &prefix);
        if (draft_is_table(&d, i) || draft_is(&d, i - 1, "as") || draft_is_sql(&d, i))
            continue;
        const char *better = better_prefix(&d, r, altered, prefix, column);
        if (better)
            draft_write(&d, i, "%s.%s", better, column);
    }
    char *out = draft_finish(&d);
    draft_release(&d);
    return out;
}

struct ambiqt_interpretations ambiqt_map(const struct ambiqt_record *r, const struct schema *s, const char *prediction)
{
    const char *sql = ambiqt_query_of(r, prediction);
    struct ambiqt_interpretations out = { 0 };

    for (int i = 0; i < 2 && r->type == SIA_COLUMN; i++)
        out.sql[i] = map_column(r, s, r->names[i], sql);
    for (int i = 0; i < 2 && r->type == SIA_TABLE; i++)
        out.sql[i] = map_table(r, r->names[i], sql);
    if (r->type == SIA_JOIN)
        out.sql[1] = map_join(r, sql);
    if (r->type == SIA_AGGREGATE)
        out.sql[1] = ambiqt_map_aggregate(r, sql);
    if ((r->type == SIA_JOIN || r->type == SIA_AGGREGATE) && !out.sql[1])
        out.sql[0] = ambiqt_normalize(sql);
    return out;
}
