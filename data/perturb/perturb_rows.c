/* Part of perturb.h: the rows of the original, what its columns hold, and what is near the constants of statements. */
#include "data/perturb/perturb_impl.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_ROWS = 100 /* of a table that are sampled */ };

static struct exec_result run(struct perturb *p, char *sql)
{
    struct exec_result r = exec_run(p->db, sql);
    free(sql);
    return r;
}

static char *finish(FILE *f, char **text)
{
    CHECK(fclose(f) == 0, "cannot write to memory");
    return *text;
}

static char *select_sql(struct perturb *p, const struct perturb_table *t)
{
    char *sql = NULL;
    size_t size;
    FILE *f = open_memstream(&sql, &size);

    CHECK(f, "cannot write to memory");
    for (int c = 0; c < t->n_columns; c++)
        fprintf(f, "%s%s", c ? ", " : "SELECT ", perturb_quoted(p, p->columns[t->first_column + c].name));
    fprintf(f, " FROM %s LIMIT %d", perturb_quoted(p, t->name), MOST_ROWS);
    return finish(f, &sql);
}

/* What the values of a column are like. */
struct census {
    int integers, reals, numerals, dates, datetimes, times, texts, blobs;
};

/* Digits stand for d in the shape; all of the text has it. */
static bool shaped(const struct cell *c, const char *shape)
{
    int i = 0;

    for (; i < c->n && shape[i]; i++)
        if (shape[i] == 'd' ? !isdigit((unsigned char)c->bytes[i]) : shape[i] != c->bytes[i])
            return false;
    return !shape[i] && i == c->n;
}

static bool is_numeral(const struct cell *c)
{
    char *end;

    if (c->n == 0 || c->n > 30 || !strpbrk(c->bytes, "0123456789"))
        return false;
    strtod(c->bytes, &end);
    return end == c->bytes + c->n && !isspace((unsigned char)*c->bytes);
}

static void count_text(struct census *n, const struct cell *c)
{
    if (shaped(c, "dddd-dd-dd"))
        n->dates++;
    else if (shaped(c, "dddd-dd-dd dd:dd:dd"))
        n->datetimes++;
    else if (shaped(c, "dd:dd:dd"))
        n->times++;
    else if (is_numeral(c))
        n->numerals++;
    else
        n->texts++;
}

static void count_cell(struct census *n, struct perturb_column *column, const struct cell *c)
{
    double x = c->type == CELL_INTEGER ? (double)c->integer : c->type == CELL_REAL ? c->real : 0;

    n->integers += c->type == CELL_INTEGER;
    n->reals += c->type == CELL_REAL;
    n->blobs += c->type == CELL_BLOB;
    if (c->type == CELL_TEXT)
        count_text(n, c);
    if (c->type == CELL_TEXT && is_numeral(c))
        x = strtod(c->bytes, NULL);
    if (c->type != CELL_NULL && isfinite(x)) {
        column->low = fmin(column->low, x);
        column->high = fmax(column->high, x);
    }
}

/* By the declared type, as SQLite reads it, and by what people write there. */
static enum family declared_family(const char *type)
{
    static const struct {
        const char *word;
        enum family family;
    } words[] = {
        { "BOOL", FAMILY_BOOLEAN },       { "INT", FAMILY_INTEGER }, { "DATETIME", FAMILY_DATETIME },
        { "TIMESTAMP", FAMILY_DATETIME }, { "DATE", FAMILY_DATE },   { "TIME", FAMILY_TIME },
        { "CHAR", FAMILY_TEXT },          { "TEXT", FAMILY_TEXT },   { "CLOB", FAMILY_TEXT },
        { "STRING", FAMILY_TEXT },        { "BLOB", FAMILY_BLOB },   { "YEAR", FAMILY_INTEGER },
        { "BIT", FAMILY_INTEGER },
    };

    for (int i = 0; i < ARRAY_LEN(words); i++)
        if (strcasestr(type, words[i].word))
            return words[i].family;
    return *type ? FAMILY_REAL : FAMILY_INTEGER;
}

static enum family family_of(const struct census *n, const char *type)
{
    int numbers = n->integers + n->reals, texts = n->numerals + n->dates + n->datetimes + n->times + n->texts;

    if (strcasestr(type, "BOOL") && texts + n->reals + n->blobs == 0)
        return FAMILY_BOOLEAN;
    if (numbers + texts + n->blobs == 0)
        return declared_family(type);
    if (n->blobs > numbers + texts)
        return FAMILY_BLOB;
    if (numbers > texts)
        return n->reals ? FAMILY_REAL : FAMILY_INTEGER;
    if (n->texts)
        return FAMILY_TEXT;
    if (n->datetimes)
        return FAMILY_DATETIME;
    return n->dates ? FAMILY_DATE : n->times ? FAMILY_TIME : FAMILY_NUMERAL;
}

static void keep_rows(struct perturb *p, struct perturb_table *t, const struct exec_result *r)
{
    t->n_rows = (int)r->n;
    t->rows = xcalloc((size_t)(r->n * t->n_columns) + 1, sizeof *t->rows);
    for (int c = 0; c < t->n_columns; c++) {
        struct perturb_column *column = &p->columns[t->first_column + c];
        struct census census = { 0 };
        column->low = INFINITY;
        column->high = -INFINITY;
        for (int64_t i = 0; i < r->n; i++) {
            const struct cell *cell = &r->cells[i * t->n_columns + c];
            count_cell(&census, column, cell);
            t->rows[i * t->n_columns + c] = perturb_cell_text(p, cell);
        }
        column->family = family_of(&census, column->type);
    }
}

/* Whether the sampled rows of the child all have a partner. */
static bool holds(struct perturb *p, const struct perturb_reference *r)
{
    char *sql = NULL;
    size_t size;
    FILE *f = open_memstream(&sql, &size);

    CHECK(f, "cannot write to memory");
    fprintf(f, "SELECT 1 FROM (SELECT * FROM %s LIMIT %d) AS c WHERE NOT EXISTS (SELECT 1 FROM %s AS p WHERE ",
            perturb_quoted(p, p->tables[r->child].name), MOST_ROWS, perturb_quoted(p, p->tables[r->parent].name));
    for (int i = 0; i < r->n; i++)
        fprintf(f, "%sp.%s = c.%s", i ? " AND " : "", perturb_quoted(p, p->columns[r->to[i]].name),
                perturb_quoted(p, p->columns[r->from[i]].name));
    fputs(")", f);
    for (int i = 0; i < r->n; i++)
        fprintf(f, " AND c.%s IS NOT NULL", perturb_quoted(p, p->columns[r->from[i]].name));
    fputs(" LIMIT 1", f);
    struct exec_result orphans = run(p, finish(f, &sql));
    bool holds = orphans.status != EXEC_OK || orphans.n == 0;
    exec_result_release(&orphans);
    return holds;
}

/* A reference that the original does not keep is a comparison like any other. */
static void keep_references(struct perturb *p)
{
    int kept = 0;

    for (int k = 0; k < p->n_references; k++) {
        struct perturb_reference r = p->references[k];
        for (int i = 0; i < r.n; i++)
            perturb_join_domains(p, r.from[i], r.to[i]);
        if (holds(p, &r))
            p->references[kept++] = r;
    }
    p->n_references = kept;
}

int perturb_read_rows(struct perturb *p, struct error *err)
{
    for (int t = 0; t < p->n_tables; t++) {
        struct perturb_table *table = &p->tables[t];
        if (!table->n_columns)
            continue;
        struct exec_result r = run(p, select_sql(p, table));
        int rc = r.status == EXEC_OK ? 0 : error_set(err, EXIT_CODE_DATA, "table %s: %s", table->name, r.message);
        if (rc == 0)
            keep_rows(p, table, &r);
        exec_result_release(&r);
        if (rc)
            return -1;
    }
    keep_references(p);
    return 0;
}

/* What is made of a constant @ for a column, in SQLite's own words. */
struct nearness {
    bool exact;
    const char *sql;
};

static const struct nearness integers[] = { { true, "CAST(CAST(@ AS REAL) AS INTEGER)" },
                                            { false, "CAST(CAST(@ AS REAL) AS INTEGER) + 1" },
                                            { false, "CAST(CAST(@ AS REAL) AS INTEGER) - 1" },
                                            { false, "-CAST(CAST(@ AS REAL) AS INTEGER)" },
                                            { false, NULL } };
static const struct nearness reals[] = { { true, "CAST(@ AS REAL)" },
                                         { false, "CAST(@ AS REAL) + 1" },
                                         { false, "CAST(@ AS REAL) - 1" },
                                         { false, "-CAST(@ AS REAL)" },
                                         { false, "CAST(@ AS REAL) + 0.25" },
                                         { false, "CAST(@ AS REAL) - 0.25" },
                                         { false, NULL } };
static const struct nearness booleans[] = { { true, "CAST(@ AS REAL) <> 0" }, { false, NULL } };
static const struct nearness texts[] = { { true, "CAST(@ AS TEXT)" },
                                         { false, "upper(@)" },
                                         { false, "lower(@)" },
                                         { false, "upper(substr(@, 1, 1)) || lower(substr(@, 2))" },
                                         { false, "@ || 's'" },
                                         { false, "'a ' || @" },
                                         { false, "' ' || @" },
                                         { false, "@ || ' '" },
                                         { false, "substr(@, 1, length(@) - 1)" },
                                         { false, NULL } };
static const struct nearness numerals[] = { { true, "CAST(@ AS TEXT)" },
                                            { false, "CAST(CAST(@ AS INTEGER) + 1 AS TEXT)" },
                                            { false, "CAST(CAST(@ AS INTEGER) - 1 AS TEXT)" },
                                            { false, "@ || '0'" },
                                            { false, NULL } };
/* a year, a month of a year or a day; then a month or day alone */
#define DAY "substr(@ || '-01-01', 1, 10)"
#define ALONE "substr('0' || @, -2)"
static const struct nearness dates[] = { { true, "date(" DAY ")" },
                                         { false, "date(" DAY ", '-1 day')" },
                                         { false, "date(" DAY ", '+1 day')" },
                                         { false, "date(" DAY ", '+1 month', '-1 day')" },
                                         { false, "date(" DAY ", '+1 year', '-1 day')" },
                                         { false, "date(" DAY ", '+1 year')" },
                                         { false, "date('2016-' || " ALONE " || '-17')" },
                                         { false, "date('2016-07-' || " ALONE ")" },
                                         { false, NULL } };
static const struct nearness datetimes[] = { { true, "datetime(" DAY ")" },
                                             { true, "datetime(@)" },
                                             { false, "datetime(@, '-1 second')" },
                                             { false, "datetime(@, '+1 second')" },
                                             { false, "datetime(" DAY ", '+10 hours')" },
                                             { false, "datetime(" DAY ", '+1 day')" },
                                             { false, "datetime(" DAY ", '-1 second')" },
                                             { false, "datetime(" DAY ", '+1 year', '-1 second')" },
                                             { false, "datetime(" DAY ", '+1 year')" },
                                             { false, "datetime('2016-' || " ALONE " || '-17 11:12:13')" },
                                             { false, "datetime('2016-07-' || " ALONE " || ' 11:12:13')" },
                                             { false, NULL } };
/* a number beside dates: so far apart they may be */
#define APART(function, unit)                                                                                          \
    { true, function "('2016-03-17', '0 " unit "s')" }, { true, function "('2016-03-17', @ || ' " unit "s')" },        \
    {                                                                                                                  \
        true, function "('2016-03-17', (@ + 1) || ' " unit "s')"                                                       \
    }
static const struct nearness days_apart[] = { APART("date", "day"), APART("date", "year"), { false, NULL } };
static const struct nearness hours_apart[] = { APART("datetime", "day"), APART("datetime", "hour"), { false, NULL } };
static const struct nearness times[] = {
    { true, "time(@)" }, { false, "time(@, '+1 second')" }, { false, "time(@, '-1 second')" }, { false, NULL }
};
static const struct nearness blobs[] = { { true, "CAST(@ AS BLOB)" }, { false, NULL } };

static const struct nearness *const nearnesses[] = {
    [FAMILY_INTEGER] = integers,   [FAMILY_REAL] = reals, [FAMILY_BOOLEAN] = booleans,
    [FAMILY_TEXT] = texts,         [FAMILY_DATE] = dates, [FAMILY_NUMERAL] = numerals,
    [FAMILY_DATETIME] = datetimes, [FAMILY_TIME] = times, [FAMILY_BLOB] = blobs,
};

/* The same with the constant in it. */
static void write_near(FILE *f, const char *sql, const char *constant)
{
    for (; *sql; sql++)
        if (*sql == '@')
            fputs(constant, f);
        else
            fputc(*sql, f);
}

static void near_one(struct perturb *p, struct perturb_column *column, const char *constant)
{
    const struct nearness *near = nearnesses[column->family];
    bool number = *constant != '\'';
    if (number && column->family == FAMILY_DATE)
        near = days_apart;
    if (number && column->family == FAMILY_DATETIME)
        near = hours_apart;
    char *sql = NULL;
    size_t size;
    FILE *f = open_memstream(&sql, &size);

    CHECK(f, "cannot write to memory");
    for (int i = 0; near[i].sql; i++) {
        fputs(i ? ", " : "SELECT ", f);
        write_near(f, near[i].sql, constant);
    }
    struct exec_result r = run(p, finish(f, &sql));
    for (int i = 0; r.n == 1 && near[i].sql; i++)
        if (r.cells[i].type != CELL_NULL)
            value_list_add(near[i].exact ? &column->constants : &column->neighbours, perturb_cell_text(p, &r.cells[i]));
    exec_result_release(&r);
}

/* A number beside a column of texts may be their length. */
static void near_length(struct perturb *p, struct perturb_column *column, const char *constant)
{
    int n = *constant == '\'' ? 0 : (int)strtol(constant, NULL, 10);

    for (int k = n - 1; n > 0 && n < 40 && k <= n + 1; k++)
        value_list_add(&column->neighbours,
                       strings_printf(&p->pool, "'%.*s'", k, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"));
}

void perturb_find_neighbours(struct perturb *p)
{
    for (int c = 0; c < p->n_columns; c++) {
        struct perturb_column *column = &p->columns[c];
        struct value_list said = column->constants;
        column->constants = (struct value_list){ 0 };
        for (int i = 0; i < said.n; i++) {
            near_one(p, column, said.items[i]);
            if (column->family == FAMILY_TEXT)
                near_length(p, column, said.items[i]);
        }
        free(said.items);
    }
}
