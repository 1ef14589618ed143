#include "data/db/column_values.h"

#include "data/base/log.h"
#include "data/base/real_text.h"
#include "data/base/stop.h"
#include "data/db/sqlite_exec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time limits: for all values of a database, for those of a view (which may compute anything), for all samples, and for
 * the samples of a column. */
static const double ALL_SECONDS = 30, VIEW_SECONDS = 2, SAMPLES_SECONDS = 10, SAMPLE_SECONDS = 2;

/* Quotes a name for use inside double quotes in SQL; the caller frees it. */
static char *quoted(const char *name)
{
    char *s = xmalloc(2 * strlen(name) + 3), *to = s;
    *to++ = '"';
    for (; *name; name++) {
        if (*name == '"')
            *to++ = '"';
        *to++ = *name;
    }
    memcpy(to, "\"", 2);
    return s;
}

/* Returns NULL for values that a schema text cannot show: NULL, blobs, and texts that are not valid UTF-8. */
static const char *cell_text(struct strings *text, const struct cell *c)
{
    char real[REAL_TEXT];

    if (c->type == CELL_INTEGER)
        return strings_printf(text, "%lld", (long long)c->integer);
    if (c->type == CELL_REAL)
        return strings_keep(text, real_literal(real, c->real));
    json_t *checked = c->type == CELL_TEXT ? json_string(c->bytes) : NULL;
    const char *shown = checked ? strings_printf(text, "\"%s\"", c->bytes) : NULL;
    json_decref(checked);
    return shown;
}

/* Runs a SELECT of one column; `select` is the text before the column's name. */
static struct exec_result select_column(struct exec_db *db, const struct schema *s, int c, const char *select, int rows)
{
    char *column = quoted(s->columns[c].name), *table = quoted(s->tables[s->columns[c].table].name), *sql = NULL;

    CHECK(asprintf(&sql, "%s %s FROM %s LIMIT %d", select, column, table, rows) >= 0, "cannot format %s", column);
    struct exec_result r = exec_run(db, sql);
    free(sql);
    free(table);
    free(column);
    return r;
}

static void read_column(struct column_values *v, struct exec_db *db, const struct schema *s, int c)
{
    struct exec_result r = select_column(db, s, c, "SELECT DISTINCT", COLUMN_VALUES_MAX);

    if (r.status == EXEC_OK && r.n > 0) {
        v->columns[c] = xcalloc((size_t)r.n, sizeof *v->columns[c]);
        for (int64_t i = 0; i < r.n; i++) {
            const char *shown = cell_text(&v->text, &r.cells[i]);
            if (shown)
                v->columns[c][v->counts[c]++] = shown;
        }
    }
    exec_result_release(&r);
}

/* Returns whether the column was read in time. */
static bool read_in_time(struct column_values *v, struct exec_db *db, const struct schema *s, int c)
{
    bool view = s->tables[s->columns[c].table].form == TABLE_VIEW;
    struct work_limit one = { .seconds = view ? VIEW_SECONDS : ALL_SECONDS };

    work_limit_begin(&one);
    read_column(v, db, s, c);
    bool in_time = !work_limit_ended();
    work_limit_end(&one);
    return in_time;
}

/* After a column that takes too long, the rest of its table is skipped. */
static void read_columns(struct column_values *v, struct exec_db *db, const struct schema *s, const char *path)
{
    int slow = -1, late = 0, first = -1;

    for (int c = 0; c < s->n_columns; c++) {
        if (s->columns[c].table != slow && read_in_time(v, db, s, c))
            continue;
        slow = s->columns[c].table;
        first = late++ ? first : c;
    }
    if (late)
        log_warn("%s: the values of %d columns are skipped because reading them takes too long; the first is %s.%s",
                 path, late, s->tables[s->columns[first].table].name, s->columns[first].name);
}

int column_values_read(struct column_values *v, const struct schema *s, const char *path, struct error *err)
{
    *v = (struct column_values){ .n_columns = s->n_columns };
    struct exec_db *db = exec_open(path, &exec_limits_default, err);
    if (!db)
        return -1;
    v->columns = xcalloc((size_t)s->n_columns + 1, sizeof *v->columns);
    v->counts = xcalloc((size_t)s->n_columns + 1, sizeof *v->counts);
    struct work_limit all = { .seconds = ALL_SECONDS };
    work_limit_begin(&all);
    read_columns(v, db, s, path);
    work_limit_end(&all);
    exec_close(db);
    return 0;
}

void column_values_release(struct column_values *v)
{
    for (int c = 0; v->columns && c < v->n_columns; c++)
        free(v->columns[c]);
    free(v->columns);
    free(v->counts);
    strings_release(&v->text);
    *v = (struct column_values){ 0 };
}

/* Returns a text as one short quoted line, or NULL if it would be empty. */
static const char *sample_text(struct strings *pool, const char *bytes)
{
    size_t n = strspn(bytes, " \t\r\n"), end = n;

    for (int characters = 0; bytes[end] && bytes[end] != '\n'; end++) {
        characters += ((unsigned char)bytes[end] & 0xc0) != 0x80;
        if (characters > SAMPLE_CHARACTERS)
            break;
    }
    return end > n ? strings_printf(pool, "'%.*s%s'", (int)(end - n), bytes + n, bytes[end] ? "..." : "") : NULL;
}

static const char *sample_of(struct strings *pool, const struct cell *c)
{
    char real[REAL_TEXT];

    if (c->type == CELL_REAL)
        return strings_keep(pool, real_text(real, c->real));
    const char *shown = cell_text(pool, c);
    return shown && c->type == CELL_TEXT ? sample_text(pool, c->bytes) : shown;
}

static const char *read_samples(struct column_samples *s, int c)
{
    struct exec_result r = select_column(s->db, s->schema, c, "SELECT", SAMPLE_ROWS);
    struct strings seen = { 0 };
    const char *text = "";

    for (int64_t i = 0; r.status == EXEC_OK && i < r.n && seen.n < SAMPLE_VALUES; i++) {
        const char *one = sample_of(&s->pool, &r.cells[i]);
        int before = seen.n;
        if (one && strings_add(&seen, one) == before)
            text = strings_printf(&s->pool, "%s%s%s", text, before ? ", " : "", one);
    }
    strings_release(&seen);
    exec_result_release(&r);
    return text;
}

int column_samples_open(struct column_samples *s, const struct schema *schema, const char *path, struct error *err)
{
    *s = (struct column_samples){ .schema = schema };
    s->db = exec_open(path, &exec_limits_default, err);
    if (!s->db)
        return -1;
    s->texts = xcalloc((size_t)schema->n_columns + 1, sizeof *s->texts);
    return 0;
}

/* Skips the remaining columns of a slow table. */
static void skip_table(struct column_samples *s, int table)
{
    const struct schema_table *t = &s->schema->tables[table];

    log_warn("%s.%s is slow: its values are not shown", s->schema->db_id, t->name);
    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        s->texts[c] = s->texts[c] ? s->texts[c] : "";
}

/* Reads and keeps a sample text, unless the time of the request is over. */
static const char *read_in_budget(struct column_samples *s, int column)
{
    double start = now_seconds();
    struct work_limit one = { .seconds = fmin(SAMPLE_SECONDS, SAMPLES_SECONDS - s->spent) };

    work_limit_begin(&one);
    const char *text = read_samples(s, column);
    bool late = work_limit_ended();
    work_limit_end(&one);
    if (work_limit_ended())
        return text;
    s->spent += now_seconds() - start;
    s->texts[column] = text;
    if (late)
        skip_table(s, s->schema->columns[column].table);
    return text;
}

const char *column_samples_text(struct column_samples *s, int column)
{
    return s->texts[column] ? s->texts[column] : read_in_budget(s, column);
}

void column_samples_close(struct column_samples *s)
{
    if (s->db)
        exec_close(s->db);
    free(s->texts);
    strings_release(&s->pool);
    *s = (struct column_samples){ 0 };
}
