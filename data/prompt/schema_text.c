#include "data/prompt/schema_text.h"

#include "data/corpora/ambiqt_text.h"
#include "data/prompt/sql_template.h"
#include "data/schema/schema_build.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A schema under construction, with the original column of each of its columns, or -1. */
struct schema_reading {
    struct schema_build build;
    const struct schema *original;
    const char *text;
    int *like;
    int like_cap;
    struct strings seen; /* keys "-1.TABLE" and "NUMBER.COLUMN" */
};

static const char fragments[] = "()\"'`"; /* characters of cell values that names lack */

/* A copy without blanks at its ends; the caller frees. */
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

/* Whether a table, or its column, occurs for the first time. */
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

/* The original column of that name: in its own table, or else in any. */
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

    if (!*name || strpbrk(name, fragments) || !is_new(r, table, name))
        return;
    int like = original_column(s, original_table, name);
    int column = schema_build_column(&r->build, table, name, NULL, like < 0 ? COLUMN_OTHERS : s->columns[like].type);
    bool own = like >= 0 && s->columns[like].table == original_table;
    GROW(r->like, column, r->like_cap);
    r->like[column] = own ? like : -1;
    if (own && s->columns[like].primary)
        schema_build_primary(&r->build, column);
}

/* The column names after the ":" of a table. */
static struct strings columns_of(const char *text)
{
    struct strings names = { 0 };

    for (size_t n; *text && *text != ':' && *text != '|'; text += n + (text[n] == ',')) {
        n = strcspn(text, ",:|");
        char *name = stripped(text, n);
        if (isalpha((unsigned char)*name) && strpbrk(name, fragments)) /* the rest of a value after a blank */
            name[strcspn(name, " ")] = 0;
        strings_add(&names, name);
        free(name);
    }
    return names;
}

static bool has_columns(const struct schema *s, int table, const struct strings *names)
{
    const struct schema_table *t = s->tables + table;
    int n = 0;

    for (int i = 0; i < names->n; i++)
        n += schema_column_find(s, table, names->items[i]) >= 0;
    return n == t->n_columns;
}

static bool is_table_of(const char *text, const char *name)
{
    struct template_names n;
    char *small = ambiqt_lower_outside_quotes(name);
    bool found = template_names_of_text(&n, text, NULL) == 0 && strings_find(&n.tables, small) >= 0;

    free(small);
    template_names_release(&n);
    return found;
}

/* The original table: by its name, or else the missing one with these columns; -1 without. */
static int original_table(const struct schema_reading *r, const char *name, const struct strings *columns)
{
    const struct schema *s = r->original;
    int found = s ? schema_table_find(s, name) : -1;

    for (int t = 0; s && t < s->n_tables && found < 0; t++)
        if (has_columns(s, t, columns) && !is_table_of(r->text, s->tables[t].name))
            found = t;
    return found;
}

static int add_table(struct schema_reading *r, const char *text, struct error *err)
{
    size_t n = strcspn(text, "|"), end = strcspn(text, ":|");
    char *name = stripped(text, end);
    int rc = 0;

    if (text[end] != ':' || !*name)
        rc = error_set(err, EXIT_CODE_DATA, "schema: expected \"table : column, ...\", got \"%.*s\"",
                       n > 80 ? 80 : (int)n, text);
    else if (is_new(r, -1, name)) {
        struct strings columns = columns_of(text + end + 1);
        int table = schema_build_table(&r->build, name, NULL), original = original_table(r, name, &columns);
        for (int i = 0; i < columns.n; i++)
            add_column(r, table, original, columns.items[i]);
        strings_release(&columns);
    }
    free(name);
    return rc;
}

/* Copies the keys of the original to all columns made from its columns. */
static void add_keys(struct schema_reading *r)
{
    for (int i = 0; r->original && i < r->original->n_foreign_keys; i++)
        for (int a = 0; a < r->build.n_columns; a++)
            for (int b = 0; b < r->build.n_columns; b++)
                if (r->like[a] == r->original->foreign_keys[i].from && r->like[b] == r->original->foreign_keys[i].to)
                    schema_build_foreign_key(&r->build, a, b);
}

int schema_of_text(struct schema_set *set, const char *db_id, const char *text, const struct schema *original,
                   struct error *err)
{
    struct schema_reading r = { .original = original, .text = text };
    struct schema s;
    int rc = 0;

    schema_build_init(&r.build, db_id);
    for (const char *t = text; rc == 0 && t; t = strchr(t, '|'), t += t != NULL)
        rc = add_table(&r, t, err);
    if (rc == 0) {
        add_keys(&r);
        schema_build_finish(&r.build, &s);
        rc = schema_set_add(set, &s, err);
    }
    schema_build_release(&r.build);
    strings_release(&r.seen);
    free(r.like);
    return rc;
}

/* A slice of the text. */
struct text_span {
    const char *from, *to;
};

/* Finds a list item by its name, which ends before `mark` if present. */
static bool find_item(struct text_span *item, struct text_span list, char separator, char mark, const char *name)
{
    bool found = false;

    for (const char *at = list.from; at <= list.to && !found; at = item->to + 1) {
        const char *to = memchr(at, separator, (size_t)(list.to - at));
        *item = (struct text_span){ at, to ? to : list.to };
        const char *end = memchr(at, mark, (size_t)(item->to - at));
        char *own = stripped(at, (size_t)((end ? end : item->to) - at));
        found = strcasecmp(own, name) == 0;
        free(own);
    }
    return found;
}

/* Extends an item to the separator after it, or before the last item. */
static struct text_span with_separator(struct text_span item, struct text_span list, char separator)
{
    item.from += strspn(item.from, " ");
    if (item.to < list.to) {
        item.to++;
        item.to += strspn(item.to, " ");
        return item;
    }
    while (item.from > list.from && (item.from[-1] == ' ' || item.from[-1] == separator))
        item.from--;
    while (item.to > item.from && item.to[-1] == ' ')
        item.to--;
    return item;
}

char *schema_text_without(const char *text, const char *table, const char *column)
{
    const struct text_span all = { text, text + strlen(text) };
    struct text_span cut = { text, text }, item, columns, one;

    if (find_item(&item, all, '|', ':', table)) {
        columns = (struct text_span){ memchr(item.from, ':', (size_t)(item.to - item.from)), item.to };
        columns.from = columns.from ? columns.from + 1 : item.to;
        bool several = memchr(columns.from, ',', (size_t)(columns.to - columns.from)) != NULL;
        if (!column || (!several && find_item(&one, columns, ',', ',', column)))
            cut = with_separator(item, all, '|');
        else if (find_item(&one, columns, ',', ',', column))
            cut = with_separator(one, columns, ',');
    }
    char *left = xmalloc(strlen(text) + 1);
    memcpy(left, text, (size_t)(cut.from - text));
    memcpy(left + (cut.from - text), cut.to, strlen(cut.to) + 1);
    return left;
}
