#include "data/exec/perturb.h"

#include "kernels/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROWS = 200, /* of a table that are sampled */
    FEW_ROWS = 12,   /* a table with fewer gets invented ones */
    FRESH_KEY = 1000000
};

static const double NULLS = 0.2; /* of changed cells, where that may stand */

/* A table of the original. */
struct original {
    struct exec_result rows; /* columns as in the schema */
    bool *kept;              /* [rows.n] */
    int key;                 /* its integer primary key, -1 without */
    bool keyed;              /* it has a primary key, of whatever form */
};

struct perturber {
    const struct perturb_source *source;
    struct original *tables;
    struct rng rng;
    double strength; /* how likely a cell is changed */
    FILE *out;
    int64_t fresh;
};

static bool chance(struct perturber *p, double probability)
{
    return (double)rng_uniform(&p->rng) < probability;
}

static int below(struct perturber *p, int64_t n)
{
    return (int)rng_below(&p->rng, (uint32_t)n);
}

/* A name within a statement; inside the quotes they double. */
static void write_name(FILE *f, const char *name)
{
    fputc('"', f);
    for (; *name; name++) {
        if (*name == '"')
            fputc('"', f);
        fputc(*name, f);
    }
    fputc('"', f);
}

static char *select_sql(const struct schema *s, int table)
{
    char *sql = NULL;
    size_t size;
    FILE *f = open_memstream(&sql, &size);

    CHECK(f, "cannot write to memory");
    for (int c = 0; c < s->tables[table].n_columns; c++) {
        fputs(c ? ", " : "SELECT ", f);
        write_name(f, s->columns[s->tables[table].first_column + c].name);
    }
    fputs(" FROM ", f);
    write_name(f, s->tables[table].name);
    fprintf(f, " LIMIT %d", MOST_ROWS);
    CHECK(fclose(f) == 0, "cannot write to memory");
    return sql;
}

static int find_key(const struct schema *s, int table, bool *keyed)
{
    int key = -1, n = 0;

    for (int c = 0; c < s->tables[table].n_columns; c++)
        if (s->columns[s->tables[table].first_column + c].primary) {
            key = c;
            n++;
        }
    *keyed = n > 0;
    return n == 1 ? key : -1;
}

static int read_table(struct perturber *p, int table, struct error *err)
{
    const struct schema *s = p->source->schema;
    struct original *o = &p->tables[table];

    o->key = find_key(s, table, &o->keyed);
    if (!p->source->wanted[table] || !schema_table_is_stored(s, table))
        return 0;
    char *sql = select_sql(s, table);
    o->rows = exec_run(p->source->db, sql);
    free(sql);
    if (o->rows.status != EXEC_OK)
        return error_set(err, EXIT_CODE_DATA, "table %s: %s", s->tables[table].name, o->rows.message);
    o->kept = xcalloc((size_t)o->rows.n + 1, 1);
    for (int64_t i = 0; i < o->rows.n; i++)
        o->kept[i] = i == 0 || chance(p, 1 - p->strength / 2);
    if (o->key >= 0 && o->rows.n && o->rows.cells[o->key].type != CELL_INTEGER)
        o->key = -1;
    return 0;
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

static void write_cell(FILE *f, const struct cell *c)
{
    switch (c->type) {
    case CELL_NULL:
        fputs("NULL", f);
        break;
    case CELL_INTEGER:
        fprintf(f, "%lld", (long long)c->integer);
        break;
    case CELL_REAL:
        fprintf(f, isinf(c->real) ? (c->real > 0 ? "9e999" : "-9e999") : "%.17g", c->real);
        break;
    default:
        write_bytes(f, c);
    }
}

/* A literal of the statements for a column of numbers or of texts; false when there is none. */
static bool write_literal(struct perturber *p, bool number)
{
    const struct strings *literals = p->source->literals;
    int first = literals->n ? below(p, literals->n) : 0;

    for (int k = 0; k < literals->n; k++) {
        const char *text = literals->items[(first + k) % literals->n];
        if ((*text != '\'') != number)
            continue;
        fputs(text, p->out);
        if (number)
            fprintf(p->out, "%+d", below(p, 3) - 1);
        return true;
    }
    return false;
}

static void write_changed(FILE *f, const struct cell *c, bool number, int by)
{
    if (number) {
        write_cell(f, c);
        fprintf(f, "%+d", by);
    } else {
        write_bytes(f, c);
        fputs("||'_'", f);
    }
}

static bool is_number(const struct schema_column *column, const struct cell *c)
{
    if (c && c->type != CELL_NULL)
        return c->type == CELL_INTEGER || c->type == CELL_REAL;
    return column->type == COLUMN_NUMBER;
}

/* The column that a column refers to, when that table's rows are there; -1 without. */
static int referenced(const struct perturber *p, int column)
{
    const struct schema *s = p->source->schema;

    for (int k = 0; k < s->n_foreign_keys; k++) {
        int to = s->foreign_keys[k].to;
        if (s->foreign_keys[k].from == column && p->tables[s->columns[to].table].rows.n)
            return to;
    }
    return -1;
}

/* A value of the referenced column in a row that is kept, or in any row when none of some is. */
static const struct cell *reference(struct perturber *p, int to)
{
    const struct schema *s = p->source->schema;
    const struct original *o = &p->tables[s->columns[to].table];
    int64_t row = 0;

    for (int tries = 0; tries < 8; tries++) {
        row = below(p, o->rows.n);
        if (o->kept[row])
            break;
    }
    return &o->rows.cells[row * o->rows.columns + (to - s->tables[s->columns[to].table].first_column)];
}

static void write_invented(struct perturber *p, const struct schema_column *column)
{
    static const char *const words[] = { "'a'", "'b'", "'c'", "'d'" };
    bool number = is_number(column, NULL);

    if (chance(p, 0.5) && write_literal(p, number))
        return;
    if (chance(p, NULLS))
        fputs("NULL", p->out);
    else if (number)
        fprintf(p->out, "%d", below(p, 20));
    else
        fputs(words[below(p, ARRAY_LEN(words))], p->out);
}

/* A cell that changes; c is what it was. */
static void write_other(struct perturber *p, const struct original *o, const struct schema_column *column, int place,
                        const struct cell *c)
{
    bool number = is_number(column, c);

    if (chance(p, NULLS))
        fputs("NULL", p->out);
    else if (chance(p, 0.3) && write_literal(p, number))
        return;
    else if (chance(p, 0.15) && c->type != CELL_NULL && c->type != CELL_BLOB)
        write_changed(p->out, c, number, chance(p, 0.5) ? 1 : -1);
    else
        write_cell(p->out, &o->rows.cells[below(p, o->rows.n) * o->rows.columns + place]);
}

/* How a row is written: changed, under a new key too, or as it was. */
enum manner { CHANGED, AGAIN, PLAIN };

/* row -1 is an invented one. */
static void write_value(struct perturber *p, int table, int place, int64_t row, enum manner manner)
{
    const struct schema *s = p->source->schema;
    const struct original *o = &p->tables[table];
    int number = s->tables[table].first_column + place, to = referenced(p, number);
    const struct schema_column *column = &s->columns[number];
    const struct cell *c = row < 0 ? NULL : &o->rows.cells[row * o->rows.columns + place];

    if (manner != PLAIN && to >= 0 && (!c || chance(p, p->strength)))
        write_cell(p->out, reference(p, to));
    else if (place == o->key && (!c || manner == AGAIN))
        fprintf(p->out, "%lld", (long long)++p->fresh);
    else if (!c)
        write_invented(p, column);
    else if (manner != PLAIN && !column->primary && chance(p, p->strength))
        write_other(p, o, column, place, c);
    else
        write_cell(p->out, c);
}

static void write_row(struct perturber *p, int table, int64_t row, enum manner manner)
{
    fputs("INSERT OR IGNORE INTO ", p->out);
    write_name(p->out, p->source->schema->tables[table].name);
    fputs(" (", p->out);
    for (int c = 0; c < p->source->schema->tables[table].n_columns; c++) {
        fputs(c ? ", " : "", p->out);
        write_name(p->out, p->source->schema->columns[p->source->schema->tables[table].first_column + c].name);
    }
    fputs(") VALUES (", p->out);
    for (int c = 0; c < p->source->schema->tables[table].n_columns; c++) {
        fputs(c ? ", " : "", p->out);
        write_value(p, table, c, row, manner);
    }
    fputs(");\n", p->out);
}

static void write_rows(struct perturber *p, int table)
{
    const struct original *o = &p->tables[table];
    int written = 0;

    for (int64_t row = 0; row < o->rows.n; row++) {
        if (!o->kept[row])
            continue;
        write_row(p, table, row, CHANGED);
        if (o->keyed)
            write_row(p, table, row, PLAIN); /* stays out unless the changed one was not let in */
        written++;
        if ((o->key >= 0 || !o->keyed) && chance(p, 0.15))
            write_row(p, table, row, AGAIN);
    }
    for (; p->source->wanted[table] && schema_table_is_stored(p->source->schema, table) && written < FEW_ROWS;
         written++)
        write_row(p, table, -1, CHANGED);
}

/* CREATE TABLE as the original has it. */
static int write_definitions(struct perturber *p, struct error *err)
{
    struct exec_result r = exec_run(p->source->db, "SELECT name, sql FROM sqlite_schema WHERE type = 'table'");
    int rc = 0;

    if (r.status != EXEC_OK)
        rc = error_set(err, EXIT_CODE_DATA, "its tables: %s", r.message);
    for (int64_t i = 0; i < r.n && rc == 0; i++) {
        int t = r.cells[2 * i].type == CELL_TEXT ? schema_table_find(p->source->schema, r.cells[2 * i].bytes) : -1;
        if (t >= 0 && schema_table_is_stored(p->source->schema, t) && r.cells[2 * i + 1].type == CELL_TEXT)
            fprintf(p->out, "%s;\n", r.cells[2 * i + 1].bytes);
    }
    exec_result_release(&r);
    return rc;
}

static int write_all(struct perturber *p, struct error *err)
{
    int n = p->source->schema->n_tables, rc = 0;

    for (int t = 0; t < n && rc == 0; t++)
        rc = read_table(p, t, err);
    if (rc == 0)
        rc = write_definitions(p, err);
    fputs("BEGIN;\n", p->out);
    for (int t = 0; t < n && rc == 0; t++)
        write_rows(p, t);
    fputs("COMMIT;\n", p->out);
    return rc;
}

char *perturb_script(const struct perturb_source *source, uint64_t seed, int copy, int copies, struct error *err)
{
    char *script = NULL;
    size_t size;
    struct perturber p = { .source = source,
                           .tables = xcalloc((size_t)source->schema->n_tables + 1, sizeof *p.tables),
                           .rng = { seed, (uint64_t)copy << 40 },
                           .strength = (copy + 1.0) / (copies + 1),
                           .out = open_memstream(&script, &size),
                           .fresh = FRESH_KEY };

    CHECK(p.out, "cannot write to memory");
    int rc = write_all(&p, err);
    CHECK(fclose(p.out) == 0, "cannot write to memory");
    for (int t = 0; t < source->schema->n_tables; t++) {
        exec_result_release(&p.tables[t].rows);
        free(p.tables[t].kept);
    }
    free(p.tables);
    if (rc == 0)
        return script;
    free(script);
    return NULL;
}
