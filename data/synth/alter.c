#include "data/synth/alter.h"

#include "data/schema/schema_build.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_COPIES = 3 }; /* copies of a column: one or two alternatives, and one in a new table */

/* The copies of each column, which foreign keys are mapped to. */
struct copies {
    int at[MAX_COPIES];    /* columns of the built schema */
    int table[MAX_COPIES]; /* tables of the built schema */
    bool referenced[MAX_COPIES];
    int n;
};

struct alterer {
    const struct schema *s;
    const struct alteration *a;
    enum alter_form form;
    struct schema_build build;
    struct copies *copies; /* [columns of s] */
    struct rng *rng;
};

int alteration_find(struct alteration *a, const struct schema *s, const struct ambiqt_record *r)
{
    *a = (struct alteration){ .type = r->type, .column = -1, .key = -1, .names = { r->names[0], r->names[1] } };
    a->new_table = r->new_table;
    a->new_columns = r->new_columns;
    a->n_new_columns = r->n_new_columns;
    a->table = schema_table_find(s, r->table);
    if (a->table < 0)
        return -1;
    if (r->key && (a->key = schema_column_find(s, a->table, r->key)) < 0)
        return -1;
    if (r->type != SIA_TABLE && (a->column = schema_column_find(s, a->table, r->column)) < 0)
        return -1;
    return 0;
}

/* Returns a lower-cased copy; the caller frees it. */
static char *lower(const char *name)
{
    char *s = xstrdup(name);
    for (char *p = s; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return s;
}

/* Returns the lower-case words of a name: "Lecture_Hall" and "LectureHall" give "lecture hall". The caller frees them.
 */
static char *words(const char *name)
{
    char *s = xmalloc(2 * strlen(name) + 1);
    size_t n = 0;

    for (const char *p = name; *p; p++) {
        unsigned char c = (unsigned char)*p;
        bool gap = c == '_' || c == '-' || isspace(c);
        bool camel = p > name && isupper(c) && islower((unsigned char)p[-1]);
        if ((gap || camel) && n && s[n - 1] != ' ')
            s[n++] = ' ';
        if (!gap)
            s[n++] = (char)tolower(c);
    }
    n -= n && s[n - 1] == ' ';
    s[n] = 0;
    return s;
}

static const char *new_name(const struct alterer *w, int element)
{
    return w->a->renamed ? w->a->renamed[element] : NULL;
}

static int add_table(struct alterer *w, const char *name, const char *text)
{
    char *low = lower(name), *plain = words(text);
    int t = schema_build_table(&w->build, low, plain);
    free(low);
    free(plain);
    return t;
}

/* Copies column c under the given name, with its type. referenced: foreign keys may refer to the copy. */
static int add_copy(struct alterer *w, int table, int c, const char *name, const char *text, bool referenced)
{
    struct copies *k = &w->copies[c];
    char *low = lower(name), *plain = words(text);
    int at = schema_build_column(&w->build, table, low, plain, w->s->columns[c].type);

    CHECK(k->n < MAX_COPIES, "%d copies of column %d", k->n, c);
    k->at[k->n] = at;
    k->table[k->n] = table;
    k->referenced[k->n++] = referenced;
    free(low);
    free(plain);
    return at;
}

/* Copies a column under its own or its renamed name. */
static int add_plain_copy(struct alterer *w, int table, int c, bool referenced)
{
    const char *name = new_name(w, w->s->n_tables + c);
    const struct schema_column *from = &w->s->columns[c];
    return add_copy(w, table, c, name ? name : from->name, name ? name : from->text, referenced);
}

/* Returns the index of the name that takes the element's place. */
static int first_name(struct alterer *w)
{
    return w->form == ALTER_BOTH ? (int)rng_below(w->rng, 2) : w->form == ALTER_SECOND;
}

static void add_named_column(struct alterer *w, int table, int c, const char *name)
{
    int at = add_copy(w, table, c, name, name, true);
    if (w->s->columns[c].primary)
        schema_build_primary(&w->build, at);
}

/* Adds the columns of table t to the built table. */
static void add_columns(struct alterer *w, int table, int t)
{
    const struct schema_table *from = &w->s->tables[t];
    const struct alteration *a = w->a;
    bool here = t == a->table && a->column >= 0 && w->form != ALTER_NONE;
    bool renamed = here && a->type == SIA_COLUMN, moved = here && a->type != SIA_COLUMN && w->form == ALTER_SECOND;
    int first = renamed ? first_name(w) : 0;
    int other = renamed && w->form == ALTER_BOTH ? (int)rng_below(w->rng, (uint32_t)from->n_columns + 1) : -1;

    for (int i = 0; i <= from->n_columns; i++) {
        int c = from->first_column + i;
        if (i == other)
            add_named_column(w, table, a->column, a->names[1 - first]);
        if (i == from->n_columns || (moved && c == a->column))
            continue;
        if (renamed && c == a->column) {
            add_named_column(w, table, c, a->names[first]);
            continue;
        }
        int at = add_plain_copy(w, table, c, true);
        if (w->s->columns[c].primary)
            schema_build_primary(&w->build, at);
    }
}

/* Describes "max_c" by "max" and the text of c. */
static void add_aggregate(struct alterer *w, int table, const char *name)
{
    const char *under = strchr(name, '_'), *text = w->s->columns[w->a->column].text;
    char *plain = NULL, *low = lower(name);

    int n = under ? asprintf(&plain, "%.*s %s", (int)(under - name), name, text) : asprintf(&plain, "%s", name);
    CHECK(n >= 0, "cannot format %s", name);
    char *clean = words(plain);
    schema_build_column(&w->build, table, low, clean, COLUMN_NUMBER);
    free(plain);
    free(clean);
    free(low);
}

/* Adds the new table: the key (J) or the repeated columns (P), then the new columns. */
static void add_new_table(struct alterer *w)
{
    const struct schema_table *from = &w->s->tables[w->a->table];
    const struct alteration *a = w->a;
    char *text = NULL;

    CHECK(asprintf(&text, "%s %s", from->text, w->s->columns[a->column].text) >= 0, "cannot format %s", from->text);
    int table = add_table(w, a->new_table, text);
    free(text);
    for (int c = from->first_column; c < from->first_column + from->n_columns; c++) {
        bool wanted = a->type == SIA_JOIN ? c == a->key || c == a->column : a->repeated && a->repeated[c];
        if (!wanted)
            continue;
        int at = add_plain_copy(w, table, c, c == a->column && w->form == ALTER_SECOND);
        if (a->type == SIA_JOIN && c == a->key)
            schema_build_primary(&w->build, at);
    }
    for (int i = 0; i < a->n_new_columns && a->type == SIA_AGGREGATE; i++)
        add_aggregate(w, table, a->new_columns[i]);
}

static void add_named_table(struct alterer *w, int t, const char *name, const char *text)
{
    add_columns(w, add_table(w, name, text), t);
}

static void add_tables(struct alterer *w)
{
    const struct alteration *a = w->a;
    bool named = a->type == SIA_TABLE && w->form != ALTER_NONE;
    bool split = a->type != SIA_COLUMN && a->type != SIA_TABLE && w->form >= ALTER_SECOND;
    int first = named ? first_name(w) : 0, n = w->s->n_tables;
    int other = split || (named && w->form == ALTER_BOTH) ? (int)rng_below(w->rng, (uint32_t)n + 1) : -1;

    for (int t = 0; t <= n; t++) {
        if (t == other && split)
            add_new_table(w);
        else if (t == other)
            add_named_table(w, a->table, a->names[1 - first], a->names[1 - first]);
        if (t == n)
            break;
        const char *name = named && t == a->table ? a->names[first] : new_name(w, t);
        add_named_table(w, t, name ? name : w->s->tables[t].name, name ? name : w->s->tables[t].text);
    }
}

/* Every copy of the referencing column refers to every copy of the referenced column; a duplicated table refers only to
 * itself. */
static void carry_key(struct alterer *w, int from, int to)
{
    const struct copies *f = &w->copies[from], *t = &w->copies[to];
    bool inside = w->a->type == SIA_TABLE && w->s->columns[from].table == w->s->columns[to].table;

    for (int i = 0; i < f->n; i++)
        for (int j = 0; j < t->n; j++)
            if (t->referenced[j] && f->at[i] != t->at[j] && (!inside || f->table[i] == t->table[j]))
                schema_build_foreign_key(&w->build, f->at[i], t->at[j]);
}

static void carry_keys(struct alterer *w)
{
    const struct alteration *a = w->a;

    for (int k = 0; k < w->s->n_foreign_keys; k++)
        carry_key(w, w->s->foreign_keys[k].from, w->s->foreign_keys[k].to);
    if (a->key < 0)
        return;
    /* the key of the new table refers to the key of the old one */
    const struct copies *k = &w->copies[a->key];
    for (int i = 0; i < k->n; i++)
        for (int j = 0; j < k->n; j++)
            if (!k->referenced[i] && k->referenced[j])
                schema_build_foreign_key(&w->build, k->at[i], k->at[j]);
}

static bool good_name(const char *name)
{
    return name[0] && !strchr(name, '.');
}

static bool column_free(const struct schema *s, const struct alteration *a, const char *name)
{
    int c = schema_column_find(s, a->table, name);
    return good_name(name) && (c < 0 || c == a->column);
}

static bool table_free(const struct schema *s, const struct alteration *a, const char *name)
{
    int t = schema_table_find(s, name);
    return good_name(name) && (t < 0 || (t == a->table && a->type == SIA_TABLE));
}

static bool names_free(const struct schema *s, const struct alteration *a)
{
    if (a->type == SIA_COLUMN || a->type == SIA_TABLE) {
        bool (*is_free)(const struct schema *, const struct alteration *, const char *) =
            a->type == SIA_COLUMN ? column_free : table_free;
        return strcasecmp(a->names[0], a->names[1]) != 0 && is_free(s, a, a->names[0]) && is_free(s, a, a->names[1]);
    }
    if (!table_free(s, a, a->new_table))
        return false;
    for (int i = 0; i < a->n_new_columns; i++) {
        int c = schema_column_find(s, a->table, a->new_columns[i]);
        if (!good_name(a->new_columns[i]) || (c >= 0 && a->repeated && a->repeated[c]))
            return false;
    }
    return true;
}

int alter_schema(struct schema *out, const struct schema *s, const struct alteration *a, enum alter_form form,
                 const char *db_id, struct rng *rng)
{
    struct alterer w = { .s = s, .a = a, .form = form, .rng = rng };

    if (form != ALTER_NONE && !names_free(s, a))
        return -1;
    w.copies = xcalloc((size_t)s->n_columns, sizeof *w.copies);
    schema_build_init(&w.build, db_id);
    add_tables(&w);
    carry_keys(&w);
    schema_build_finish(&w.build, out);
    free(w.copies);
    return 0;
}

const char *alter_name(struct strings *text, const struct schema *s, const struct alteration *a, int which,
                       int aggregate)
{
    const char *table = s->tables[a->table].name, *column = a->column < 0 ? "" : s->columns[a->column].name;
    char *name = NULL;
    int n;

    if (a->type == SIA_TABLE)
        n = asprintf(&name, "%s", a->names[which]);
    else if (a->type == SIA_COLUMN)
        n = asprintf(&name, "%s.%s", table, a->names[which]);
    else if (which == 0)
        n = asprintf(&name, "%s.%s", table, column);
    else
        n = asprintf(&name, "%s.%s", a->new_table, a->type == SIA_JOIN ? column : a->new_columns[aggregate]);
    CHECK(n >= 0, "cannot format %s", table);
    char *low = lower(name);
    const char *kept = strings_keep(text, low);
    free(name);
    free(low);
    return kept;
}
