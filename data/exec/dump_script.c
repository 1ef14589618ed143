/* Part of dump.h: the repaired script. */
#include "data/exec/dump_impl.h"

#include <stdlib.h>
#include <strings.h>

struct dump_column *dump_find_column(const struct dump_table *t, const char *name)
{
    for (int i = 0; i < t->n; i++)
        if (strcasecmp(t->columns[i].name, name) == 0)
            return &t->columns[i];
    return NULL;
}

void dump_add_column(struct dump_table *t, struct dump_column c)
{
    if (dump_find_column(t, c.name))
        return;
    GROW(t->columns, t->n, t->cap);
    t->columns[t->n++] = c;
}

void dump_put_name(struct dump *d, const char *name)
{
    putc('"', d->out);
    for (; *name; name++) {
        if (*name == '"')
            putc('"', d->out);
        putc(*name, d->out);
    }
    putc('"', d->out);
}

void dump_put_span(struct dump *d, struct sql_span s)
{
    if (s.end > s.begin)
        fprintf(d->out, " %.*s", s.end - s.begin, d->text + s.begin);
}

static void add_lost_columns(struct dump *d, struct dump_table *t)
{
    for (int k = 0; k < t->n_keys && !t->rows; k++)
        for (int i = 0; i < t->keys[k].n; i++)
            dump_add_column(t, (struct dump_column){ .name = d->names[t->keys[k].first + i] });
}

static void put_column(struct dump *d, const struct dump_column *c, bool *primary)
{
    dump_put_name(d, c->name);
    dump_put_span(d, c->type);
    if (c->lost && c->integers && !c->others)
        fputs(" INTEGER", d->out);
    dump_put_span(d, c->collation);
    if (c->primary && !*primary)
        fputs(" PRIMARY KEY", d->out);
    if (c->unique)
        fputs(" UNIQUE", d->out);
    *primary |= c->primary;
}

/* One whose columns are not all there says nothing that could be kept. */
static bool is_whole(const struct dump *d, const struct dump_table *t, struct dump_key key)
{
    for (int i = 0; i < key.n; i++)
        if (!dump_find_column(t, d->names[key.first + i]))
            return false;
    return key.n > 0 && key.kind != KEY_FOREIGN;
}

static void put_key(struct dump *d, struct dump_key key)
{
    fputs(key.kind == KEY_PRIMARY ? ", PRIMARY KEY (" : ", UNIQUE (", d->out);
    for (int i = 0; i < key.n; i++) {
        fputs(i ? ", " : "", d->out);
        dump_put_name(d, d->names[key.first + i]);
    }
    putc(')', d->out);
}

static void put_table(struct dump *d, struct dump_table *t)
{
    bool primary = false;
    add_lost_columns(d, t);
    if (t->n == 0)
        return;
    fputs("CREATE TABLE ", d->out);
    dump_put_name(d, t->name);
    fputs(" (", d->out);
    for (int i = 0; i < t->n; i++) {
        fputs(i ? ", " : "", d->out);
        put_column(d, &t->columns[i], &primary);
    }
    for (int k = 0; k < t->n_keys; k++)
        if (is_whole(d, t, t->keys[k]) && !(primary && t->keys[k].kind == KEY_PRIMARY)) {
            put_key(d, t->keys[k]);
            primary |= t->keys[k].kind == KEY_PRIMARY;
        }
    fputs(");\n", d->out);
}

void dump_put_tables(struct dump *d)
{
    for (int i = 0; i < d->n; i++)
        put_table(d, &d->tables[i]);
}
