#include "infer/ask/ask.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/real_text.h"
#include "data/base/records.h"
#include "data/base/stop.h"
#include "data/base/visible.h"
#include "data/corpora/example.h"
#include "data/db/db_path.h"
#include "data/db/schema_sqlite.h"
#include "data/schema/schema_drawing.h"
#include "infer/ask/choose_simulate.h"
#include "infer/ask/pipeline.h"
#include "infer/ask/session_rows.h"
#include "infer/clarify/interactive.h"
#include "infer/clarify/serve.h"
#include "infer/clarify/simulate.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct ask_run {
    const struct ask_request *q;
    struct pipeline pipeline;
    struct session *session;
    struct simulator simulator;
    struct choose_simulation chosen;  /* simulated dialogues without candidates */
    struct clarify_settings settings; /* settings of simulated dialogues */
    struct clarify_case *current;
    struct out_file out;
    struct ask_counts *counts;
    struct progress progress;
};

/* Goes on after the end of a dialogue: with the next choice of elements, or once with other candidates of the parser if
 * the dialogue escalates. */
static int go_on(struct ask_run *r, const char *where, struct error *err)
{
    struct error why = { 0 };
    int next = pipeline_next_choice(&r->pipeline, r->session, where, err);

    if (next)
        return next < 0 ? -1 : 0;
    if (!pipeline_may_regenerate(&r->pipeline, r->session))
        return 0;
    json_t *record = pipeline_regenerate(&r->pipeline, r->session, where, &why);
    if (!record && why.code) {
        *err = why;
        return -1;
    }
    if (!record)
        return 0;
    session_release(r->session);
    r->counts->regenerated++;
    int rc = session_start(r->session, &r->pipeline.context, record, NULL, where, err);
    json_decref(record);
    return rc;
}

/* Tells whether an answer takes back one that the memory gave. */
static bool takes_back_memory(const struct session *s, const json_t *said)
{
    return s->current.dialogue.n_recalled && json_is_string(said) && strcmp(json_string_value(said), "undo") == 0;
}

/* Gives the record's answers to the open questions, one after the other. */
static int answer_all(struct ask_run *r, const json_t *record, const char *where, struct error *err)
{
    json_t *answers = json_object_get(record, "answers");
    const char *kind;

    if (answers && !json_get_array(record, "answers", where, err))
        return -1;
    for (size_t i = 0; i < json_array_size(answers); i++) {
        const json_t *said = json_array_get(answers, i);
        if (r->session->why != STOP_NOT && !takes_back_memory(r->session, said))
            return error_set(err, EXIT_CODE_DATA, "%s: answers[%zu]: no question is open any more (%s)", where, i,
                             stop_reason_name(r->session->why));
        struct error why = { 0 };
        if (session_said(r->session, said, &kind, where, &why))
            return error_set(err, EXIT_CODE_DATA, "answers[%zu]: %s", i, why.text);
        if (go_on(r, where, err))
            return -1;
    }
    return go_on(r, where, err);
}

static int hold_session(struct ask_run *r, const struct asked *k, const json_t *record, json_t **line,
                        const char *where, struct error *err)
{
    struct session *s = k->origin ? r->session : NULL;

    if (s && (pipeline_start(&r->pipeline, s, k, NULL, where, err) || answer_all(r, record, where, err)))
        return -1;
    *line = pipeline_line(&r->pipeline, k, s, false);
    r->counts->asked += json_is_object(json_object_get(*line, "ask"));
    if (s && s->why != STOP_NOT)
        json_object_del(*line, "session");
    return *line ? 0 : error_set(err, EXIT_CODE_DATA, "%s: the line cannot be written as JSON", where);
}

/* Simulates dialogues about the elements of a record without candidates. */
static int simulate_choices(struct ask_run *r, const struct asked *k, json_t **line, const char *where,
                            struct error *err)
{
    if (r->pipeline.parses)
        return error_set(err, EXIT_CODE_DATA, "%s: --simulate: the record has no candidates", where);
    *line = pipeline_line(&r->pipeline, k, NULL, false);
    json_object_del(*line, "stop");
    return choose_simulate(&r->chosen, &r->pipeline, r->session, k, r->counts->records, *line, where, err);
}

/* Simulates dialogues about each gold statement.  A gated question has no questions. */
static int simulate_record(struct ask_run *r, const struct asked *k, json_t **line, const char *where,
                           struct error *err)
{
    struct schema_catalog *schemas = &r->pipeline.context.schemas;
    const struct schema *s = schema_catalog_of(schemas, k->record, where, err);
    const char *db_id = json_string_value(json_object_get(k->record, "db_id"));
    int64_t max_turns = r->q->clarify.max_turns;

    if (k->origin == FROM_NOWHERE || k->origin == FROM_ELEMENTS)
        return simulate_choices(r, k, line, where, err);
    clarify_settings_init(&r->settings, &r->q->clarify);
    r->settings.judge = r->pipeline.context.settings.judge;
    r->settings.memory = r->pipeline.context.settings.memory;
    if (!s || schema_catalog_connect(&r->settings.db, schemas, db_id, err))
        return -1;
    r->settings.rules.max_turns = k->gated ? 0 : (int)max_turns;
    int rc = clarify_case_read(r->current, k->record, s, &r->settings, &r->pipeline.context.scratch, where, err);
    *line = pipeline_line(&r->pipeline, k, NULL, false);
    json_object_del(*line, "stop");
    if (rc == 0)
        rc = simulator_record(&r->simulator, r->current, k->record, r->counts->records, &r->pipeline.context.scratch,
                              *line, where, err);
    clarify_case_release(r->current);
    r->settings.rules.max_turns = (int)max_turns;
    return rc;
}

static int answer_record(struct ask_run *r, json_t *record, json_t **line, const char *where, struct error *err)
{
    struct asked k;
    int rc = pipeline_know(&r->pipeline, &k, record, where, err);

    if (rc == 0) {
        r->counts->gated += k.gated;
        rc = r->q->clarify.simulate ? simulate_record(r, &k, line, where, err)
                                    : hold_session(r, &k, record, line, where, err);
    }
    session_release(r->session);
    *r->session = (struct session){ 0 };
    schema_catalog_turn(&r->pipeline.context.schemas);
    asked_release(&k);
    return rc;
}

/* Whether the parser's server is lost, so that no record can be answered any more. */
static bool is_lost(const struct ask_run *r, const struct error *bad)
{
    return r->pipeline.server && bad->code == EXIT_CODE_FAILURE;
}

/* record is NULL if it could not be read; bad has the error. */
static int write_record(struct ask_run *r, json_t *record, struct record_reader *in, struct error *bad,
                        struct error *err)
{
    json_t *line = NULL, *id = json_object_get(record, "id");

    r->counts->records++;
    if (!record || answer_record(r, record, &line, record_reader_where(in), bad)) {
        r->counts->failed++;
        json_decref(line);
        if (is_lost(r, bad))
            return error_set(err, bad->code, "%s: %s", record_reader_where(in), bad->text);
        line = json_pack("{s:o, s:o}", "id", id ? json_incref(id) : json_integer(record_reader_number(in)), "error",
                         json_message(bad->text));
    }
    int rc = json_write_line(&r->out, line, err);
    json_decref(line);
    return rc;
}

static int write_all(struct ask_run *r, struct record_reader *in, struct error *err)
{
    int rc = 1;

    while (rc > 0 && !stop_requested()) {
        struct error bad = { 0 };
        json_t *record = NULL;
        rc = record_reader_next(in, &record, &bad);
        if (rc < 0 && record_reader_failed(in)) {
            *err = bad;
            return -1;
        }
        if (rc)
            rc = write_record(r, record, in, &bad, err) ? -1 : 1;
        json_decref(record);
        progress_update(&r->progress, r->counts->records, (double)r->counts->records, NULL);
    }
    return stop_requested() ? error_set(err, stop_exit_code(), "interrupted") : rc;
}

/* Writes the metrics of dialogues with candidates, and of those without. */
static int finish_simulation(struct ask_run *r, struct error *err)
{
    const struct simulation *own = &r->simulator.by[r->settings.rules.strategy];
    bool chosen = r->chosen.n + r->chosen.gold_errors > 0, with = own->n + own->gold_errors > 0;

    if ((with || !chosen || r->q->clarify.report) && simulator_finish(&r->simulator, &r->out, err))
        return -1;
    return chosen ? choose_simulation_write(&r->chosen, &r->q->clarify, &r->out, err) : 0;
}

static int run(struct ask_run *r, const char *input, struct error *err)
{
    const struct ask_request *q = r->q;
    struct record_reader *in =
        q->question ? record_reader_open_question(q->question, err)
                    : record_reader_open_range(input, q->clarify.format_in, &q->clarify.shard.range, err);
    int rc = !in || pipeline_open(&r->pipeline, q, err) || out_file_open(&r->out, q->clarify.out, err) ? -1 : 0;

    if (rc == 0) {
        progress_start(&r->progress, "asking", "questions",
                       record_file_total(input, q->clarify.format_in, &q->clarify.shard.range));
        rc = write_all(r, in, err);
        progress_end(&r->progress);
    }
    if (rc == 0 && q->clarify.simulate)
        rc = finish_simulation(r, err);
    if (rc == 0)
        rc = out_file_commit(&r->out, err);
    record_reader_close(in);
    return rc;
}

int ask_records(const struct ask_request *q, const char *input, struct ask_counts *counts, struct error *err)
{
    struct ask_run *r = xcalloc(1, sizeof *r);

    *r = (struct ask_run){
        .q = q, .counts = counts, .session = xcalloc(1, sizeof *r->session), .current = xcalloc(1, sizeof *r->current)
    };
    r->simulator = (struct simulator){ .request = &q->clarify, .settings = &r->settings, .transcripts = json_array() };
    r->simulator.rng.seed = (uint64_t)q->clarify.seed;
    clarify_settings_init(&r->settings, &q->clarify);
    stop_install();
    int rc = run(r, input, err);
    out_file_abort(&r->out);
    simulator_release(&r->simulator);
    choose_simulation_release(&r->chosen);
    pipeline_close(&r->pipeline);
    free(r->session);
    free(r->current);
    free(r);
    return rc;
}

struct ask_talk {
    const struct ask_request *q;
    struct pipeline pipeline;
    struct session *session;
    struct conversation talk;
    const char *db_id;
    struct out_file out;
    bool writes, met; /* number of lines; whether a record was read */
};

static char *cell_text(const json_t *cell)
{
    char real[REAL_TEXT];

    if (json_is_real(cell))
        return xstrdup(real_literal(real, json_real_value(cell)));
    if (json_is_string(json_object_get(cell, "real")))
        return xstrdup(json_string_value(json_object_get(cell, "real")));
    return json_is_string(cell) ? xstrdup(json_string_value(cell)) : json_dumps(cell, JSON_ENCODE_ANY | JSON_COMPACT);
}

/* Tells whether all cells of a column are numbers or NULL. */
static bool is_numeric(const json_t *rows, size_t column)
{
    bool numeric = json_array_size(rows) > 0;
    const json_t *row;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)rows, i, row)
    {
        const json_t *cell = json_array_get(row, column);
        numeric &= json_is_number(cell) || json_is_null(cell) || json_object_get(cell, "real");
    }
    return numeric;
}

static void show_table(const struct screen *screen, const json_t *names, const json_t *rows)
{
    size_t columns = json_array_size(names), n = 0;
    char **cells = xcalloc((json_array_size(rows) + 1) * columns + 1, sizeof *cells);
    bool *numeric = xcalloc(columns + 1, sizeof *numeric);

    for (size_t c = 0; c < columns; c++) {
        cells[n++] = cell_text(json_array_get(names, c));
        numeric[c] = is_numeric(rows, c);
    }
    for (size_t i = 0; i < json_array_size(rows); i++)
        for (size_t c = 0; c < columns; c++)
            cells[n++] = cell_text(json_array_get(json_array_get(rows, i), c));
    screen_table(screen, "Rows:   ", "        ", cells, numeric, (int)json_array_size(rows) + 1, (int)columns);
    for (size_t i = 0; i < n; i++)
        free(cells[i]);
    free(cells);
    free(numeric);
}

/* Shows the rows of the statement. */
static void show_rows(void *user, const struct screen *screen, const char *sql)
{
    struct ask_talk *t = user;
    json_t *result = pipeline_rows(&t->pipeline, t->db_id, sql, t->q->rows), *rows = json_object_get(result, "rows");

    if (rows) {
        show_table(screen, json_object_get(result, "columns"), rows);
        if (json_array_size(rows) == 0)
            screen_print(screen, "        ", "        ", "(no rows)");
        if (json_is_true(json_object_get(result, "truncated")))
            screen_print(screen, "        ", "        ", "(and more)");
    } else if (result)
        screen_say(screen, "It does not run: %s", json_string_value(json_object_get(result, "message")));
    json_decref(result);
}

static void show_known(const struct ask_talk *t, const struct asked *k)
{
    const struct screen *screen = &t->talk.screen;
    const char *sentence = asked_sentence(k);

    screen_say(screen, "%s", sentence ? sentence : "(No detector: whether the question is ambiguous is not known.)");
    if (k->gated)
        screen_say(screen, "Nobody is asked: the chance that it is ambiguous is below %g.", t->q->gate);
    if (k->made.added)
        screen_say(screen, "(%d more %s made of what the detector found.)", k->made.added,
                   k->made.added == 1 ? "reading was" : "readings were");
}

/* Gets other candidates after an escalation.  Returns 1 if there are some. */
static int begin_again(struct ask_talk *t, const char *where, struct error *err)
{
    const struct screen *screen = &t->talk.screen;
    struct error why = { 0 };

    if (t->session->why != STOP_ESCALATE || stop_requested())
        return 0;
    if (!pipeline_may_regenerate(&t->pipeline, t->session)) {
        screen_say(screen, t->pipeline.parses ? "The parser was asked for others already."
                                              : "There is no parser that could be asked for others.");
        return 0;
    }
    screen_say(screen, "The parser is asked for others.");
    json_t *record = pipeline_regenerate(&t->pipeline, t->session, where, &why);
    if (!record && why.code) {
        *err = why;
        return -1;
    }
    if (!record) {
        screen_say(screen, "It has none.");
        return 0;
    }
    session_release(t->session);
    int rc = session_start(t->session, &t->pipeline.context, record, NULL, where, err);
    json_decref(record);
    return rc ? -1 : 1;
}

/* Begins the dialogue that follows one that has ended.  Returns 1 if there is one. */
static int begin_next(struct ask_talk *t, const char *where, struct error *err)
{
    if (!choose_is(t->session))
        return begin_again(t, where, err);
    return strcmp(t->talk.ended, "accepted") == 0 ? pipeline_next_choice(&t->pipeline, t->session, where, err) : 0;
}

static int hold_all(struct ask_talk *t, const char *where, struct error *err)
{
    int more = 1;

    conversation_begin(&t->talk);
    while (more > 0) {
        t->talk.ended = NULL;
        if (converse(&t->talk, err))
            return -1;
        more = begin_next(t, where, err);
        if (more > 0 && !choose_is(t->session))
            conversation_begin(&t->talk);
    }
    return more;
}

/* Shows a statement of a question without candidates, with its rows, or that there is none. */
static void show_plain(struct ask_talk *t, const char *sql)
{
    const struct screen *screen = &t->talk.screen;

    if (sql) {
        screen_print(screen, "SQL:    ", "        ", sql);
        show_rows(t, screen, sql);
    } else {
        screen_say(screen, "There is no statement: the question asks for more than columns of one table. --parser and "
                           "--candidates bring statements.");
    }
}

/* Number of elements that were left open. */
static size_t count_open(const json_t *elements)
{
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(elements); i++)
        n += json_is_null(json_object_get(json_array_get(elements, i), "element"));
    return n;
}

/* Shows the rewritten question and its statement. */
static void show_rewritten(struct ask_talk *t, const struct choose_outcome *o)
{
    const struct screen *screen = &t->talk.screen;
    const json_t *elements = json_object_get(o->rewrite, "elements");
    size_t open = count_open(elements);

    fputc('\n', screen->out);
    if (open < json_array_size(elements))
        screen_print(screen, "Rewritten question: ", "                    ",
                     json_string_value(json_object_get(o->rewrite, "question")));
    if (open)
        screen_say(screen, "The question stays ambiguous, so that there is no statement.");
    else
        show_plain(t, o->sql);
}

/* Shows the rewritten question and its statement, if no other choice follows; see interactive.h. */
static bool show_choice(void *user, bool left)
{
    struct ask_talk *t = user;
    struct choose_outcome o;
    struct error why;

    if (!left && choose_has_next(t->session))
        return false;
    if (!t->q->rewrite && choose_outcome(&o, t->session, "session", &why) == 0) {
        show_rewritten(t, &o);
        choose_outcome_release(&o);
    }
    return !t->q->rewrite;
}

/* Shows the answer to a question about which nothing is asked. */
static void show_unasked(struct ask_talk *t, const struct asked *k)
{
    const struct screen *screen = &t->talk.screen;

    if (json_is_true(json_object_get(k->prediction, "ambiguous")) && !k->gated)
        screen_say(screen, "Nothing can be asked without statements, since the alternatives are not tables or columns. "
                           "--parser and --candidates bring statements.");
    else if (!t->q->rewrite)
        show_plain(t, k->outcome.sql);
}

static int write_outcome(struct ask_talk *t, const struct asked *k, struct session *s, struct error *err)
{
    json_t *line = t->writes ? pipeline_line(&t->pipeline, k, s, false) : NULL;
    int rc = 0;

    if (line) {
        json_object_set_new(line, "ended", json_string(s ? t->talk.ended : "nothing to ask"));
        rc = json_write_line(&t->out, line, err);
    }
    json_decref(line);
    return rc;
}

/* Prints the question for another program: with the chosen elements, or else as it is. */
static void print_rewritten(struct ask_talk *t, const struct asked *k)
{
    struct choose_outcome o = { .rewrite = json_incref(k->outcome.rewrite) };
    struct error why;

    if (k->origin == FROM_ELEMENTS && choose_outcome(&o, t->session, "session", &why))
        choose_outcome_release(&o);
    const json_t *text = json_object_get(o.rewrite ? o.rewrite : k->record, "question");
    visible_put(stdout, json_string_value(text), json_string_length(text));
    putchar('\n');
    choose_outcome_release(&o);
}

static int talk_about(struct ask_talk *t, json_t *record, const char *where, struct error *err)
{
    struct asked k;
    int rc = pipeline_know(&t->pipeline, &k, record, where, err);
    bool starts = rc == 0 && k.origin;

    if (rc == 0) {
        t->db_id = json_string_value(json_object_get(k.record, "db_id"));
        if (!starts)
            screen_print(&t->talk.screen, "Question: ", "          ",
                         json_string_value(json_object_get(k.record, "question")));
        show_known(t, &k);
    }
    if (starts)
        rc = pipeline_start(&t->pipeline, t->session, &k, NULL, where, err) || hold_all(t, where, err) ? -1 : 0;
    else if (rc == 0)
        show_unasked(t, &k);
    if (rc == 0 && t->q->rewrite && !stop_requested())
        print_rewritten(t, &k);
    if (rc == 0)
        rc = write_outcome(t, &k, starts ? t->session : NULL, err);
    session_release(t->session);
    *t->session = (struct session){ 0 };
    schema_catalog_turn(&t->pipeline.context.schemas);
    asked_release(&k);
    return rc;
}

static bool is_meant(const struct ask_talk *t, const json_t *record)
{
    char id[RECORD_ID_TEXT];
    return !t->q->clarify.id || strcmp(record_id_text(record, id), t->q->clarify.id) == 0;
}

static int talk_about_all(struct ask_talk *t, struct record_reader *in, struct error *err)
{
    const char *id = t->q->clarify.id;
    int rc = 1;

    while (rc > 0 && !stop_requested()) {
        json_t *record = NULL;
        rc = record_reader_next(in, &record, err);
        if (rc > 0 && is_meant(t, record)) {
            t->met = true;
            rc = talk_about(t, record, record_reader_where(in), err) ? -1 : 1;
        }
        json_decref(record);
    }
    if (rc == 0 && !t->met && id)
        return error_set(err, EXIT_CODE_DATA, "no record has the id \"%s\"", id);
    return rc < 0 ? -1 : stop_requested() ? 1 : 0;
}

static int run_dialogues(struct ask_talk *t, const char *input, struct error *err)
{
    const struct ask_request *q = t->q;
    struct record_reader *in = q->question ? record_reader_open_question(q->question, err)
                                           : record_reader_open(input, q->clarify.format_in, err);
    int rc = in && pipeline_open(&t->pipeline, q, err) == 0 ? 0 : -1;

    if (rc == 0 && t->writes)
        rc = out_file_open(&t->out, q->clarify.out, err);
    stop_install_waiting();
    if (rc == 0)
        rc = talk_about_all(t, in, err);
    if (rc == 0 && t->writes)
        rc = out_file_commit(&t->out, err);
    record_reader_close(in);
    return rc;
}

int ask_person(const struct ask_request *q, const char *input, struct error *err)
{
    struct ask_talk *t = xcalloc(1, sizeof *t);

    t->q = q;
    t->session = xcalloc(1, sizeof *t->session);
    t->writes = q->clarify.out && strcmp(q->clarify.out, "-") != 0;
    t->talk = (struct conversation){ .session = t->session,
                                     .screen = screen_open(),
                                     .transcript = q->clarify.transcript,
                                     .show_rows = show_rows,
                                     .show_outcome = show_choice,
                                     .user = t };
    if (q->rewrite)
        t->talk.screen.out = stderr; /* standard output has the rewritten questions alone */
    int rc = run_dialogues(t, input, err);
    out_file_abort(&t->out);
    pipeline_close(&t->pipeline);
    free(t->session);
    free(t);
    return rc;
}

struct ask_server {
    const struct ask_request *q;
    struct pipeline pipeline;
    struct session *session;
    _Atomic int64_t questions, asked, gated, regenerated;
};

/* A request with its reply. */
struct ask_exchange {
    struct ask_server *server;
    json_t *request;
    json_t *id;       /* id of the request; borrowed; or NULL */
    const char *kind; /* kind of the error in err */
    struct error err;
};

static const char *const where = "request";

/* Goes on after the end of a dialogue, as go_on() does. */
static int go_on_session(struct ask_exchange *x)
{
    struct pipeline *a = &x->server->pipeline;
    struct session *s = x->server->session;
    int next = pipeline_next_choice(a, s, where, &x->err);

    if (next)
        return next < 0 ? -1 : 0;
    if (!pipeline_may_regenerate(a, s))
        return 0;
    json_t *record = pipeline_regenerate(a, s, where, &x->err);
    if (!record)
        return x->err.code ? -1 : 0;
    session_release(s);
    x->server->regenerated++;
    int rc = session_start(s, &a->context, record, NULL, where, &x->err);
    json_decref(record);
    return rc;
}

static json_t *ask(struct ask_exchange *x)
{
    struct pipeline *a = &x->server->pipeline;
    struct session *s = x->server->session;
    const json_t *rules = json_object_get(x->request, "rules");
    json_t *line = NULL;
    struct asked k;
    int rc = pipeline_know(a, &k, x->request, where, &x->err);

    x->kind = "record";
    if (rc == 0 && k.origin)
        rc = pipeline_start(a, s, &k, rules, where, &x->err) || go_on_session(x) ? -1 : 0;
    if (rc == 0) {
        line = pipeline_line(a, &k, k.origin ? s : NULL, true);
        if (!x->id)
            json_object_del(line, "id");
        x->server->questions++;
        x->server->gated += k.gated;
        x->server->asked += json_is_object(json_object_get(line, "ask"));
    }
    asked_release(&k);
    return line;
}

/* Performs an operation of the line server, named by the path. */
static json_t *converse_about(struct ask_exchange *x, const char *op)
{
    struct pipeline *a = &x->server->pipeline;

    json_object_set_new(x->request, "op", json_string(op));
    if (serve_handle(x->server->session, &a->context, x->request, &x->kind, where, &x->err) || go_on_session(x))
        return NULL;
    return pipeline_session_line(a, x->server->session, false);
}

static json_t *rows_of_session(struct ask_exchange *x)
{
    struct session *s = x->server->session;

    json_object_set_new(x->request, "op", json_string("show"));
    if (serve_handle(s, &x->server->pipeline.context, x->request, &x->kind, where, &x->err))
        return NULL;
    x->kind = "rows";
    return session_rows(&x->server->pipeline, s, where, &x->err);
}

static const struct schema *find_schema(struct ask_exchange *x)
{
    struct schema_catalog *schemas = &x->server->pipeline.context.schemas;
    const char *db_id = json_get_string(x->request, "db_id", where, &x->err);
    return db_id ? schema_catalog_find(schemas, db_id, where, &x->err) : NULL;
}

static json_t *detect_one(struct ask_exchange *x)
{
    if (!x->server->q->detector) {
        error_set(&x->err, EXIT_CODE_DATA, "there is no detector: the service was started with --detector none");
        return NULL;
    }
    const struct schema *s = find_schema(x);
    return s ? detector_find(&x->server->pipeline.detector, x->request, s, true, NULL, where, &x->err) : NULL;
}

/* Marks the elements that the request names. */
static int mark_alternatives(struct ask_exchange *x, const struct schema *s, uint8_t *marks)
{
    json_t *list = json_object_get(x->request, "alternatives"), *name;
    int table, column;
    size_t i;

    if (list && !(list = json_get_array(x->request, "alternatives", where, &x->err)))
        return -1;
    json_array_foreach(list, i, name)
    {
        const char *text = json_string_value(name);
        if (!text)
            return error_set(&x->err, EXIT_CODE_DATA, "%s: field \"alternatives\": expected strings, got %s", where,
                             json_type_name(name));
        if (example_element(s, text, &table, &column))
            return error_set(&x->err, EXIT_CODE_DATA,
                             "%s: field \"alternatives\": database %s has no table or table.column \"%.100s\"", where,
                             s->db_id, text);
        marks[column < 0 ? table : s->n_tables + column] = SCHEMA_NAMED;
    }
    return 0;
}

/* The schema for the page.  Returns a new reference, or NULL when a name is not UTF-8. */
static json_t *drawing_of(const struct schema *s, const uint8_t *marks)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    CHECK(f, "out of memory");
    fprintf(f, "<style>%s</style>", schema_drawing_style);
    schema_draw(f, s, marks);
    CHECK(fclose(f) == 0, "out of memory");
    json_t *drawing = json_stringn(text, n);
    free(text);
    return drawing;
}

static json_t *tell_schema(struct ask_exchange *x)
{
    const struct schema *s = find_schema(x);
    uint8_t *marks = s ? xcalloc((size_t)(s->n_tables + s->n_columns) + 1, 1) : NULL;
    json_t *o = s && mark_alternatives(x, s, marks) == 0 ? schema_to_json(s) : NULL;

    if (o)
        json_object_set_new(o, "drawing", drawing_of(s, marks));
    free(marks);
    return o;
}

/* Returns the db_ids of all databases, or NULL with err. */
static json_t *list_databases(const struct ask_server *s, struct error *err)
{
    const struct schema_set *tables = &s->pipeline.context.schemas.tables;

    if (s->q->clarify.db)
        return db_list(s->q->clarify.db, err);
    json_t *list = json_array();
    for (int i = 0; i < tables->n; i++)
        json_array_append_new(list, json_string(tables->schemas[i].db_id));
    return list;
}

/* Adds the db_id to a record without one, if there is only one database. */
static int name_database(struct ask_exchange *x, json_t *record)
{
    const struct ask_server *s = x->server;

    if (!json_is_object(record) || json_object_get(record, "db_id"))
        return 0;
    json_t *list = list_databases(s, &x->err);
    size_t n = json_array_size(list);
    if (n == 1)
        json_object_set(record, "db_id", json_array_get(list, 0));
    else if (list)
        error_set(&x->err, EXIT_CODE_DATA,
                  "%s: field \"db_id\" is missing, expected one of the %zu databases that GET /databases lists", where,
                  n);
    json_decref(list);
    return n == 1 ? 0 : -1;
}

/* Checks the optional id; null is no id. */
static int check_id(json_t *record, struct error *err)
{
    const json_t *id = json_object_get(record, "id");

    if (json_is_null(id))
        json_object_del(record, "id");
    else if (id && !json_is_string(id) && !json_is_integer(id))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected a string or an integer, got %s", where,
                         json_type_name(id));
    return 0;
}

/* Adds the id and the database that the pipeline needs to the request and its record. */
static int complete(struct ask_exchange *x, const char *path)
{
    json_t *record = json_object_get(x->request, "record");
    bool about_session = strcmp(path, "/answer") == 0 || strcmp(path, "/undo") == 0 || strcmp(path, "/show") == 0 ||
                         strcmp(path, "/rows") == 0;

    if (check_id(x->request, &x->err) || check_id(record, &x->err))
        return -1;
    x->id = json_object_get(x->request, "id");
    if (about_session)
        return 0;
    if (strcmp(path, "/start") == 0)
        return name_database(x, record);
    if (!x->id)
        json_object_set_new(x->request, "id", json_integer(1));
    return name_database(x, x->request);
}

static json_t *handle(struct ask_exchange *x, const char *path)
{
    if (complete(x, path))
        return NULL;
    if (strcmp(path, "/ask") == 0)
        return ask(x);
    if (strcmp(path, "/detect") == 0)
        return detect_one(x);
    if (strcmp(path, "/schema") == 0)
        return tell_schema(x);
    if (strcmp(path, "/rows") == 0)
        return rows_of_session(x);
    return converse_about(x, path + 1);
}

static json_t *read_request(const struct http_request *r, struct error *err)
{
    json_error_t why;
    json_t *o = json_loadb(r->body, r->n, JSON_REJECT_DUPLICATES, &why);

    if (!o)
        error_set(err, EXIT_CODE_DATA, "%s: %s at line %d, column %d", where, why.text, why.line, why.column);
    else if (!json_is_object(o)) {
        error_set(err, EXIT_CODE_DATA, "%s: expected an object, got %s", where, json_type_name(o));
        json_decref(o);
        o = NULL;
    }
    return o;
}

static void answer(void *user, struct http_reply *reply, const struct http_request *r)
{
    struct ask_server *s = user;
    struct ask_exchange x = { .server = s, .kind = "request" };
    json_t *line = (x.request = read_request(r, &x.err)) ? handle(&x, r->path) : NULL;

    *reply = (struct http_reply){ .status = line ? 200 : x.err.code == EXIT_CODE_DATA ? 400 : 500 };
    if (!line)
        line = serve_error(x.kind, x.err.code ? x.err.text : "the reply cannot be written as JSON");
    if (x.id)
        json_object_set(line, "id", x.id);
    if (strcmp(r->path, "/rows") == 0 && reply->status == 200)
        session_rows_reply(reply, line);
    else
        reply->text = json_text(line, 9);
    CHECK(reply->text, "a reply cannot be written");
    session_release(s->session);
    *s->session = (struct session){ 0 };
    schema_catalog_turn(&s->pipeline.context.schemas);
    json_decref(line);
    json_decref(x.request);
}

/* Replies to GET /databases, in the thread that reads requests. */
static void tell_databases(void *user, struct http_reply *reply)
{
    const struct ask_server *s = user;
    struct error err = { 0 };
    json_t *list = list_databases(s, &err);
    json_t *o = list ? json_pack("{s:o}", "databases", list) : serve_error("internal", err.text);

    *reply = (struct http_reply){ .status = list ? 200 : 500, .text = json_dumps(o, JSON_COMPACT) };
    CHECK(reply->text, "a reply cannot be written");
    json_decref(o);
}

static void metrics(void *user, FILE *f)
{
    struct ask_server *s = user;

    fprintf(f, "# TYPE ambit_questions_total counter\nambit_questions_total %lld\n", (long long)s->questions);
    fprintf(f, "# TYPE ambit_questions_asked_back_total counter\nambit_questions_asked_back_total %lld\n",
            (long long)s->asked);
    fprintf(f, "# TYPE ambit_questions_gated_total counter\nambit_questions_gated_total %lld\n", (long long)s->gated);
    fprintf(f, "# TYPE ambit_regenerated_total counter\nambit_regenerated_total %lld\n", (long long)s->regenerated);
}

/* Text of /health, which tells the parts of the service. */
static char *health_text(const struct ask_request *q)
{
    const char *db = q->clarify.db;
    char *db_id = db && !db_path_is_folder(db) ? schema_db_id(db) : NULL;
    json_t *o = json_pack("{s:s, s:s?, s:b, s:b, s:b, s:b, s:f}", "status", "ok", "db_id", db_id, "detector",
                          q->detector != NULL, "tagger", q->tagger != NULL, "parser", q->parser != NULL, "candidates",
                          q->clarify.candidates != NULL, "gate", q->gate);
    char *text = json_dumps(o, JSON_COMPACT);

    json_decref(o);
    free(db_id);
    return text;
}

int ask_serve(const struct ask_request *q, const struct http_settings *http, struct error *err)
{
    static const char *const paths[] = { "/ask",    "/answer", "/undo", "/show", "/start",
                                         "/detect", "/schema", "/rows", NULL };
    struct ask_server *s = xcalloc(1, sizeof *s);
    char *health = health_text(q);
    const struct http_page pages[] = { { "/", "text/html; charset=utf-8", ask_page_html, ask_page_html_bytes },
                                       { "/page.css", "text/css; charset=utf-8", ask_page_css, ask_page_css_bytes },
                                       { "/page.js", "text/javascript; charset=utf-8", ask_page_js, ask_page_js_bytes },
                                       { "/health", "application/json", health, strlen(health) } };
    static const struct http_told told[] = { { "/databases", tell_databases } };
    const struct http_service service = { .user = s,
                                          .pages = pages,
                                          .n_pages = ARRAY_LEN(pages),
                                          .told = told,
                                          .n_told = ARRAY_LEN(told),
                                          .paths = paths,
                                          .answer = answer,
                                          .metrics = metrics,
                                          .warning = q->warning };

    s->q = q;
    s->session = xcalloc(1, sizeof *s->session);
    int rc = pipeline_open(&s->pipeline, q, err) ? -1 : http_serve(http, &service, err);
    if (rc > 0)
        log_info("%lld questions, %lld asked back, %lld where nobody was asked", (long long)s->questions,
                 (long long)s->asked, (long long)s->gated);
    pipeline_close(&s->pipeline);
    free(s->session);
    free(s);
    free(health);
    return rc;
}
