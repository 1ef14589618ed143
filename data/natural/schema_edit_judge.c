/* Part of schema_edit.h: what a question is on an edited schema, and its SQL there. */
#include "data/natural/schema_edit_impl.h"

#include "data/rewrite/sql_exchange.h"

#include <stdlib.h>
#include <string.h>

/* A name that is only compared with a value is mostly not the name that the question says. */
static bool mention_is_another(const struct edit_database *d, const struct edit_question *q, const struct edit *e)
{
    static const char *const names[] = { "name", "title" };

    if (e->column < 0 || q->uses[d->schema->n_tables + e->column] != USE_COMPARED)
        return false;
    for (int i = 0; i < ARRAY_LEN(names); i++)
        if (strstr(e->head, names[i]))
            return true;
    return false;
}

static bool uses_element(const struct edit_database *d, const struct edit_question *q, const struct edit *e)
{
    return e->column < 0 ? q->uses[e->table] : q->uses[d->schema->n_tables + e->column];
}

/* Both edits give the same element the same two names. */
static bool same_members(const struct edit *a, const struct edit *b)
{
    return a->table == b->table && a->column == b->column && strcmp(a->names[0], b->names[0]) == 0 &&
           strcmp(a->names[1], b->names[1]) == 0;
}

/* The question names the table by its last word. */
static bool names_table(const struct edit_database *d, const struct edit_question *q, int table)
{
    const char *words = d->schema->tables[table].text, *space = strrchr(words, ' ');

    return edit_mentions(q->text, space ? space + 1 : words, NULL) > 0;
}

/* New elements stand in other tables: a question that names its own table is as clear as before. */
static enum edit_label judge_guest(const struct edit_database *d, const struct edit_question *q, const struct edit *e)
{
    const enum edit_use *uses = q->uses;

    if (e->type == EDIT_STORED)
        return uses[e->table] && (uses[e->other] || strstr(q->text, "otal") || strstr(q->text, "umber")) ? EDIT_UNKNOWN
                                                                                                         : EDIT_CLEAR;
    if (!uses_element(d, q, e))
        return EDIT_CLEAR;
    bool other = e->type == EDIT_NEAR && (uses[e->other] || names_table(d, q, e->other));
    return other || !names_table(d, q, e->table) ? EDIT_UNKNOWN : EDIT_CLEAR;
}

/* One edit's say. */
static enum edit_label judge_edit(const struct edit_database *d, const struct edit_question *q, const struct edit *e)
{
    const struct edit *said = q->edit < 0 ? NULL : &d->edits[q->edit];

    if (e->type == EDIT_NEAR || e->type == EDIT_STORED || e->type == EDIT_PEOPLE)
        return judge_guest(d, q, e);
    if (!uses_element(d, q, e))
        return EDIT_CLEAR;
    if (e->type == EDIT_BESIDE || e->type == EDIT_BESIDE_TABLE)
        return edit_says_member(q->text, e) ? EDIT_UNKNOWN : EDIT_CLEAR;
    if (said && e->names[1] && said->table == e->table && said->column == e->column) {
        if (!same_members(said, e) || (e->type == EDIT_RENAMED && e->which != q->which))
            return EDIT_UNKNOWN;
        return EDIT_CLEAR;
    }
    if (mention_is_another(d, q, e) || edit_says_member(q->text, e) || edit_mentions(q->text, e->head, NULL) == 0)
        return EDIT_UNKNOWN;
    return e->type == EDIT_RENAMED ? EDIT_CLEAR : EDIT_AMBIGUOUS;
}

/* A member is said, and the schema has it. */
static bool member_stands(const struct edit_database *d, const struct edit_question *q, const struct edit_version *v)
{
    if (q->edit < 0)
        return true;
    for (int i = 0; i < d->n_edits; i++) {
        const struct edit *e = &d->edits[i];
        if (v->on[i] && e->names[1] && same_members(e, &d->edits[q->edit]) &&
            (e->type != EDIT_RENAMED || e->which == q->which))
            return true;
    }
    return false;
}

enum edit_label edit_judge(const struct edit_database *d, const struct edit_question *q, const struct edit_version *v,
                           int *edit)
{
    int n = 0;

    *edit = -1;
    if (!member_stands(d, q, v))
        return EDIT_UNKNOWN;
    for (int i = 0; i < d->n_edits; i++) {
        if (!v->on[i])
            continue;
        enum edit_label label = judge_edit(d, q, &d->edits[i]);
        if (label == EDIT_UNKNOWN || (label == EDIT_AMBIGUOUS && n++))
            return EDIT_UNKNOWN;
        if (label == EDIT_AMBIGUOUS)
            *edit = i;
    }
    return n ? EDIT_AMBIGUOUS : EDIT_CLEAR;
}

/* The question's names on the schema: of an element that it says a member of, that member's. */
static const char *rename_to(struct edit_database *d, const struct edit_question *q, const struct edit_version *v)
{
    const struct schema *s = d->schema;
    const char **tables = xmalloc(((size_t)s->n_tables + 1) * sizeof *tables);
    const char **columns = xmalloc(((size_t)s->n_columns + 1) * sizeof *columns);

    memcpy(tables, v->tables, (size_t)s->n_tables * sizeof *tables);
    memcpy(columns, v->columns, (size_t)s->n_columns * sizeof *columns);
    if (q->edit >= 0) {
        const struct edit *e = &d->edits[q->edit];
        const char *name = element_spell(&d->text, e->names[q->which], v->style);
        *(e->column < 0 ? &tables[e->table] : &columns[e->column]) = name;
    }
    const char *sql = edit_rename_sql(d, q->sql, tables, columns, &v->schema);
    free(tables);
    free(columns);
    return sql;
}

/* The two elements between which the edit leaves the question, by name and by number. */
static bool find_alternatives(struct edit_database *d, const struct edit_version *v, const struct edit *e,
                              const char *names[2], int elements[2])
{
    const char *other = element_spell(&d->text, e->names[e->type == EDIT_DETAILS ? 0 : 1], v->style);

    if (e->type == EDIT_TABLE) {
        names[0] = v->tables[e->table];
        names[1] = other;
    } else {
        const char *table = v->tables[e->table], *column = v->columns[e->column];
        bool details = e->type == EDIT_DETAILS;
        names[0] = strings_printf(&d->text, "%s.%s", table, column);
        names[1] = strings_printf(&d->text, "%s.%s", details ? other : table, details ? column : other);
    }
    for (int i = 0; i < 2; i++) {
        int table, column;
        if (example_element(&v->schema, names[i], &table, &column))
            return false;
        elements[i] = column < 0 ? table : v->schema.n_tables + column;
    }
    return true;
}

int edit_sql(struct edit_database *d, const struct edit_question *q, const struct edit_version *v, int edit,
             const char *sql[2], const char *alternatives[2])
{
    int elements[2];
    size_t mark = arena_mark(d->sql);

    alternatives[0] = alternatives[1] = NULL;
    sql[0] = rename_to(d, q, v);
    if (!sql[0] || edit < 0)
        return sql[0] ? 1 : 0;
    if (!find_alternatives(d, v, &d->edits[edit], alternatives, elements))
        return 0;
    sql[1] = sql_exchange(d->sql, sql[0], &v->schema, elements[0], elements[1], NULL);
    if (sql[1])
        sql[1] = strings_keep(&d->text, sql[1]);
    arena_reset(d->sql, mark);
    return sql[1] ? 2 : 0;
}
