#include "data/exec/column_values.h"

#include "data/exec/sqlite_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As SQL writes it inside double quotes; the caller frees it. */
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

/* The fewest digits that read back as the same number. */
static const char *real_text(struct strings *text, double value)
{
    char digits[32];
    for (int n = 15; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    return strings_printf(text, "%s%s", digits, strpbrk(digits, ".en") ? "" : ".0");
}

/* NULL for what no schema text can show: NULL, blobs, text that is no UTF-8. */
static const char *cell_text(struct strings *text, const struct cell *c)
{
    if (c->type == CELL_INTEGER)
        return strings_printf(text, "%lld", (long long)c->integer);
    if (c->type == CELL_REAL)
        return real_text(text, c->real);
    json_t *checked = c->type == CELL_TEXT ? json_string(c->bytes) : NULL;
    const char *shown = checked ? strings_printf(text, "\"%s\"", c->bytes) : NULL;
    json_decref(checked);
    return shown;
}

/* Runs a SELECT of one column: what stands before its name, and how many rows. */
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

int column_values_read(struct column_values *v, const struct schema *s, const char *path, struct error *err)
{
    *v = (struct column_values){ .n_columns = s->n_columns };
    struct exec_db *db = exec_open(path, &exec_limits_default, err);
    if (!db)
        return -1;
    v->columns = xcalloc((size_t)s->n_columns + 1, sizeof *v->columns);
    v->counts = xcalloc((size_t)s->n_columns + 1, sizeof *v->counts);
    for (int c = 0; c < s->n_columns; c++)
        read_column(v, db, s, c);
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

/* Text as one short line, in quotes; NULL when nothing would be seen. */
static const char *sample_text(struct strings *pool, const char *bytes)
{
    size_t n = strspn(bytes, " \t\r\n"), end = n;

    for (int letters = 0; bytes[end] && bytes[end] != '\n'; end++) {
        letters += ((unsigned char)bytes[end] & 0xc0) != 0x80;
        if (letters > SAMPLE_LETTERS)
            break;
    }
    return end > n ? strings_printf(pool, "'%.*s%s'", (int)(end - n), bytes + n, bytes[end] ? "..." : "") : NULL;
}

static const char *sample_of(struct strings *pool, const struct cell *c)
{
    if (c->type == CELL_REAL)
        return strings_printf(pool, "%.6g", c->real);
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

const char *column_samples_text(struct column_samples *s, int column)
{
    if (!s->texts[column])
        s->texts[column] = read_samples(s, column);
    return s->texts[column];
}

void column_samples_close(struct column_samples *s)
{
    if (s->db)
        exec_close(s->db);
    free(s->texts);
    strings_release(&s->pool);
    *s = (struct column_samples){ 0 };
}
