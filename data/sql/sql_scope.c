/* Looking names up in one FROM clause. */
#include "data/sql/sql_scope.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *sql_source_name(const struct sql_source *s)
{
    return s->alias.text ? s->alias.text : s->name.text ? s->name.text : "";
}

int sql_source_size(const struct sql_resolver *r, const struct sql_source *s)
{
    return s->table >= 0 ? r->schema->tables[s->table].n_columns : s->n_outputs;
}

struct sql_output sql_source_output(const struct sql_resolver *r, const struct sql_source *s, int i)
{
    if (s->table < 0)
        return s->outputs[i];
    int column = r->schema->tables[s->table].first_column + i;
    const char *name = r->schema->columns[column].name;
    return (struct sql_output){ .name = name, .printed = name, .column = column };
}

static bool has_name(const struct sql_name *names, const char *name)
{
    for (const struct sql_name *n = names; n; n = n->next)
        if (strcasecmp(n->text, name) == 0)
            return true;
    return false;
}

/* Whether a qualifier means that source: its alias hides the table's own name. */
static bool is_qualified(const struct sql_source *s, const struct sql_name *schema, const struct sql_name *table)
{
    if (schema && (s->alias.text || s->kind != SQL_SOURCE_TABLE || strcasecmp(schema->text, "main") != 0))
        return false;
    return strcasecmp(sql_source_name(s), table->text) == 0;
}

static void find_in_source(struct sql_resolver *r, struct sql_source *s, const struct sql_name *schema,
                           const struct sql_name *table, const char *name, struct sql_match *m)
{
    int n = sql_source_size(r, s);

    if (table && !is_qualified(s, schema, table))
        return;
    r->work += n;
    for (int i = 0; i < n; i++) {
        struct sql_output column = sql_source_output(r, s, i);
        if (strcasecmp(column.name, name) == 0) {
            *m = (struct sql_match){ .source = s, .column = column, .count = 1 };
            return;
        }
    }
    const char *hidden = s->table >= 0 ? schema_hidden_column(r->schema, s->table, name) : NULL;
    if (hidden)
        *m = (struct sql_match){ s, { hidden, hidden, .column = -1, .hidden = true }, 1, NULL };
}

/* The tables of a group can be named, and its alias too when they lead nowhere. */
static void find_in_group(struct sql_resolver *r, struct sql_source *s, const struct sql_name *schema,
                          const struct sql_name *table, const char *name, struct sql_match *m)
{
    sql_find_column(r, s->group, schema, table, name, m);
    if (m->count == 0 && table && s->alias.text)
        find_in_source(r, s, schema, table, name, m);
}

/* A column joined by USING counts once: the left one, of a RIGHT JOIN the right one. */
void sql_find_column(struct sql_resolver *r, struct sql_source *list, const struct sql_name *schema,
                     const struct sql_name *table, const char *name, struct sql_match *m)
{
    *m = (struct sql_match){ 0 };
    for (struct sql_source *s = list; s; s = s->next) {
        struct sql_match found = { 0 };
        if (s->kind == SQL_SOURCE_GROUP)
            find_in_group(r, s, schema, table, name, &found);
        else
            find_in_source(r, s, schema, table, name, &found);
        if (found.count == 0)
            continue;
        if (m->count == 0 || (s->join == SQL_JOIN_RIGHT && has_name(s->joined, name))) {
            *m = found;
        } else if (!has_name(s->joined, name)) {
            m->second = found.source;
            m->count += found.count;
        }
    }
}

struct sql_source *sql_find_source(struct sql_source *list, const char *table, struct sql_source *after)
{
    int behind = after ? after->span.begin : -1;

    for (struct sql_source *s = list; s; s = s->next) {
        struct sql_source *inner = s->kind == SQL_SOURCE_GROUP ? sql_find_source(s->group, table, after) : NULL;
        if (inner)
            return inner;
        if (s->kind != SQL_SOURCE_GROUP && s->span.begin > behind && strcasecmp(sql_source_name(s), table) == 0)
            return s;
    }
    return NULL;
}

static int each_of(struct sql_resolver *r, const struct sql_source *s, bool all, sql_column_fn *fn, void *context)
{
    int n = sql_source_size(r, s);

    r->work += n;
    for (int i = 0; i < n; i++) {
        struct sql_output column = sql_source_output(r, s, i);
        if (!column.hidden && (all || !has_name(s->joined, column.name)) && fn(context, column))
            return -1;
    }
    return 0;
}

int sql_each_column(struct sql_resolver *r, struct sql_source *list, const char *table, sql_column_fn *fn,
                    void *context)
{
    int sources = 0;

    for (struct sql_source *s = table ? sql_find_source(list, table, NULL) : list; s; sources++) {
        if (each_of(r, s, table, fn, context))
            return -1;
        s = table ? sql_find_source(list, table, s) : s->next;
    }
    return sources;
}

void sql_list_sources(char *text, size_t size, const struct sql_source *list)
{
    size_t n = strlen(text);

    for (const struct sql_source *s = list; s && n < size - 1; s = s->next, n = strlen(text)) {
        if (n)
            n += (size_t)snprintf(text + n, size - n, ", ");
        if (n >= size - 1)
            return;
        if (s->kind == SQL_SOURCE_GROUP)
            sql_list_sources(text, size, s->group);
        else if (s->alias.text && s->name.text)
            snprintf(text + n, size - n, "%s (%s)", s->alias.text, s->name.text);
        else
            snprintf(text + n, size - n, "%s",
                     s->kind == SQL_SOURCE_SELECT && !s->alias.text ? "(SELECT ...)" : sql_source_name(s));
    }
}
