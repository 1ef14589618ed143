#include "data/synth/schema_edit.h"

#include "data/base/log.h"
#include "data/schema/schema_build.h"
#include "data/synth/element_style.h"
#include "data/synth/lexicon.h"
#include "data/synth/schema_ask.h"
#include "data/synth/schema_edit_find.h"
#include "data/synth/sql_exchange.h"

#include <stdlib.h>
#include <string.h>

/* Building an edited schema. */

/* The state of building a schema. */
struct edited_schema {
    struct edit_database *d;
    struct edit_version *v;
    struct schema_build build;
    int *tables;          /* [n_tables] new indices */
    int (*columns)[2];    /* [n_columns] new indices; the second is -1 unless the column became two */
    struct strings names; /* used names with their tables */
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

/* Returns the name in this version of an element that no edit renames. */
static const char *spell_old(const struct edited_schema *x, const char *name, const char *words)
{
    return x->v->restyled ? spell(x, words) : name;
}

/* Adds the columns that edits of other elements bring. */
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

/* Adds the keys of this table in the new schema. */
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

/* Adds a table with the original's key and one of its columns. */
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

/* Adds a table such as "order types" with a key, a name and perhaps more columns. */
static void build_beside(struct edited_schema *x, const struct edit *e)
{
    const char *name = spell(x, e->names[0]);
    int to = add_table(x, name);

    schema_build_primary(&x->build, add_column(x, to, name, spell(x, "id"), COLUMN_NUMBER));
    add_column(x, to, name, spell(x, rng_below(x->d->rng, 2) ? "label" : "code"), COLUMN_TEXT);
    if (rng_below(x->d->rng, 2))
        add_column(x, to, name, spell(x, "sort order"), COLUMN_NUMBER);
}

/* Adds the persons' names and attributes that any person has. */
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

bool edit_version_build(struct edit_database *d, struct edit_version *v, const char *db_id)
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

/* Labelling questions on an edited schema, and their SQL there. */

/* A name that the statement only compares with a value is usually not the name in the question. */
static bool mention_is_another(const struct edit_database *d, const struct edit_question *q, const struct edit *e)
{
    static const char *const names[] = { "name", "title" };

    if (e->column < 0 || q->uses[d->schema->n_tables + e->column] != USE_COMPARED)
        return false;
    for (int i = 0; i < ARRAY_LEN(names); i++)
        if (strstr(e->head, names[i]))
            return true;
    return false;
}

static bool uses_element(const struct edit_database *d, const struct edit_question *q, const struct edit *e)
{
    return e->column < 0 ? q->uses[e->table] : q->uses[d->schema->n_tables + e->column];
}

/* Returns true if both edits give the same element the same two names. */
static bool same_members(const struct edit *a, const struct edit *b)
{
    return a->table == b->table && a->column == b->column && strcmp(a->names[0], b->names[0]) == 0 &&
           strcmp(a->names[1], b->names[1]) == 0;
}

/* Returns true if the question names the table by its last word. */
static bool names_table(const struct edit_database *d, const struct edit_question *q, int table)
{
    const char *words = d->schema->tables[table].text, *space = strrchr(words, ' ');

    return edit_mentions(q->text, space ? space + 1 : words, NULL) > 0;
}

/* Judges an edit whose new elements are in other tables: a question that names its own table stays unambiguous. */
static enum edit_label judge_guest(const struct edit_database *d, const struct edit_question *q, const struct edit *e)
{
    const enum edit_use *uses = q->uses;

    if (e->type == EDIT_STORED)
        return uses[e->table] && (uses[e->other] || strstr(q->text, "otal") || strstr(q->text, "umber")) ? EDIT_UNKNOWN
                                                                                                         : EDIT_CLEAR;
    if (!uses_element(d, q, e))
        return EDIT_CLEAR;
    bool other = e->type == EDIT_NEAR && (uses[e->other] || names_table(d, q, e->other));
    return other || !names_table(d, q, e->table) ? EDIT_UNKNOWN : EDIT_CLEAR;
}

enum edit_label edit_judge_one(const struct edit_database *d, const struct edit_question *q, const struct edit *e)
{
    const struct edit *said = q->edit < 0 ? NULL : &d->edits[q->edit];

    if (e->type == EDIT_NEAR || e->type == EDIT_STORED || e->type == EDIT_PEOPLE)
        return judge_guest(d, q, e);
    if (!uses_element(d, q, e))
        return EDIT_CLEAR;
    if (e->type == EDIT_BESIDE || e->type == EDIT_BESIDE_TABLE)
        return edit_says_member(q->text, e) ? EDIT_UNKNOWN : EDIT_CLEAR;
    if (said && e->names[1] && said->table == e->table && said->column == e->column) {
        if (!same_members(said, e) || (e->type == EDIT_RENAMED && e->which != q->which))
            return EDIT_UNKNOWN;
        return EDIT_CLEAR;
    }
    if (mention_is_another(d, q, e) || edit_says_member(q->text, e) || edit_mentions(q->text, e->head, NULL) == 0)
        return EDIT_UNKNOWN;
    return e->type == EDIT_RENAMED ? EDIT_CLEAR : EDIT_AMBIGUOUS;
}

/* Returns true if the question names a member and the schema has it. */
static bool member_stands(const struct edit_database *d, const struct edit_question *q, const struct edit_version *v)
{
    if (q->edit < 0)
        return true;
    for (int i = 0; i < d->n_edits; i++) {
        const struct edit *e = &d->edits[i];
        if (v->on[i] && e->names[1] && same_members(e, &d->edits[q->edit]) &&
            (e->type != EDIT_RENAMED || e->which == q->which))
            return true;
    }
    return false;
}

/* Labels the question on the schema. *edit is the edit that makes it ambiguous. */
static enum edit_label edit_judge(const struct edit_database *d, const struct edit_question *q,
                                  const struct edit_version *v, int *edit)
{
    int n = 0;

    *edit = -1;
    if (!member_stands(d, q, v))
        return EDIT_UNKNOWN;
    for (int i = 0; i < d->n_edits; i++) {
        if (!v->on[i])
            continue;
        enum edit_label label = edit_judge_one(d, q, &d->edits[i]);
        if (label == EDIT_UNKNOWN || (label == EDIT_AMBIGUOUS && n++))
            return EDIT_UNKNOWN;
        if (label == EDIT_AMBIGUOUS)
            *edit = i;
    }
    return n ? EDIT_AMBIGUOUS : EDIT_CLEAR;
}

/* Returns the question's statement on the schema, with the names of the members that the question says. */
static const char *rename_to(struct edit_database *d, const struct edit_question *q, const struct edit_version *v)
{
    const struct schema *s = d->schema;
    const char **tables = xmalloc(((size_t)s->n_tables + 1) * sizeof *tables);
    const char **columns = xmalloc(((size_t)s->n_columns + 1) * sizeof *columns);

    memcpy(tables, v->tables, (size_t)s->n_tables * sizeof *tables);
    memcpy(columns, v->columns, (size_t)s->n_columns * sizeof *columns);
    if (q->edit >= 0) {
        const struct edit *e = &d->edits[q->edit];
        const char *name = element_spell(&d->text, e->names[q->which], v->style);
        *(e->column < 0 ? &tables[e->table] : &columns[e->column]) = name;
    }
    const char *sql = edit_rename_sql(d, q->sql, tables, columns, &v->schema);
    free(tables);
    free(columns);
    return sql;
}

bool edit_alternatives(struct edit_database *d, const struct edit_version *v, const struct edit *e,
                       const char *names[2], int elements[2])
{
    const char *other = element_spell(&d->text, e->names[e->type == EDIT_DETAILS ? 0 : 1], v->style);

    if (e->type == EDIT_TABLE) {
        names[0] = v->tables[e->table];
        names[1] = other;
    } else {
        const char *table = v->tables[e->table], *column = v->columns[e->column];
        bool details = e->type == EDIT_DETAILS;
        names[0] = strings_printf(&d->text, "%s.%s", table, column);
        names[1] = strings_printf(&d->text, "%s.%s", details ? other : table, details ? column : other);
    }
    for (int i = 0; i < 2; i++) {
        int table, column;
        if (example_element(&v->schema, names[i], &table, &column))
            return false;
        elements[i] = column < 0 ? table : v->schema.n_tables + column;
    }
    return true;
}

/* Writes the question's SQL on the schema: one statement, or two if this edit makes it ambiguous (-1: none does).
 * Returns the number, 0 if that fails. */
static int edit_sql(struct edit_database *d, const struct edit_question *q, const struct edit_version *v, int edit,
                    const char *sql[2], const char *alternatives[2])
{
    int elements[2];
    size_t mark = arena_mark(d->sql);

    alternatives[0] = alternatives[1] = NULL;
    sql[0] = rename_to(d, q, v);
    if (!sql[0] || edit < 0)
        return sql[0] ? 1 : 0;
    if (!edit_alternatives(d, v, &d->edits[edit], alternatives, elements))
        return 0;
    sql[1] = sql_exchange(d->sql, sql[0], &v->schema, elements[0], elements[1], NULL);
    if (sql[1])
        sql[1] = strings_keep(&d->text, sql[1]);
    arena_reset(d->sql, mark);
    return sql[1] ? 2 : 0;
}

enum {
    VERSIONS = 16,    /* of each schema */
    SETS_OF_EDIT = 5, /* maximum of contrast sets by one edit */
    VARIANTS_OF_QUESTION = 6,
    COLUMN_EDITS_WANTED = 7, /* target number of columns of a version that become two */
    TABLE_EDITS_WANTED = 1
};

/* One question on one version of a schema. */
struct edit_cell {
    enum edit_label label;
    int edit;                     /* original questions: the edit that makes it ambiguous */
    const struct schema_ask *ask; /* template questions */
    bool used;
    int n_sql; /* -1: not requested yet */
    const char *sql[2], *alternatives[2];
};

/* The state of making one database's examples. */
struct edit_run {
    struct edit_database d;
    struct natural *n;
    const char *source;
    enum data_split split;
    struct edit_cell *cells; /* [questions][VERSIONS] */
    int *sets_of;            /* [edits, then groups of template questions] */
    int sets, n_read;        /* questions from n_read on are templates */
    struct schema_asks asks[VERSIONS];
    struct strings asked, groups; /* texts and groups of templates; asked.items[i] is question n_read + i */
    int *group_of;                /* [asked.n] */
    int group_cap;
};

static struct edit_cell *cell_of(struct edit_run *r, int question, int version)
{
    return &r->cells[question * VERSIONS + version];
}

/* Questions. */

static bool only_head(const struct edit_database *d, const struct edit_question *q, const struct edit *e)
{
    int n = 0;

    for (int c = 0; c < d->schema->n_columns; c++) {
        const struct schema_column *x = &d->schema->columns[c];
        const char *own = element_own_words(x->text, d->schema->tables[x->table].text);
        n += q->uses[d->schema->n_tables + c] != USE_NONE && strcmp(own, e->head) == 0;
    }
    return e->column < 0 || n == 1;
}

static void add_question(struct edit_database *d, struct edit_question q)
{
    GROW(d->questions, d->n_questions, d->questions_cap);
    d->questions[d->n_questions++] = q;
}

/* Adds forms of the question with a member in place of the head, for some of the matching edits. */
static void add_variants(struct edit_run *r, int question)
{
    struct edit_database *d = &r->d;
    int begin = (int)rng_below(d->rng, (uint32_t)d->n_edits), n = 0;

    for (int k = 0; k < d->n_edits && n < VARIANTS_OF_QUESTION; k++) {
        int i = (begin + k) % d->n_edits;
        const struct edit *e = &d->edits[i];
        struct edit_question q = d->questions[question];
        bool used = e->column < 0 ? q.uses[e->table] : q.uses[d->schema->n_tables + e->column];
        if ((e->type != EDIT_COLUMN && e->type != EDIT_TABLE) || !used ||
            (e->column >= 0 && q.uses[d->schema->n_tables + e->column] == USE_COMPARED && strstr(e->head, "name")) ||
            edit_says_member(q.text, e) || !only_head(d, &q, e))
            continue;
        q.edit = i;
        q.which = (int)rng_below(d->rng, 2);
        q.text = edit_say(d, q.text, e, q.which);
        if (q.text && natural_claim(r->n, q.text, r->split)) {
            add_question(d, q);
            n++;
        }
    }
}

static void read_questions(struct edit_database *d, struct natural *n, const struct spider_corpus *all,
                           enum data_split split)
{
    size_t n_elements = (size_t)d->schema->n_tables + (size_t)d->schema->n_columns;

    for (int i = 0; i < all->n; i++) {
        const struct spider_question *s = &all->items[i];
        if (strcmp(s->db_id, d->schema->db_id) != 0)
            continue;
        enum edit_use *uses = xcalloc(n_elements + 1, sizeof *uses);
        const char *text = wording_restyle(&d->text, s->question, d->rng);
        if (natural_claim(n, text, split) && edit_uses(d, s->query, uses))
            add_question(d, (struct edit_question){ text, s->query, uses, -1, -1 });
        else
            free(uses);
    }
}

static void read_words(struct edit_database *d)
{
    const struct schema *s = d->schema;

    d->table_words = xcalloc((size_t)s->n_tables + 1, sizeof *d->table_words);
    d->column_words = xcalloc((size_t)s->n_columns + 1, sizeof *d->column_words);
    for (int t = 0; t < s->n_tables; t++)
        d->table_words[t] = element_words(&d->text, s->tables[t].name);
    for (int c = 0; c < s->n_columns; c++)
        d->column_words[c] = element_words(&d->text, s->columns[c].name);
}

void edit_database_read(struct edit_database *d, struct natural *n, const struct spider_corpus *questions,
                        enum data_split split)
{
    read_words(d);
    read_questions(d, n, questions, split);
}

/* Versions. */

/* Returns the number of questions that the edit could make ambiguous. */
static int asked(const struct edit_database *d, const struct edit *e)
{
    int n = 0;

    for (int i = 0; i < d->n_questions; i++) {
        const struct edit_question *q = &d->questions[i];
        bool used = e->column < 0 ? q->uses[e->table] : q->uses[d->schema->n_tables + e->column];
        n += used && q->edit < 0 && edit_mentions(q->text, e->head, NULL) > 0 && !edit_says_member(q->text, e);
    }
    return n;
}

/* Returns the probability of trying an edit of that type. */
static float chance(const struct edit_database *d, const struct edit *e, int n_of_type)
{
    static const float wanted[EDIT_TYPES] = { [EDIT_COLUMN] = COLUMN_EDITS_WANTED,
                                              [EDIT_RENAMED] = 2,
                                              [EDIT_ROLE] = 3,
                                              [EDIT_TABLE] = TABLE_EDITS_WANTED,
                                              [EDIT_DETAILS] = 2.5F,
                                              [EDIT_BESIDE] = 3,
                                              [EDIT_BESIDE_TABLE] = 1.5F,
                                              [EDIT_NEAR] = 2.5F,
                                              [EDIT_STORED] = 5,
                                              [EDIT_PEOPLE] = 2.5F };
    return wanted[e->type] / (float)(n_of_type + 1) * (e->type >= EDIT_NEAR ? 1 : asked(d, e) ? 1.5F : 0.5F);
}

/* An element has one edit at a time, apart from elements that describe it. */
static bool free_for(const struct edit_database *d, const struct edit_version *v, const struct edit *e)
{
    for (int i = 0; i < d->n_edits; i++) {
        const struct edit *o = &d->edits[i];
        if (v->on[i] && o->table == e->table && o->column == e->column)
            return false;
        if (v->on[i] && o->table == e->table &&
            ((o->type == EDIT_TABLE && e->type == EDIT_DETAILS) || (o->type == EDIT_DETAILS && e->type == EDIT_TABLE)))
            return false;
    }
    return true;
}

void edit_version_init(struct edit_version *v, const struct edit_database *d)
{
    *v = (struct edit_version){ .on = xcalloc((size_t)d->n_edits + 1, sizeof *v->on) };
    v->tables = xcalloc((size_t)d->schema->n_tables + 1, sizeof *v->tables);
    v->columns = xcalloc((size_t)d->schema->n_columns + 1, sizeof *v->columns);
}

static void draw_version(struct edit_database *d, struct edit_version *v)
{
    int *order = xcalloc((size_t)d->n_edits + 1, sizeof *order), n_of[EDIT_TYPES] = { 0 };

    edit_version_init(v, d);
    for (int i = 0; i < d->n_edits; i++) {
        order[i] = i;
        n_of[d->edits[i].type]++;
    }
    rng_shuffle(d->rng, order, d->n_edits, sizeof *order);
    for (int i = 0; i < d->n_edits; i++) {
        const struct edit *e = &d->edits[order[i]];
        if (rng_uniform(d->rng) < chance(d, e, n_of[e->type]) && free_for(d, v, e))
            v->on[order[i]] = true;
    }
    uint32_t style = rng_below(d->rng, 20);
    v->style = style < 13   ? STYLE_SNAKE
               : style < 15 ? STYLE_SHORT
               : style < 18 ? STYLE_CAMEL
               : style < 19 ? STYLE_LOWER_CAMEL
                            : STYLE_UPPER;
    v->restyled = v->style != STYLE_SNAKE || rng_below(d->rng, 3) > 0;
    free(order);
}

void edit_version_release(struct edit_version *v)
{
    free(v->on);
    free(v->tables);
    free(v->columns);
    schema_release(&v->schema);
    *v = (struct edit_version){ 0 };
}

static void make_versions(struct edit_run *r)
{
    struct edit_database *d = &r->d;

    d->versions = xcalloc(VERSIONS, sizeof *d->versions);
    for (int i = 0; i < 2 * VERSIONS && d->n_versions < VERSIONS; i++) {
        struct edit_version *v = &d->versions[d->n_versions];
        draw_version(d, v);
        const char *id = strings_printf(&d->text, "%s__edit_%d", d->schema->db_id, d->n_versions + 1);
        if (edit_version_build(d, v, id))
            d->n_versions++;
        else
            edit_version_release(v);
    }
}

/* Template questions. */

/* Turns the template texts of all versions into questions. */
static void collect_asks(struct edit_run *r)
{
    r->n_read = r->d.n_questions;
    for (int v = 0; v < r->d.n_versions; v++) {
        r->asks[v].text = &r->d.text;
        schema_asks_find(&r->asks[v], &r->d.versions[v].schema);
        for (int i = 0; i < r->asks[v].n; i++) {
            const struct schema_ask *a = &r->asks[v].items[i];
            int before = r->asked.n, group = strings_add(&r->groups, a->group);
            if (!natural_claim(r->n, a->text, r->split) || strings_add(&r->asked, a->text) != before)
                continue;
            GROW(r->group_of, before, r->group_cap);
            r->group_of[before] = group;
            add_question(&r->d, (struct edit_question){ .text = a->text, .edit = -1 });
        }
    }
}

static void judge_asks(struct edit_run *r)
{
    for (int v = 0; v < r->d.n_versions; v++)
        for (int i = 0; i < r->asks[v].n; i++) {
            const struct schema_ask *a = &r->asks[v].items[i];
            int at = strings_find(&r->asked, a->text);
            if (at < 0)
                continue;
            struct edit_cell *c = cell_of(r, r->n_read + at, v);
            c->ask = a;
            c->label = a->ambiguous ? EDIT_AMBIGUOUS : EDIT_CLEAR;
            c->n_sql = a->ambiguous ? 2 : 1;
            memcpy(c->sql, a->sql, sizeof c->sql);
            memcpy(c->alternatives, a->alternatives, sizeof c->alternatives);
        }
}

/* Examples. */

static void judge_all(struct edit_run *r)
{
    r->cells = xcalloc((size_t)r->d.n_questions * VERSIONS + 1, sizeof *r->cells);
    for (int q = 0; q < r->n_read; q++)
        for (int v = 0; v < r->d.n_versions; v++) {
            struct edit_cell *c = cell_of(r, q, v);
            c->label = edit_judge(&r->d, &r->d.questions[q], &r->d.versions[v], &c->edit);
            c->n_sql = -1;
        }
}

/* Returns true if the cell has statements and is in no example yet. */
static bool usable(struct edit_run *r, int q, int v)
{
    struct edit_cell *c = cell_of(r, q, v);

    if (c->n_sql < 0)
        c->n_sql = edit_sql(&r->d, &r->d.questions[q], &r->d.versions[v], c->edit, c->sql, c->alternatives);
    return !c->used && c->n_sql == (c->label == EDIT_AMBIGUOUS ? 2 : 1);
}

enum sia_type edit_sia_type(enum edit_type type)
{
    return type == EDIT_TABLE ? SIA_TABLE : type == EDIT_DETAILS ? SIA_JOIN : SIA_COLUMN;
}

static enum sia_type kind_of(const struct edit_run *r, const struct edit_cell *c)
{
    if (c->ask)
        return c->ask->type;
    return edit_sia_type(r->d.edits[c->edit].type);
}

/* Returns the reason for the example's label. */
static const char *reason_of(const struct edit_run *r, int q, const struct edit_cell *c, enum example_slice slice)
{
    static const char *const reasons[EDIT_TYPES] = { [EDIT_COLUMN] = "two columns",
                                                     [EDIT_ROLE] = "two roles",
                                                     [EDIT_TABLE] = "two tables",
                                                     [EDIT_DETAILS] = "repeated column" };

    if (c->label == EDIT_AMBIGUOUS)
        return c->ask ? c->ask->reason : reasons[r->d.edits[c->edit].type];
    if (c->ask)
        return c->ask->named ? "table or role said" : "one of two stands";
    return slice == EXAMPLE_HARD_NEGATIVE || r->d.questions[q].edit >= 0 ? "modifier said" : "edits elsewhere";
}

static void emit(struct edit_run *r, int q, int v, enum example_slice slice, enum sia_type type)
{
    struct edit_cell *c = cell_of(r, q, v);
    struct example e = { .db_id = r->d.versions[v].schema.db_id, .source_db = r->d.schema->db_id };

    e.question = r->d.questions[q].text;
    e.slice = slice;
    e.type = type;
    e.source = r->source;
    e.reason = reason_of(r, q, c, slice);
    e.ambiguous = c->label == EDIT_AMBIGUOUS;
    for (int i = 0; i < c->n_sql; i++)
        e.sql[e.n_sql++] = c->sql[i];
    for (int i = 0; e.ambiguous && i < 2; i++)
        e.alternatives[i] = c->alternatives[i];
    natural_add(r->n, r->split, &e);
    c->used = true;
}

/* Returns true if question x names a member of the edit that makes q ambiguous there. */
static bool says_member_of(const struct edit_run *r, int x, int q, const struct edit_cell *c)
{
    const struct edit_question *a = &r->d.questions[x], *b = &r->d.questions[q];

    if (c->ask)
        return x != q && x >= r->n_read && r->group_of[x - r->n_read] == r->group_of[q - r->n_read];
    if (a->uses != b->uses || a->edit < 0)
        return false;
    const struct edit *e = &r->d.edits[a->edit], *by = &r->d.edits[c->edit];
    return e->table == by->table && e->column == by->column;
}

/* Emits the question with a member on the schema where it is ambiguous without one. */
static void emit_clear_variant(struct edit_run *r, int q, int v, enum sia_type type)
{
    const struct edit_cell *c = cell_of(r, q, v);

    for (int i = r->d.questions[q].edit < 0 ? 0 : r->d.n_questions; i < r->d.n_questions; i++)
        if (says_member_of(r, i, q, c) && cell_of(r, i, v)->label == EDIT_CLEAR && usable(r, i, v)) {
            emit(r, i, v, EXAMPLE_HARD_NEGATIVE, type);
            return;
        }
}

/* Returns the counter of contrast sets for the edit that makes question q ambiguous there. */
static int *counter(struct edit_run *r, int q, int v)
{
    const struct edit_cell *c = cell_of(r, q, v);

    return &r->sets_of[c->ask ? r->d.n_edits + r->group_of[q - r->n_read] : c->edit];
}

static void emit_four(struct edit_run *r, int a, int b, int v, int w)
{
    enum sia_type types[2] = { kind_of(r, cell_of(r, a, v)), kind_of(r, cell_of(r, b, w)) };

    emit(r, a, v, EXAMPLE_CONTRAST, types[0]);
    emit(r, b, w, EXAMPLE_CONTRAST, types[1]);
    emit(r, a, w, EXAMPLE_CONTRAST, types[1]);
    emit(r, b, v, EXAMPLE_CONTRAST, types[0]);
    emit_clear_variant(r, a, v, types[0]);
    emit_clear_variant(r, b, w, types[1]);
    ++*counter(r, a, v);
    ++*counter(r, b, w);
    r->sets++;
}

/* Returns true if the question is ambiguous on the first version and unambiguous on the second. */
static bool turns(struct edit_run *r, int q, int v, int w)
{
    const struct edit_cell *a = cell_of(r, q, v), *b = cell_of(r, q, w);

    return a->label == EDIT_AMBIGUOUS && b->label == EDIT_CLEAR && *counter(r, q, v) < SETS_OF_EDIT &&
           usable(r, q, v) && usable(r, q, w);
}

/* Returns true for two forms of one question, which must not share a contrast set. */
static bool related(const struct edit_run *r, int a, int b)
{
    if (a >= r->n_read && b >= r->n_read)
        return r->group_of[a - r->n_read] == r->group_of[b - r->n_read];
    return a < r->n_read && b < r->n_read && r->d.questions[a].uses == r->d.questions[b].uses;
}

static bool cross_one(struct edit_run *r, int a, int v, int w)
{
    int n = r->d.n_questions, begin = (int)rng_below(r->d.rng, (uint32_t)n);

    for (int k = 0; k < n; k++) {
        int b = (begin + k) % n;
        if (!related(r, a, b) && turns(r, b, w, v)) {
            emit_four(r, a, b, v, w);
            return true;
        }
    }
    return false;
}

static void cross(struct edit_run *r)
{
    int n = r->d.n_questions;

    for (int tries = 0; tries < 200 * r->n->options->edits && r->sets < r->n->options->edits && r->d.n_versions > 1;
         tries++) {
        int v = (int)rng_below(r->d.rng, (uint32_t)r->d.n_versions),
            w = (int)rng_below(r->d.rng, (uint32_t)r->d.n_versions);
        int a = (int)rng_below(r->d.rng, (uint32_t)n);
        if (v != w && turns(r, a, v, w))
            cross_one(r, a, v, w);
    }
}

/* Moves the versions that have examples to the data set. */
static int hand_over(struct edit_run *r, struct error *err)
{
    for (int v = 0; v < r->d.n_versions; v++) {
        bool used = false;
        for (int q = 0; q < r->d.n_questions; q++)
            used = used || cell_of(r, q, v)->used;
        if (used && schema_set_add(&r->n->out->schemas, &r->d.versions[v].schema, err))
            return -1;
        if (used)
            r->d.versions[v].schema = (struct schema){ 0 };
    }
    return 0;
}

void edit_database_release(struct edit_database *d)
{
    for (int q = 0; q < d->n_questions; q++)
        if (d->questions[q].edit < 0 && d->questions[q].uses)
            free((void *)(uintptr_t)d->questions[q].uses);
    for (int v = 0; v < d->n_versions; v++)
        edit_version_release(&d->versions[v]);
    free(d->versions);
    free(d->questions);
    free(d->edits);
    free(d->table_words);
    free(d->column_words);
    strings_release(&d->text);
}

static void release_run(struct edit_run *r)
{
    edit_database_release(&r->d);
    free(r->cells);
    free(r->sets_of);
    free(r->group_of);
    for (int v = 0; v < VERSIONS; v++)
        free(r->asks[v].items);
    strings_release(&r->asked);
    strings_release(&r->groups);
}

static int make_database(struct edit_run *r, const struct spider_corpus *questions, struct error *err)
{
    struct edit_database *d = &r->d;
    int rc = 0;

    edit_database_read(d, r->n, questions, r->split);
    edit_find(d);
    for (int i = 0, n = d->n_questions; i < n && d->n_edits; i++)
        add_variants(r, i);
    if (d->n_questions && d->n_edits) {
        make_versions(r);
        collect_asks(r);
        r->sets_of = xcalloc((size_t)d->n_edits + (size_t)r->groups.n, sizeof *r->sets_of);
        judge_all(r);
        judge_asks(r);
        cross(r);
        rc = hand_over(r, err);
    }
    release_run(r);
    return rc;
}

int schema_edit_make(struct natural *n, const struct natural_corpus *c, struct error *err)
{
    int rc = 0;

    for (int i = 0; n->options->edits && i < c->schemas.n && rc == 0; i++) {
        struct edit_run r = { .n = n, .source = c->name, .split = c->split[i] };
        r.d = (struct edit_database){ .schema = &c->schemas.schemas[i], .sql = &n->sql, .rng = &n->rng };
        rc = make_database(&r, &c->questions, err);
    }
    return rc;
}
