/* Part of ask.h: questions and answers at a terminal. */
#include "data/util/real_text.h"
#include "data/util/records.h"
#include "data/util/stop.h"
#include "infer/ask/asker.h"
#include "infer/clarify/interactive.h"

#include <stdlib.h>
#include <string.h>

struct ask_talk {
    const struct ask_request *q;
    struct asker asker;
    struct session *session;
    struct conversation talk;
    const char *db_id;
    struct out_file out;
    bool writes, met; /* lines; a record came */
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

/* Whether all cells of a column are numbers, or NULL. */
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

/* What the statement gives. */
static void show_rows(void *user, const struct screen *screen, const char *sql)
{
    struct ask_talk *t = user;
    json_t *result = asker_rows(&t->asker, t->db_id, sql), *rows = json_object_get(result, "rows");

    if (rows) {
        show_table(screen, json_object_get(result, "columns"), rows);
        if (json_array_size(rows) == 0)
            screen_print(screen, "        ", "        ", "(no rows)");
        if (json_is_true(json_object_get(result, "more")))
            screen_print(screen, "        ", "        ", "(and more)");
    } else if (result)
        screen_say(screen, "It does not run: %s", json_string_value(json_object_get(result, "message")));
    json_decref(result);
}

static bool has_status(const json_t *marked, const char *status)
{
    const json_t *list = json_object_get(marked, "status");
    bool found = false;

    for (size_t i = 0; i < json_array_size(list); i++)
        found |= strcmp(json_string_value(json_array_get(list, i)), status) == 0;
    return found;
}

/* Detector and tagger speak with one voice: that the tagger found nothing is told only where the detector is silent,
 * and what it found beside a clear question is told as another opinion. */
static void show_findings(const struct screen *screen, const struct asked *k)
{
    const char *detected = json_string_value(json_object_get(k->finding, "sentence"));
    const char *marked = json_string_value(json_object_get(k->marked, "sentence"));
    bool ambiguous = has_status(k->marked, "ambiguous"), found = ambiguous || has_status(k->marked, "unanswerable");
    bool differs = detected && ambiguous && !json_is_true(json_object_get(k->finding, "ambiguous"));

    if (detected)
        screen_say(screen, "%s", detected);
    if (marked && (found || !detected))
        screen_say(screen, "%s%s", differs ? "The tagger differs: " : "", marked);
    if (!detected && !marked)
        screen_say(screen, "(No detector: whether the question is ambiguous is not known.)");
}

static void show_known(const struct ask_talk *t, const struct asked *k)
{
    const struct screen *screen = &t->talk.screen;

    show_findings(screen, k);
    if (k->gated)
        screen_say(screen, "Nobody is asked: the chance that it is ambiguous is below %g.", t->q->gate);
    if (k->made.added)
        screen_say(screen, "(%d more %s made of what the detector found.)", k->made.added,
                   k->made.added == 1 ? "reading was" : "readings were");
}

/* Other candidates where none of the first was meant; 1 when there are some. */
static int begin_again(struct ask_talk *t, const char *where, struct error *err)
{
    const struct screen *screen = &t->talk.screen;
    struct error why = { 0 };

    if (t->session->why != STOP_HAND_OVER || stop_requested())
        return 0;
    if (!asker_may_regenerate(&t->asker, t->session)) {
        screen_say(screen, t->asker.parser.open ? "The parser was asked for others already."
                                                : "There is no parser that could be asked for others.");
        return 0;
    }
    screen_say(screen, "The parser is asked for others.");
    json_t *record = asker_regenerate(&t->asker, t->session, where, &why);
    if (!record && why.code) {
        *err = why;
        return -1;
    }
    if (!record) {
        screen_say(screen, "It has none.");
        return 0;
    }
    session_release(t->session);
    int rc = session_start(t->session, &t->asker.context, record, NULL, where, err);
    json_decref(record);
    return rc ? -1 : 1;
}

static int hold_all(struct ask_talk *t, const char *where, struct error *err)
{
    int more = 1;

    while (more > 0) {
        t->talk.ended = NULL;
        conversation_begin(&t->talk);
        if (converse(&t->talk, err))
            return -1;
        more = begin_again(t, where, err);
    }
    return more;
}

static int write_outcome(struct ask_talk *t, const struct asked *k, struct session *s, struct error *err)
{
    json_t *line = t->writes ? asker_line(&t->asker, k, s, false) : NULL;
    int rc = 0;

    if (line) {
        json_object_set_new(line, "ended", json_string(s ? t->talk.ended : "nothing to ask"));
        rc = json_write_line(&t->out, line, err);
    }
    json_decref(line);
    return rc;
}

static int talk_about(struct ask_talk *t, json_t *record, const char *where, struct error *err)
{
    struct asked k;
    int rc = asker_know(&t->asker, &k, record, where, err);
    bool starts = rc == 0 && k.origin;

    if (rc == 0) {
        t->db_id = json_string_value(json_object_get(k.record, "db_id"));
        if (!starts)
            screen_print(&t->talk.screen, "Question: ", "          ",
                         json_string_value(json_object_get(k.record, "question")));
        show_known(t, &k);
    }
    if (starts)
        rc = asker_start(&t->asker, t->session, &k, NULL, where, err) || hold_all(t, where, err) ? -1 : 0;
    else if (rc == 0)
        screen_say(&t->talk.screen, "There are no candidate statements: nothing can be asked or run.");
    if (rc == 0)
        rc = write_outcome(t, &k, starts ? t->session : NULL, err);
    session_release(t->session);
    *t->session = (struct session){ 0 };
    schema_catalog_turn(&t->asker.context.schemas);
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

static int run(struct ask_talk *t, const char *input, struct error *err)
{
    const struct ask_request *q = t->q;
    struct record_reader *in =
        q->question ? record_reader_open_question(q->question, err) : record_reader_open(input, q->clarify.form, err);
    int rc = in && asker_open(&t->asker, q, err) == 0 ? 0 : -1;

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
                                     .user = t };
    int rc = run(t, input, err);
    out_file_abort(&t->out);
    asker_close(&t->asker);
    free(t->session);
    free(t);
    return rc;
}
