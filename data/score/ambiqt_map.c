#include "data/score/ambiqt_map_impl.h"

#include "data/corpora/ambiqt_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* A table of the query other than the altered one has a column of this name. */
static bool elsewhere(const struct draft *d, const struct schema *s, const struct ambiqt_record *r, const char *column)
{
    bool found = false;

    for (int t = 0; t < s->n_tables; t++)
        found = found || (strcasecmp(s->tables[t].name, r->table) != 0 && schema_column_find(s, t, column) >= 0 &&
                          draft_has_table(d, s->tables[t].name));
    return found;
}

/* What a name of the altered schema is called in the original one, or NULL; *touched: it is the alternative. */
static const char *original_name(const char *name, const char *old, const char *alternative, bool *touched)
{
    if (strcasecmp(name, alternative) == 0) {
        *touched = true;
        return old;
    }
    return strcasecmp(name, old) == 0 ? alternative : NULL; /* the old name is gone: nobody knows the other one */
}

/*
 * A draft in which the alternative is one name, whose new word is *alternative: synonyms like "lift-off_time" are none
 * but stand unquoted in the benchmark's own queries.
 */
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

/* The join of a table with the one split off it: pieces from `first` on, n of them; its aliases. */
struct split_join {
    int first, n;
    const char *aliases[2];
};

/* An alias at piece i, after AS or without; its word in *alias.  Returns the piece behind it. */
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

/* Behind the condition at piece i that joins on the key, or -1. */
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

/* Columns lose the prefixes that the join gave them. */
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

/* What is left of the new table is the old one, which has all its columns. */
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

/* What columns of a table are named by in the query; NULL when it is none of the query's. */
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

/* The prefix that a column should have; NULL when there is nothing to change. */
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

struct ambiqt_readings ambiqt_map(const struct ambiqt_record *r, const struct schema *s, const char *prediction)
{
    const char *sql = ambiqt_query_of(r, prediction);
    struct ambiqt_readings out = { 0 };

    for (int i = 0; i < 2 && r->kind == SIA_COLUMN; i++)
        out.sql[i] = map_column(r, s, r->names[i], sql);
    for (int i = 0; i < 2 && r->kind == SIA_TABLE; i++)
        out.sql[i] = map_table(r, r->names[i], sql);
    if (r->kind == SIA_JOIN)
        out.sql[1] = map_join(r, sql);
    if (r->kind == SIA_AGGREGATE)
        out.sql[1] = ambiqt_map_aggregate(r, sql);
    if ((r->kind == SIA_JOIN || r->kind == SIA_AGGREGATE) && !out.sql[1])
        out.sql[0] = ambiqt_normalize(sql);
    return out;
}
