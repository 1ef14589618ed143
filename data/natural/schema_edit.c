#include "data/natural/schema_edit_impl.h"

#include "data/natural/schema_ask.h"
#include "data/natural/wording.h"
#include "data/schema/schema_build.h"
#include "data/util/log.h"

#include <stdlib.h>
#include <string.h>

enum {
    VERSIONS = 16,     /* of each schema */
    FOURS_OF_EDIT = 5, /* ambiguous by one edit on one pair of versions or another */
    VARIANTS_OF_QUESTION = 6,
    COLUMN_EDITS_WANTED = 7, /* about so many columns of a version become two */
    TABLE_EDITS_WANTED = 1
};

/* One question on one version of a schema. */
struct edit_cell {
    enum edit_label label;
    int edit;                     /* of a question that was read: what makes it ambiguous */
    const struct schema_ask *ask; /* of a template question */
    bool used;
    int n_sql; /* -1: not asked for yet */
    const char *sql[2], *alternatives[2];
};

/* The making of one database's examples. */
struct edit_run {
    struct edit_database d;
    struct natural *n;
    const char *source;
    enum fold fold;
    struct edit_cell *cells; /* [questions][VERSIONS] */
    int *fours_of;           /* [edits, then groups of template questions] */
    int fours, n_read;       /* questions behind n_read are templates */
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

/* The question with a member of an edit in place of the head, for some of the edits that it meets. */
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
        if (q.text && natural_claim(r->n, q.text, r->fold)) {
            add_question(d, q);
            n++;
        }
    }
}

static void read_questions(struct edit_run *r, const struct spider_corpus *all)
{
    struct edit_database *d = &r->d;
    size_t n = (size_t)d->schema->n_tables + (size_t)d->schema->n_columns;

    for (int i = 0; i < all->n; i++) {
        const struct spider_question *s = &all->items[i];
        if (strcmp(s->db_id, d->schema->db_id) != 0)
            continue;
        enum edit_use *uses = xcalloc(n + 1, sizeof *uses);
        const char *text = wording_restyle(&d->text, s->question, d->rng);
        if (natural_claim(r->n, text, r->fold) && edit_uses(d, s->query, uses))
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

/* Versions. */

/* How many questions the edit could make ambiguous. */
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

/* How likely an edit of that type is tried. */
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
                                              [EDIT_STORED] = 2,
                                              [EDIT_PEOPLE] = 0.7F };
    return wanted[e->type] / (float)(n_of_type + 1) * (e->type >= EDIT_NEAR ? 1 : asked(d, e) ? 1.5F : 0.5F);
}

/* One edit of an element at a time, but for what stands beside it. */
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

static void draw_version(struct edit_database *d, struct edit_version *v)
{
    int *order = xcalloc((size_t)d->n_edits + 1, sizeof *order), n_of[EDIT_TYPES] = { 0 };

    v->on = xcalloc((size_t)d->n_edits + 1, sizeof *v->on);
    v->tables = xcalloc((size_t)d->schema->n_tables + 1, sizeof *v->tables);
    v->columns = xcalloc((size_t)d->schema->n_columns + 1, sizeof *v->columns);
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

static void release_version(struct edit_version *v)
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
        if (edit_build(d, v, id))
            d->n_versions++;
        else
            release_version(v);
    }
}

/* Template questions. */

/* The texts of all versions become questions. */
static void collect_asks(struct edit_run *r)
{
    r->n_read = r->d.n_questions;
    for (int v = 0; v < r->d.n_versions; v++) {
        r->asks[v].text = &r->d.text;
        schema_asks_find(&r->asks[v], &r->d.versions[v].schema);
        for (int i = 0; i < r->asks[v].n; i++) {
            const struct schema_ask *a = &r->asks[v].items[i];
            int before = r->asked.n, group = strings_add(&r->groups, a->group);
            if (!natural_claim(r->n, a->text, r->fold) || strings_add(&r->asked, a->text) != before)
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

/* The cell's statements are there and the cell was in no example yet. */
static bool usable(struct edit_run *r, int q, int v)
{
    struct edit_cell *c = cell_of(r, q, v);

    if (c->n_sql < 0)
        c->n_sql = edit_sql(&r->d, &r->d.questions[q], &r->d.versions[v], c->edit, c->sql, c->alternatives);
    return !c->used && c->n_sql == (c->label == EDIT_AMBIGUOUS ? 2 : 1);
}

static enum sia_kind kind_of(const struct edit_run *r, const struct edit_cell *c)
{
    if (c->ask)
        return c->ask->kind;
    enum edit_type type = r->d.edits[c->edit].type;
    return type == EDIT_TABLE ? SIA_TABLE : type == EDIT_DETAILS ? SIA_JOIN : SIA_COLUMN;
}

/* Why the example has its label. */
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
    return slice == EXAMPLE_PRESENCE || r->d.questions[q].edit >= 0 ? "modifier said" : "edits elsewhere";
}

static void emit(struct edit_run *r, int q, int v, enum example_slice slice, enum sia_kind kind)
{
    struct edit_cell *c = cell_of(r, q, v);
    struct example e = { .db_id = r->d.versions[v].schema.db_id, .source_db = r->d.schema->db_id };

    e.question = r->d.questions[q].text;
    e.slice = slice;
    e.kind = kind;
    e.source = r->source;
    e.reason = reason_of(r, q, c, slice);
    e.ambiguous = c->label == EDIT_AMBIGUOUS;
    for (int i = 0; i < c->n_sql; i++)
        e.sql[e.n_sql++] = c->sql[i];
    for (int i = 0; e.ambiguous && i < 2; i++)
        e.alternatives[i] = c->alternatives[i];
    natural_add(r->n, r->fold, &e);
    c->used = true;
}

/* Whether question x says a member of what makes q ambiguous there. */
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

/* The same question with a member said, which makes it clear on the schema where it is ambiguous without. */
static void emit_clear_variant(struct edit_run *r, int q, int v, enum sia_kind kind)
{
    const struct edit_cell *c = cell_of(r, q, v);

    for (int i = r->d.questions[q].edit < 0 ? 0 : r->d.n_questions; i < r->d.n_questions; i++)
        if (says_member_of(r, i, q, c) && cell_of(r, i, v)->label == EDIT_CLEAR && usable(r, i, v)) {
            emit(r, i, v, EXAMPLE_PRESENCE, kind);
            return;
        }
}

/* The counter of fours for what makes question q ambiguous there. */
static int *counter(struct edit_run *r, int q, int v)
{
    const struct edit_cell *c = cell_of(r, q, v);

    return &r->fours_of[c->ask ? r->d.n_edits + r->group_of[q - r->n_read] : c->edit];
}

static void emit_four(struct edit_run *r, int a, int b, int v, int w)
{
    enum sia_kind kinds[2] = { kind_of(r, cell_of(r, a, v)), kind_of(r, cell_of(r, b, w)) };

    emit(r, a, v, EXAMPLE_CROSSED, kinds[0]);
    emit(r, b, w, EXAMPLE_CROSSED, kinds[1]);
    emit(r, a, w, EXAMPLE_CROSSED, kinds[1]);
    emit(r, b, v, EXAMPLE_CROSSED, kinds[0]);
    emit_clear_variant(r, a, v, kinds[0]);
    emit_clear_variant(r, b, w, kinds[1]);
    ++*counter(r, a, v);
    ++*counter(r, b, w);
    r->fours++;
}

/* Ambiguous on the first version, clear on the second. */
static bool turns(struct edit_run *r, int q, int v, int w)
{
    const struct edit_cell *a = cell_of(r, q, v), *b = cell_of(r, q, w);

    return a->label == EDIT_AMBIGUOUS && b->label == EDIT_CLEAR && *counter(r, q, v) < FOURS_OF_EDIT &&
           usable(r, q, v) && usable(r, q, w);
}

/* Two forms of one question would stand in one four. */
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

    for (int tries = 0; tries < 200 * r->n->options->edits && r->fours < r->n->options->edits && r->d.n_versions > 1;
         tries++) {
        int v = (int)rng_below(r->d.rng, (uint32_t)r->d.n_versions),
            w = (int)rng_below(r->d.rng, (uint32_t)r->d.n_versions);
        int a = (int)rng_below(r->d.rng, (uint32_t)n);
        if (v != w && turns(r, a, v, w))
            cross_one(r, a, v, w);
    }
}

/* Versions that some example stands on. */
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

static void release_run(struct edit_run *r)
{
    struct edit_database *d = &r->d;

    for (int q = 0; q < d->n_questions; q++)
        if (d->questions[q].edit < 0 && d->questions[q].uses)
            free((void *)(uintptr_t)d->questions[q].uses);
    for (int v = 0; v < d->n_versions; v++)
        release_version(&d->versions[v]);
    free(d->versions);
    free(d->questions);
    free(d->edits);
    free(d->table_words);
    free(d->column_words);
    free(r->cells);
    free(r->fours_of);
    free(r->group_of);
    for (int v = 0; v < VERSIONS; v++)
        free(r->asks[v].items);
    strings_release(&r->asked);
    strings_release(&r->groups);
    strings_release(&d->text);
}

static int make_database(struct edit_run *r, const struct spider_corpus *questions, struct error *err)
{
    struct edit_database *d = &r->d;
    int rc = 0;

    read_words(d);
    read_questions(r, questions);
    edit_find(d);
    for (int i = 0, n = d->n_questions; i < n && d->n_edits; i++)
        add_variants(r, i);
    if (d->n_questions && d->n_edits) {
        make_versions(r);
        collect_asks(r);
        r->fours_of = xcalloc((size_t)d->n_edits + (size_t)r->groups.n, sizeof *r->fours_of);
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
        struct edit_run r = { .n = n, .source = c->name, .fold = c->fold[i] };
        r.d = (struct edit_database){ .schema = &c->schemas.schemas[i], .sql = &n->sql, .rng = &n->rng };
        rc = make_database(&r, &c->questions, err);
    }
    return rc;
}
