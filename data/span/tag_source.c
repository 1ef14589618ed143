#include "data/span/tag_source.h"

#include "data/base/log.h"
#include "data/base/real_text.h"
#include "data/base/stop.h"
#include "data/db/sqlite_exec.h"
#include "data/span/tagging.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* Rows read at once, and rows for a column's examples. */
enum { ROWS = 100000, EXAMPLE_ROWS = 50 };
/* Divisor of the memory for numbers. */
enum { NUMBER_SHARE = 4 };
/* Rows to read of a column without texts. */
enum { NUMBER_ROWS = 10 * ROWS };

/* Time limits for the values of a database, for all its views, and for one view; views may compute anything. */
static const double ALL_SECONDS = 30, VIEWS_SECONDS = 10, VIEW_SECONDS = 2;

static struct exec_result select_values(struct exec_db *db, const struct schema *s, int c, int64_t from)
{
    char *sql =
        sqlite3_mprintf("SELECT \"%w\" AS v FROM \"%w\" WHERE typeof(\"%w\") IN ('text', 'integer', 'real') AND "
                        "length(\"%w\") <= %d LIMIT %d OFFSET %lld",
                        s->columns[c].name, s->tables[s->columns[c].table].name, s->columns[c].name, s->columns[c].name,
                        VALUE_BYTES, ROWS, (long long)from);
    CHECK(sql, "no memory for a statement");
    struct exec_result r = exec_run(db, sql);
    sqlite3_free(sql);
    return r;
}

/* Adds a cell; returns whether it is a text, of which a column may have any number. */
static bool index_cell(struct tag_source *x, int column, const struct cell *cell)
{
    if (cell->type == CELL_INTEGER)
        number_index_add(&x->numbers, column, plain_integer(cell->integer));
    if (cell->type == CELL_REAL)
        number_index_add(&x->numbers, column, plain_real(cell->real));
    if (cell->type != CELL_TEXT || memchr(cell->bytes, '\0', (size_t)cell->n))
        return false;
    value_index_add(&x->index, column, cell->bytes);
    number_index_add_text(&x->numbers, column, cell->bytes);
    return true;
}

/* Adds all texts and numbers of the schema's column c, which is column i here. False if SQLite fails or the time is
 * over. */
static bool index_column(struct tag_source *x, struct exec_db *db, const struct schema *s, int c, int i)
{
    int64_t n = ROWS;
    bool texts = false;

    for (int64_t from = 0; n == ROWS && (texts ? !x->index.cut : from < NUMBER_ROWS); from += n) {
        struct exec_result r = select_values(db, s, c, from);
        n = r.status == EXEC_OK ? r.n : -1;
        if (n < 0 && !work_limit_ended())
            log_warn("values of %s.%s are not read: %s", x->own[i].sql_table, x->own[i].sql_name, r.message);
        for (int64_t row = 0; row < n; row++)
            texts |= index_cell(x, i, &r.cells[row]);
        exec_result_release(&r);
    }
    return n >= 0;
}

/* NULL if the cell is no value to show. */
static const char *example_text(struct strings *text, const struct cell *c)
{
    char real[REAL_TEXT];

    if (c->type == CELL_INTEGER)
        return strings_printf(text, "%lld", (long long)c->integer);
    if (c->type == CELL_REAL)
        return strings_keep(text, real_literal(real, c->real));
    json_t *checked = c->type == CELL_TEXT && c->n ? json_string(c->bytes) : NULL;
    const char *shown = checked ? strings_keep(text, c->bytes) : NULL;
    json_decref(checked);
    return shown;
}

/* Reads the first distinct values; writers shorten long ones. */
static void read_examples(struct tag_source *x, struct exec_db *db, const struct schema *s, int c, int i)
{
    char *sql = sqlite3_mprintf("SELECT substr(\"%w\", 1, %d) FROM \"%w\" WHERE \"%w\" IS NOT NULL LIMIT %d",
                                s->columns[c].name, TAG_EXAMPLE_LETTERS + 1, s->tables[s->columns[c].table].name,
                                s->columns[c].name, EXAMPLE_ROWS);
    CHECK(sql, "no memory for a statement");
    struct exec_result r = exec_run(db, sql);
    struct span_column *to = &x->own[i];
    for (int64_t row = 0; r.status == EXEC_OK && row < r.n && to->n_values < TAG_EXAMPLES; row++) {
        const char *text = example_text(&x->text, &r.cells[row]);
        bool is_new = text != NULL;
        for (int k = 0; k < to->n_values && is_new; k++)
            is_new = strcmp(to->values[k], text) != 0;
        if (is_new)
            to->values[to->n_values++] = text;
    }
    exec_result_release(&r);
    sqlite3_free(sql);
}

/* The state of reading values. */
struct value_reading {
    struct tag_source *x;
    struct exec_db *db;
    const struct schema *s;
    const int *of; /* [x->n_columns] indices of the columns in the schema */
    const char *path;
};

/* Reads columns from `from` to before `end`; returns the first that was not read in time, or end. */
static int read_columns(const struct value_reading *r, int from, int end)
{
    int i = from;

    for (; i < end; i++) {
        if (index_column(r->x, r->db, r->s, r->of[i], i))
            read_examples(r->x, r->db, r->s, r->of[i], i);
        if (work_limit_ended())
            break;
    }
    return i;
}

/* The index after the last column of column i's table. */
static int table_end(const struct value_reading *r, int i)
{
    int end = i;

    while (end < r->x->n_columns && r->s->columns[r->of[end]].table == r->s->columns[r->of[i]].table)
        end++;
    return end;
}

static bool is_view(const struct value_reading *r, int i)
{
    return r->s->tables[r->s->columns[r->of[i]].table].form == TABLE_VIEW;
}

static void read_tables(const struct value_reading *r, double seconds)
{
    int late = 0, first = -1;

    for (int i = 0, end; i < r->x->n_columns; i = end) {
        end = table_end(r, i);
        int stopped = is_view(r, i) ? end : work_limit_ended() ? i : read_columns(r, i, end);
        first = stopped < end && first < 0 ? stopped : first;
        late += end - stopped;
    }
    if (late)
        log_warn("%s: values are read for %.3g seconds; questions are not compared with those of %d columns, the first "
                 "%s.%s",
                 r->path, seconds, late, r->x->own[first].sql_table, r->x->own[first].sql_name);
}

/* Reads a view; the columns after its time limit are omitted. */
static void read_view(const struct value_reading *r, int i, int end)
{
    struct work_limit one = { .seconds = VIEW_SECONDS };

    work_limit_begin(&one);
    int stopped = read_columns(r, i, end);
    work_limit_end(&one);
    if (stopped < end)
        log_warn("%s: the view %s is slow; questions are not compared with the values of %d of its %d columns", r->path,
                 r->x->own[i].sql_table, end - stopped, end - i);
}

static void read_views(const struct value_reading *r)
{
    struct work_limit all = { .seconds = VIEWS_SECONDS };
    int unread = 0, first = 0;

    work_limit_begin(&all);
    for (int i = 0, end; i < r->x->n_columns; i = end) {
        end = table_end(r, i);
        if (is_view(r, i) && !work_limit_ended())
            read_view(r, i, end);
        else if (is_view(r, i))
            first = unread++ ? first : i;
    }
    work_limit_end(&all);
    if (unread)
        log_warn("%s: no time is left for %d views; questions are not compared with their values, the first is %s",
                 r->path, unread, r->x->own[first].sql_table);
}

/* of [n_columns]: indices of the columns in the schema. */
static int read_database(struct tag_source *x, const struct schema *s, const int *of, const char *path,
                         struct error *err)
{
    /* a job with little time keeps half of it for its other steps */
    struct work_limit all = { .seconds = fmin(ALL_SECONDS, work_limit_left() / 2) };
    const struct value_reading r = { x, exec_open(path, &exec_limits_default, err), s, of, path };

    if (!r.db)
        return -1;
    work_limit_begin(&all);
    read_tables(&r, all.seconds);
    read_views(&r);
    work_limit_end(&all);
    exec_close(r.db);
    if (work_limit_ended())
        return error_set(err, EXIT_CODE_DATA, "%s: time limit reached, values not read", path);
    if (x->index.cut)
        log_warn("%s: the index holds the first %d values, %lld MiB; other values are not found", path, x->index.n,
                 (long long)(value_index_bytes(&x->index) >> 20));
    if (x->numbers.cut)
        log_warn("%s: the index of numbers is full at %lld MiB; other numbers are not found", path,
                 (long long)(x->numbers.bytes >> 20));
    return 0;
}

/* Whether table b has all columns of a, by name. */
static bool has_columns(const struct schema *s, int b, int a)
{
    const struct schema_table *t = &s->tables[a];

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (schema_column_find(s, b, s->columns[c].name) < 0)
            return false;
    return true;
}

/* Whether a view only shows columns of one table, which the names then denote. */
static bool is_part_of_table(const struct schema *s, int table)
{
    for (int t = 0; t < s->n_tables && s->tables[table].form == TABLE_VIEW; t++)
        if (s->tables[t].form != TABLE_VIEW && has_columns(s, t, table))
            return true;
    return false;
}

static bool has_one_key(const struct schema *s, int t)
{
    int keys = 0;

    for (int c = s->tables[t].first_column; c < s->tables[t].first_column + s->tables[t].n_columns; c++)
        keys += s->columns[c].primary;
    return keys == 1;
}

static void add_columns(struct tag_source *x, const struct schema *s, int t, int *of)
{
    const struct schema_table *table = &s->tables[t];

    for (int c = table->first_column; c < table->first_column + table->n_columns; c++) {
        int i = x->n_columns++;
        of[i] = c;
        x->own[i] = (struct span_column){ .table = table->text,
                                          .name = s->columns[c].text,
                                          .type = s->columns[c].type,
                                          .values = &x->examples[i * TAG_EXAMPLES],
                                          .sql_table = table->name,
                                          .sql_name = s->columns[c].name,
                                          .is_key = s->columns[c].primary && has_one_key(s, t) };
    }
}

int tag_source_open(struct tag_source *x, const struct schema *s, const char *path, int64_t max_bytes,
                    struct error *err)
{
    int *of = xcalloc((size_t)s->n_columns + 1, sizeof *of);

    *x = (struct tag_source){ .schema = s, .has_values = path != NULL };
    x->columns = x->own = xcalloc((size_t)s->n_columns + 1, sizeof *x->own);
    x->examples = xcalloc((size_t)s->n_columns * TAG_EXAMPLES + 1, sizeof *x->examples);
    for (int t = 0; t < s->n_tables; t++)
        if (!is_part_of_table(s, t))
            add_columns(x, s, t, of);
    value_index_init(&x->index, max_bytes - max_bytes / NUMBER_SHARE);
    number_index_init(&x->numbers, x->n_columns, max_bytes / NUMBER_SHARE);
    int rc = path ? read_database(x, s, of, path, err) : 0;
    value_index_finish(&x->index);
    number_index_finish(&x->numbers);
    free(of);
    return rc;
}

void tag_source_of(struct tag_source *x, const struct span_column *columns, int n_columns)
{
    *x = (struct tag_source){ .columns = columns, .n_columns = n_columns };
    value_index_init(&x->index, VALUE_INDEX_BYTES);
    number_index_init(&x->numbers, n_columns, VALUE_INDEX_BYTES);
    for (int c = 0; c < n_columns; c++) {
        x->has_values |= columns[c].n_values > 0;
        for (int i = 0; i < columns[c].n_values; i++) {
            if (columns[c].type != COLUMN_NUMBER)
                value_index_add(&x->index, c, columns[c].values[i]);
            number_index_add_text(&x->numbers, c, columns[c].values[i]);
        }
    }
    value_index_finish(&x->index);
    number_index_finish(&x->numbers);
}

void tag_source_close(struct tag_source *x)
{
    value_index_release(&x->index);
    number_index_release(&x->numbers);
    free(x->own);
    free(x->examples);
    strings_release(&x->text);
    *x = (struct tag_source){ 0 };
}

int64_t tag_source_bytes(const struct tag_source *x)
{
    return value_index_bytes(&x->index) + x->numbers.bytes;
}

void tag_matches_release(struct tag_matches *m)
{
    value_matches_release(&m->values);
    number_matches_release(&m->numbers);
}

struct tag_question tag_source_ask(struct tag_source *x, const char *question, struct tag_matches *m)
{
    value_match(&m->values, &x->index, question, x->columns, x->n_columns, VALUE_RATIO);
    number_match(&m->numbers, &x->numbers, question);
    return (struct tag_question){ .question = question,
                                  .columns = x->columns,
                                  .n_columns = x->n_columns,
                                  .values = m->values.items,
                                  .n_values = m->values.n,
                                  .numbers = m->numbers.items,
                                  .n_numbers = m->numbers.n,
                                  .has_values = x->has_values,
                                  .schema = x->schema,
                                  .lasting = x->lasting };
}
