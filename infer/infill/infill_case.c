#include "infer/infill/infill_case.h"

#include "data/base/records.h"
#include "data/corpora/ambiqt.h"
#include "data/corpora/ambrosia.h"
#include "data/db/db_path.h"
#include "data/db/execute.h"
#include "data/db/schema_sqlite.h"
#include "data/eval/dfpl.h"
#include "data/eval/score.h"
#include "data/prompt/interpretation_sql.h"
#include "data/prompt/passage.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_ROWS = 10 };

void infill_case_fail(struct infill_case *c, const struct error *err)
{
    if (!c->error)
        c->error = xstrdup(err->text);
}

void infill_case_unanswered(struct infill_case *c, const struct error *err)
{
    c->unanswered = c->unanswered || !c->error;
    infill_case_fail(c, err);
}

bool infill_case_failed(const struct infill_case *c)
{
    return c->error || c->unread;
}

/* Only the first unread completion is kept. */
static void note_unread(struct infill_case *c, const char *where, const char *answer, const char *what)
{
    if (!c->unread)
        CHECK(asprintf(&c->unread, "%s: %s", where, output_lacks(answer, what)) >= 0, "out of memory");
}

static void fail_unread(struct infill_case *c, const char *where, const char *answer, const char *what)
{
    struct error err = { 0 };

    error_set(&err, EXIT_CODE_DATA, "%s: %s", where, output_lacks(answer, what));
    infill_case_unanswered(c, &err);
}

static int read_case(struct infill_case *c, const char *db, const char *where, struct error *err)
{
    if (!(c->db_id = json_get_string(c->record, "db_id", where, err)) ||
        !(c->question = json_get_string(c->record, "question", where, err)) ||
        (json_object_get(c->record, "golds") && !json_get_array(c->record, "golds", where, err)))
        return -1;
    c->path = db_path(db, c->db_id, err);
    return c->path ? 0 : error_prefix(err, "%s", where);
}

/* Converts a record to one form.  Takes the record; returns NULL with err. */
static json_t *own_record(json_t *record, const struct infill_place *place, struct error *err)
{
    if (place->rewrites)
        return infill_rewrite_record(record, place->where, err);
    bool rewritten = dfpl_is_rewritten(record);
    if (!rewritten && !ambrosia_is_row(record))
        return record;
    json_t *own = rewritten ? dfpl_rewritten_record(record, place->number + 1, false, place->where, err)
                            : ambrosia_record(record, place->number, place->where, err);
    json_decref(record);
    return own;
}

void infill_case_read(struct infill_case *c, json_t *record, const struct infill_place *place, const struct error *bad)
{
    struct error err = *bad;

    *c = (struct infill_case){ .record = record ? own_record(record, place, &err) : NULL };
    db_path_name(place->db, c->record);
    if (!c->record || read_case(c, place->db, place->where, &err) ||
        (place->rewrites && infill_rewrite_read(c, place->where, &err)))
        infill_case_fail(c, &err);
}

void infill_case_release(struct infill_case *c)
{
    for (int i = 0; i < c->n; i++) {
        free(c->interpretations[i].text);
        free(c->interpretations[i].unread);
        text_items_release(&c->interpretations[i].sql);
    }
    free(c->interpretations);
    free(c->kept);
    free(c->answers[0]);
    free(c->answers[1]);
    free(c->corrected);
    text_items_release(&c->omitted);
    for (int i = 0; i < c->n_golds; i++)
        free(c->golds[i].word);
    free(c->golds);
    free(c->path);
    free(c->error);
    free(c->unread);
    json_decref(c->record);
    *c = (struct infill_case){ 0 };
}

static struct infill_interpretation *add_interpretation(struct infill_case *c, const char *text, bool added)
{
    GROW(c->interpretations, c->n, c->cap);
    c->interpretations[c->n] = (struct infill_interpretation){ .text = xstrdup(text), .added = added, .same_as = -1 };
    return &c->interpretations[c->n++];
}

/* Sets SQL from a string or a list of strings. */
static int infill_interpretation_set_sql(struct infill_interpretation *r, const json_t *sql, const char *from,
                                         struct error *err)
{
    struct trial_texts texts = { 0 };
    int rc = trial_texts_add(&texts, sql, "sql", r->text, err);

    for (int i = 0; i < texts.n && rc == 0; i++)
        text_items_add(&r->sql, texts.sql[i], strlen(texts.sql[i]));
    if (rc == 0 && texts.n)
        r->sql_from = from;
    free(texts.sql);
    return rc;
}

void infill_case_set_answer(struct infill_case *c, int64_t interpretation, const char *answer, bool published)
{
    struct infill_interpretation *r = &c->interpretations[interpretation];

    output_sql(&r->sql, answer, published);
    if (r->sql.n || published)
        return;
    note_unread(c, "SQL of a reading", answer, "SQL statement");
    free(r->unread);
    r->unread = xstrdup(answer);
}

int infill_case_set_known(struct infill_case *c, int64_t interpretation, const json_t *sql, struct error *err)
{
    const char *unread = interpretation_sql_unread(sql);

    if (!unread)
        return infill_interpretation_set_sql(&c->interpretations[interpretation], sql, "file", err);
    infill_case_set_answer(c, interpretation, unread, false);
    return 0;
}

int infill_case_add_list(struct infill_case *c, const json_t *list, bool added, struct error *err)
{
    const json_t *o;
    size_t i;

    json_array_foreach(list, i, o)
    {
        const char *text = json_get_string(o, "text", "a reading", err);
        const json_t *sql = json_object_get(o, "sql");
        if (!text)
            return -1;
        struct infill_interpretation *r = add_interpretation(c, text, added);
        if (sql && !json_is_null(sql) && infill_interpretation_set_sql(r, sql, "readings", err))
            return -1;
    }
    return 0;
}

void infill_case_add_answer(struct infill_case *c, const char *answer, bool added, bool published)
{
    struct text_items lines = { 0 };

    (added ? output_infilled : output_interpretations)(&lines, answer, published);
    for (int i = 0; i < lines.n; i++)
        add_interpretation(c, lines.items[i], added);
    if (lines.n == 0 && !published && !added)
        fail_unread(c, "default readings", answer, "reading");
    else if (lines.n == 0 && !published && !output_says_covered(answer))
        note_unread(c, "infilled readings", answer, "reading");
    text_items_release(&lines);
    c->answers[added] = xstrdup(answer);
}

/* Adds a default interpretation without SQL. */
static void infill_case_add_text(struct infill_case *c, const char *text)
{
    add_interpretation(c, text, false);
}

/* As published, takes the whole completion, trimmed. */
static char *stripped(const char *text)
{
    struct passage p = passage_strip(passage_of(text));
    char *copy = strndup(p.at, p.n);

    CHECK(copy, "out of memory");
    return copy;
}

void infill_case_set_text(struct infill_case *c, int64_t interpretation, const char *answer, bool published)
{
    struct infill_interpretation *r = &c->interpretations[interpretation];
    struct text_items found = { 0 };

    output_interpretations(&found, answer, published);
    free(r->text);
    r->text = published ? stripped(answer) : xstrdup(found.n ? found.items[0] : "");
    text_items_release(&found);
    free(r->unread);
    r->unread = *r->text ? NULL : xstrdup(answer);
    text_items_release(&r->sql);
    r->sql_from = NULL;
}

/* A text without blanks and marks at its end. */
static struct passage core_of(const char *text)
{
    struct passage p = passage_strip(passage_of(text));

    while (p.n && strchr(".?!;,", p.at[p.n - 1]))
        p.n--;
    return p;
}

/* Index of the candidate that a line repeats, or -1. */
static int find_candidate(const struct infill_interpretation *list, int n, const char *line)
{
    struct passage wanted = core_of(line);

    for (int i = 0; i < n; i++) {
        struct passage p = list[i].text ? core_of(list[i].text) : (struct passage){ 0 };
        if (p.n && p.n == wanted.n && strncasecmp(p.at, wanted.at, p.n) == 0)
            return i;
    }
    return -1;
}

/* Moves a candidate to the end of the reviewed list. */
static void keep_candidate(struct infill_case *c, struct infill_interpretation *candidate)
{
    GROW(c->interpretations, c->n, c->cap);
    c->interpretations[c->n++] = *candidate;
    *candidate = (struct infill_interpretation){ 0 };
}

/* Releases the candidates that were not kept. */
static void omit_candidates(struct infill_case *c, struct infill_interpretation *candidates, int n)
{
    for (int i = 0; i < n; i++) {
        if (candidates[i].text)
            text_items_add(&c->omitted, candidates[i].text, strlen(candidates[i].text));
        free(candidates[i].text);
        free(candidates[i].unread);
        text_items_release(&candidates[i].sql);
    }
    free(candidates);
}

void infill_case_correct(struct infill_case *c, const char *answer, bool published)
{
    struct infill_interpretation *before = c->interpretations;
    struct text_items lines = { 0 };
    int n = c->n;

    c->corrected = xstrdup(answer);
    if (output_reviewed(&lines, answer, published) && n)
        return;
    c->interpretations = NULL;
    c->n = c->cap = 0;
    if (lines.n == 0 && !published)
        fail_unread(c, "corrected readings", answer, "reading");
    for (int i = 0; i < lines.n; i++) {
        int candidate = find_candidate(before, n, lines.items[i]);
        if (candidate >= 0)
            keep_candidate(c, &before[candidate]);
        else
            add_interpretation(c, lines.items[i], false)->corrected = true;
    }
    omit_candidates(c, before, n);
    text_items_release(&lines);
}

void infill_case_add_statements(struct infill_case *c, const char *answer, bool published)
{
    struct text_items sql = { 0 };

    output_sql(&sql, answer, published);
    for (int i = 0; i < sql.n; i++) {
        struct infill_interpretation *r = add_interpretation(c, c->question, false);
        text_items_add(&r->sql, sql.items[i], strlen(sql.items[i]));
        r->sql_from = "readings";
    }
    if (sql.n == 0 && !published)
        fail_unread(c, "readings as SQL", answer, "SQL statement");
    text_items_release(&sql);
    c->answers[0] = xstrdup(answer);
}

/* The first n interpretations as input of the filters.  The caller frees readings, existing and sql.sql. */
static struct annotation annotation_of(const struct infill_case *c, int n)
{
    struct annotation a = { .db_id = c->db_id, .question = c->question, .n_interpretations = n };

    a.interpretations = xcalloc((size_t)n + 1, sizeof *a.interpretations);
    for (int i = 0; i < n; i++) {
        const struct text_items *sql = &c->interpretations[i].sql;
        a.interpretations[i] =
            (struct annotate_interpretation){ c->interpretations[i].text, a.sql.n, sql->n, NULL, -1 };
        for (int k = 0; k < sql->n; k++) {
            GROW(a.sql.sql, a.sql.n, a.sql.cap);
            a.sql.sql[a.sql.n++] = sql->items[k];
        }
    }
    return a;
}

static void keep(struct infill_case *c, int interpretation)
{
    GROW(c->kept, c->n_kept, c->kept_cap);
    c->kept[c->n_kept++] = interpretation;
}

static int count_defaults(const struct infill_case *c)
{
    int n = 0;
    while (n < c->n && !c->interpretations[n].added)
        n++;
    return n;
}

void infill_case_filter(struct infill_case *c, struct exec_db *db, struct python_random *random, bool published)
{
    int n = published ? count_defaults(c) : c->n;
    struct annotation a = annotation_of(c, n);
    struct trial t;

    annotate_trial(&t, &a, published ? TRIAL_PUBLISHED : TRIAL_STRICT, db);
    if (published)
        annotate_filter(&a, &t, random);
    else
        annotate_honest_filter(&a, &t, db);
    c->n_kept = 0;
    for (int i = 0; i < n; i++) {
        c->interpretations[i].dropped = a.interpretations[i].dropped;
        c->interpretations[i].same_as = a.interpretations[i].same_as;
    }
    for (int i = 0; i < a.n_existing; i++)
        keep(c, a.existing[i]);
    trial_release(&t);
    annotation_release(&a);
}

static bool says_none_missing(const struct infill_interpretation *r)
{
    return strcasestr(r->text, OUTPUT_COVERED) || strcasestr(r->text, "no interpretation");
}

int infill_case_without_sql(const struct infill_case *c)
{
    int n = 0;

    for (int i = 0; i < c->n; i++)
        n += c->interpretations[i].dropped && !c->interpretations[i].sql_from && !c->interpretations[i].unread &&
             !says_none_missing(&c->interpretations[i]);
    return n;
}

void infill_case_keep_added(struct infill_case *c)
{
    for (int i = count_defaults(c); i < c->n; i++) {
        struct infill_interpretation *r = &c->interpretations[i];
        if (says_none_missing(r))
            r->dropped = "it says that there are no more";
        else
            keep(c, i);
    }
}

void infill_case_keep_all(struct infill_case *c)
{
    for (int i = 0; i < c->n; i++)
        keep(c, i);
}

/* Texts of the interpretations `which` [n], or of the first n, one a line. */
static char *join_texts(const struct infill_case *c, const int *which, int n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    CHECK(out, "out of memory");
    if (n == 0)
        fputs(ANNOTATE_NONE_EXIST, out);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s%s", i ? "\n" : "", c->interpretations[which ? which[i] : i].text);
    CHECK(fclose(out) == 0, "out of memory");
    return text;
}

char *infill_case_existing(const struct infill_case *c)
{
    static const int none;
    return join_texts(c, c->kept ? c->kept : &none, c->n_kept);
}

char *infill_case_texts(const struct infill_case *c)
{
    return join_texts(c, NULL, c->n);
}

static const char *from_of(const struct infill_interpretation *r)
{
    return r->added ? "infilled" : r->corrected ? "corrected" : "default";
}

/* Result of the first statement that runs, else the error of the first one; empty without SQL. */
static void add_result(json_t *o, const struct infill_interpretation *r, struct exec_db *db)
{
    struct exec_result result = { 0 };

    for (int i = 0; i < r->sql.n && (i == 0 || result.status != EXEC_OK); i++) {
        struct exec_result next = exec_run(db, r->sql.items[i]);
        if (i == 0 || next.status == EXEC_OK) {
            exec_result_release(&result);
            result = next;
        } else {
            exec_result_release(&next);
        }
    }
    if (r->sql.n) {
        json_object_set_new(o, "rows", json_integer(result.n));
        result.n = result.n < SHOWN_ROWS ? result.n : SHOWN_ROWS;
        json_object_set_new(o, "result", exec_result_json(&result));
    }
    exec_result_release(&result);
}

static json_t *kept_json(const struct infill_case *c, struct exec_db *db)
{
    json_t *list = json_array();

    for (int i = 0; i < c->n_kept; i++) {
        const struct infill_interpretation *r = &c->interpretations[c->kept[i]];
        json_t *sql = json_array(), *o = json_pack("{s:s, s:s, s:o}", "text", r->text, "from", from_of(r), "sql", sql);
        for (int k = 0; k < r->sql.n; k++)
            json_array_append_new(sql, json_string(r->sql.items[k]));
        if (r->sql_from)
            json_object_set_new(o, "sql_from", json_string(r->sql_from));
        add_result(o, r, db);
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *dropped_json(const struct infill_case *c)
{
    json_t *list = json_array();

    for (int i = 0; i < c->n; i++) {
        const struct infill_interpretation *r = &c->interpretations[i];
        if (!r->dropped)
            continue;
        json_t *o = json_pack("{s:s, s:s, s:s}", "text", r->text, "from", from_of(r), "reason", r->dropped);
        if (r->same_as >= 0)
            json_object_set_new(o, "same_as", json_string(c->interpretations[r->same_as].text));
        if (r->unread)
            json_object_set_new(o, "sql_completion", json_message(r->unread));
        json_array_append_new(list, o);
    }
    for (int i = 0; i < c->omitted.n; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "text", c->omitted.items[i], "from", "default",
                                              "reason", "self-correction omits it"));
    return list;
}

/* Adds the completions of the models. */
static void add_answers(json_t *o, const struct infill_case *c)
{
    if (c->corrected)
        json_object_set_new(o, "corrected_completion", json_string(c->corrected));
    for (int i = 0; i < 2; i++)
        if (c->answers[i])
            json_object_set_new(o, i ? "infilled_completion" : "defaults_completion", json_string(c->answers[i]));
}

/* Adds the golds and the number of correct interpretations. */
static void add_golds(json_t *o, const struct infill_case *c)
{
    json_t *golds = json_object_get(c->record, "golds");

    if (!golds)
        return;
    json_object_set_new(o, "ambiguous", json_boolean(json_array_size(golds) > 1));
    json_object_set(o, "golds", golds);
}

json_t *infill_case_failed_json(const struct infill_case *c)
{
    json_t *o = json_pack("{s:O?, s:O?, s:O*, s:o}", "id", json_object_get(c->record, "id"), "db_id",
                          json_object_get(c->record, "db_id"), "source_db", json_object_get(c->record, "source_db"),
                          "error", json_message(c->error));

    add_answers(o, c);
    if (c->unanswered) {
        json_object_set_new(o, "question", json_string(c->question));
        add_golds(o, c);
        json_object_set_new(o, "readings", json_array());
    }
    return o;
}

json_t *infill_case_json(const struct infill_case *c, struct exec_db *db)
{
    json_t *source = json_object_get(c->record, "source_db"), *o;

    o = json_pack("{s:O, s:s, s:s}", "id", json_object_get(c->record, "id"), "db_id", c->db_id, "question",
                  c->question);
    if (json_is_string(source))
        json_object_set(o, "source_db", source);
    add_golds(o, c);
    json_object_set_new(o, "readings", kept_json(c, db));
    json_object_set_new(o, "dropped", dropped_json(c));
    add_answers(o, c);
    if (c->unread)
        json_object_set_new(o, "error", json_message(c->unread));
    return o;
}

/* A name in words: blanks for underscores. */
static json_t *word_json(const char *name)
{
    char *text = xstrdup(name);

    for (char *p = text; *p; p++)
        *p = (char)(*p == '_' ? ' ' : *p);
    json_t *o = json_string(text);
    free(text);
    return o;
}

static json_t *ambiqt_json(const json_t *record, const struct ambiqt_record *r, const char *where, struct error *err)
{
    const char *file = json_get_string(record, "db_file", where, err);
    json_t *golds = json_array();

    if (!file) {
        json_decref(golds);
        error_prefix(err, "made without --materialise");
        return NULL;
    }
    for (int i = 0; i < 2; i++)
        json_array_append_new(golds,
                              json_pack("{s:s, s:o}", "sql", r->interpretations[i], "word", word_json(r->names[i])));
    char *db_id = schema_db_id(file);
    json_t *o =
        json_pack("{s:O?, s:s, s:s, s:s, s:s, s:o}", "id", json_object_get(record, "id"), "db_id", db_id, "source_db",
                  r->db_id, "type", sia_type_letter(r->type), "question", r->question, "golds", golds);
    free(db_id);
    return o;
}

json_t *infill_rewrite_record(json_t *record, const char *where, struct error *err)
{
    const char *failed = json_string_value(json_object_get(record, "materialise_error"));
    struct ambiqt_corpus corpus = { 0 };
    json_t *own = NULL;
    int kind = ambiqt_kind(record);

    if (json_object_get(record, "golds"))
        return record;
    if (failed)
        error_set(err, EXIT_CODE_DATA, "%s: no database: %s", where, failed);
    else if (kind != SIA_COLUMN && kind != SIA_TABLE)
        error_set(
            err, EXIT_CODE_DATA,
            "%s: expected a record of ambit-data ambiguate of kind C or T, whose golds have names of their own, or "
            "\"golds\": [{\"sql\", \"word\"}]",
            where);
    else if (ambiqt_add(&corpus, (enum sia_type)kind, record, where, err) == 0)
        own = ambiqt_json(record, &corpus.items[0], where, err);
    ambiqt_release(&corpus);
    json_decref(record);
    return own;
}

static int read_gold(struct infill_case *c, const json_t *o, const char *where, struct error *err)
{
    struct infill_gold *g = &c->golds[c->n_golds];
    const char *sql = json_get_string(o, "sql", where, err),
               *word = sql ? json_get_string(o, "word", where, err) : NULL;

    if (!word)
        return -1;
    if (!*word)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"word\" is empty, expected the name to write", where);
    *g = (struct infill_gold){ .sql = sql, .word = xstrdup(word) };
    infill_case_add_text(c, "");
    c->n_golds++;
    return 0;
}

int infill_rewrite_read(struct infill_case *c, const char *where, struct error *err)
{
    const json_t *list = json_get_array(c->record, "golds", where, err);
    size_t n = json_array_size(list);
    char inner[640];

    if (!list)
        return -1;
    if (n < 2)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"golds\": expected at least two, got %zu", where, n);
    c->golds = xcalloc(n, sizeof *c->golds);
    for (size_t i = 0; i < n; i++) {
        snprintf(inner, sizeof inner, "%.500s, gold %zu", where, i + 1);
        if (read_gold(c, json_array_get(list, i), inner, err))
            return -1;
    }
    return 0;
}

json_t *infill_rewrite_id(const struct infill_case *c, int64_t gold)
{
    char text[RECORD_ID_TEXT];

    return json_sprintf("%s/%d/%d", record_id_text(c->record, text), (int)gold + 1, c->golds[gold].tries + 1);
}

static enum trial_rule rule_of(bool published)
{
    return published ? TRIAL_PUBLISHED : TRIAL_STRICT;
}

int infill_rewrite_check(const struct infill_case *c, struct exec_db *db, bool published, struct error *err)
{
    const char **golds = xcalloc((size_t)c->n_golds + 1, sizeof *golds);
    struct trial t;
    int rc = 0;

    for (int i = 0; i < c->n_golds; i++)
        golds[i] = c->golds[i].sql;
    trial_run(&t, rule_of(published), db, (struct trial_text){ golds, c->n_golds }, (struct trial_text){ 0 });
    if (t.why)
        rc = error_set(err, EXIT_CODE_DATA, "%s", t.why);
    for (int i = 0; i < t.n_golds && rc == 0; i++)
        if (t.golds[i].result.n == 0)
            rc = error_set(err, EXIT_CODE_DATA, "gold %d gives no rows, so nothing tells what says it", i + 1);
    trial_release(&t);
    free(golds);
    return rc;
}

void infill_rewrite_judge(struct infill_case *c, int gold, struct exec_db *db, bool published)
{
    struct infill_gold *g = &c->golds[gold];
    const struct text_items *sql = &c->interpretations[gold].sql;
    struct trial_text said = { (const char *const *)sql->items, sql->n };
    struct trial t;

    trial_run(&t, rule_of(published), db, (struct trial_text){ &g->sql, 1 }, said);
    g->accepted = trial_score_covered(&t, said).f1 >= 1;
    g->tries++;
    trial_release(&t);
}

json_t *infill_rewrite_json(const struct infill_case *c)
{
    json_t *o = json_deep_copy(c->record), *golds = json_object_get(o, "golds");

    for (int i = 0; i < c->n_golds; i++) {
        json_t *gold = json_array_get(golds, (size_t)i);
        json_object_set_new(gold, "text", json_string(c->interpretations[i].text));
        json_object_set_new(gold, "tries", json_integer(c->golds[i].tries));
    }
    json_object_set_new(o, "ambiguous", json_true());
    return o;
}
