#include "infer/tag/marker.h"

#include "data/span/tagging.h"
#include "data/util/json.h"

#include <stdlib.h>

int tagger_open(struct tagger *t, const struct tag_request *q, struct error *err)
{
    static tagger_open_fn *const strategies[] = {
        [TAG_DTE] = tagger_open_dte, [TAG_ETA] = tagger_open_dte, [TAG_HEURISTIC] = tagger_open_heuristic
    };
    return strategies[q->strategy](t, q, err);
}

int marker_open(struct marker *m, const struct tag_request *q, struct error *err)
{
    *m = (struct marker){ 0 };
    return tag_databases_open(&m->databases, q->schema, q->db, q->index_mib << 20, err) ||
                   tagger_open(&m->tagger, q, err)
               ? -1
               : 0;
}

void marker_close(struct marker *m)
{
    tag_databases_close(&m->databases);
    if (m->tagger.close)
        m->tagger.close(m->tagger.self);
    *m = (struct marker){ 0 };
}

/* What the tagger answers as a line. */
static json_t *mark(struct marker *m, const json_t *record, struct tag_source *source, const char *where,
                    struct error *err)
{
    struct tag_matches values;
    const char *text = json_string_value(json_object_get(record, "question")), *why = NULL;
    struct tag_question question = tag_source_ask(source, text, &values);
    struct tag_answer answer = { 0 };
    char *bad = NULL;
    json_t *line = NULL;
    int rc = m->tagger.tag(m->tagger.self, &answer, &bad, &question, 1, err);

    if (rc == 0 && !bad)
        line = tag_json(json_object_get(record, "id"), json_string_value(json_object_get(record, "db_id")), &question,
                        &answer);
    if (rc == 0 && !line)
        why = bad ? bad : "a name or a value of its database is no UTF-8";
    if (why)
        error_set(err, EXIT_CODE_DATA, "%s: %s", where, why);
    tag_answer_release(&answer);
    tag_matches_release(&values);
    free(bad);
    return line;
}

json_t *marker_mark(struct marker *m, const json_t *record, const struct schema *own, const char *where,
                    struct error *err)
{
    const char *db_id = json_get_string(record, "db_id", where, err);
    struct tag_source once = { 0 }, *source = NULL;

    if (!db_id || !json_get_string(record, "question", where, err))
        return NULL;
    if (own) {
        source = tag_source_open(&once, own, NULL, m->databases.max_bytes, err) ? NULL : &once;
    } else {
        struct tag_database *database = tag_databases_find(&m->databases, db_id, where, err);
        source = database ? tag_database_source(&m->databases, database, err) : NULL;
    }
    json_t *line = source ? mark(m, record, source, where, err) : NULL;
    tag_source_close(&once);
    tag_databases_trim(&m->databases);
    return line;
}
