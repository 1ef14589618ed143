/* Part of ambiqt_map.h: our mapping of kind P. */
#include "data/corpora/ambiqt_text.h"
#include "data/score/ambiqt_map_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The pieces from a word up to the first of the words that may follow it, or to the end; n 0 when it is not there. */
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

/* The text of a clause without its first `skip` pieces, kept by the draft that it is written into. */
static const char *clause_text(struct draft *to, const struct draft *from, struct clause c, int skip)
{
    if (c.n <= skip)
        return "";
    const char *begin = from->pieces[c.first + skip].s;
    const struct draft_piece *last = &from->pieces[c.first + c.n - 1];
    return strings_printf(&to->text, "%.*s", (int)(last->s + last->n - begin), begin);
}

/* The gold query's own word for a column, with its alias when it has one. */
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

/* avg(avg_age), or avg(age) over a table of averages: no reading of the question. */
static bool aggregates_again(const struct draft *d)
{
    bool again = false;

    for (int i = 0; i + 1 < d->n; i++)
        for (int k = 0; k < ARRAY_LEN(aggregates); k++)
            again = again || (draft_is(d, i, aggregates[k]) && d->pieces[i + 1].s[0] == '(');
    return again;
}

/* "avg_age" is avg(age) when the new table has sum_age or any other aggregate of age; count_age is never listed. */
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

/* The new table and its alias are the gold's tables. */
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

/* Rows of the new table are the gold's groups. */
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

char *ambiqt_map_aggregate(const struct ambiqt_record *r, const char *sql)
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
