#include "data/perturb/perturb_impl.h"

#include "data/util/real_text.h"

#include <math.h>
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

static void write_bytes(FILE *f, const struct cell *c)
{
    bool text = c->type == CELL_TEXT && !memchr(c->bytes, 0, (size_t)c->n);

    fputs(text ? "'" : c->type == CELL_TEXT ? "CAST(x'" : "x'", f);
    for (int i = 0; i < c->n; i++) {
        if (!text)
            fprintf(f, "%02x", (unsigned char)c->bytes[i]);
        else if (c->bytes[i] == '\'')
            fputs("''", f);
        else
            fputc(c->bytes[i], f);
    }
    fputs(text || c->type == CELL_BLOB ? "'" : "' AS TEXT)", f);
}

static const char *bytes_text(struct perturb *p, const struct cell *c)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "cannot write to memory");
    write_bytes(f, c);
    CHECK(fclose(f) == 0, "cannot write to memory");
    const char *kept = strings_keep(&p->pool, text);
    free(text);
    return kept;
}

const char *perturb_cell_text(struct perturb *p, const struct cell *c)
{
    char real[REAL_TEXT];

    switch (c->type) {
    case CELL_NULL:
        return strings_keep(&p->pool, "NULL");
    case CELL_INTEGER:
        return strings_printf(&p->pool, "%lld", (long long)c->integer);
    case CELL_REAL:
        if (isinf(c->real))
            return strings_keep(&p->pool, c->real > 0 ? "9e999" : "-9e999");
        return strings_keep(&p->pool, real_literal(real, c->real));
    default:
        return bytes_text(p, c);
    }
}

static int below(struct rng *rng, int n)
{
    return (int)rng_below(rng, (uint32_t)n);
}

/* Of the size of the column's own numbers and beyond them; 0 and negative ones too. */
static double fresh_number(struct rng *rng, const struct perturb_column *column)
{
    double span = column->high - column->low, wide = span > 1000 && span < 1e12 ? span : 1000;
    double base = column->low > column->high ? 0 : column->low;

    switch (below(rng, 8)) {
    case 0:
        return below(rng, 7) - 3;
    case 1:
        return -1 - below(rng, 5000);
    default:
        return rint(base - wide / 4 + rng_uniform(rng) * 2 * wide);
    }
}

/* Some words in capitals, some in small letters, some with a blank in them or at an end. */
static const char *fresh_text(struct perturb *p, struct rng *rng)
{
    static const char *const parts[] = { "ba", "co", "di", "fe", "gu", "ha", "ki", "lo",
                                         "ma", "nu", "pe", "ro", "sa", "ti", "vo", "zu" };
    char text[32];
    int n = 0, form = below(rng, 8);

    for (int i = 0; i < 2 + below(rng, 3); i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", i == 1 && form == 3 ? " " : "",
                      parts[below(rng, ARRAY_LEN(parts))]);
    for (int i = 0; i < n && form != 2; i++)
        if (text[i] != ' ' && (form == 5 || i == 0 || (form == 3 && text[i - 1] == ' ')))
            text[i] = (char)(text[i] - 'a' + 'A');
    if (form == 4)
        snprintf(text + n, sizeof text - (size_t)n, " %d", below(rng, 100));
    return strings_printf(&p->pool, "'%s%s%s'", form == 6 ? " " : "", text, form == 7 ? " " : "");
}

const char *perturb_odd(struct perturb *p, struct rng *rng, const char *value)
{
    int blanks = below(rng, 4), letters = below(rng, 4);

    if (*value != '\'')
        return value;
    char *text = xstrdup(value);
    for (char *at = text; *at; at++)
        if (letters == 0 ? *at >= 'a' && *at <= 'z' : letters == 1 && *at >= 'A' && *at <= 'Z')
            *at ^= 0x20;
    const char *kept = strings_printf(&p->pool, "'%s%.*s%s'", blanks == 0 ? " " : "", (int)strlen(text) - 2, text + 1,
                                      blanks == 1 || blanks == 2 ? " " : "");
    free(text);
    return kept;
}

static const char *fresh_time(struct perturb *p, struct rng *rng, enum family family)
{
    int year = 1985 + below(rng, 45), month = 1 + below(rng, 12), day = 1 + below(rng, 28), hour = below(rng, 24),
        minute = below(rng, 60), second = below(rng, 60);

    if (family == FAMILY_DATE)
        return strings_printf(&p->pool, "'%04d-%02d-%02d'", year, month, day);
    if (family == FAMILY_TIME)
        return strings_printf(&p->pool, "'%02d:%02d:%02d'", hour, minute, second);
    return strings_printf(&p->pool, "'%04d-%02d-%02d %02d:%02d:%02d'", year, month, day, hour, minute, second);
}

const char *perturb_fresh(struct perturb *p, struct rng *rng, const struct perturb_column *column)
{
    double number = fresh_number(rng, column);

    switch (column->family) {
    case FAMILY_INTEGER:
        return strings_printf(&p->pool, "%.0f", number);
    case FAMILY_REAL:
        return strings_printf(&p->pool, "%.4f", number + below(rng, 4) / 4.0 + (below(rng, 3) == 0) * 0.0625);
    case FAMILY_BOOLEAN:
        return strings_keep(&p->pool, below(rng, 2) ? "1" : "0");
    case FAMILY_NUMERAL:
        return strings_printf(&p->pool, "'%.0f'", number);
    case FAMILY_BLOB:
        return strings_printf(&p->pool, "x'%08x'", rng_u32(rng));
    case FAMILY_TEXT:
        return fresh_text(p, rng);
    default:
        return fresh_time(p, rng, column->family);
    }
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
