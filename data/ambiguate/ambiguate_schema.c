#include "data/ambiguate/ambiguate_schema.h"
#include "data/ambiguate/ambiguate_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SAMPLES = 3, MAX_COUNT = 10 };

/* Texts of columns or of tables, to be shuffled and joined. */
struct element_texts {
    char **items;
    int n, cap;
};

struct schema_renderer {
    const struct ambiguity *a;
    const struct schema *s;
    const struct column_values *values;
    struct rng *rng;
    struct element_texts tables;
    char *sample; /* J: what the split column shows in its own table */
};

static void add(struct element_texts *t, char *text)
{
    GROW(t->items, t->n, t->cap);
    t->items[t->n++] = text;
}

static void add_copy(struct element_texts *t, const char *text)
{
    add(t, xstrdup(text));
}

static void release(struct element_texts *t)
{
    for (int i = 0; i < t->n; i++)
        free(t->items[i]);
    free(t->items);
    *t = (struct element_texts){ 0 };
}

/* The caller frees it. */
static char *join(const struct element_texts *t, const char *between)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "cannot write to memory");
    for (int i = 0; i < t->n; i++)
        fprintf(f, "%s%s", i ? between : "", t->items[i]);
    CHECK(fclose(f) == 0, "cannot write to memory");
    return text;
}

/* All values of a column when they are three at most, else three drawn with replacement; the caller frees. */
static char *sample(const struct schema_renderer *r, int column)
{
    const char *shown[MAX_SAMPLES] = { "", "", "" };
    int have = r->values && column >= 0 ? r->values->counts[column] : 0, n = have < MAX_SAMPLES ? have : MAX_SAMPLES;
    char *text = NULL;

    for (int i = 0; i < n; i++) {
        int pick = have > MAX_SAMPLES ? (int)rng_below(r->rng, (uint32_t)have) : i;
        shown[i] = r->values->columns[column][pick];
    }
    CHECK(asprintf(&text, "%s%s%s%s%s", shown[0], n > 1 ? ", " : "", shown[1], n > 2 ? ", " : "", shown[2]) >= 0,
          "cannot format a sample");
    return text;
}

static char *column_text(const char *name, const char *values)
{
    char *text = NULL;
    CHECK(asprintf(&text, "%s (%s)", name, values) >= 0, "cannot format %s", name);
    return text;
}

/* Takes the columns. */
static void add_table(struct schema_renderer *r, const char *name, struct element_texts *columns)
{
    char *list = join(columns, ", "), *text = NULL;
    CHECK(asprintf(&text, "%s : %s", name, list) >= 0, "cannot format %s", name);
    add(&r->tables, text);
    free(list);
    release(columns);
}

/* Column c as it stands in the altered schema: C and R have both names with the same sample, D has none. */
static void add_column(struct schema_renderer *r, struct element_texts *columns, int c)
{
    const struct ambiqt_record *record = &r->a->record;
    const struct schema_column *column = &r->s->columns[c];
    bool here = record->column && strcmp(r->s->tables[column->table].name, record->table) == 0 &&
                strcmp(column->name, record->column) == 0;
    if (here && r->a->kind == AMBIGUITY_DELETED)
        return;
    char *values = sample(r, c);
    if (here && record->kind == SIA_COLUMN) {
        add(columns, column_text(record->names[0], values));
        add(columns, column_text(record->names[1], values));
    } else {
        add(columns, column_text(column->name, values));
    }
    if (here && record->kind == SIA_JOIN)
        r->sample = values;
    else
        free(values);
}

/* J: the new table stands right behind its parent. */
static void add_split_table(struct schema_renderer *r, int table)
{
    const struct ambiqt_record *record = &r->a->record;
    struct element_texts columns = { 0 };
    char *keys = sample(r, ambiguity_column(r->s, table, record->key));

    add(&columns, column_text(record->key, keys));
    add(&columns, column_text(record->column, r->sample ? r->sample : ""));
    rng_shuffle(r->rng, columns.items, columns.n, sizeof *columns.items);
    add_table(r, record->new_table, &columns);
    free(keys);
}

/* The column of that name in the first of the record's tables that has it, or -1. */
static int source_column(const struct schema_renderer *r, const char *name)
{
    for (int i = 0; i < r->a->n_tables; i++) {
        int c = ambiguity_column(r->s, ambiguity_table(r->s, r->a->tables[i]), name);
        if (c >= 0)
            return c;
    }
    return -1;
}

static void add_aggregate(struct schema_renderer *r, struct element_texts *columns, const char *name, const char *raw)
{
    char *values = sample(r, source_column(r, raw));
    add(columns, column_text(name, values));
    free(values);
}

static void add_number(struct schema_renderer *r, struct element_texts *columns)
{
    char text[64];
    int n[3];

    for (int i = 0; i < 3; i++)
        n[i] = 1 + (int)rng_below(r->rng, MAX_COUNT);
    snprintf(text, sizeof text, "number(%d, %d, %d)", n[0], n[1], n[2]);
    add_copy(columns, text);
}

/* P, older form: the table's other columns stand in the new one too. */
static void add_other_columns(struct schema_renderer *r, struct element_texts *columns)
{
    int t = ambiguity_table(r->s, r->a->record.table);
    const struct schema_table *table = &r->s->tables[t];

    for (int c = table->first_column; c < table->first_column + table->n_columns; c++)
        if (strcmp(r->s->columns[c].name, r->a->record.column) != 0)
            add_column(r, columns, c);
    for (int i = 0; i < r->a->record.n_new_columns; i++) {
        char *values = sample(r, ambiguity_column(r->s, t, r->a->record.column));
        add(columns, column_text(r->a->record.new_columns[i], values));
        free(values);
    }
}

static void add_aggregate_table(struct schema_renderer *r)
{
    const struct ambiguity *a = r->a;
    struct element_texts columns = { 0 };

    if (a->one_table)
        add_other_columns(r, &columns);
    for (int i = 0; i < a->n_plain; i++)
        add_aggregate(r, &columns, a->stored[i], a->stored[i]);
    if (a->number)
        add_number(r, &columns);
    for (int i = a->n_plain + a->number; i < a->n_stored; i++)
        for (int k = 0; k < 4; k++) {
            int at = a->n_plain + a->number + 4 * (i - a->n_plain - a->number) + k;
            add_aggregate(r, &columns, a->record.new_columns[at], a->stored[i]);
        }
    rng_shuffle(r->rng, columns.items, columns.n, sizeof *columns.items);
    add_table(r, a->record.new_table, &columns);
}

/* T: both copies show the same, at the end; the table itself does not stand any more. */
static void add_doubled_table(struct schema_renderer *r, struct element_texts *columns)
{
    char *list = join(columns, ", ");

    release(columns);
    for (int k = 0; k < 2; k++) {
        struct element_texts one = { 0 };
        add_copy(&one, list);
        add_table(r, r->a->record.names[k], &one);
    }
    free(list);
}

static void add_tables(struct schema_renderer *r)
{
    const struct ambiqt_record *record = &r->a->record;
    struct element_texts doubled = { 0 };

    for (int t = 0; t < r->s->n_tables; t++) {
        const struct schema_table *table = &r->s->tables[t];
        bool here = record->table && strcmp(table->name, record->table) == 0;
        struct element_texts columns = { 0 };
        for (int i = 0; i < table->n_columns; i++)
            add_column(r, &columns, table->first_column + i);
        rng_shuffle(r->rng, columns.items, columns.n, sizeof *columns.items);
        if (here && record->kind == SIA_TABLE)
            doubled = columns;
        else
            add_table(r, table->name, &columns);
        if (here && record->kind == SIA_JOIN)
            add_split_table(r, t);
    }
    if (record->kind == SIA_TABLE)
        add_doubled_table(r, &doubled);
    if (record->kind == SIA_AGGREGATE)
        add_aggregate_table(r);
}

/* Characters from a "(" to the next ")" go, with a single flag: a ")" inside a value ends it. */
static char *without_parentheses(const char *s)
{
    char *out = xstrdup(s), *to = out;
    bool inside = false;

    for (; *s; s++) {
        if (*s == '(')
            inside = true;
        else if (*s == ')')
            inside = false;
        else if (!inside)
            *to++ = *s;
    }
    *to = 0;
    return out;
}

static void strip(char *s)
{
    size_t n = strlen(s), skip = strspn(s, " ");
    while (n > skip && s[n - 1] == ' ')
        n--;
    memmove(s, s + skip, n - skip);
    s[n - skip] = 0;
}

struct schema_texts ambiguate_schema_texts(const struct ambiguity *a, const struct schema *s,
                                           const struct column_values *values, struct rng *rng)
{
    struct schema_renderer r = { .a = a, .s = s, .values = values, .rng = rng };
    struct schema_texts out;

    add_tables(&r);
    if (a->record.kind == SIA_TABLE || a->record.kind == SIA_AGGREGATE)
        rng_shuffle(rng, r.tables.items, r.tables.n, sizeof *r.tables.items);
    out.with_content = join(&r.tables, " | ");
    out.without_content = without_parentheses(out.with_content);
    if (a->record.kind == SIA_COLUMN || a->record.kind == SIA_TABLE)
        strip(out.without_content);
    release(&r.tables);
    free(r.sample);
    return out;
}
