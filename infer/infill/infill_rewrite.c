#include "infer/infill/infill_rewrite.h"

#include "data/corpora/ambiqt.h"
#include "data/exec/schema_sqlite.h"
#include "data/util/records.h"
#include "infer/infill/infill_stages_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A name as people say it: blanks for underscores. */
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
        json_array_append_new(golds, json_pack("{s:s, s:o}", "sql", r->readings[i], "word", word_json(r->names[i])));
    char *db_id = schema_db_id(file);
    json_t *o =
        json_pack("{s:O?, s:s, s:s, s:s, s:s, s:o}", "id", json_object_get(record, "id"), "db_id", db_id, "source_db",
                  r->db_id, "kind", sia_kind_letter(r->kind), "question", r->question, "golds", golds);
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
        error_set(err, EXIT_CODE_DATA, "%s: it has no database: %s", where, failed);
    else if (kind != SIA_COLUMN && kind != SIA_TABLE)
        error_set(
            err, EXIT_CODE_DATA,
            "%s: expected a record of ambit-data ambiguate of kind C or T, whose golds have names of their own, or "
            "\"golds\": [{\"sql\", \"word\"}]",
            where);
    else if (ambiqt_add(&corpus, (enum sia_kind)kind, record, where, err) == 0)
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
    const struct text_items *sql = &c->readings[gold].sql;
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
        json_object_set_new(gold, "text", json_string(c->readings[i].text));
        json_object_set_new(gold, "tries", json_integer(c->golds[i].tries));
    }
    json_object_set_new(o, "ambiguous", json_true());
    return o;
}
