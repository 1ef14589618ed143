/* Part of schema_edit.h: an edited schema. */
#include "data/natural/schema_edit_impl.h"

#include "data/schema/schema_build.h"

#include <stdlib.h>
#include <string.h>

/* A schema while it is put together. */
struct edited_schema {
    struct edit_database *d;
    struct edit_version *v;
    struct schema_build build;
    int *tables;          /* [n_tables] the new number */
    int (*columns)[2];    /* [n_columns] the new numbers; the second is -1 but for columns that are two */
    struct strings names; /* that are taken, with their table */
    bool clash;
};

static const struct edit *edit_of(const struct edited_schema *x, enum edit_type type, int table, int column)
{
    for (int i = 0; i < x->d->n_edits; i++)
        if (x->v->on[i] && x->d->edits[i].type == type && x->d->edits[i].table == table &&
            x->d->edits[i].column == column)
            return &x->d->edits[i];
    return NULL;
}

static void take_name(struct edited_schema *x, const char *table, const char *column)
{
    const char *key = strings_printf(&x->d->text, "%s.%s", table, column);
    const char *folded = element_spell(&x->d->text, element_words(&x->d->text, key), STYLE_SNAKE);
    int before = x->names.n;

    x->clash = x->clash || strings_add(&x->names, folded) != before;
}

static int add_table(struct edited_schema *x, const char *name)
{
    take_name(x, name, "");
    return schema_build_table(&x->build, name, NULL);
}

static int add_column(struct edited_schema *x, int table, const char *table_name, const char *name,
                      enum column_type type)
{
    take_name(x, table_name, name);
    return schema_build_column(&x->build, table, name, NULL, type);
}

static const char *spell(const struct edited_schema *x, const char *words)
{
    return element_spell(&x->d->text, words, x->v->style);
}

/* The name in this version of what no edit renames. */
static const char *spell_old(const struct edited_schema *x, const char *name, const char *words)
{
    return x->v->restyled ? spell(x, words) : name;
}

/* Columns that edits of other elements bring. */
static void build_guests(struct edited_schema *x, int table, const char *name, int to)
{
    for (int i = 0; i < x->d->n_edits; i++) {
        const struct edit *e = &x->d->edits[i];
        if (!x->v->on[i])
            continue;
        if (e->type == EDIT_NEAR && e->other == table)
            add_column(x, to, name, spell(x, e->names[0]), x->d->schema->columns[e->column].type);
        if (e->type == EDIT_STORED && e->table == table)
            add_column(x, to, name, spell(x, e->names[0]), COLUMN_NUMBER);
    }
}

static void build_columns(struct edited_schema *x, int table, const char *name, int to)
{
    const struct schema *s = x->d->schema;
    const struct schema_table *t = &s->tables[table];

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        const struct edit *two = edit_of(x, EDIT_COLUMN, table, c), *one = edit_of(x, EDIT_RENAMED, table, c);
        const struct edit *beside = edit_of(x, EDIT_BESIDE, table, c);
        enum column_type type = s->columns[c].type;
        if (!two)
            two = edit_of(x, EDIT_ROLE, table, c);
        x->v->columns[c] = two   ? spell(x, two->names[0])
                           : one ? spell(x, one->names[one->which])
                                 : spell_old(x, s->columns[c].name, x->d->column_words[c]);
        x->columns[c][0] = add_column(x, to, name, x->v->columns[c], type);
        x->columns[c][1] = two ? add_column(x, to, name, spell(x, two->names[1]), type) : -1;
        if (s->columns[c].primary)
            schema_build_primary(&x->build, x->columns[c][0]);
        if (beside)
            add_column(x, to, name, spell(x, beside->names[0]), COLUMN_TEXT);
    }
    build_guests(x, table, name, to);
}

/* Keys of this table alone, as it stands in the new schema. */
static void build_keys(struct edited_schema *x, int table, const int (*targets)[2])
{
    const struct schema *s = x->d->schema;

    for (int i = 0; i < s->n_foreign_keys; i++) {
        const struct schema_foreign_key *k = &s->foreign_keys[i];
        if (s->columns[k->from].table != table)
            continue;
        for (int j = 0; j < 2; j++)
            if (x->columns[k->from][j] >= 0 && targets[k->to][0] >= 0)
                schema_build_foreign_key(&x->build, x->columns[k->from][j], targets[k->to][0]);
    }
}

/* A table of the original's key and of one of its columns. */
static void build_details(struct edited_schema *x, const struct edit *e)
{
    const struct schema *s = x->d->schema;
    const struct schema_table *t = &s->tables[e->table];
    const char *name = spell(x, e->names[0]);
    int to = add_table(x, name);

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (s->columns[c].primary) {
            int key = add_column(x, to, name, x->v->columns[c], s->columns[c].type);
            schema_build_primary(&x->build, key);
            schema_build_foreign_key(&x->build, key, x->columns[c][0]);
        }
    add_column(x, to, name, x->v->columns[e->column], s->columns[e->column].type);
    if (rng_below(x->d->rng, 2))
        add_column(x, to, name, spell(x, "notes"), COLUMN_TEXT);
    if (rng_below(x->d->rng, 2))
        add_column(x, to, name, spell(x, "updated at"), COLUMN_TIME);
}

/* "order types" with a key, a name and perhaps more. */
static void build_beside(struct edited_schema *x, const struct edit *e)
{
    const char *name = spell(x, e->names[0]);
    int to = add_table(x, name);

    schema_build_primary(&x->build, add_column(x, to, name, spell(x, "id"), COLUMN_NUMBER));
    add_column(x, to, name, spell(x, rng_below(x->d->rng, 2) ? "label" : "code"), COLUMN_TEXT);
    if (rng_below(x->d->rng, 2))
        add_column(x, to, name, spell(x, "sort order"), COLUMN_NUMBER);
}

/* The persons' names, and attributes that any person has. */
static void build_people(struct edited_schema *x, const struct edit *e)
{
    static const char *const attributes[] = { "email", "phone", "address", "city", "country", "gender" };
    const struct schema *s = x->d->schema;
    const struct schema_table *t = &s->tables[e->table];
    const char *name = spell(x, e->names[0]), *one = element_singular(&x->d->text, e->names[0]);
    int to = add_table(x, name);

    schema_build_primary(&x->build,
                         add_column(x, to, name, spell(x, strings_printf(&x->d->text, "%s id", one)), COLUMN_NUMBER));
    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        const char *own = element_own_words(s->columns[c].text, t->text);
        bool kept = strcmp(own, "name") == 0 || strcmp(own, "first name") == 0 || strcmp(own, "last name") == 0;
        for (int i = 0; i < ARRAY_LEN(attributes); i++)
            kept = kept || strstr(own, attributes[i]);
        if (kept && !schema_column_is_key(s, c))
            add_column(x, to, name, spell(x, own), s->columns[c].type);
    }
    add_column(x, to, name, spell(x, rng_below(x->d->rng, 2) ? "hired on" : "active since"), COLUMN_TIME);
}

static void build_partner(struct edited_schema *x, int table, const struct edit *e)
{
    const char *name = spell(x, e->names[1]);
    size_t n = (size_t)x->d->schema->n_columns;
    int(*of_table)[2] = xmalloc((n + 1) * sizeof *of_table);

    memcpy(of_table, x->columns, n * sizeof *of_table);
    build_columns(x, table, name, add_table(x, name));
    build_keys(x, table, (const int(*)[2])of_table);
    memcpy(x->columns, of_table, n * sizeof *of_table);
    free(of_table);
}

static void build_tables(struct edited_schema *x)
{
    const struct schema *s = x->d->schema;

    for (int t = 0; t < s->n_tables; t++) {
        const struct edit *e = edit_of(x, EDIT_TABLE, t, -1);
        x->v->tables[t] = e ? spell(x, e->names[0]) : spell_old(x, s->tables[t].name, x->d->table_words[t]);
        x->tables[t] = add_table(x, x->v->tables[t]);
        build_columns(x, t, x->v->tables[t], x->tables[t]);
    }
    for (int t = 0; t < s->n_tables; t++)
        build_keys(x, t, (const int(*)[2])x->columns);
    for (int i = 0; i < x->d->n_edits; i++) {
        const struct edit *e = &x->d->edits[i];
        if (!x->v->on[i])
            continue;
        if (e->type == EDIT_TABLE)
            build_partner(x, e->table, e);
        else if (e->type == EDIT_DETAILS)
            build_details(x, e);
        else if (e->type == EDIT_BESIDE_TABLE)
            build_beside(x, e);
        else if (e->type == EDIT_PEOPLE)
            build_people(x, e);
    }
}

bool edit_build(struct edit_database *d, struct edit_version *v, const char *db_id)
{
    const struct schema *s = d->schema;
    struct edited_schema x = { .d = d, .v = v };

    x.tables = xcalloc((size_t)s->n_tables + 1, sizeof *x.tables);
    x.columns = xcalloc((size_t)s->n_columns + 1, sizeof *x.columns);
    schema_build_init(&x.build, db_id);
    build_tables(&x);
    if (x.clash)
        schema_build_release(&x.build);
    else
        schema_build_finish(&x.build, &v->schema);
    strings_release(&x.names);
    free(x.tables);
    free(x.columns);
    return !x.clash;
}
