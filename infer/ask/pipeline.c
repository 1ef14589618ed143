#include "infer/ask/pipeline.h"

#include "data/base/records.h"
#include "data/clarify/evidence.h"
#include "data/clarify/posterior.h"
#include "data/db/execute.h"
#include "data/eval/candidate_list.h"
#include "data/sql/sql_check.h"
#include "data/sql/sql_form.h"
#include "data/synth/sql_exchange.h"
#include "infer/clarify/evidence_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 32 }; /* number of candidates of the record that get a counterpart */

struct adding {
    const struct schema *s;
    struct exec_db *db;
    struct arena *trees;
    struct evidence evidence;
    struct candidate_list list;
    struct form_store store;
    struct strings forms; /* probabilities of all candidates */
    int *first;           /* [forms.n] first candidate of each form; -1: new */
    json_t *items;        /* new list of candidates */
    struct alternatives_made *made;
};

/* Tells whether the statement runs on the database, or without one is valid on the schema. */
static bool is_good(struct adding *a, const char *sql)
{
    struct error why;
    struct sql_uses uses;

    if (a->db) {
        struct exec_result r = exec_run(a->db, sql);
        bool good = r.status == EXEC_OK || r.status == EXEC_STOPPED;
        exec_result_release(&r);
        return good;
    }
    struct sql_query *q = sql_parse(a->trees, sql, &why);
    return q && sql_resolve(a->trees, q, a->s, &uses, &why) == 0 && sql_check(q, a->s, &why) == 0;
}

/* Canonical form of a statement as text, or NULL. */
static const char *form_text(struct adding *a, const char *sql)
{
    struct error why;
    const struct form *form = form_of_text(&a->store, sql, a->s, a->trees, &why);
    return form ? form->text : NULL;
}

static const char *other_interpretation(struct adding *a, const char *sql)
{
    const int *found = a->evidence.found;
    struct error why;
    const char *other = sql_exchange(a->trees, sql, a->s, found[0], found[1], &why);

    return other ? other : sql_exchange(a->trees, sql, a->s, found[1], found[0], &why);
}

static void add_item(struct adding *a, const char *sql, double p, json_t *gold)
{
    json_array_append_new(a->items, json_pack("{s:s, s:f, s:O*}", "sql", sql, "p", p, "gold", gold));
}

/* Merges candidates of the same form into the first one. */
static void give(struct adding *a, int to, int from)
{
    a->list.p[to] += a->list.p[from];
    a->list.p[from] = 0;
}

/* Raises the less probable one of two interpretations to q / 2 of their total, where q is the score of the prediction.
 */
static void raise_other(struct adding *a, int i, int other)
{
    double *p = a->list.p, both = p[i] + p[other], share = both * a->evidence.score / 2;

    if (other == i || p[other] >= share || p[other] >= p[i])
        return;
    p[other] = share;
    p[i] = both - share;
    a->made->raised++;
}

static void add_other(struct adding *a, int i, const char *sql)
{
    double share = a->list.p[i] * a->evidence.score / 2;

    a->list.p[i] -= share;
    add_item(a, sql, share, NULL);
    a->made->added++;
}

/* Adds the counterpart of candidate i with the other alternative, if it has one. */
static void look_at(struct adding *a, int i)
{
    const char *sql = a->list.p[i] > 0 ? other_interpretation(a, a->list.sql[i]) : NULL;
    const char *form = sql ? form_text(a, sql) : NULL;
    int k = form ? strings_find(&a->forms, form) : -1;

    if (k >= 0 && a->first[k] >= 0)
        raise_other(a, i, a->first[k]);
    if (!form || k >= 0 || a->list.n + a->made->added == POSTERIOR_MAX || !is_good(a, sql))
        return;
    a->first[strings_add(&a->forms, form)] = -1;
    add_other(a, i, sql);
}

static void look_at_all(struct adding *a, const json_t *old)
{
    a->first = xcalloc((size_t)a->list.n + LOOKED_AT, sizeof *a->first);
    for (int i = 0; i < a->list.n; i++) {
        const char *form = form_text(a, a->list.sql[i]);
        int before = a->forms.n;
        int k = form ? strings_add(&a->forms, form) : -1;
        if (k == before)
            a->first[k] = i;
        else if (k >= 0)
            give(a, a->first[k], i);
    }
    for (int i = 0; i < a->list.n && i < LOOKED_AT; i++)
        look_at(a, i);
    for (int i = 0; i < a->list.n; i++)
        add_item(a, a->list.sql[i], a->list.p[i], json_object_get(json_array_get(old, (size_t)i), "gold"));
}

static int add(struct adding *a, json_t *record, const char *where, struct error *err)
{
    json_t *old = json_object_get(record, "candidates");

    if (evidence_read(&a->evidence, record, a->s, where, err))
        return -1;
    if (a->evidence.n_found != 2 || a->evidence.type == SIA_AGGREGATE)
        return 0;
    if (candidate_list_read(&a->list, record, where, err))
        return -1;
    a->items = json_array();
    look_at_all(a, old);
    if (a->made->added + a->made->raised)
        json_object_set(record, "candidates", a->items);
    return 0;
}

static int alternatives_add(struct alternatives_made *made, json_t *record, const struct schema *s, struct exec_db *db,
                            struct arena *trees, const char *where, struct error *err)
{
    struct adding a = { .s = s, .db = db, .trees = trees, .made = made };

    *made = (struct alternatives_made){ 0 };
    int rc = add(&a, record, where, err);
    evidence_release(&a.evidence);
    candidate_list_release(&a.list);
    form_store_release(&a.store);
    strings_release(&a.forms);
    json_decref(a.items);
    free(a.first);
    arena_reset(trees, 0);
    return rc;
}

/* A record_fn; see record_reader.h. */
static int load_line(void *user, json_t *record, const char *where, struct error *err)
{
    struct candidate_file *f = user;
    char buffer[RECORD_ID_TEXT];
    const char *id = record_id_text(record, buffer);
    json_t *question = json_object_get(record, "question"),
           *number = json_integer((json_int_t)json_array_size(f->lines));

    if (json_object_get(f->by_id, id)) {
        json_decref(number);
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected each id once, got \"%.100s\" again", where,
                         id);
    }
    char *text = json_dumps(record, JSON_COMPACT);
    json_array_append_new(f->lines, json_string(text));
    free(text);
    json_object_set(f->by_id, id, number);
    if (json_is_string(question) && !json_object_get(f->questions, json_string_value(question)))
        json_object_set(f->questions, json_string_value(question), number);
    json_decref(number);
    return 0;
}

static int candidate_file_open(struct candidate_file *f, const char *path, enum record_format format, struct error *err)
{
    *f = (struct candidate_file){ .path = path };
    if (!path)
        return 0;
    f->lines = json_array();
    f->by_id = json_object();
    f->questions = json_object();
    return records_each(path, format, load_line, f, err);
}

static void candidate_file_close(struct candidate_file *f)
{
    json_decref(f->lines);
    json_decref(f->by_id);
    json_decref(f->questions);
    *f = (struct candidate_file){ 0 };
}

static int check_same(const struct candidate_file *f, const json_t *line, const json_t *record, const char *field,
                      const char *where, struct error *err)
{
    const char *has = json_string_value(json_object_get(line, field));
    const char *expected = json_string_value(json_object_get(record, field));

    if (!has || !expected || strcmp(has, expected) == 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA,
                     "%s: field \"%s\" is \"%.200s\", but the candidates of that id in %s have \"%.200s\"", where,
                     field, expected, f->path, has);
}

static int candidate_file_find(json_t **found, const struct candidate_file *f, const json_t *record, bool by_question,
                               const char *where, struct error *err)
{
    char buffer[RECORD_ID_TEXT];
    const char *question = json_string_value(json_object_get(record, "question"));
    const json_t *number = by_question ? json_object_get(f->questions, question ? question : "")
                                       : json_object_get(f->by_id, record_id_text(record, buffer));

    *found = NULL;
    if (!number)
        return 0;
    *found = json_loads(json_string_value(json_array_get(f->lines, (size_t)json_integer_value(number))), 0, NULL);
    if (check_same(f, *found, record, "question", where, err) || check_same(f, *found, record, "db_id", where, err)) {
        json_decref(*found);
        *found = NULL;
        return -1;
    }
    return 0;
}

/* Limits a result with too many rows to its first ones. */
static struct exec_result run_first(struct exec_db *db, const char *sql, int64_t rows)
{
    struct exec_result all = exec_run(db, sql), first;
    size_t n = strlen(sql);
    char *cut = NULL;

    if (all.status != EXEC_STOPPED)
        return all;
    while (n && strchr("; \t\r\n", sql[n - 1]))
        n--;
    CHECK(asprintf(&cut, "SELECT * FROM (%.*s\n) LIMIT %lld", (int)n, sql, (long long)rows + 1) >= 0, "out of memory");
    first = exec_run(db, cut);
    free(cut);
    bool better = first.status == EXEC_OK;
    exec_result_release(better ? &all : &first);
    return better ? first : all;
}

json_t *pipeline_rows(struct pipeline *a, const char *db_id, const char *sql, int64_t max)
{
    struct exec_db *db = NULL;
    struct error why;

    if (schema_catalog_connect(&db, &a->context.schemas, db_id, &why) || !db)
        return NULL;
    struct exec_result r = run_first(db, sql, max);
    bool more = r.n > max;
    if (more)
        r.n = max;
    json_t *o = exec_result_json(&r);
    if (r.status == EXEC_OK)
        json_object_set_new(o, "truncated", json_boolean(more));
    exec_result_release(&r);
    return o;
}

/* Copies the fields that are present. */
static json_t *some_fields(const json_t *from, const char *const *fields, int n)
{
    json_t *o = json_object();

    for (int i = 0; i < n; i++)
        if (json_object_get(from, fields[i]))
            json_object_set(o, fields[i], json_object_get(from, fields[i]));
    return o;
}

static json_t *prediction_part(const json_t *prediction, bool relevance)
{
    static const char *const fields[] = { "triage",      "score",        "ambiguous", "type",     "alternatives",
                                          "ambiguities", "question_cut", "sentence",  "relevance" };
    return prediction ? some_fields(prediction, fields, ARRAY_LEN(fields) - !relevance) : json_null();
}

static json_t *marked_part(const json_t *marked)
{
    static const char *const fields[] = { "status", "problem", "spans", "sentence", "triage" };
    return marked ? some_fields(marked, fields, ARRAY_LEN(fields)) : json_null();
}

static json_t *candidates_part(const struct asked *k)
{
    size_t n = json_array_size(json_object_get(k->record, "candidates"));

    if (!candidate_origin_name(k->origin))
        return json_null();
    return json_pack("{s:s, s:I, s:i, s:i, s:O*}", "from", candidate_origin_name(k->origin), "n", (json_int_t)n,
                     "added", k->made.added, "raised", k->made.raised, "errors", k->errors);
}

/* Adds the rewritten question, the statement and its rows to a line. */
static void put_outcome(struct pipeline *a, json_t *line, const char *db_id, const struct choose_outcome *o)
{
    const char *sql = a->q->rewrite ? NULL : o->sql;
    json_t *rows = sql ? pipeline_rows(a, db_id, sql, a->q->rows) : NULL;

    json_object_set(line, "rewrite", o->rewrite ? o->rewrite : json_null());
    json_object_set_new(line, "sql", sql ? json_string(sql) : json_null());
    json_object_set_new(line, "result", rows ? rows : json_null());
}

/* Completes the line of a session about elements, whose candidates are no statements for the user.  Takes the line. */
static json_t *choice_line(struct pipeline *a, struct session *s, json_t *line)
{
    static const char *const others[] = { "best", "wording", "confidence", "session" };
    const char *db_id = json_string_value(json_object_get(json_object_get(s->value, "record"), "db_id"));
    struct choose_outcome o = { 0 };
    struct error why;

    if (s->why != STOP_NOT && !choose_has_next(s) && choose_outcome(&o, s, "session", &why)) {
        json_decref(line);
        return NULL;
    }
    for (int i = 0; i < ARRAY_LEN(others); i++)
        json_object_del(line, others[i]);
    choose_name_options(json_object_get(line, "ask"), s);
    json_object_set_new(line, "turns", choose_turns(s));
    put_outcome(a, line, db_id, &o);
    json_object_set(line, "session", s->value);
    choose_outcome_release(&o);
    return line;
}

json_t *pipeline_session_line(struct pipeline *a, struct session *s, bool gated)
{
    const json_t *record = json_object_get(s->value, "record");
    const char *db_id = json_string_value(json_object_get(record, "db_id"));
    json_t *o = session_json(s);
    bool lost = s->why == STOP_ESCALATE;

    if (!o)
        return NULL;
    if (gated && s->why == STOP_TURNS)
        json_object_set_new(o, "stop", json_string("gate"));
    if (choose_is(s))
        return choice_line(a, s, o);
    json_t *session = json_incref(json_object_get(o, "session"));
    const char *sql = lost ? NULL : json_string_value(json_object_get(o, "best"));
    json_t *rows = sql ? pipeline_rows(a, db_id, sql, a->q->rows) : NULL;
    json_object_del(o, "session");
    json_object_set_new(o, "regenerated", json_boolean(json_is_true(json_object_get(record, "regenerated"))));
    json_object_set(o, "turns", json_object_get(s->value, "turns"));
    json_object_set_new(o, "sql", sql ? json_string(sql) : json_null());
    json_object_set_new(o, "result", rows ? rows : json_null());
    json_object_set_new(o, "session", session);
    return o;
}

static bool has_status(const json_t *marked, const char *status)
{
    const json_t *list = json_object_get(marked, "status");
    bool found = false;

    for (size_t i = 0; i < json_array_size(list); i++)
        found |= strcmp(json_string_value(json_array_get(list, i)), status) == 0;
    return found;
}

/* Tells whether the detector's head for classes refuses the question. */
static bool is_refused(const json_t *prediction)
{
    const char *class = json_string_value(json_object_get(json_object_get(prediction, "triage"), "class"));
    return class && triage_class_refused(triage_class_of(class));
}

const char *asked_sentence(const struct asked *k)
{
    const char *detected = json_string_value(json_object_get(k->prediction, "sentence"));
    const char *marked = json_string_value(json_object_get(k->marked, "sentence"));
    bool ambiguous = json_is_true(json_object_get(k->prediction, "ambiguous"));
    bool found = has_status(k->marked, "ambiguous") || has_status(k->marked, "unanswerable");
    bool refused = is_refused(k->prediction);

    return !detected || (marked && found && !ambiguous && !refused) ? marked : detected;
}

/* The end of a line about which nothing can be asked. */
static json_t *nothing_to_ask(struct pipeline *a, const struct asked *k)
{
    json_t *line = json_pack("{s:n, s:s}", "ask", "stop", k->gated ? "gate" : "no-candidates");

    put_outcome(a, line, json_string_value(json_object_get(k->record, "db_id")), &k->outcome);
    return line;
}

json_t *pipeline_line(struct pipeline *a, const struct asked *k, struct session *s, bool relevance)
{
    json_t *o = json_pack("{s:O*, s:O, s:O, s:s?, s:o, s:o, s:o, s:b}", "id", json_object_get(k->record, "id"), "db_id",
                          json_object_get(k->record, "db_id"), "question", json_object_get(k->record, "question"),
                          "sentence", asked_sentence(k), "detector", prediction_part(k->prediction, relevance),
                          "tagger", marked_part(k->marked), "candidates", candidates_part(k), "gated", k->gated);
    json_t *rest = s ? pipeline_session_line(a, s, k->gated) : nothing_to_ask(a, k);

    if (!rest || json_object_update(o, rest)) {
        json_decref(o);
        o = NULL;
    }
    json_decref(rest);
    return o;
}

enum { TREE_BYTES = 256 << 20, INDEX_MIB = 256, DETECT_TOKENS = 16384, PARSE_BEAMS = 10 };

/* Makes the detector the tagger, whose words are looked up like those of every tagger. */
static int use_detector(struct pipeline *a, struct error *err)
{
    if (!a->detector.words.known)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "--tagger detector: %s has no head for words, the file " WORD_HEAD_FILE
                         ", or --adapter has changed what it reads; train a head with ambit-train words, or name "
                         "another tagger",
                         a->q->detector);
    a->detector.looks_up = true;
    return 0;
}

static int open_tagger(struct pipeline *a, struct error *err)
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
    if (strcmp(q->tagger, "detector") == 0)
        return use_detector(a, err);
    if (strcmp(q->tagger, "heuristic") == 0)
        tag.strategy = TAG_HEURISTIC;
    a->tags = true;
    return question_tagger_open(&a->tagger, &tag, err);
}

/* Opens the databases in which the detector looks words up, those of the tagger if there is one. */
static int open_values(struct pipeline *a, struct error *err)
{
    const struct ask_request *q = a->q;

    if (!(a->detector.triage.known || a->detector.looks_up) || !q->clarify.db)
        return 0;
    a->detector.values = a->tags ? &a->tagger.databases : &a->values;
    return a->tags ? 0 : tag_databases_open(&a->values, NULL, q->clarify.db, (int64_t)INDEX_MIB << 20, err);
}

static int open_parser(struct pipeline *a, struct error *err)
{
    const struct ask_request *q = a->q;
    const char *url = q->server.url;

    if (!q->parser)
        return 0;
    if (url && !(a->server = endpoint_open(&q->server, err)))
        return -1;
    const struct parser_settings settings = { .model = url ? NULL : q->parser,
                                              .server = a->server,
                                              .schema = q->clarify.schema,
                                              .db = q->clarify.db,
                                              .device = q->device,
                                              .dtype = "auto",
                                              .strategy = q->parser_strategy,
                                              .k = q->top,
                                              .beams = PARSE_BEAMS,
                                              .max_new = url ? PARSE_SERVER_NEW : PARSE_MODEL_NEW,
                                              .seed = q->clarify.seed,
                                              .no_graph = q->no_graph };

    a->parses = true;
    return parser_open(&a->parser, &settings, err);
}

int pipeline_open(struct pipeline *a, const struct ask_request *q, struct error *err)
{
    const struct detector_settings detector = { .model = q->detector,
                                                .device = q->device,
                                                .tokens = DETECT_TOKENS,
                                                .elements = DETECTOR_ELEMENTS,
                                                .threshold = q->threshold,
                                                .no_graph = q->no_graph,
                                                .adapter = q->adapter,
                                                .retriever = q->retriever };

    *a = (struct pipeline){ .q = q };
    if (session_context_open(&a->context, &q->clarify, err) || arena_init(&a->trees, TREE_BYTES, err) ||
        candidate_file_open(&a->candidates, q->clarify.candidates, q->clarify.format_in, err) ||
        (q->detector && detector_open(&a->detector, &detector, err)) || open_tagger(a, err))
        return -1;
    a->context.before = choose_before;
    session_context_read_meaning(&a->context);
    return open_values(a, err) ? -1 : open_parser(a, err);
}

void pipeline_close(struct pipeline *a)
{
    parser_close(&a->parser);
    endpoint_close(a->server);
    question_tagger_close(&a->tagger);
    tag_databases_close(&a->values);
    detector_close(&a->detector);
    candidate_file_close(&a->candidates);
    session_context_close(&a->context);
    arena_release(&a->trees);
}

const char *candidate_origin_name(enum candidate_origin o)
{
    static const char *const names[] = { NULL, "file", "record", "parser", NULL };
    return names[o];
}

/* Fields of a record that describe its candidates. */
static void take_candidates(struct asked *k, const json_t *from, enum candidate_origin origin)
{
    static const char *const fields[] = { "candidates", "none_of_the_above", "gold", "schema" };

    for (int i = 0; i < ARRAY_LEN(fields); i++)
        if (json_object_get(from, fields[i]))
            json_object_set(k->record, fields[i], json_object_get(from, fields[i]));
    k->origin = origin;
}

/* Tells whether the parser's line lists the statement as one that does not run. */
static bool is_broken(const json_t *errors, const char *sql)
{
    for (size_t i = 0; i < json_array_size(errors); i++) {
        const char *broken = json_string_value(json_object_get(json_array_get(errors, i), "sql"));
        if (broken && strcmp(broken, sql) == 0)
            return true;
    }
    return false;
}

/* Drops statements that do not run.  They do not raise the none-of-the-above probability. */
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

/* Copies the input of the parser: question and schema, without golds and candidates. */
static json_t *parse_question(struct pipeline *a, const json_t *record, bool again, const char *where,
                              struct error *err)
{
    json_t *o = json_pack("{s:O*, s:O, s:O}", "id", json_object_get(record, "id"), "db_id",
                          json_object_get(record, "db_id"), "question", json_object_get(record, "question"));

    if (!json_object_get(o, "id"))
        json_object_set_new(o, "id", json_integer(1));
    if (!a->q->clarify.db && json_object_get(record, "schema"))
        json_object_set(o, "schema", json_object_get(record, "schema"));
    json_t *line = parser_candidates(&a->parser, o, again, where, err);
    json_decref(o);
    if (line && isnan(a->q->clarify.auto_choice)) /* else they are repaired */
        drop_broken(line);
    return line;
}

static int ask_parser(struct pipeline *a, struct asked *k, const char *where, struct error *err)
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

/* Tells whether the record has candidates.  An empty list counts as none; a wrong type is an error later. */
static bool has_candidates(const json_t *record)
{
    const json_t *list = json_object_get(record, "candidates");
    return list && (!json_is_array(list) || json_array_size(list) > 0);
}

/* Finds the candidates of a record: of the file, else its own, else the parser's. */
static int find_candidates(struct pipeline *a, struct asked *k, const char *where, struct error *err)
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
    return k->origin == FROM_NOWHERE && a->parses ? ask_parser(a, k, where, err) : 0;
}

static const struct schema *schema_of(struct pipeline *a, const json_t *record, const char *where, struct error *err)
{
    return schema_catalog_of(&a->context.schemas, record, where, err);
}

/* Runs detector and tagger and joins their results with the record. */
static int look(struct pipeline *a, struct asked *k, const char *where, struct error *err)
{
    bool own = !a->q->clarify.db && json_object_get(k->record, "schema");
    const struct schema *s = schema_of(a, k->record, where, err);

    if (!s)
        return -1;
    json_t **tagged = a->detector.looks_up ? &k->marked : NULL;
    if ((a->q->detector && !(k->prediction = detector_find(&a->detector, k->record, s, !own, tagged, where, err))) ||
        (a->tags && !(k->marked = question_tagger_mark(&a->tagger, k->record, own ? s : NULL, where, err))))
        return -1;
    json_t *joined = evidence_join_lines(k->record, k->prediction, k->marked, s, where, err);
    if (!joined)
        return -1;
    json_decref(k->record);
    k->record = joined;
    k->gated = k->prediction && json_real_value(json_object_get(k->prediction, "score")) < a->q->gate;
    return 0;
}

static int add_alternatives(struct pipeline *a, struct asked *k, const char *where, struct error *err)
{
    const struct schema *s = schema_of(a, k->record, where, err);
    struct exec_db *db = NULL;
    const char *db_id = json_string_value(json_object_get(k->record, "db_id"));

    if (!s || schema_catalog_connect(&db, &a->context.schemas, db_id, err))
        return -1;
    return alternatives_add(&k->made, k->record, s, db, &a->trees, where, err);
}

/* Tells whether a part has examined the question and found no ambiguity. */
static bool is_clear(const struct asked *k)
{
    bool ambiguous = json_is_true(json_object_get(k->prediction, "ambiguous"));

    return k->prediction ? k->gated || !ambiguous : k->marked && !has_status(k->marked, "ambiguous");
}

/* Begins a dialogue about elements, or answers without one. */
static int choose(struct pipeline *a, struct asked *k, const char *where, struct error *err)
{
    const struct schema *s = schema_of(a, k->record, where, err);
    int rc = !s ? -1 : k->gated ? 0 : choose_begin(k->record, s, where, err);

    if (rc > 0)
        k->origin = FROM_ELEMENTS;
    if (rc || (k->prediction && !is_clear(k)))
        return rc < 0 ? -1 : 0;
    choose_unchanged(&k->outcome, s, json_string_value(json_object_get(k->record, "question")));
    if (!is_clear(k)) {
        json_decref(k->outcome.rewrite);
        k->outcome.rewrite = NULL;
    }
    return 0;
}

int pipeline_know(struct pipeline *a, struct asked *out, json_t *record, const char *where, struct error *err)
{
    *out = (struct asked){ 0 };
    schema_catalog_name(&a->context.schemas, record);
    if (!json_get_string(record, "question", where, err) || !json_get_string(record, "db_id", where, err))
        return -1;
    out->record = json_copy(record);
    json_object_del(out->record, "element_choices");
    json_object_del(out->record, "element_turns");
    if ((!a->q->rewrite && find_candidates(a, out, where, err)) || look(a, out, where, err))
        return -1;
    if (out->origin == FROM_NOWHERE && !a->parses)
        return choose(a, out, where, err);
    bool adds = out->origin && !out->gated && a->q->alternatives == ALTERNATIVES_ON;
    return adds ? add_alternatives(a, out, where, err) : 0;
}

void asked_release(struct asked *k)
{
    json_decref(k->record);
    json_decref(k->prediction);
    json_decref(k->marked);
    json_decref(k->errors);
    choose_outcome_release(&k->outcome);
    *k = (struct asked){ 0 };
}

int pipeline_start(struct pipeline *a, struct session *s, const struct asked *k, const json_t *rules, const char *where,
                   struct error *err)
{
    json_t *own = rules ? json_copy((json_t *)(uintptr_t)rules) : json_object();

    if (k->gated && json_is_object(own))
        json_object_set_new(own, "max_turns", json_integer(0));
    int rc = session_start(s, &a->context, k->record, own, where, err);
    json_decref(own);
    return rc;
}

/* Replaces a session that has ended by the one about the next choice. */
static int next_choice(struct pipeline *a, struct session *s, const char *where, struct error *err)
{
    json_t *record;

    if (!choose_is(s))
        return 0;
    if (choose_next(&record, s, where, err))
        return -1;
    if (!record)
        return 0;
    json_t *rules = json_incref(json_object_get(s->value, "rules"));
    session_release(s);
    int rc = session_start(s, &a->context, record, rules, where, err);
    json_decref(rules);
    json_decref(record);
    return rc ? -1 : 1;
}

/* Whether no question may be asked about the choice, because those before it have used the maximum up. */
static bool is_out_of_turns(const struct session *s)
{
    return s->why == STOP_TURNS && json_array_size(json_object_get(s->value, "turns")) == 0;
}

int pipeline_next_choice(struct pipeline *a, struct session *s, const char *where, struct error *err)
{
    int rc, passed = 0;

    do {
        rc = next_choice(a, s, where, err);
        passed += rc > 0;
    } while (rc > 0 && is_out_of_turns(s));
    return rc < 0 ? -1 : passed > 0;
}

bool pipeline_may_regenerate(const struct pipeline *a, const struct session *s)
{
    return s->why == STOP_ESCALATE && a->parses &&
           !json_is_true(json_object_get(json_object_get(s->value, "record"), "regenerated"));
}

/* Tells whether the session has a candidate of the same form. */
static bool is_known(struct pipeline *a, struct form_store *store, const struct session *s, const char *sql)
{
    struct error why;
    const struct form *form = form_of_text(store, sql, s->current.schema, &a->trees, &why);

    for (int i = 0; form && i < s->current.prior.n; i++)
        if (strcmp(s->current.forms[i]->text, form->text) == 0)
            return true;
    return !form;
}

json_t *pipeline_regenerate(struct pipeline *a, const struct session *s, const char *where, struct error *err)
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
    json_object_del(record, "none_of_the_above");
    if (json_array_size(list))
        return record;
    json_decref(record);
    return NULL;
}
