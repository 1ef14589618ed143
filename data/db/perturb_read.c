#include "data/db/perturb_read.h"

#include "data/base/real_text.h"
#include "data/sql/sql_lex.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- Names, values and domains --- */

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

static int find_table(const struct perturb *p, const char *name)
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

static void join_domains(struct perturb *p, int a, int b)
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

/* Returns a cell as SQL text. */
static const char *cell_text(struct perturb *p, const struct cell *c)
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

/* --- Definitions ---
 * An empty database in memory, built from the original definitions, reports the declared constraints. */

static const struct exec_limits limits = { .steps = 20000000, .rows = 100000, .bytes = 16 << 20, .seconds = 5 };

static bool begins(const char *sql, const char *words)
{
    return strncasecmp(sql, words, strlen(words)) == 0;
}

static bool is(const struct cell *c, const char *word)
{
    return strcmp(c->bytes, word) == 0;
}

/* Adds a definition from a row: type, name, table name, SQL. Virtual tables are skipped, because their rows cannot be
 * changed. */
static void add_definition(struct perturb *p, const struct cell *row)
{
    const char *sql = strings_keep(&p->pool, row[3].bytes);

    if (begins(row[2].bytes, "sqlite_") || begins(sql, "CREATE VIRTUAL"))
        return;
    if (is(&row[0], "index") && begins(sql, "CREATE UNIQUE")) {
        value_list_add(&p->indexes, sql);
        value_list_add(&p->indexed, strings_keep(&p->pool, row[2].bytes));
    }
    if (!is(&row[0], "table") && !is(&row[0], "view"))
        return;
    GROW(p->tables, p->n_tables, p->tables_cap);
    p->tables[p->n_tables++] =
        (struct perturb_table){ .name = strings_keep(&p->pool, row[1].bytes), .sql = sql, .view = is(&row[0], "view") };
}

int perturb_read_definitions(struct perturb *p, struct error *err)
{
    enum { COLUMNS = 4 };
    static const char query[] = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE typeof(type) = 'text' AND "
                                "typeof(name) = 'text' AND typeof(tbl_name) = 'text' AND typeof(sql) = 'text' "
                                "ORDER BY rowid";
    struct exec_result r = exec_run(p->db, query);
    int rc = r.status == EXEC_OK ? 0 : error_set(err, EXIT_CODE_DATA, "cannot read its tables: %s", r.message);

    for (int64_t i = 0; i < r.n; i++)
        add_definition(p, &r.cells[COLUMNS * i]);
    exec_result_release(&r);
    return rc;
}

void perturb_define(const struct perturb *p, FILE *out)
{
    for (int t = 0; t < p->n_tables; t++)
        if (p->tables[t].wanted && !p->tables[t].view)
            fprintf(out, "%s;\n", p->tables[t].sql);
    for (int i = 0; i < p->indexes.n; i++) {
        int table = find_table(p, p->indexed.items[i]);
        if (table >= 0 && p->tables[table].wanted)
            fprintf(out, "%s;\n", p->indexes.items[i]);
    }
}

typedef void rule_fn(struct perturb *p, int table, const struct cell *row);

/* Calls fn for each row of a query whose first column is a table name. */
static int each_rule(struct perturb *p, struct exec_db *db, const char *sql, rule_fn *fn, struct error *err)
{
    struct exec_result r = exec_run(db, sql);
    int rc = r.status == EXEC_OK ? 0 : error_set(err, EXIT_CODE_DATA, "cannot read its columns: %s", r.message);

    for (int64_t i = 0; i < r.n; i++) {
        const struct cell *row = &r.cells[i * r.columns];
        int table = row->type == CELL_TEXT ? find_table(p, row->bytes) : -1;
        if (table >= 0)
            fn(p, table, row);
    }
    exec_result_release(&r);
    return rc;
}

static const char *text_of(struct perturb *p, const struct cell *c)
{
    return strings_keep(&p->pool, c->type == CELL_TEXT ? c->bytes : "");
}

/* SQLite allows NULL in a primary key; here such columns are NOT NULL. */
static const char columns_sql[] =
    "SELECT s.name, x.name, x.type, x.\"notnull\" OR x.pk > 0, x.hidden FROM sqlite_schema AS s JOIN "
    "pragma_table_xinfo(s.name) AS x WHERE s.type = 'table' AND x.hidden <> 1 ORDER BY s.rowid, x.cid";

static void add_column(struct perturb *p, int table, const struct cell *row)
{
    enum { NAME = 1, TYPE, REQUIRED, HIDDEN };
    struct perturb_table *t = &p->tables[table];

    if (!t->n_columns)
        t->first_column = p->n_columns;
    GROW(p->columns, p->n_columns, p->columns_cap);
    p->columns[p->n_columns] = (struct perturb_column){ .name = text_of(p, &row[NAME]),
                                                        .type = text_of(p, &row[TYPE]),
                                                        .required = row[REQUIRED].integer,
                                                        .generated = row[HIDDEN].integer >= 2,
                                                        .domain = p->n_columns };
    p->n_columns++;
    t->n_columns++;
}

/* Returns -1 if the table has no column of that name. */
static int find_column(const struct perturb *p, int table, const char *name)
{
    const struct perturb_table *t = &p->tables[table];

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (strcasecmp(p->columns[c].name, name) == 0)
            return c;
    return -1;
}

static const char unique_sql[] =
    "SELECT s.name, max(i.name) FROM sqlite_schema AS s JOIN pragma_index_list(s.name) AS l JOIN "
    "pragma_index_info(l.name) AS i WHERE s.type = 'table' AND l.\"unique\" AND NOT l.partial "
    "GROUP BY s.name, l.name HAVING count(*) = 1 "
    "UNION ALL SELECT s.name, max(x.name) FROM sqlite_schema AS s JOIN pragma_table_xinfo(s.name) AS x "
    "WHERE s.type = 'table' AND x.pk > 0 GROUP BY s.name HAVING count(*) = 1";

static void add_unique(struct perturb *p, int table, const struct cell *row)
{
    int c = find_column(p, table, text_of(p, &row[1]));
    if (c >= 0)
        p->columns[c].unique = true;
}

/* a reference without columns refers to the parent's primary key, part by part */
static const char references_sql[] =
    "SELECT s.name, f.seq, f.\"table\", f.\"from\", coalesce(f.\"to\", (SELECT x.name FROM "
    "pragma_table_xinfo(f.\"table\") AS x WHERE x.pk = f.seq + 1)) FROM sqlite_schema AS s JOIN "
    "pragma_foreign_key_list(s.name) AS f WHERE s.type = 'table' ORDER BY s.rowid, f.id DESC, f.seq";

/* Adds a column of a reference; the first column of each reference has number 0. */
static void add_reference(struct perturb *p, int table, const struct cell *row)
{
    enum { NUMBER = 1, PARENT, FROM, TO };
    int parent = find_table(p, text_of(p, &row[PARENT]));
    struct perturb_reference *last = p->n_references ? &p->references[p->n_references - 1] : NULL;

    if (parent < 0 || !p->tables[parent].n_columns)
        return;
    if (row[NUMBER].integer == 0 || !last || last->child != table) {
        GROW(p->references, p->n_references, p->references_cap);
        last = &p->references[p->n_references++];
        *last = (struct perturb_reference){ .child = table, .parent = parent };
    }
    if (last->n == REFERENCE_COLUMNS)
        return;
    last->from[last->n] = find_column(p, table, text_of(p, &row[FROM]));
    last->to[last->n] = find_column(p, parent, text_of(p, &row[TO]));
    last->n++;
}

/* Drops references with missing columns. */
static void drop_broken_references(struct perturb *p)
{
    int kept = 0;

    for (int k = 0; k < p->n_references; k++) {
        const struct perturb_reference *r = &p->references[k];
        bool whole = true;
        for (int i = 0; i < r->n; i++)
            whole = whole && r->from[i] >= 0 && r->to[i] >= 0;
        if (whole)
            p->references[kept++] = *r;
    }
    p->n_references = kept;
}

int perturb_read_rules(struct perturb *p, struct error *err)
{
    char *script = NULL;
    size_t size;
    FILE *f = open_memstream(&script, &size);

    CHECK(f, "cannot write to memory");
    perturb_define(p, f);
    CHECK(fclose(f) == 0, "cannot write to memory");
    struct exec_db *db = exec_open_script_schema(script, &limits, err);
    free(script);
    int rc = db && each_rule(p, db, columns_sql, add_column, err) == 0 &&
                     each_rule(p, db, unique_sql, add_unique, err) == 0 &&
                     each_rule(p, db, references_sql, add_reference, err) == 0
                 ? 0
                 : -1;
    exec_close(db);
    drop_broken_references(p);
    return rc;
}

/* --- Rows: a sample, the families of the columns, and values near constants --- */

enum { MAX_SAMPLE = 100 /* sampled rows of a table */ };

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
    fprintf(f, " FROM %s LIMIT %d", perturb_quoted(p, t->name), MAX_SAMPLE);
    return finish(f, &sql);
}

/* Statistics of the values of a column. */
struct census {
    int integers, reals, numerals, dates, datetimes, times, texts, blobs;
};

/* Returns whether the whole text has the shape, in which d stands for a digit. */
static bool has_shape(const struct cell *c, const char *shape)
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
    if (has_shape(c, "dddd-dd-dd"))
        n->dates++;
    else if (has_shape(c, "dddd-dd-dd dd:dd:dd"))
        n->datetimes++;
    else if (has_shape(c, "dd:dd:dd"))
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

/* Returns the family by the declared type, by SQLite's affinity rules and by common type names. */
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
            t->rows[i * t->n_columns + c] = cell_text(p, cell);
        }
        column->family = family_of(&census, column->type);
    }
}

/* Returns whether all sampled rows of the child have a partner. */
static bool reference_holds(struct perturb *p, const struct perturb_reference *r)
{
    char *sql = NULL;
    size_t size;
    FILE *f = open_memstream(&sql, &size);

    CHECK(f, "cannot write to memory");
    fprintf(f, "SELECT 1 FROM (SELECT * FROM %s LIMIT %d) AS c WHERE NOT EXISTS (SELECT 1 FROM %s AS p WHERE ",
            perturb_quoted(p, p->tables[r->child].name), MAX_SAMPLE, perturb_quoted(p, p->tables[r->parent].name));
    for (int i = 0; i < r->n; i++)
        fprintf(f, "%sp.%s = c.%s", i ? " AND " : "", perturb_quoted(p, p->columns[r->to[i]].name),
                perturb_quoted(p, p->columns[r->from[i]].name));
    fputs(")", f);
    for (int i = 0; i < r->n; i++)
        fprintf(f, " AND c.%s IS NOT NULL", perturb_quoted(p, p->columns[r->from[i]].name));
    fputs(" LIMIT 1", f);
    struct exec_result orphans = run(p, finish(f, &sql));
    bool reference_holds = orphans.status != EXEC_OK || orphans.n == 0;
    exec_result_release(&orphans);
    return reference_holds;
}

/* A reference that does not hold in the original becomes an ordinary comparison. */
static void keep_references(struct perturb *p)
{
    int kept = 0;

    for (int k = 0; k < p->n_references; k++) {
        struct perturb_reference r = p->references[k];
        for (int i = 0; i < r.n; i++)
            join_domains(p, r.from[i], r.to[i]);
        if (reference_holds(p, &r))
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

/* SQL expressions for values near a constant, which replaces @. */
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

/* a year, a month of a year or a day; also a month or day alone */
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

/* a number compared with dates: a distance between them */
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

/* Writes the expression with the constant. */
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
            value_list_add(near[i].exact ? &column->constants : &column->neighbours, cell_text(p, &r.cells[i]));
    exec_result_release(&r);
}

/* A number compared with a text column may be a length. */
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

/* --- Statements: visible tables, and compared columns and constants. ---
 * The reader scans tokens and needs no parser, so it can read definitions and views too. A wrong guess costs little: a
 * column gets a value that nothing compares it with. */

enum { FAR = 200, MAX_CONSTANTS = 16, MAX_ALIASES = 32, MAX_PATTERN = 128, MAX_LIMIT = 1000 };

struct statement_alias {
    const char *name;
    int table;
};

struct statement {
    struct perturb *p;
    const char *text;
    struct sql_token *tokens;
    const char **names; /* the name in each token, without quotes, or NULL */
    int n;
    struct statement_alias aliases[MAX_ALIASES];
    int n_aliases;
};

static const char *name_of(struct perturb *p, const char *at, int length)
{
    bool quoted = length > 1 && strchr("\"`[", *at);
    char *name = strndup(quoted ? at + 1 : at, (size_t)(quoted ? length - 2 : length)), *to = name;
    char quote = *at == '[' ? 0 : *at;

    for (const char *from = name; *from; from++) {
        *to++ = *from;
        from += quoted && *from == quote && from[1] == quote; /* doubled quotes become single */
    }
    *to = '\0';
    const char *kept = strings_keep(&p->pool, name);
    free(name);
    return kept;
}

static void statement_open(struct statement *s, struct perturb *p, const char *sql)
{
    *s = (struct statement){ .p = p, .text = sql };
    s->tokens = sql_lex(sql, &s->n);
    s->names = xcalloc((size_t)s->n + 1, sizeof *s->names);
    for (int i = 0; i < s->n; i++) {
        const struct sql_token *t = &s->tokens[i];
        if (t->kind == TOKEN_NAME || sql_keyword_use(t->kind) == SQL_KEYWORD_NAME)
            s->names[i] = name_of(p, sql + t->begin, t->end - t->begin);
    }
}

static void statement_close(struct statement *s)
{
    free(s->tokens);
    free(s->names);
}

static int kind_at(const struct statement *s, int i)
{
    return i >= 0 && i < s->n ? s->tokens[i].kind : TOKEN_END;
}

static const char *name_at(const struct statement *s, int i)
{
    return i >= 0 && i < s->n ? s->names[i] : NULL;
}

void perturb_want(struct perturb *p, const char *sql)
{
    struct statement s;

    statement_open(&s, p, sql);
    for (int i = 0; i < s.n; i++) {
        /* any quoted word can be a name, and so can a string in the place of a table */
        int table = s.names[i] ? find_table(p, s.names[i]) : -1;
        if (table < 0 && s.tokens[i].kind == TOKEN_STRING)
            table = find_table(p, name_of(p, sql + s.tokens[i].begin + 1, s.tokens[i].end - s.tokens[i].begin - 2));
        if (table < 0 || p->tables[table].wanted)
            continue;
        p->tables[table].wanted = true;
        if (p->tables[table].view)
            perturb_want(p, p->tables[table].sql);
    }
    statement_close(&s);
}

/* Reads "table AS a" and "table a". */
static void read_aliases(struct statement *s)
{
    for (int i = 0; i < s->n && s->n_aliases < MAX_ALIASES; i++) {
        int table = name_at(s, i) ? find_table(s->p, s->names[i]) : -1;
        const char *alias = name_at(s, i + 1 + (kind_at(s, i + 1) == WORD_AS));
        if (table >= 0 && alias)
            s->aliases[s->n_aliases++] = (struct statement_alias){ alias, table };
    }
}

/* Returns the table of a qualifier, or -1 if unknown. */
static int qualified(const struct statement *s, const char *name)
{
    for (int i = 0; i < s->n_aliases; i++)
        if (strcasecmp(s->aliases[i].name, name) == 0)
            return s->aliases[i].table;
    return find_table(s->p, name);
}

/* Iterates over the columns that the name at i may refer to. Returns the next one after `after`, or -1. */
static int column_at(const struct statement *s, int i, int after)
{
    const struct perturb *p = s->p;
    bool dotted = kind_at(s, i - 1) == TOKEN_DOT && name_at(s, i - 2);
    int table = dotted ? qualified(s, s->names[i - 2]) : -1;

    if (!name_at(s, i) || kind_at(s, i + 1) == TOKEN_DOT || kind_at(s, i + 1) == TOKEN_LEFT_PAREN)
        return -1;
    for (int t = 0; t < p->n_tables; t++) {
        const struct perturb_table *at = &p->tables[t];
        for (int c = at->first_column; c < at->first_column + at->n_columns; c++)
            if (c > after && (table < 0 || t == table || p->tables[table].view) &&
                strcasecmp(p->columns[c].name, s->names[i]) == 0)
                return c;
    }
    return -1;
}

/* Returns whether a token starts another comparison or clause. */
static bool ends_comparison(int kind)
{
    static const int words[] = { WORD_WHERE,  WORD_AND,  WORD_OR,    WORD_ON,        WORD_HAVING,
                                 WORD_SELECT, WORD_BY,   WORD_LIMIT, WORD_OFFSET,    WORD_FROM,
                                 WORD_WHEN,   WORD_THEN, WORD_ELSE,  TOKEN_SEMICOLON };
    for (int i = 0; i < ARRAY_LEN(words); i++)
        if (kind == words[i])
            return true;
    return false;
}

static void note(struct value_list *list, const char *value)
{
    for (int i = 0; i < list->n; i++)
        if (list->items[i] == value)
            return;
    if (list->n < MAX_CONSTANTS)
        value_list_add(list, value);
}

/* Returns a constant as a single-quoted text or a number. */
static const char *constant_text(struct statement *s, int i)
{
    const struct sql_token *t = &s->tokens[i];
    const char *at = s->text + t->begin;
    int left = kind_at(s, i - 2);
    bool operand = left == TOKEN_NUMBER || left == TOKEN_RIGHT_PAREN || name_at(s, i - 2);
    bool negative = t->kind == TOKEN_NUMBER && kind_at(s, i - 1) == TOKEN_MINUS && !operand;

    if (t->kind != TOKEN_NAME)
        return strings_printf(&s->p->pool, "%s%.*s", negative ? "-" : "", t->end - t->begin, at);
    struct cell c = { .type = CELL_TEXT, .bytes = s->names[i], .n = (int)strlen(s->names[i]) };
    return cell_text(s->p, &c);
}

/* Records values that a LIKE pattern matches: its wildcards are replaced by nothing and by some letters. */
static void note_pattern(struct perturb *p, struct perturb_column *column, const char *pattern)
{
    static const char *const any[] = { "", "Zz", "q r" };

    for (int k = 0; k < ARRAY_LEN(any); k++) {
        char text[4 * MAX_PATTERN] = "";
        size_t n = 0;
        for (const char *at = pattern; *at; at++) {
            const char *put = *at == '%' || *at == '*' ? any[k] : *at == '_' || *at == '?' ? "o" : NULL;
            n += (size_t)snprintf(text + n, 8, put ? "%s" : "%.1s", put ? put : at);
        }
        note(k ? &column->neighbours : &column->constants, strings_keep(&p->pool, text));
    }
}

static bool is_pattern(const struct statement *s, int i)
{
    int length = s->tokens[i].end - s->tokens[i].begin;
    return kind_at(s, i) == TOKEN_STRING && length < MAX_PATTERN &&
           (kind_at(s, i - 1) == WORD_LIKE || kind_at(s, i - 1) == WORD_GLOB);
}

static void read_limit(struct perturb *p, const char *number)
{
    long rows = strtol(number, NULL, 10);

    if (rows > 0 && rows <= MAX_LIMIT)
        p->max_limit += (int)rows;
}

/* Records the constant at i for the name at k if both are in one comparison. */
static bool note_beside(struct statement *s, int i, int k, const char *value)
{
    bool found = false;

    for (int c = column_at(s, k, -1); c >= 0; c = column_at(s, k, c)) {
        if (is_pattern(s, i))
            note_pattern(s->p, &s->p->columns[c], value);
        else
            note(&s->p->columns[c].constants, value);
        found = true;
    }
    return found;
}

/* Records the constant for all columns before it in the comparison, else for those after it. */
static bool note_compared(struct statement *s, int i, const char *value)
{
    bool found = false;

    for (int k = i - 1; k >= 0 && i - k < FAR; k--) {
        bool between = kind_at(s, k) == WORD_AND && kind_at(s, k - 2) == WORD_BETWEEN;
        if (!between && ends_comparison(kind_at(s, k)))
            break;
        found = note_beside(s, i, k, value) || found;
    }
    for (int k = i + 1; !found && k < s->n && k - i < 6 && !ends_comparison(kind_at(s, k)); k++)
        found = note_beside(s, i, k, value);
    return found;
}

static void read_constant(struct statement *s, int i)
{
    const char *value = constant_text(s, i);
    int before = kind_at(s, i - 1);
    bool number = s->tokens[i].kind == TOKEN_NUMBER;

    if (number && (before == WORD_LIMIT || before == WORD_OFFSET))
        read_limit(s->p, value);
    else if (!note_compared(s, i, value))
        note(number ? &s->p->numbers : &s->p->texts, value);
}

static void join_all(struct statement *s, int i, int k)
{
    for (int a = column_at(s, i, -1); a >= 0; a = column_at(s, i, a))
        for (int b = column_at(s, k, -1); b >= 0; b = column_at(s, k, b))
            join_domains(s->p, a, b);
}

/* Returns the start of a name, including its qualifier "t.". */
static int name_from(const struct statement *s, int i)
{
    return kind_at(s, i + 1) == TOKEN_DOT ? i + 2 : i;
}

/* Reads "a = b" and "a IN (SELECT b". */
static void read_comparison(struct statement *s, int i)
{
    int k = i + 1;

    if (kind_at(s, i) == WORD_IN && kind_at(s, k) == TOKEN_LEFT_PAREN && kind_at(s, k + 1) == WORD_SELECT)
        k += 2 + (kind_at(s, k + 2) == WORD_DISTINCT);
    else if (kind_at(s, i) != TOKEN_EQUAL && kind_at(s, i) != TOKEN_LESS && kind_at(s, i) != TOKEN_GREATER)
        return;
    join_all(s, kind_at(s, i - 1) == WORD_NOT ? i - 2 : i - 1, name_from(s, k));
}

/* The first results of a set operation are compared, and so are columns of the same name with USING or NATURAL. */
static void read_sets(struct statement *s)
{
    int first = -1;

    for (int i = 0; i < s->n; i++) {
        int kind = kind_at(s, i);
        if (kind == WORD_SELECT) {
            int k = name_from(s, i + 1 + (kind_at(s, i + 1) == WORD_DISTINCT));
            int before = kind_at(s, i - 1);
            bool joins =
                before == WORD_UNION || before == WORD_ALL || before == WORD_EXCEPT || before == WORD_INTERSECT;
            if (first >= 0 && joins)
                join_all(s, first, k);
            else
                first = k;
        }
        if (kind == WORD_NATURAL || kind == WORD_USING)
            for (int a = 0; a < s->p->n_columns; a++)
                for (int b = 0; b < a; b++)
                    if (strcasecmp(s->p->columns[a].name, s->p->columns[b].name) == 0)
                        join_domains(s->p, a, b);
    }
}

/* Marks the columns in CHECK constraints of the table. */
void perturb_read_checks(struct perturb *p, const struct perturb_table *table)
{
    struct statement s;
    int depth = 0;

    statement_open(&s, p, table->sql);
    for (int i = 0; i < s.n; i++) {
        bool opens = kind_at(&s, i) == TOKEN_LEFT_PAREN && (depth || kind_at(&s, i - 1) == WORD_CHECK);
        depth += opens;
        depth -= depth && kind_at(&s, i) == TOKEN_RIGHT_PAREN;
        for (int c = table->first_column; depth && s.names[i] && c < table->first_column + table->n_columns; c++)
            if (strcasecmp(p->columns[c].name, s.names[i]) == 0)
                p->columns[c].checked = true;
    }
    statement_close(&s);
}

void perturb_read_statement(struct perturb *p, const char *sql)
{
    struct statement s;
    int max_limit_before =
        p->max_limit; /* maximum of earlier statements; limit and offset of one statement are added */

    p->max_limit = 0;
    statement_open(&s, p, sql);
    read_aliases(&s);
    for (int i = 0; i < s.n; i++) {
        int kind = s.tokens[i].kind;
        bool word = kind == TOKEN_NAME && sql[s.tokens[i].begin] == '"' && column_at(&s, i, -1) < 0;
        if (kind == TOKEN_NUMBER || kind == TOKEN_STRING || word)
            read_constant(&s, i);
        read_comparison(&s, i);
    }
    read_sets(&s);
    if (p->max_limit < max_limit_before)
        p->max_limit = max_limit_before;
    statement_close(&s);
}
