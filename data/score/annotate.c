#include "data/score/annotate_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_gold(struct annotation *a, const json_t *o, const char *where, struct error *err)
{
    struct annotate_gold *g = &a->golds[a->n_golds++];

    *g = (struct annotate_gold){ .covered_by = -1, .sql = json_get_string(o, "sql", where, err) };
    if (!g->sql || (json_object_get(o, "text") && !(g->text = json_get_string(o, "text", where, err))))
        return -1;
    return trial_texts_add(&a->gold_sql, json_object_get(o, "sql"), "sql", where, err);
}

static int read_golds(struct annotation *a, const json_t *list, const char *where, struct error *err)
{
    char inner[640];
    size_t n = json_array_size(list);

    a->golds = xcalloc(n + 1, sizeof *a->golds);
    for (size_t i = 0; i < n; i++) {
        snprintf(inner, sizeof inner, "%.500s, gold %zu", where, i + 1);
        if (read_gold(a, json_array_get(list, i), inner, err))
            return -1;
    }
    if (n == 1 && !a->golds[0].text)
        a->golds[0].text = a->question;
    return n ? 0 : error_set(err, EXIT_CODE_DATA, "%s: field \"golds\" is empty", where);
}

static int read_reading(struct annotation *a, const json_t *o, const char *where, struct error *err)
{
    struct annotate_reading *r = &a->readings[a->n_readings++];
    const json_t *sql = json_object_get(o, "sql");

    *r = (struct annotate_reading){ .first = a->sql.n, .same_as = -1, .text = json_get_string(o, "text", where, err) };
    if (!r->text || (sql && trial_texts_add(&a->sql, sql, "sql", where, err)))
        return -1;
    r->n = a->sql.n - r->first;
    return 0;
}

static int read_readings(struct annotation *a, const json_t *list, const char *where, struct error *err)
{
    char inner[640];
    size_t n = json_array_size(list);

    a->readings = xcalloc(n + 1, sizeof *a->readings);
    for (size_t i = 0; i < n; i++) {
        snprintf(inner, sizeof inner, "%.500s, reading %zu", where, i + 1);
        if (read_reading(a, json_array_get(list, i), inner, err))
            return -1;
    }
    return 0;
}

int annotation_read(struct annotation *a, const json_t *record, const char *where, struct error *err)
{
    json_t *golds, *readings = NULL;

    *a = (struct annotation){ 0 };
    if (!(a->db_id = json_get_string(record, "db_id", where, err)) ||
        !(a->question = json_get_string(record, "question", where, err)) ||
        !(golds = json_get_array(record, "golds", where, err)) || read_golds(a, golds, where, err))
        return -1;
    if (json_object_get(record, "readings") && !(readings = json_get_array(record, "readings", where, err)))
        return -1;
    return read_readings(a, readings, where, err);
}

void annotation_release(struct annotation *a)
{
    free(a->golds);
    free(a->readings);
    free(a->gold_sql.sql);
    free(a->sql.sql);
    free(a->existing);
    *a = (struct annotation){ 0 };
}

void annotate_trial(struct trial *t, const struct annotation *a, enum trial_rule rule, struct exec_db *db)
{
    trial_run(t, rule, db, trial_texts_part(&a->gold_sql, 0, a->gold_sql.n), trial_texts_part(&a->sql, 0, a->sql.n));
}

void annotate_keep(struct annotation *a, int reading)
{
    GROW(a->existing, a->n_existing, a->existing_cap);
    a->existing[a->n_existing++] = reading;
}

static json_t *golds_json(const struct annotation *a)
{
    json_t *list = json_array();
    for (int g = 0; g < a->n_golds; g++) {
        const struct annotate_gold *gold = &a->golds[g];
        json_array_append_new(list, json_pack("{s:s?, s:s, s:o}", "text", gold->text, "sql", gold->sql, "covered_by",
                                              gold->covered_by < 0 ? json_null() : json_integer(gold->covered_by)));
    }
    return list;
}

static json_t *sql_json(const struct annotation *a, const struct annotate_reading *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n; i++)
        json_array_append_new(list, json_string(a->sql.sql[r->first + i]));
    return list;
}

static json_t *readings_json(const struct annotation *a)
{
    json_t *list = json_array();
    for (int i = 0; i < a->n_readings; i++) {
        const struct annotate_reading *r = &a->readings[i];
        json_t *o = json_pack("{s:s, s:o}", "text", r->text, "sql", sql_json(a, r));
        if (r->dropped)
            json_object_set_new(o, "dropped", json_string(r->dropped));
        if (r->same_as >= 0)
            json_object_set_new(o, "same_as", json_integer(r->same_as));
        json_array_append_new(list, o);
    }
    return list;
}

/* Lines joined by newlines, or the sentence where there are none. */
static json_t *joined(const json_t *lines, const char *sentence)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "no memory stream");
    for (size_t i = 0; i < json_array_size(lines); i++)
        fprintf(f, "%s%s", i ? "\n" : "", json_string_value(json_array_get(lines, i)));
    fclose(f);
    json_t *all = json_string(json_array_size(lines) ? text : sentence);
    free(text);
    return all;
}

/* Texts of the golds that no reading covers; NULL with an error when one has none. */
static json_t *missing_texts(const struct annotation *a, struct error *err)
{
    json_t *list = json_array();
    for (int g = 0; g < a->n_golds; g++) {
        if (a->golds[g].covered_by >= 0)
            continue;
        if (!a->golds[g].text) {
            error_set(err, EXIT_CODE_DATA, "gold %d is missing among the readings and has no text", g + 1);
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, json_string(a->golds[g].text));
    }
    return list;
}

json_t *annotation_json(const struct annotation *a, struct error *err)
{
    json_t *missing = missing_texts(a, err), *existing = json_array(), *o = NULL;
    for (int i = 0; i < a->n_existing; i++)
        json_array_append_new(existing, json_string(a->readings[a->existing[i]].text));
    if (missing)
        o = json_pack("{s:O, s:o, s:O, s:o, s:o, s:o}", "existing", existing, "existing_text",
                      joined(existing, ANNOTATE_NONE_EXIST), "missing", missing, "target",
                      joined(missing, ANNOTATE_ALL_COVERED), "golds", golds_json(a), "readings", readings_json(a));
    json_decref(existing);
    json_decref(missing);
    return o;
}
