#include "data/schema/schema_build.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct built_table {
    size_t name, text; /* offsets into schema_build.text */
    enum table_form form;
};

struct built_column {
    size_t name, text;
    int table;
    enum column_type type;
    bool primary;
    enum column_affinity affinity;
    enum column_collation collation;
};

static size_t add_text(struct schema_build *b, const char *s, size_t n)
{
    size_t at = b->text_size;
    if (at + n + 1 > b->text_cap) {
        b->text_cap = 2 * (at + n + 1);
        b->text = xrealloc(b->text, b->text_cap);
    }
    memcpy(b->text + at, s, n);
    b->text[at + n] = 0;
    b->text_size += n + 1;
    return at;
}

/* A new word starts at a capital behind a small letter or a digit, and at the last of several capitals before a small
 * letter. */
static bool starts_word(const char *name, size_t i)
{
    if (i == 0 || !isupper((unsigned char)name[i]))
        return false;
    unsigned char before = (unsigned char)name[i - 1], after = (unsigned char)name[i + 1];
    return islower(before) || isdigit(before) || (isupper(before) && islower(after));
}

static size_t add_words(struct schema_build *b, const char *name)
{
    size_t length = strlen(name), n = 0;
    char *words = xmalloc(2 * length + 1);

    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)name[i];
        bool gap = c == '_' || isspace(c);
        if ((gap || starts_word(name, i)) && n && words[n - 1] != ' ')
            words[n++] = ' ';
        if (!gap)
            words[n++] = (char)tolower(c);
    }
    if (n && words[n - 1] == ' ')
        n--;
    size_t at = n ? add_text(b, words, n) : add_text(b, name, length);
    free(words);
    return at;
}

void schema_build_init(struct schema_build *b, const char *db_id)
{
    *b = (struct schema_build){ 0 };
    b->db_id = add_text(b, db_id, strlen(db_id));
}

void schema_build_release(struct schema_build *b)
{
    free(b->tables);
    free(b->columns);
    free(b->foreign_keys);
    free(b->text);
    *b = (struct schema_build){ 0 };
}

int schema_build_table(struct schema_build *b, const char *name, const char *text)
{
    GROW(b->tables, b->n_tables, b->tables_cap);
    struct built_table *t = &b->tables[b->n_tables];
    t->form = TABLE_PLAIN;
    t->name = add_text(b, name, strlen(name));
    t->text = text ? add_text(b, text, strlen(text)) : add_words(b, name);
    return b->n_tables++;
}

void schema_build_form(struct schema_build *b, int table, enum table_form form)
{
    CHECK(table >= 0 && table < b->n_tables, "table %d, there are %d", table, b->n_tables);
    b->tables[table].form = form;
}

int schema_build_column(struct schema_build *b, int table, const char *name, const char *text, enum column_type type)
{
    CHECK(table >= 0 && table < b->n_tables, "column %s of table %d, there are %d", name, table, b->n_tables);
    GROW(b->columns, b->n_columns, b->columns_cap);
    struct built_column *c = &b->columns[b->n_columns];
    *c = (struct built_column){ .table = table, .type = type, .collation = COLLATION_BINARY };
    c->affinity = type == COLUMN_NUMBER ? AFFINITY_NUMBER : AFFINITY_UNKNOWN;
    c->name = add_text(b, name, strlen(name));
    c->text = text ? add_text(b, text, strlen(text)) : add_words(b, name);
    return b->n_columns++;
}

void schema_build_primary(struct schema_build *b, int column)
{
    CHECK(column >= 0 && column < b->n_columns, "primary key %d, there are %d columns", column, b->n_columns);
    b->columns[column].primary = true;
}

void schema_build_compared(struct schema_build *b, int column, enum column_affinity affinity,
                           enum column_collation collation)
{
    CHECK(column >= 0 && column < b->n_columns, "column %d, there are %d", column, b->n_columns);
    b->columns[column].affinity = affinity;
    b->columns[column].collation = collation;
}

void schema_build_foreign_key(struct schema_build *b, int from, int to)
{
    CHECK(from >= 0 && from < b->n_columns && to >= 0 && to < b->n_columns,
          "foreign key %d to %d, there are %d columns", from, to, b->n_columns);
    GROW(b->foreign_keys, b->n_foreign_keys, b->foreign_keys_cap);
    b->foreign_keys[b->n_foreign_keys++] = (struct schema_foreign_key){ from, to };
}

/* Counting sort by table: writes the ranges of the tables and returns the new number of each column. */
static int *place_columns(const struct schema_build *b, struct schema_table *tables)
{
    int *place = xcalloc((size_t)b->n_columns + 1, sizeof *place);

    for (int i = 0; i < b->n_columns; i++)
        tables[b->columns[i].table].n_columns++;
    for (int t = 1; t < b->n_tables; t++)
        tables[t].first_column = tables[t - 1].first_column + tables[t - 1].n_columns;
    int *filled = xcalloc((size_t)b->n_tables + 1, sizeof *filled);
    for (int i = 0; i < b->n_columns; i++) {
        int t = b->columns[i].table;
        place[i] = tables[t].first_column + filled[t]++;
    }
    free(filled);
    return place;
}

static _Atomic int64_t serials;

void schema_build_finish(struct schema_build *b, struct schema *out)
{
    size_t tables = (size_t)b->n_tables * sizeof *out->tables, columns = (size_t)b->n_columns * sizeof *out->columns;
    size_t keys = (size_t)b->n_foreign_keys * sizeof *out->foreign_keys;
    char *block = xcalloc(tables + columns + keys + b->text_size, 1), *text = block + tables + columns + keys;

    *out = (struct schema){ .block = block, .db_id = text + b->db_id, .serial = ++serials };
    out->tables = (struct schema_table *)(void *)block;
    out->columns = (struct schema_column *)(void *)(block + tables);
    out->foreign_keys = (struct schema_foreign_key *)(void *)(block + tables + columns);
    out->n_tables = b->n_tables;
    out->n_columns = b->n_columns;
    out->n_foreign_keys = b->n_foreign_keys;
    memcpy(text, b->text, b->text_size);
    for (int t = 0; t < b->n_tables; t++) {
        out->tables[t].name = text + b->tables[t].name;
        out->tables[t].text = text + b->tables[t].text;
        out->tables[t].form = b->tables[t].form;
    }
    int *place = place_columns(b, out->tables);
    for (int i = 0; i < b->n_columns; i++) {
        const struct built_column *c = &b->columns[i];
        out->columns[place[i]] = (struct schema_column){ text + c->name, text + c->text, c->table,    c->type,
                                                         c->primary,     c->affinity,    c->collation };
    }
    for (int i = 0; i < b->n_foreign_keys; i++) {
        const struct schema_foreign_key *k = &b->foreign_keys[i];
        out->foreign_keys[i] = (struct schema_foreign_key){ place[k->from], place[k->to] };
    }
    free(place);
    schema_build_release(b);
}

void schema_release(struct schema *s)
{
    free(s->block);
    *s = (struct schema){ 0 };
}

static bool has_word(const char *declared, const char *word)
{
    return strcasestr(declared, word) != NULL;
}

/* Tests in the order of Spider's own converter. */
enum column_type column_type_of(const char *declared)
{
    static const char *const text[] = { "char", "text", "var", "clob" };
    static const char *const number[] = { "int", "numeric", "decimal", "number", "real", "double", "float" };
    static const char *const time[] = { "date", "time", "year" };

    if (!declared[0])
        return COLUMN_TEXT;
    for (int i = 0; i < ARRAY_LEN(text); i++)
        if (has_word(declared, text[i]))
            return COLUMN_TEXT;
    for (int i = 0; i < ARRAY_LEN(number); i++)
        if (has_word(declared, number[i]))
            return COLUMN_NUMBER;
    for (int i = 0; i < ARRAY_LEN(time); i++)
        if (has_word(declared, time[i]))
            return COLUMN_TIME;
    return has_word(declared, "bool") ? COLUMN_BOOLEAN : COLUMN_OTHERS;
}

enum column_affinity column_affinity_of(const char *declared)
{
    if (strcasecmp(declared, "any") == 0)
        return AFFINITY_UNKNOWN;
    if (has_word(declared, "int"))
        return AFFINITY_INTEGER;
    if (has_word(declared, "char") || has_word(declared, "clob") || has_word(declared, "text"))
        return AFFINITY_TEXT;
    if (!declared[0] || has_word(declared, "blob"))
        return AFFINITY_NONE;
    if (has_word(declared, "real") || has_word(declared, "floa") || has_word(declared, "doub"))
        return AFFINITY_REAL;
    return AFFINITY_NUMERIC;
}

enum column_collation column_collation_of(const char *name)
{
    static const char *const names[] = { "", "binary", "nocase", "rtrim" };

    for (int i = COLLATION_BINARY; i < ARRAY_LEN(names); i++)
        if (strcasecmp(names[i], name) == 0)
            return (enum column_collation)i;
    return COLLATION_UNKNOWN;
}

/* Joining. */

struct join {
    const struct schema *const *schemas;
    int n;
    struct schema_build build;
    char **names; /* names of the tables so far */
    int n_names, cap;
};

static bool is_taken(const struct join *j, const char *name)
{
    for (int i = 0; i < j->n_names; i++)
        if (strcasecmp(j->names[i], name) == 0)
            return true;
    return false;
}

static bool is_anywhere(const struct join *j, const char *name)
{
    for (int i = 0; i < j->n; i++)
        if (schema_table_find(j->schemas[i], name) >= 0)
            return true;
    return is_taken(j, name);
}

/* The caller frees. */
static char *free_name(const struct join *j, const char *name)
{
    char *free_one = xstrdup(name);

    for (int k = 2; k == 2 ? is_taken(j, free_one) : is_anywhere(j, free_one); k++) {
        free(free_one);
        CHECK(asprintf(&free_one, "%s_%d", name, k) >= 0, "table %s gets no other name", name);
    }
    return free_one;
}

static int add_table(struct join *j, const struct schema_table *t)
{
    char *name = free_name(j, t->name);
    int table = schema_build_table(&j->build, name, t->text);

    schema_build_form(&j->build, table, t->form);
    GROW(j->names, j->n_names, j->cap);
    j->names[j->n_names++] = name;
    return table;
}

static void add_schema(struct join *j, const struct schema *s)
{
    int first_table = j->build.n_tables, first = j->build.n_columns;

    for (int t = 0; t < s->n_tables; t++)
        add_table(j, &s->tables[t]);
    for (int i = 0; i < s->n_columns; i++) {
        const struct schema_column *c = &s->columns[i];
        schema_build_column(&j->build, first_table + c->table, c->name, c->text, c->type);
        if (c->primary)
            schema_build_primary(&j->build, first + i);
    }
    for (int i = 0; i < s->n_foreign_keys; i++)
        schema_build_foreign_key(&j->build, first + s->foreign_keys[i].from, first + s->foreign_keys[i].to);
}

void schema_join(struct schema *out, const struct schema *const *schemas, int n)
{
    struct join j = { .schemas = schemas, .n = n };

    CHECK(n >= 1, "%d schemas to join", n);
    schema_build_init(&j.build, schemas[0]->db_id);
    for (int i = 0; i < n; i++)
        add_schema(&j, schemas[i]);
    schema_build_finish(&j.build, out);
    schema_build_release(&j.build);
    for (int i = 0; i < j.n_names; i++)
        free(j.names[i]);
    free(j.names);
}
