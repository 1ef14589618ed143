#include "infer/ask/asker.h"

#include "data/exec/db_path.h"
#include "infer/clarify/handoff.h"

#include <stdlib.h>
#include <string.h>

enum { TREE_BYTES = 256 << 20, INDEX_MIB = 256, DETECT_TOKENS = 16384, PARSE_BEAMS = 10, PARSE_NEW = 256 };

static int open_marker(struct asker *a, struct error *err)
{
    const struct ask_request *q = a->q;
    struct tag_request tag = { .schema = q->clarify.schema,
                               .db = q->clarify.db,
                               .model = q->tagger,
                               .device = q->device,
                               .no_graph = q->no_graph,
                               .threshold = NAN,
                               .index_mib = INDEX_MIB,
                               .heuristic = HEURISTIC_DEFAULT };

    if (!q->tagger)
        return 0;
    if (strcmp(q->tagger, "heuristic") == 0)
        tag.strategy = TAG_HEURISTIC;
    return marker_open(&a->marker, &tag, err);
}

static int open_parser(struct asker *a, struct error *err)
{
    const struct ask_request *q = a->q;
    const struct parser_settings settings = { .model = q->parser,
                                              .schema = q->clarify.schema,
                                              .db = q->clarify.db,
                                              .device = q->device,
                                              .dtype = "auto",
                                              .strategy = q->parser_strategy,
                                              .k = q->top,
                                              .beams = PARSE_BEAMS,
                                              .max_new = PARSE_NEW,
                                              .seed = q->clarify.seed,
                                              .no_graph = q->no_graph };

    return q->parser ? parser_open(&a->parser, &settings, err) : 0;
}

int asker_open(struct asker *a, const struct ask_request *q, struct error *err)
{
    const struct detector_settings detector = { .model = q->detector,
                                                .device = q->device,
                                                .tokens = DETECT_TOKENS,
                                                .elements = DETECTOR_ELEMENTS,
                                                .threshold = q->threshold,
                                                .no_graph = q->no_graph,
                                                .adapt = q->adapt,
                                                .retriever = q->retriever };

    *a = (struct asker){ .q = q };
    if (session_context_open(&a->context, &q->clarify, err) || arena_init(&a->trees, TREE_BYTES, err) ||
        candidate_file_open(&a->candidates, q->clarify.candidates, q->clarify.form, err) ||
        (q->detector && detector_open(&a->detector, &detector, err)) || open_marker(a, err))
        return -1;
    return open_parser(a, err);
}

void asker_close(struct asker *a)
{
    parser_close(&a->parser);
    marker_close(&a->marker);
    detector_close(&a->detector);
    candidate_file_close(&a->candidates);
    session_context_close(&a->context);
    arena_release(&a->trees);
}

const char *candidate_origin_name(enum candidate_origin o)
{
    static const char *const names[] = { NULL, "file", "record", "parser" };
    return names[o];
}

/* The fields of a record of candidates that say what they are. */
static void take_candidates(struct asked *k, const json_t *from, enum candidate_origin origin)
{
    static const char *const fields[] = { "candidates", "reserve", "gold", "schema" };

    for (int i = 0; i < ARRAY_LEN(fields); i++)
        if (json_object_get(from, fields[i]))
            json_object_set(k->record, fields[i], json_object_get(from, fields[i]));
    k->origin = origin;
}

/* Whether the parser's line says of the statement that it does not run. */
static bool is_broken(const json_t *errors, const char *sql)
{
    for (size_t i = 0; i < json_array_size(errors); i++) {
        const char *broken = json_string_value(json_object_get(json_array_get(errors, i), "sql"));
        if (broken && strcmp(broken, sql) == 0)
            return true;
    }
    return false;
}

/* Its statements that run; the others are no readings, and say nothing of how likely it is that none is right. */
static void drop_broken(json_t *line)
{
    json_t *list = json_object_get(line, "candidates"), *good = json_array(), *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (!is_broken(json_object_get(line, "errors"), json_string_value(json_object_get(item, "sql"))))
            json_array_append(good, item);
    }
    json_object_set_new(line, "candidates", good);
}

/* What a parser is asked: the question and its schema, and nothing that would be the answer. */
static json_t *parse_question(struct asker *a, const json_t *record, bool again, const char *where, struct error *err)
{
    json_t *o = json_pack("{s:O*, s:O, s:O}", "id", json_object_get(record, "id"), "db_id",
                          json_object_get(record, "db_id"), "question", json_object_get(record, "question"));

    if (!json_object_get(o, "id"))
        json_object_set_new(o, "id", json_integer(1));
    if (!a->q->clarify.db && json_object_get(record, "schema"))
        json_object_set(o, "schema", json_object_get(record, "schema"));
    json_t *line = parser_candidates(&a->parser, o, again, where, err);
    json_decref(o);
    if (line)
        drop_broken(line);
    return line;
}

static int ask_parser(struct asker *a, struct asked *k, const char *where, struct error *err)
{
    json_t *line = parse_question(a, k->record, false, where, err);

    if (!line)
        return -1;
    json_t *gold = json_incref(json_object_get(k->record, "gold"));
    if (json_array_size(json_object_get(line, "candidates")))
        take_candidates(k, line, FROM_PARSER);
    if (gold)
        json_object_set(k->record, "gold", gold);
    k->errors = json_incref(json_object_get(line, "errors"));
    json_decref(gold);
    json_decref(line);
    return 0;
}

/* An empty list, as of a record whose parser failed, is none; what is no list is told of later. */
static bool has_candidates(const json_t *record)
{
    const json_t *list = json_object_get(record, "candidates");
    return list && (!json_is_array(list) || json_array_size(list) > 0);
}

/* Those of the file go before the record's own, and these before the parser's. */
static int find_candidates(struct asker *a, struct asked *k, const char *where, struct error *err)
{
    json_t *found = NULL;

    if (a->candidates.path &&
        candidate_file_find(&found, &a->candidates, k->record, a->q->question || a->q->clarify.serve, where, err))
        return -1;
    if (json_array_size(json_object_get(found, "candidates")))
        take_candidates(k, found, FROM_FILE);
    else if (has_candidates(k->record))
        k->origin = FROM_RECORD;
    json_decref(found);
    return k->origin == FROM_NOWHERE && a->parser.open ? ask_parser(a, k, where, err) : 0;
}

static const struct schema *schema_of(struct asker *a, const json_t *record, const char *where, struct error *err)
{
    return schema_catalog_of(&a->context.schemas, record, where, err);
}

/* What detector and tagger say of it, joined as clarify joins their files. */
static int look(struct asker *a, struct asked *k, const char *where, struct error *err)
{
    bool own = !a->q->clarify.db && json_object_get(k->record, "schema");
    const struct schema *s = schema_of(a, k->record, where, err);

    if (!s || (a->q->detector && !(k->finding = detector_find(&a->detector, k->record, s, !own, where, err))) ||
        (a->q->tagger && !(k->marked = marker_mark(&a->marker, k->record, own ? s : NULL, where, err))))
        return -1;
    json_t *joined = handoff_join_lines(k->record, k->finding, k->marked, s, where, err);
    if (!joined)
        return -1;
    json_decref(k->record);
    k->record = joined;
    k->gated = k->finding && json_real_value(json_object_get(k->finding, "score")) < a->q->gate;
    return 0;
}

static int add_alternatives(struct asker *a, struct asked *k, const char *where, struct error *err)
{
    const struct schema *s = schema_of(a, k->record, where, err);
    struct exec_db *db = NULL;
    const char *db_id = json_string_value(json_object_get(k->record, "db_id"));

    if (!s || schema_catalog_connect(&db, &a->context.schemas, db_id, err))
        return -1;
    return alternatives_add(&k->made, k->record, s, db, &a->trees, where, err);
}

int asker_know(struct asker *a, struct asked *out, json_t *record, const char *where, struct error *err)
{
    *out = (struct asked){ 0 };
    db_path_name(a->q->clarify.db, record);
    if (!json_get_string(record, "question", where, err) || !json_get_string(record, "db_id", where, err))
        return -1;
    out->record = json_copy(record);
    if (find_candidates(a, out, where, err) || look(a, out, where, err))
        return -1;
    bool adds = out->origin && !out->gated && a->q->alternatives == ALTERNATIVES_ON;
    return adds ? add_alternatives(a, out, where, err) : 0;
}

void asked_release(struct asked *k)
{
    json_decref(k->record);
    json_decref(k->finding);
    json_decref(k->marked);
    json_decref(k->errors);
    *k = (struct asked){ 0 };
}

int asker_start(struct asker *a, struct session *s, const struct asked *k, const json_t *rules, const char *where,
                struct error *err)
{
    json_t *own = rules ? json_copy((json_t *)(uintptr_t)rules) : json_object();

    if (k->gated && json_is_object(own))
        json_object_set_new(own, "max_turns", json_integer(0));
    int rc = session_start(s, &a->context, k->record, own, where, err);
    json_decref(own);
    return rc;
}

bool asker_may_regenerate(const struct asker *a, const struct session *s)
{
    return s->why == STOP_HAND_OVER && a->parser.open &&
           !json_is_true(json_object_get(json_object_get(s->value, "record"), "regenerated"));
}

/* Whether the session has a candidate that says the same. */
static bool is_known(struct asker *a, struct form_store *store, const struct session *s, const char *sql)
{
    struct error why;
    const struct form *form = form_of_text(store, sql, s->current.schema, &a->trees, &why);

    for (int i = 0; form && i < s->current.prior.n; i++)
        if (strcmp(s->current.forms[i]->text, form->text) == 0)
            return true;
    return !form;
}

json_t *asker_regenerate(struct asker *a, const struct session *s, const char *where, struct error *err)
{
    json_t *record = json_copy(json_object_get(s->value, "record")), *list = json_array(), *item;
    json_t *line = parse_question(a, record, true, where, err), *found = json_object_get(line, "candidates");
    struct form_store store = { 0 };
    size_t i;

    json_array_foreach(found, i, item)
    {
        if (!is_known(a, &store, s, json_string_value(json_object_get(item, "sql"))))
            json_array_append(list, item);
    }
    form_store_release(&store);
    json_decref(line);
    json_object_set_new(record, "candidates", list);
    json_object_set_new(record, "regenerated", json_true());
    json_object_del(record, "reserve");
    if (json_array_size(list))
        return record;
    json_decref(record);
    return NULL;
}
