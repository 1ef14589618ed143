#include "data/synth/several.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/pairing.h"
#include "data/base/whole_file.h"
#include "data/db/db_path.h"
#include "data/db/result_match.h"
#include "data/db/sqlite_exec.h"
#include "data/schema/schema_build.h"
#include "data/span/span_record.h"
#include "data/synth/element_style.h"
#include "data/synth/materialise.h"
#include "data/synth/schema_edit.h"
#include "data/synth/sql_exchange.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Questions and the edits that make them ambiguous. */

struct several_run {
    struct natural *n;
    const struct natural_corpus *c;
    enum data_split split;
    struct edit_database d;
    char *source, *folder; /* the database with rows, and the folder for edited ones; NULL: no rows */
    int made, versions;
    bool *used;      /* [d.n_questions] the question has examples */
    struct rng says; /* of the hard negatives, on which contrast sets do not depend */
};

/* An edit, and the bytes of the question that mention its element. */
struct several_edit {
    int edit, begin, end;
};

/* A question with edits that make it ambiguous, in its order. */
struct several_question {
    const struct edit_question *q;
    struct several_edit in[SEVERAL_MAX];
    int n;
};

/* Whether one of the edits changes the element of the other, or the table of its column. */
static bool edits_clash(const struct edit *a, const struct edit *b)
{
    return a->table == b->table && (a->column == b->column || a->type == EDIT_TABLE || b->type == EDIT_TABLE);
}

/* Whether no chosen edit has the element or its words. */
static bool is_free(const struct several_run *r, const struct several_question *s, const struct several_edit *x)
{
    const struct edit *e = &r->d.edits[x->edit];

    for (int i = 0; i < s->n; i++) {
        const struct edit *o = &r->d.edits[s->in[i].edit];
        if (edits_clash(e, o) || edit_mentions(e->head, o->head, NULL) || edit_mentions(o->head, e->head, NULL) ||
            (x->begin < s->in[i].end && s->in[i].begin < x->end))
            return false;
    }
    return true;
}

static void insert(struct several_question *s, struct several_edit x)
{
    int at = s->n++;

    for (; at > 0 && s->in[at - 1].begin > x.begin; at--)
        s->in[at] = s->in[at - 1];
    s->in[at] = x;
}

/* Whether the edit makes two of one element. */
static bool doubles(const struct edit *e)
{
    return e->type == EDIT_COLUMN || e->type == EDIT_ROLE || e->type == EDIT_TABLE || e->type == EDIT_DETAILS;
}

/* Takes an edit of an element that the question mentions in one place. */
static void take_edit(const struct several_run *r, struct several_question *s, int edit)
{
    const struct edit *e = &r->d.edits[edit];
    struct several_edit x = { .edit = edit };

    if (!doubles(e) || edit_judge_one(&r->d, s->q, e) != EDIT_AMBIGUOUS ||
        edit_mentions(s->q->text, e->head, &x.begin) != 1)
        return;
    x.end = x.begin + edit_stands_at(s->q->text + x.begin, e->head);
    if (is_free(r, s, &x))
        insert(s, x);
}

/* Draws edits for the question: two, or sometimes three. */
static struct several_question draw_edits(struct several_run *r, const struct edit_question *q)
{
    struct several_question s = { .q = q };
    int most = rng_below(r->d.rng, 4) ? 2 : SEVERAL_MAX;
    int *order = xcalloc((size_t)r->d.n_edits + 1, sizeof *order);

    for (int i = 0; i < r->d.n_edits; i++)
        order[i] = i;
    rng_shuffle(r->d.rng, order, r->d.n_edits, sizeof *order);
    for (int i = 0; i < r->d.n_edits && s.n < most; i++)
        take_edit(r, &s, order[i]);
    free(order);
    return s;
}

/* Whether the edit leaves the question clear, and the question has none of its words. */
static bool is_untouched(const struct several_run *r, const struct several_question *s, int edit)
{
    const struct edit *e = &r->d.edits[edit];

    return edit_judge_one(&r->d, s->q, e) == EDIT_CLEAR && !edit_mentions(s->q->text, e->head, NULL) &&
           !edit_says_member(s->q->text, e);
}

/* The questions of a database that have two edits at least. */
struct several_group {
    const struct several_run *run;
    struct several_question *list;
    int n;
};

/* A callback of pairing_match: two questions that can share their schemas. */
static bool questions_fit(const void *group, int a, int b)
{
    const struct several_group *g = group;
    const struct several_question *x = &g->list[a], *y = &g->list[b];

    for (int i = 0; i < x->n && x->n == y->n; i++)
        if (!is_untouched(g->run, x, y->in[i].edit) || !is_untouched(g->run, y, x->in[i].edit))
            return false;
    return x->n == y->n;
}

/* Versions with edits of two questions. */

struct several_version {
    struct edit_version v;
    int edits[SEVERAL_MAX]; /* [n_doubled] */
    struct doubled_element doubled[SEVERAL_MAX];
    int n_doubled;
    char *file; /* its database, or NULL */
    struct exec_db *db;
};

/* A question on a version, with the edits that concern it there. */
struct several_cell {
    const struct several_question *of;
    int in[SEVERAL_MAX], doubled[SEVERAL_MAX], n; /* numbers of its edits, and of their elements in the version */
    const char *alternatives[SEVERAL_MAX][2];
    int elements[SEVERAL_MAX][2];
    const char *sql[SEVERAL_SQL];
};

/* New names look like the others of the schema. */
static enum element_style style_of(const struct schema *s)
{
    for (int c = 0; c < s->n_columns; c++)
        if (strchr(s->columns[c].name, '_'))
            return STYLE_SNAKE;
    return s->n_columns && isupper((unsigned char)s->columns[0].name[0]) ? STYLE_CAMEL : STYLE_SNAKE;
}

static void turn_on(struct several_run *r, struct several_version *x, int edit)
{
    const struct edit *e = &r->d.edits[edit];
    struct doubled_element *c = &x->doubled[x->n_doubled];

    x->edits[x->n_doubled++] = edit;
    x->v.on[edit] = true;
    c->type = edit_sia_type(e->type);
    c->table = r->d.schema->tables[e->table].name;
    c->column = e->column < 0 ? NULL : r->d.schema->columns[e->column].name;
    for (int i = 0; i < 2 && e->names[i]; i++)
        c->names[i] = element_spell(&r->d.text, e->names[i], x->v.style);
}

/* Draws n edits of the question. */
static void turn_on_some(struct several_run *r, struct several_version *x, const struct several_question *s, int n)
{
    int order[SEVERAL_MAX] = { 0, 1, 2 };

    rng_shuffle(r->d.rng, order, s->n, sizeof *order);
    for (int i = 0; i < n; i++)
        turn_on(r, x, s->in[order[i]].edit);
}

static bool clashes(const struct several_run *r, const struct several_version *x, int edit)
{
    for (int i = 0; i < x->n_doubled; i++)
        if (edits_clash(&r->d.edits[x->edits[i]], &r->d.edits[edit]))
            return true;
    return false;
}

/* Adds edits that concern neither question, until `n` elements are doubled. */
static bool fill_up(struct several_run *r, struct several_version *x, const struct several_question *const *pair, int n)
{
    int all = r->d.n_edits, first = (int)rng_below(r->d.rng, (uint32_t)all);

    for (int i = 0; i < all && x->n_doubled < n; i++) {
        int edit = (first + i) % all;
        if (doubles(&r->d.edits[edit]) && !clashes(r, x, edit) && is_untouched(r, pair[0], edit) &&
            is_untouched(r, pair[1], edit))
            turn_on(r, x, edit);
    }
    return x->n_doubled == n;
}

/* Builds a version with n[i] edits of question i. */
static bool build_version(struct several_run *r, struct several_version *x, const struct several_question *const *pair,
                          const int n[2])
{
    edit_version_init(&x->v, &r->d);
    x->v.style = style_of(r->d.schema);
    for (int i = 0; i < 2; i++)
        turn_on_some(r, x, pair[i], n[i]);
    if (!fill_up(r, x, pair, pair[0]->n))
        return false;
    const char *id = strings_printf(&r->d.text, "%s__several_%d", r->d.schema->db_id, ++r->versions);
    return edit_version_build(&r->d, &x->v, id);
}

/* Finds the edits that concern the question. Returns false if the schema lacks an element of theirs. */
static bool find_cell(struct several_run *r, struct several_cell *c, const struct several_version *x,
                      const struct several_question *s)
{
    *c = (struct several_cell){ .of = s };
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < x->n_doubled; k++)
            if (x->edits[k] == s->in[i].edit) {
                const struct edit *e = &r->d.edits[x->edits[k]];
                if (!edit_alternatives(&r->d, &x->v, e, c->alternatives[c->n], c->elements[c->n]))
                    return false;
                c->in[c->n] = i;
                c->doubled[c->n++] = k;
            }
    return true;
}

/* The names of the original elements in a statement. */
struct statement_names {
    const char **tables, **columns;
};

/* Sets the names of combination k, whose bit i is the alternative of ambiguity i. */
static void set_names(const struct several_run *r, const struct several_version *x, const struct several_cell *c, int k,
                      const struct statement_names *names)
{
    memcpy(names->tables, x->v.tables, (size_t)r->d.schema->n_tables * sizeof *names->tables);
    memcpy(names->columns, x->v.columns, (size_t)r->d.schema->n_columns * sizeof *names->columns);
    for (int i = 0; i < c->n; i++) {
        const struct edit *e = &r->d.edits[x->edits[c->doubled[i]]];
        const char *name = x->doubled[c->doubled[i]].names[k >> i & 1];
        if (e->type == EDIT_TABLE)
            names->tables[e->table] = name;
        else if (e->type != EDIT_DETAILS)
            names->columns[e->column] = name;
    }
}

/* Exchanges the columns that a new table repeats, as combination k wants it. Returns NULL if one cannot be. */
static const char *exchange_repeated(struct several_run *r, const struct several_version *x,
                                     const struct several_cell *c, int k, const char *sql)
{
    size_t mark = arena_mark(&r->n->sql);

    for (int i = 0; i < c->n && sql; i++)
        if (x->doubled[c->doubled[i]].type == SIA_JOIN && (k >> i & 1))
            sql = sql_exchange(&r->n->sql, sql, &x->v.schema, c->elements[i][0], c->elements[i][1], NULL);
    if (sql)
        sql = strings_keep(&r->d.text, sql);
    arena_reset(&r->n->sql, mark);
    return sql;
}

/* Writes the statement of each combination of alternatives. Returns false if one is not valid, or two are equal. */
static bool write_statements(struct several_run *r, const struct several_version *x, struct several_cell *c)
{
    const struct statement_names names = { xcalloc((size_t)r->d.schema->n_tables + 1, sizeof *names.tables),
                                           xcalloc((size_t)r->d.schema->n_columns + 1, sizeof *names.columns) };
    bool good = true;

    for (int k = 0; k < 1 << c->n && good; k++) {
        set_names(r, x, c, k, &names);
        c->sql[k] = edit_rename_sql(&r->d, c->of->q->sql, names.tables, names.columns, &x->v.schema);
        if (c->sql[k])
            c->sql[k] = exchange_repeated(r, x, c, k, c->sql[k]);
        good = c->sql[k] != NULL;
        for (int j = 0; j < k && good; j++)
            good = strcmp(c->sql[k], c->sql[j]) != 0;
    }
    free(names.tables);
    free(names.columns);
    return good;
}

/* Whether all statements run, and each two give different rows if there are any. */
static bool rows_differ(struct exec_db *db, const struct several_cell *c)
{
    struct exec_result results[SEVERAL_SQL];
    int n = 1 << c->n;
    bool good = true;

    for (int k = 0; k < n; k++) {
        results[k] = exec_run(db, c->sql[k]);
        good = good && results[k].status == EXEC_OK;
    }
    for (int k = 0; k < n && good; k++)
        for (int j = 0; j < k && good; j++)
            good = (results[k].n == 0 && results[j].n == 0) || !match_rows(&results[k], &results[j], false);
    for (int k = 0; k < n; k++)
        exec_result_release(&results[k]);
    return good;
}

/* Makes the version's database, if the corpus has rows. Returns 1, 0 if SQLite refuses the edits, or -1 with err. */
static int make_rows(struct several_run *r, struct several_version *x, struct error *err)
{
    struct error why;
    char *name = NULL;

    if (!r->source)
        return 1;
    CHECK(asprintf(&name, "%s.sqlite", x->v.schema.db_id) >= 0, "no memory for a name");
    char *file = path_in(r->folder, name);
    free(name);
    if (access(file, F_OK) == 0) {
        error_set(err, EXIT_CODE_DATA, "%s: exists already; remove it, or give --materialise another folder", file);
        free(file);
        return -1;
    }
    x->file = file;
    if (materialise_elements(file, r->source, x->doubled, x->n_doubled, r->d.schema, &x->v.schema, r->n->options->seed,
                             &why))
        return 0;
    x->db = exec_open(file, &exec_limits_preview, &why);
    return x->db != NULL;
}

/* Returns 1 if the version and the statements of both questions are good, 0 if not, or -1 with err. The caller releases
 * it. */
static int make_version(struct several_run *r, struct several_version *x, struct several_cell *cells,
                        const struct several_question *const *pair, const int n[2], struct error *err)
{
    if (!build_version(r, x, pair, n))
        return 0;
    int rc = make_rows(r, x, err);
    for (int i = 0; i < 2 && rc > 0; i++) {
        rc = find_cell(r, &cells[i], x, pair[i]) && write_statements(r, x, &cells[i]) &&
             (!x->db || rows_differ(x->db, &cells[i]));
    }
    exec_close(x->db);
    x->db = NULL;
    return rc;
}

static void version_release(struct several_version *x, bool keep_file)
{
    if (x->file && !keep_file)
        unlink(x->file);
    free(x->file);
    edit_version_release(&x->v);
}

/* Examples. */

/* The list of ambiguities as text that d.text keeps. */
static const char *list_ambiguities(struct several_run *r, const struct several_version *x,
                                    const struct several_cell *c)
{
    const char *question = c->of->q->text;
    json_t *list = json_array();

    for (int i = 0; i < c->n; i++) {
        const struct several_edit *e = &c->of->in[c->in[i]];
        const struct doubled_element *d = &x->doubled[c->doubled[i]];
        const char *words = strings_printf(&r->d.text, "%.*s", e->end - e->begin, question + e->begin);
        int start = text_letters(question, (size_t)e->begin), length = text_letters(words, strlen(words));
        json_array_append_new(list, json_pack("{s:s, s:[s, s], s:s, s:i, s:i}", "type", ambiguity_types[d->type].name,
                                              "alternatives", c->alternatives[i][0], c->alternatives[i][1], "words",
                                              words, "start", start, "end", start + length));
    }
    char *text = json_dumps(list, JSON_COMPACT);
    CHECK(text, "a question is not UTF-8");
    const char *kept = strings_keep(&r->d.text, text);
    free(text);
    json_decref(list);
    return kept;
}

static void emit(struct several_run *r, const struct several_version *x, const struct several_cell *c)
{
    static const char *const reasons[] = { "no ambiguity", "one ambiguity", "two ambiguities", "three ambiguities" };
    struct example e = { .db_id = x->v.schema.db_id,
                         .source_db = r->d.schema->db_id,
                         .question = c->of->q->text,
                         .n_sql = 1 << c->n,
                         .slice = EXAMPLE_CONTRAST,
                         .type = c->n ? x->doubled[c->doubled[0]].type : SIA_COLUMN,
                         .ambiguous = c->n > 0,
                         .ambiguities = list_ambiguities(r, x, c),
                         .source = r->c->name,
                         .reason = reasons[c->n] };

    memcpy(e.sql, c->sql, (size_t)e.n_sql * sizeof *e.sql);
    for (int i = 0; i < 2 && c->n; i++)
        e.alternatives[i] = c->alternatives[0][i];
    e.n_further = c->n ? c->n - 1 : 0;
    memcpy(e.further, c->alternatives + 1, (size_t)e.n_further * sizeof *e.further);
    natural_add(r->n, r->split, &e);
}

/* The question with a modifier for each of its ambiguities, and the number of its statement; or NULL. */
static const char *say_all(struct several_run *r, const struct several_cell *c, int *statement)
{
    const char *text = c->of->q->text;

    *statement = 0;
    for (int i = 0; i < c->n && text; i++) {
        int which = (int)rng_below(&r->says, 2);
        text = edit_say(&r->d, text, &r->d.edits[c->of->in[c->in[i]].edit], which);
        *statement |= which << i;
    }
    return text;
}

/* Adds a hard negative: a question with all ambiguities gets a modifier for each. */
static void emit_said(struct several_run *r, const struct several_version *x, const struct several_cell *c)
{
    int statement;
    const char *text = c->n == c->of->n ? say_all(r, c, &statement) : NULL;

    if (!text || !natural_claim(r->n, text, r->split))
        return;
    natural_add(r->n, r->split,
                &(struct example){ .db_id = x->v.schema.db_id,
                                   .source_db = r->d.schema->db_id,
                                   .question = text,
                                   .sql = { c->sql[statement] },
                                   .n_sql = 1,
                                   .slice = EXAMPLE_HARD_NEGATIVE,
                                   .type = x->doubled[c->doubled[0]].type,
                                   .ambiguities = "[]",
                                   .source = r->c->name,
                                   .reason = "modifiers said" });
}

/* Adds both examples of a version and its hard negatives, and hands its schema over. */
static int emit_version(struct several_run *r, struct several_version *x, const struct several_cell *cells,
                        struct error *err)
{
    for (int i = 0; i < 2; i++) {
        emit(r, x, &cells[i]);
        emit_said(r, x, &cells[i]);
    }
    if (schema_set_add(&r->n->out->schemas, &x->v.schema, err))
        return -1;
    x->v.schema = (struct schema){ 0 };
    return 0;
}

/* Emits both questions on four schemas, if all are good: one has all edits of a question, or one of them. */
static int make_pair(struct several_run *r, const struct several_question *a, const struct several_question *b,
                     struct error *err)
{
    enum { SCHEMAS = 4 };
    const struct several_question *const pair[2] = { a, b };
    const int counts[SCHEMAS][2] = { { a->n, 0 }, { 0, a->n }, { 1, 0 }, { 0, 1 } };
    struct several_version versions[SCHEMAS] = { { .n_doubled = 0 } };
    struct several_cell cells[SCHEMAS][2];
    int rc = 1;

    for (int i = 0; i < SCHEMAS && rc > 0; i++)
        rc = make_version(r, &versions[i], cells[i], pair, counts[i], err);
    bool good = rc > 0;
    for (int i = 0; i < SCHEMAS && rc > 0; i++)
        rc = emit_version(r, &versions[i], cells[i], err) ? -1 : 1;
    r->made += good ? 2 : 0;
    for (int i = 0; i < SCHEMAS; i++)
        version_release(&versions[i], good && r->n->options->materialise);
    return rc < 0 ? -1 : 0;
}

static int make_pairs(struct several_run *r, const struct several_group *g, struct error *err)
{
    struct pair *pairs = xmalloc(((size_t)g->n / 2 + 1) * sizeof *pairs);
    int n = pairing_match(pairs, g->n, questions_fit, g, r->d.rng), rc = 0;

    for (int i = 0; i < n && r->made < r->n->options->several && rc == 0; i++) {
        const struct several_question *a = &g->list[pairs[i].a], *b = &g->list[pairs[i].b];
        int before = r->made;
        rc = make_pair(r, a, b, err);
        r->used[a->q - r->d.questions] = r->used[b->q - r->d.questions] = r->made > before;
    }
    free(pairs);
    return rc;
}

/* Draws edits for the questions without examples, and pairs them. */
static int make_round(struct several_run *r, struct error *err)
{
    struct several_group g = { .run = r, .list = xcalloc((size_t)r->d.n_questions + 1, sizeof *g.list) };

    for (int i = 0; i < r->d.n_questions; i++) {
        if (r->used[i])
            continue;
        g.list[g.n] = draw_edits(r, &r->d.questions[i]);
        g.n += g.list[g.n].n > 1;
    }
    int rc = make_pairs(r, &g, err);
    free(g.list);
    return rc;
}

enum { ROUNDS = 8 };

static int make_questions(struct several_run *r, struct error *err)
{
    int rc = 0;

    r->used = xcalloc((size_t)r->d.n_questions + 1, sizeof *r->used);
    for (int i = 0; i < ROUNDS && r->made < r->n->options->several && rc == 0; i++)
        rc = make_round(r, err);
    free(r->used);
    return rc;
}

static int make_database(struct several_run *r, const struct schema *s, struct error *err)
{
    r->d = (struct edit_database){ .schema = s, .sql = &r->n->sql, .rng = &r->n->rng };
    r->source = r->c->db ? db_path(r->c->db, s->db_id, NULL) : NULL;
    r->made = r->versions = 0;
    edit_database_read(&r->d, r->n, &r->c->questions, r->split);
    edit_find(&r->d);
    int rc = make_questions(r, err);
    edit_database_release(&r->d);
    free(r->source);
    return rc;
}

/* Sets the folder for databases, a temporary one without --materialise. */
static int open_folder(struct several_run *r, struct error *err)
{
    const char *wanted = r->n->options->materialise, *temporary = getenv("TMPDIR");

    if (wanted) {
        r->folder = xstrdup(wanted);
        return make_dirs(wanted, err);
    }
    CHECK(asprintf(&r->folder, "%s/ambit-several-XXXXXX", temporary ? temporary : "/tmp") >= 0, "no memory for a path");
    return mkdtemp(r->folder) ? 0 : error_set(err, EXIT_CODE_FAILURE, "%s: cannot make a temporary folder", r->folder);
}

int several_make(struct natural *n, const struct natural_corpus *c, struct error *err)
{
    struct several_run r = { .n = n, .c = c, .says = { .seed = n->options->seed } };
    int rc = open_folder(&r, err), all = 0;

    for (int i = 0; i < c->schemas.n && rc == 0; i++) {
        r.split = c->split[i];
        rc = make_database(&r, &c->schemas.schemas[i], err);
        all += r.made;
    }
    if (rc == 0)
        log_info("%s: %d questions with two or three ambiguities", c->name, all);
    if (!n->options->materialise)
        rmdir(r.folder);
    free(r.folder);
    return rc;
}
