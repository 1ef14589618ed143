/* Part of candidates.h: questions of AMBROSIA: their gold readings as candidates, or those that DFPL's published
 * predictions hold. */
#include "data/clarify/candidates_impl.h"
#include "data/corpora/ambrosia.h"
#include "data/score/dfpl.h"
#include "data/util/stop.h"

#include <stdlib.h>
#include <string.h>

/* Equally likely: what stands twice weighs twice. */
static json_t *equally_likely(const char *const *sql, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:s, s:f}", "sql", sql[i], "p", 1.0 / n));
    return list;
}

static json_t *strings_json(const char *const *strings, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_string(strings[i]));
    return list;
}

/* "data/scope/Job Postings/roles/roles.sqlite" is AMBROSIA's database Job_Postings__roles; any other path its own name.
 * The caller frees. */
static char *database_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    int n = dot ? (int)(dot - name) : (int)strlen(name);
    const char *folder = slash, *domain;
    char *id = NULL;

    while (folder && folder > path && folder[-1] != '/')
        folder--;
    domain = folder && folder > path + 1 ? folder - 1 : NULL;
    while (domain && domain > path && domain[-1] != '/')
        domain--;
    bool nested = domain && slash - folder == n && strncmp(folder, name, (size_t)n) == 0;
    int size = nested ? asprintf(&id, "%.*s__%.*s", (int)(folder - 1 - domain), domain, n, name)
                      : asprintf(&id, "%.*s", n, name);
    CHECK(size >= 0, "cannot format the name of %s", path);
    for (char *p = id; nested && *p; p++)
        if (*p == ' ')
            *p = '_';
    return id;
}

static int emit_example(struct candidates_sink *s, const struct dfpl_example *e, int number, struct error *err)
{
    char where[512], *db_id = database_name(e->db_file);

    snprintf(where, sizeof where, "%.400s: example %d", s->request->file, number);
    json_t *o = json_pack("{s:o, s:s, s:s, s:b, s:s?, s:o, s:o}", "id", json_sprintf("%d", number), "db_id", db_id,
                          "question", e->question, "ambiguous", e->ambiguous, "kind", e->type, "candidates",
                          equally_likely(e->sql.sql, e->sql.n), "gold", strings_json(e->golds.sql, e->golds.n));
    free(db_id);
    return candidates_emit(s, o, where, err);
}

int candidates_of_dfpl(struct candidates_sink *s, struct error *err)
{
    struct dfpl_file f;
    int rc = dfpl_read(&f, s->request->file, err);

    for (int i = 0; i < f.n && rc == 0; i++)
        rc = stop_requested() ? 1 : emit_example(s, &f.items[i], i + 1, err);
    dfpl_release(&f);
    return rc;
}

/* The texts of golds, as candidates and as golds. */
static int emit_row(struct candidates_sink *s, const json_t *row, int number, const char *where, struct error *err)
{
    json_t *record = ambrosia_record(row, number, where, err), *item;
    json_t *golds = json_object_get(record, "golds");
    const char **sql = xmalloc((json_array_size(golds) + 1) * sizeof *sql);
    size_t i;

    if (!record) {
        free(sql);
        return candidates_emit_error(s, json_sprintf("%d", number), err);
    }
    json_array_foreach(golds, i, item)
    {
        sql[i] = json_string_value(json_object_get(item, "sql"));
    }
    int n = (int)json_array_size(golds);
    json_t *o = json_pack("{s:o, s:O, s:O, s:O?, s:O?, s:o, s:o}", "id", json_sprintf("%d", number), "db_id",
                          json_object_get(record, "db_id"), "question", json_object_get(record, "question"),
                          "ambiguous", json_object_get(row, "is_ambiguous"), "kind", json_object_get(row, "ambig_type"),
                          "candidates", equally_likely(sql, n), "gold", strings_json(sql, n));
    free(sql);
    json_decref(record);
    return candidates_emit(s, o, where, err);
}

int candidates_of_ambrosia(struct candidates_sink *s, struct error *err)
{
    struct record_reader *in = candidates_open(s->request, err);
    int rc = in ? 1 : -1, number = (int)s->request->shard.range.first;

    if (in)
        record_reader_leave_ids(in);
    while (rc > 0 && !stop_requested()) {
        json_t *row = NULL;
        int got = record_reader_next(in, &row, err);
        if (got == 0) {
            rc = 0;
            break;
        }
        if (got < 0 && record_reader_failed(in)) {
            rc = -1;
            break;
        }
        number++;
        if (got < 0 ? candidates_emit_error(s, json_sprintf("%d", number), err)
                    : emit_row(s, row, number, record_reader_where(in), err))
            rc = -1;
        json_decref(row);
    }
    if (in)
        record_reader_close(in);
    return rc;
}
