#include "infer/clarify/interactive.h"

#include "data/exec/db_path.h"
#include "data/util/records.h"
#include "data/util/stop.h"
#include "infer/clarify/handoff.h"
#include "infer/clarify/reply_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2000 };

static void show_question(const struct conversation *t)
{
    const struct session *s = t->session;
    char head[32];

    snprintf(head, sizeof head, "%d. ", s->current.dialogue.n_turns + 1);
    fputc('\n', t->screen.out);
    if (s->current.dialogue.n_turns && session_plausible(s) == 1)
        screen_say(&t->screen, "To be sure:");
    screen_print(&t->screen, head, "   ", s->question.text);
    for (int i = 0; i < s->question.n; i++) {
        snprintf(head, sizeof head, "   %d  ", i + 1);
        screen_print(&t->screen, head, "      ", s->question.options[i]);
    }
}

static void show_statements(const struct conversation *t)
{
    const struct session *s = t->session;
    char head[32];

    for (int i = 0; i < s->question.n; i++) {
        int statement = s->question.statement[i];
        snprintf(head, sizeof head, "   %d  ", i + 1);
        screen_print(&t->screen, head, "      ", statement < 0 ? "(none yet)" : s->current.sql[statement]);
    }
}

static void show_help(const struct conversation *t)
{
    static const char *const lines[][2] = {
        { "2", "the number of an option, or words that only one option has" },
        { "none", "none of these is what you mean" },
        { "don't know", "leaves it open, and asks something else" },
        { "either", "both are fine: it does not matter" },
        { "undo", "takes your last answer back" },
        { "sql", "shows the statements behind the options" },
        { "quit", "ends here; the statement that is likeliest so far is shown and not run" },
    };
    char head[32];

    for (int i = 0; i < ARRAY_LEN(lines); i++) {
        snprintf(head, sizeof head, "   %-12s", lines[i][0]);
        screen_print(&t->screen, head, "               ", lines[i][1]);
    }
}

void conversation_begin(const struct conversation *t)
{
    const struct clarify_case *c = &t->session->current;
    const json_t *record = json_object_get(t->session->value, "record");
    size_t unread = json_array_size(c->left_out);

    screen_print(&t->screen, "Question: ", "          ", json_string_value(json_object_get(record, "question")));
    if (c->prior.n > 1)
        screen_say(&t->screen,
                   "It can be read in %d ways. To find yours, please answer with a number or in words; "
                   "\"help\" says what else can be said.",
                   c->prior.n);
    if (unread)
        screen_say(&t->screen, "(%zu more could not be read and %s left out.)", unread, unread == 1 ? "is" : "are");
}

static const char *in_words(const char *kind)
{
    return strcmp(kind, "unknown") == 0  ? "don't know"
           : strcmp(kind, "either") == 0 ? "either is fine"
                                         : "none of these";
}

/* What was understood, and what it did. */
static void show_effect(const struct conversation *t, struct answer a)
{
    struct session *s = t->session;
    const char *kind = answer_kind_name(a.kind);

    screen_print(&t->screen, "   -> ", "      ", a.kind == ANSWER_VALUE ? s->question.names[a.value] : in_words(kind));
    if (s->set_aside > 0 && s->current.dialogue.now.reserve < 0.5)
        screen_print(&t->screen, "      ", "      ", strings_printf(&s->current.words, "(%d set aside)", s->set_aside));
}

static void show_turns(const struct conversation *t)
{
    const json_t *turn, *turns = json_object_get(t->session->value, "turns");
    char head[32];
    size_t i;

    json_array_foreach((json_t *)turns, i, turn)
    {
        const char *chosen = json_string_value(json_object_get(turn, "chosen"));
        snprintf(head, sizeof head, "   %zu. ", i + 1);
        screen_print(&t->screen, head, "      ", json_string_value(json_object_get(turn, "text")));
        screen_print(&t->screen, "      -> ", "         ",
                     chosen ? chosen : in_words(json_string_value(json_object_get(turn, "answer"))));
    }
}

/* Of a dialogue that is not left while a question is open. */
static const char *why_it_ends(enum stop_reason why)
{
    static const char *const reasons[STOP_REASONS] = {
        [STOP_CONFIDENT] = "that is sure enough",
        [STOP_SETTLED] = "there is nothing more to ask",
        [STOP_GAIN] = "more questions would tell hardly anything",
        [STOP_TURNS] = "that was the last question",
        [STOP_UTILITY] = "another question would cost more than it tells",
    };
    return reasons[why];
}

static void show_result(const struct conversation *t)
{
    struct session *s = t->session;
    const struct belief *now = &s->current.dialogue.now;
    int best = belief_best(now);

    fputc('\n', t->screen.out);
    if (s->why == STOP_HAND_OVER) {
        screen_say(&t->screen, "None of the ways to read the question seems to be yours. It has to be read anew, or by "
                               "a person, with what you said:");
        show_turns(t);
        return;
    }
    screen_print(&t->screen, "Result: ", "        ", session_best_words(s));
    screen_print(&t->screen, "SQL:    ", "        ", s->current.sql[best]);
    screen_print(
        &t->screen, "        ", "        ",
        strings_printf(&s->current.words, "%d %% sure; %s.", (int)(100 * now->p[best] + 1e-6), why_it_ends(s->why)));
    if (t->show_rows)
        t->show_rows(t->user, &t->screen, s->current.sql[best]);
}

/* A question is open: nobody has chosen a statement, so that none is run. */
static void show_likeliest(const struct conversation *t)
{
    struct session *s = t->session;
    const struct belief *now = &s->current.dialogue.now;
    int best = belief_best(now);

    fputc('\n', t->screen.out);
    screen_say(&t->screen, "You left before a statement was chosen. This one is the likeliest so far and was not run:");
    screen_print(&t->screen, "Likeliest: ", "           ", session_best_words(s));
    screen_print(&t->screen, "SQL:       ", "           ", s->current.sql[best]);
    screen_print(&t->screen, "           ", "           ",
                 strings_printf(&s->current.words, "%d %% sure.", (int)(100 * now->p[best] + 1e-6)));
}

static int save(const struct conversation *t, struct error *err)
{
    return t->transcript ? json_write_file(t->transcript, t->session->value, err) : 0;
}

/* One line without its end.  False at the end of the input, or when a signal came. */
static bool read_line(const struct conversation *t, char *line, const char *prompt)
{
    fputs(prompt, t->screen.out);
    fflush(t->screen.out);
    errno = 0;
    if (stop_requested() || !fgets(line, LINE_MAX_BYTES, stdin)) {
        fputc('\n', t->screen.out);
        return false;
    }
    while (!strchr(line, '\n') && !feof(stdin)) {
        for (int c = getc(stdin); c != EOF && c != '\n';)
            c = getc(stdin);
        fprintf(t->screen.out, "That is too long for an answer.\n%s", prompt);
        fflush(t->screen.out);
        if (!fgets(line, LINE_MAX_BYTES, stdin))
            return false;
    }
    line[strcspn(line, "\n")] = 0;
    if (!isatty(STDIN_FILENO))
        screen_print(&t->screen, "", "", line);
    return true;
}

static void take_answer(struct conversation *t, struct answer a)
{
    struct session *s = t->session;

    if (session_answer(s, a)) {
        screen_say(&t->screen, "That does not fit what you said before:");
        show_turns(t);
        screen_say(&t->screen, "Nothing has changed. Please give another answer, or undo the last one.");
        return;
    }
    show_effect(t, a);
    session_next(s);
}

static void undo(struct conversation *t)
{
    if (!session_undo(t->session))
        screen_say(&t->screen, "There is no answer to take back.");
}

/* What was typed, while a question is open or when the result is shown. */
static void take_line(struct conversation *t, const char *line)
{
    bool open = t->session->why == STOP_NOT;
    struct reply r = reply_read(line, open ? &t->session->question : NULL);

    if (r.kind == REPLY_UNDO)
        undo(t);
    else if (r.kind == REPLY_QUIT || (r.kind == REPLY_NOTHING && !open))
        t->ended = open ? "quit" : "accepted";
    else if (r.kind == REPLY_SQL && open)
        show_statements(t);
    else if (r.kind == REPLY_ANSWER && open)
        take_answer(t, r.answer);
    else if (!open)
        screen_say(&t->screen, "Please press Enter, or type undo.");
    else if (r.kind == REPLY_UNCLEAR)
        screen_say(&t->screen, "%s", r.why);
    else
        show_help(t);
}

/* Question and answer until the result is accepted, the user leaves, or there is no more input. */
int converse(struct conversation *t, struct error *err)
{
    struct session *s = t->session;
    char line[LINE_MAX_BYTES];
    bool shown = false;

    while (!t->ended) {
        int turns = s->current.dialogue.n_turns;
        enum stop_reason why = s->why;
        if (!shown && why == STOP_NOT)
            show_question(t);
        if (!shown && why != STOP_NOT)
            show_result(t);
        if (why != STOP_NOT && turns == 0)
            t->ended = "nothing to ask";
        else if (!read_line(t, line, why == STOP_NOT ? "> " : "Enter to finish, undo to go back > "))
            t->ended = stop_requested() ? "interrupted" : "end of input";
        else
            take_line(t, line);
        shown = turns == s->current.dialogue.n_turns && why == s->why;
        if (!shown && save(t, err))
            return -1;
    }
    if (s->why == STOP_NOT && !stop_requested())
        show_likeliest(t);
    return 0;
}

static int write_outcome(const struct conversation *t, const char *path, struct error *err)
{
    struct out_file out;
    json_t *o;

    if (strcmp(path, "-") == 0)
        return 0;
    if (out_file_open(&out, path, err))
        return -1;
    o = session_json(t->session);
    json_object_set_new(o, "ended", json_string(t->ended));
    int rc = json_write_line(&out, o, err) || out_file_commit(&out, err) ? -1 : 0;
    out_file_abort(&out);
    json_decref(o);
    return rc;
}

/* The record with the id; a new reference. */
static json_t *find_record(struct record_reader *in, const struct clarify_request *q, struct error *err)
{
    char id[RECORD_ID_TEXT];
    json_t *record = NULL;
    int rc;

    while ((rc = record_reader_next(in, &record, err)) > 0) {
        if (!q->id || strcmp(record_id_text(record, id), q->id) == 0)
            return record;
        json_decref(record);
    }
    if (rc == 0)
        error_set(err, EXIT_CODE_DATA, q->id ? "%s: no record has the id \"%s\"" : "%s: there is no record%s",
                  q->candidates, q->id ? q->id : "");
    return NULL;
}

/* The record with what detect and tag said of it; a new reference. */
static json_t *join_record(const struct clarify_request *q, struct session_context *d, json_t *record,
                           const char *where, struct error *err)
{
    struct handoff handoff;
    const struct schema *schema;
    json_t *joined = NULL;

    db_path_name(q->db, record);
    if (handoff_open(&handoff, q->findings, q->spans, err) == 0 &&
        (schema = schema_catalog_of(&d->schemas, record, where, err)))
        joined = handoff_join(&handoff, record, schema, where, err);
    handoff_close(&handoff);
    return joined;
}

static int begin(struct conversation *t, const struct clarify_request *q, struct session_context *d, struct error *err)
{
    struct record_reader *in = record_reader_open(q->candidates, q->form, err);
    json_t *record = in ? find_record(in, q, err) : NULL;
    json_t *joined = record ? join_record(q, d, record, record_reader_where(in), err) : NULL;
    int rc = joined ? session_start(t->session, d, joined, NULL, record_reader_where(in), err) : -1;

    if (rc == 0)
        conversation_begin(t);
    json_decref(joined);
    json_decref(record);
    record_reader_close(in);
    return rc;
}

/* The recorded turns as they were, then on from there. */
static int replay(struct conversation *t, const char *path, struct session_context *d, struct error *err)
{
    struct session *s = t->session;
    json_t *value = json_read_file(path, err);
    int rc = value ? session_read(s, d, value, path, err) : -1;

    if (rc == 0)
        conversation_begin(t);
    for (int k = 0; rc == 0 && k < (int)json_array_size(s->recorded); k++) {
        rc = session_recall(s, k, path, err);
        if (rc)
            break;
        show_question(t);
        rc = session_repeat(s, k, path, err);
        if (rc == 0)
            show_effect(t, s->newest);
    }
    if (rc == 0)
        session_next(s);
    json_decref(value);
    return rc;
}

int interact(const struct clarify_request *q, struct error *err)
{
    struct session_context context;
    struct session *s = xcalloc(1, sizeof *s);
    struct conversation t = { .session = s, .screen = screen_open(), .transcript = q->transcript };
    int rc = session_context_open(&context, q, err);

    stop_install_waiting();
    if (rc == 0)
        rc = q->replay ? replay(&t, q->replay, &context, err) : begin(&t, q, &context, err);
    if (rc == 0)
        rc = converse(&t, err);
    if (rc == 0)
        rc = write_outcome(&t, q->out, err);
    if (rc == 0 && stop_requested()) {
        screen_say(&t.screen, q->transcript ? "Interrupted. --replay %s goes on from here." : "Interrupted.",
                   q->transcript);
        rc = 1;
    }
    session_release(s);
    session_context_close(&context);
    free(s);
    return rc;
}
