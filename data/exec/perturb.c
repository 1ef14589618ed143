#include "data/exec/perturb_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void value_list_add(struct value_list *list, const char *value)
{
    GROW(list->items, list->n, list->cap);
    list->items[list->n++] = value;
}

const char *perturb_quoted(struct perturb *p, const char *name)
{
    char *quoted = xmalloc(2 * strlen(name) + 3), *to = quoted;

    *to++ = '"';
    for (; *name; name++) {
        if (*name == '"')
            *to++ = '"';
        *to++ = *name;
    }
    memcpy(to, "\"", 2);
    const char *kept = strings_keep(&p->pool, quoted);
    free(quoted);
    return kept;
}

int perturb_find_table(const struct perturb *p, const char *name)
{
    for (int t = 0; t < p->n_tables; t++)
        if (strcasecmp(p->tables[t].name, name) == 0)
            return t;
    return -1;
}

int perturb_domain(struct perturb *p, int column)
{
    while (p->columns[column].domain != column)
        column = p->columns[column].domain;
    return column;
}

void perturb_join_domains(struct perturb *p, int a, int b)
{
    p->columns[perturb_domain(p, a)].domain = perturb_domain(p, b);
}

/* Whether all that the table refers to is placed. */
static bool stands(const struct perturb *p, int table, const bool *placed)
{
    for (int k = 0; k < p->n_references; k++)
        if (p->references[k].child == table && p->references[k].parent != table && !placed[p->references[k].parent])
            return false;
    return true;
}

/* Where references run in a circle, some table comes before what it refers to. */
static void put_in_order(struct perturb *p)
{
    bool *placed = xcalloc((size_t)p->n_tables + 1, sizeof *placed);

    p->order = xcalloc((size_t)p->n_tables + 1, sizeof *p->order);
    p->place = xcalloc((size_t)p->n_tables + 1, sizeof *p->place);
    for (int n = 0; n < p->n_tables; n++) {
        int next = -1;
        for (int t = p->n_tables - 1; t >= 0; t--)
            if (!placed[t] && (next < 0 || stands(p, t, placed) || !stands(p, next, placed)))
                next = t;
        p->order[n] = next;
        p->place[next] = n;
        placed[next] = true;
    }
    free(placed);
}

/* Constants of CHECK are values that may stand in a table. */
static void read_statements(struct perturb *p, const char *const *sql, int n)
{
    for (int i = 0; i < n; i++)
        perturb_read_statement(p, sql[i]);
    for (int t = 0; t < p->n_tables; t++) {
        struct perturb_table *table = &p->tables[t];
        table->checked = !table->view && strcasestr(table->sql, "CHECK");
        if (table->wanted && (table->view || table->checked))
            perturb_read_statement(p, table->sql);
        if (table->checked)
            perturb_read_checks(p, table);
    }
}

struct perturb *perturb_open(struct exec_db *db, const char *const *sql, int n, uint64_t seed, struct error *err)
{
    struct perturb *p = xcalloc(1, sizeof *p);

    p->db = db;
    p->seed = seed;
    int rc = perturb_read_definitions(p, err);
    for (int i = 0; i < n && rc == 0; i++)
        perturb_want(p, sql[i]);
    if (rc == 0)
        rc = perturb_read_rules(p, err);
    if (rc == 0)
        rc = perturb_read_rows(p, err);
    if (rc) {
        perturb_close(p);
        return NULL;
    }
    read_statements(p, sql, n);
    perturb_find_neighbours(p);
    put_in_order(p);
    return p;
}

void perturb_close(struct perturb *p)
{
    if (!p)
        return;
    for (int t = 0; t < p->n_tables; t++)
        free(p->tables[t].rows);
    for (int c = 0; c < p->n_columns; c++) {
        free(p->columns[c].constants.items);
        free(p->columns[c].neighbours.items);
        free(p->columns[c].used.items);
        free(p->columns[c].alike.items);
    }
    free(p->tables);
    free(p->columns);
    free(p->references);
    free(p->indexes.items);
    free(p->indexed.items);
    free(p->texts.items);
    free(p->numbers.items);
    free(p->order);
    free(p->place);
    strings_release(&p->pool);
    free(p);
}
