#include "data/plan/schema_text.h"

#include "data/schema/schema_build.h"
#include "data/util/strings.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A schema on its way, and the number that each column of the original has in it, -1 for none. */
struct schema_reading {
    struct schema_build build;
    const struct schema *original;
    int *number;
    struct strings seen; /* "-1.TABLE" and "NUMBER.COLUMN" */
};

/* Without blanks at its ends; the caller frees. */
static char *stripped(const char *text, size_t n)
{
    static const char blanks[] = " \t\r\n";

    for (; n && strchr(blanks, text[0]); text++, n--)
        ;
    for (; n && strchr(blanks, text[n - 1]); n--)
        ;
    char *s = xmalloc(n + 1);
    memcpy(s, text, n);
    s[n] = 0;
    return s;
}

/* Whether a table, or its column, came for the first time. */
static bool is_new(struct schema_reading *r, int table, const char *name)
{
    int n = r->seen.n;
    char *text = NULL;

    CHECK(asprintf(&text, "%d.%s", table, name) >= 0, "no memory for a name");
    for (char *p = text; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    bool added = strings_add(&r->seen, text) == n;
    free(text);
    return added;
}

/* What the original has by that name: in its own table, or else in any. */
static int original_column(const struct schema *s, int table, const char *name)
{
    int found = s && table >= 0 ? schema_column_find(s, table, name) : -1;

    for (int t = 0; s && t < s->n_tables && found < 0; t++)
        found = schema_column_find(s, t, name);
    return found;
}

static void add_column(struct schema_reading *r, int table, int original_table, const char *name)
{
    const struct schema *s = r->original;

    if (!*name || strpbrk(name, "()\"'`") || !is_new(r, table, name))
        return;
    int like = original_column(s, original_table, name);
    int column = schema_build_column(&r->build, table, name, NULL, like < 0 ? COLUMN_OTHERS : s->columns[like].type);
    if (like < 0 || s->columns[like].table != original_table)
        return;
    r->number[like] = column;
    if (s->columns[like].primary)
        schema_build_primary(&r->build, column);
}

static int add_table(struct schema_reading *r, const char *text, size_t n, struct error *err)
{
    size_t end = strcspn(text, ":|");
    char *name = stripped(text, end);
    int rc = 0;

    if (text[end] != ':' || !*name)
        rc = error_set(err, EXIT_CODE_DATA, "schema: expected \"table : column, ...\", got \"%.*s\"",
                       n > 80 ? 80 : (int)n, text);
    bool again = rc == 0 && !is_new(r, -1, name);
    int table = rc || again ? -1 : schema_build_table(&r->build, name, NULL);
    int original = r->original ? schema_table_find(r->original, name) : -1;
    free(name);
    for (const char *c = text + end + 1, *stop = text + n; table >= 0 && c <= stop; c++) {
        size_t length = strcspn(c, ",:|");
        char *column = stripped(c, length);
        add_column(r, table, original, column);
        free(column);
        c += length;
        if (*c == ':')
            break;
    }
    return rc;
}

static void add_keys(struct schema_reading *r)
{
    for (int i = 0; r->original && i < r->original->n_foreign_keys; i++) {
        const struct schema_foreign_key *k = r->original->foreign_keys + i;
        if (r->number[k->from] >= 0 && r->number[k->to] >= 0)
            schema_build_foreign_key(&r->build, r->number[k->from], r->number[k->to]);
    }
}

int schema_of_text(struct schema_set *set, const char *db_id, const char *text, const struct schema *original,
                   struct error *err)
{
    int n = original ? original->n_columns : 0, rc = 0;
    struct schema_reading r = { .original = original, .number = xmalloc(((size_t)n + 1) * sizeof *r.number) };
    struct schema s;

    memset(r.number, -1, (size_t)n * sizeof *r.number);
    schema_build_init(&r.build, db_id);
    for (const char *t = text; rc == 0; t++) {
        size_t length = strcspn(t, "|");
        rc = add_table(&r, t, length, err);
        t += length;
        if (!*t)
            break;
    }
    if (rc == 0) {
        add_keys(&r);
        schema_build_finish(&r.build, &s);
        rc = schema_set_add(set, &s, err);
    }
    schema_build_release(&r.build);
    strings_release(&r.seen);
    free(r.number);
    return rc;
}
