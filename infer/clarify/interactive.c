#include "infer/clarify/interactive.h"

#include "data/base/records.h"
#include "data/base/stop.h"
#include "data/base/visible.h"
#include "infer/clarify/evidence_files.h"
#include "infer/clarify/line_editor.h"
#include "infer/clarify/reply_words.h"
#include "kernels/base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH = 80, WIDTH_MIN = 20, WIDTH_MAX = 100 };

struct screen screen_open(void)
{
    struct winsize size;
    int width = WIDTH;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        width = size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;
    return (struct screen){ stdout, width };
}

/* Reads one character: its bytes, and its columns, which are 0 if it is omitted. */
static int letter_at(const char *p, int *columns)
{
    const unsigned char *u = (const unsigned char *)p;
    int n = 1;
    uint32_t code = u[0] < 0x80 ? u[0] : u[0] & (0x3fU >> ((u[0] >= 0xe0) + (u[0] >= 0xf0)));

    while ((u[n] & 0xc0) == 0x80)
        code = code << 6 | (u[n++] & 0x3fU);
    bool control = visible_is_control(code) || (code >= 0x200b && code <= 0x200d) || code == 0xfeff;
    bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) || code >= 0x1f300;
    *columns = control ? 0 : wide ? 2 : 1;
    return n;
}

/* Takes printable characters up to the next blank, at most `room` columns.  Returns the number of bytes read. */
static size_t next_word(char *word, int room, const char *text, int *columns)
{
    size_t n = 0, kept = 0;

    *columns = 0;
    while (text[n] && text[n] != ' ' && text[n] != '\n' && text[n] != '\t') {
        int wide, bytes = letter_at(text + n, &wide);
        if (*columns + wide > room)
            break;
        if (wide) {
            memcpy(word + kept, text + n, (size_t)bytes);
            kept += (size_t)bytes;
        }
        n += (size_t)bytes;
        *columns += wide;
    }
    word[kept] = 0;
    return n;
}

void screen_print(const struct screen *s, const char *first, const char *rest, const char *text)
{
    char *word = xmalloc(strlen(text) + 1);
    int margin = (int)strlen(rest), at = (int)strlen(first), columns;
    int start = at;

    fputs(first, s->out);
    for (text += strspn(text, " \n\t"); *text; text += strspn(text, " \n\t")) {
        text += next_word(word, s->width - margin > 8 ? s->width - margin : 8, text, &columns);
        if (!columns)
            continue;
        if (at > start && at + 1 + columns > s->width) {
            fprintf(s->out, "\n%s", rest);
            at = start = margin;
        }
        fprintf(s->out, "%s%s", at > start ? " " : "", word);
        at += columns + (at > start);
    }
    fputc('\n', s->out);
    free(word);
}

/* Returns the printable characters of a cell, at most SCREEN_CELL columns, with blanks for tabs and newlines.  The
 * caller frees it. */
static char *cell_text(const char *text, int *columns)
{
    char *shown = xmalloc(strlen(text) + sizeof "..."), *to = shown;

    for (*columns = 0; *text;) {
        bool blank = *text == '\n' || *text == '\t';
        int wide, bytes = letter_at(text, &wide);
        if (*columns + wide > SCREEN_CELL) {
            memcpy(to, "...", 3);
            to += 3;
            *columns += 3;
            break;
        }
        if (wide || blank)
            memcpy(to, blank ? " " : text, (size_t)bytes);
        to += wide || blank ? bytes : 0;
        *columns += blank ? 1 : wide;
        text += bytes;
    }
    *to = '\0';
    return shown;
}

/* Layout of a table. */
struct table {
    char **cells;        /* [rows, columns] texts as shown */
    int *widths, *width; /* widths [rows, columns] of cells, and [columns] of columns */
    int rows, columns, total;
};

static void lay_out(struct table *t, char *const *cells, int rows, int columns)
{
    size_t n = (size_t)rows * (size_t)columns + 1;

    *t = (struct table){ .rows = rows, .columns = columns };
    t->cells = xcalloc(n, sizeof *t->cells);
    t->widths = xcalloc(n, sizeof *t->widths);
    t->width = xcalloc((size_t)columns + 1, sizeof *t->width);
    for (int i = 0; i < rows * columns; i++) {
        t->cells[i] = cell_text(cells[i], &t->widths[i]);
        if (t->widths[i] > t->width[i % columns])
            t->width[i % columns] = t->widths[i];
    }
    for (int c = 0; c < columns; c++)
        t->total += t->width[c] + (c ? 2 : 0);
}

static void print_aligned(const struct screen *s, const struct table *t, const bool *numeric, int row)
{
    for (int c = 0; c < t->columns; c++) {
        int i = row * t->columns + c, gap = t->width[c] - t->widths[i];
        bool last = c + 1 == t->columns;
        fprintf(s->out, "%s%*s%s%*s", c ? "  " : "", numeric[c] ? gap : 0, "", t->cells[i],
                numeric[c] || last ? 0 : gap, "");
    }
    fputc('\n', s->out);
}

static void print_wrapped(const struct screen *s, const struct table *t, const char *first, const char *rest, int row)
{
    char *line = NULL;
    size_t size;
    FILE *f = open_memstream(&line, &size);

    CHECK(f, "no memory for a row");
    for (int c = 0; c < t->columns; c++)
        fprintf(f, "%s%s", c ? " | " : "", t->cells[row * t->columns + c]);
    fclose(f);
    screen_print(s, first, rest, line);
    free(line);
}

void screen_table(const struct screen *s, const char *first, const char *rest, char *const *cells, const bool *numeric,
                  int rows, int columns)
{
    struct table t;

    lay_out(&t, cells, rows, columns);
    for (int row = 0; row < rows; row++) {
        const char *head = row ? rest : first;
        if ((int)strlen(head) + t.total > s->width) {
            print_wrapped(s, &t, head, rest, row);
            continue;
        }
        fputs(head, s->out);
        print_aligned(s, &t, numeric, row);
    }
    for (int i = 0; i < rows * columns; i++)
        free(t.cells[i]);
    free(t.cells);
    free(t.widths);
    free(t.width);
}

void screen_say(const struct screen *s, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    CHECK(vasprintf(&text, fmt, args) >= 0, "out of memory");
    va_end(args);
    screen_print(s, "", "", text);
    free(text);
}

enum { LINE_MAX_BYTES = 2000 };

static void show_question(const struct conversation *t)
{
    const struct session *s = t->session;
    char head[32];

    snprintf(head, sizeof head, "%d. ", session_answers(s) + 1);
    fputc('\n', t->screen.out);
    if (session_answers(s) && session_plausible(s) == 1)
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

    if (s->current.elements)
        screen_say(&t->screen, "The options are tables and columns: no statement stands behind them yet.");
    for (int i = 0; i < s->question.n && !s->current.elements; i++) {
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

/* Number of interpretations: of candidates, or of all combinations of the alternatives of choices. */
static double count_ways(const struct session *s)
{
    const json_t *choices = json_object_get(json_object_get(s->value, "record"), "element_choices");
    double n = 1;

    for (size_t i = 0; i < json_array_size(choices); i++)
        n *= (double)json_array_size(json_object_get(json_array_get(choices, i), "alternatives"));
    return s->current.elements ? n : s->current.prior.n;
}

void conversation_begin(const struct conversation *t)
{
    const struct clarify_case *c = &t->session->current;
    const json_t *record = json_object_get(t->session->value, "record");
    size_t unread = json_array_size(c->rejected);

    screen_print(&t->screen, "Question: ", "          ", json_string_value(json_object_get(record, "question")));
    if (c->prior.n > 1)
        screen_say(&t->screen,
                   "It can be read in %.0f ways. To find yours, please answer with a number or in words; "
                   "\"help\" says what else can be said.",
                   count_ways(t->session));
    if (unread)
        screen_say(&t->screen, "(%zu more could not be read and %s left out.)", unread, unread == 1 ? "is" : "are");
}

static const char *in_words(const char *kind)
{
    return strcmp(kind, "unknown") == 0  ? "don't know"
           : strcmp(kind, "either") == 0 ? "either is fine"
                                         : "none of these";
}

/* Shows the understood answer and its effect. */
static void show_effect(const struct conversation *t, struct answer a)
{
    struct session *s = t->session;
    const char *kind = answer_kind_name(a.kind);

    screen_print(&t->screen, "   -> ", "      ", a.kind == ANSWER_VALUE ? s->question.names[a.value] : in_words(kind));
    if (s->eliminated > 0 && s->current.dialogue.now.p_none < 0.5)
        screen_print(&t->screen, "      ", "      ",
                     strings_printf(&s->current.words, "(%d set aside)", s->eliminated));
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

/* Shows the result of a dialogue that has ended. */
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

/* Shows the evidence of a statement that was chosen without a question. */
static void show_evidence(const struct conversation *t)
{
    const json_t *record = json_object_get(t->session->value, "record");
    const char *why = json_string_value(json_object_get(json_object_get(record, "auto"), "why"));

    if (why && !t->session->current.dialogue.n_turns)
        screen_print(&t->screen, "        ", "        ", why);
}

static void show_result(const struct conversation *t)
{
    struct session *s = t->session;
    const struct posterior *now = &s->current.dialogue.now;
    int best = posterior_best(now);

    fputc('\n', t->screen.out);
    if (s->why == STOP_ESCALATE) {
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
    show_evidence(t);
    if (t->show_rows)
        t->show_rows(t->user, &t->screen, s->current.sql[best]);
}

/* Shows the state when the user leaves an open question.  No statement was chosen, so none is executed. */
static void show_likeliest(const struct conversation *t)
{
    struct session *s = t->session;
    const struct posterior *now = &s->current.dialogue.now;
    int best = posterior_best(now);

    fputc('\n', t->screen.out);
    screen_say(&t->screen, "You left before a statement was chosen. This one is the likeliest so far and was not run:");
    screen_print(&t->screen, "Likeliest: ", "           ", session_best_words(s));
    screen_print(&t->screen, "SQL:       ", "           ", s->current.sql[best]);
    screen_print(&t->screen, "           ", "           ",
                 strings_printf(&s->current.words, "%d %% sure.", (int)(100 * now->p[best] + 1e-6)));
}

/* Shows the end of a dialogue.  Returns whether the user is asked to accept it. */
static bool show_end(const struct conversation *t)
{
    if (t->show_outcome && t->session->current.elements)
        return t->show_outcome(t->user, false);
    show_result(t);
    return true;
}

/* Shows the state when the user leaves an open question. */
static void show_left(const struct conversation *t)
{
    if (t->show_outcome && t->session->current.elements)
        t->show_outcome(t->user, true);
    else
        show_likeliest(t);
}

static int save(const struct conversation *t, struct error *err)
{
    return t->transcript ? json_write_file(t->transcript, t->session->value, err) : 0;
}

static void say_too_long(const struct conversation *t)
{
    screen_say(&t->screen, "That is too long for an answer.");
}

static bool edit_line(const struct conversation *t, char *line, const char *prompt)
{
    int rc;

    while ((rc = line_editor_read(t->editor, prompt, line, LINE_MAX_BYTES)) < 0)
        say_too_long(t);
    if (!rc)
        fputc('\n', t->screen.out);
    return rc > 0;
}

/* Reads a line without its newline.  Returns false at the end of the input or after a signal. */
static bool read_line(const struct conversation *t, char *line, const char *prompt)
{
    if (t->editor && !stop_requested())
        return edit_line(t, line, prompt);
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
        say_too_long(t);
        fputs(prompt, t->screen.out);
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

static int undo(struct conversation *t, struct error *err)
{
    int rc = session_undo(t->session, "session", err);

    if (rc == 0)
        screen_say(&t->screen, "There is no answer to take back.");
    return rc < 0 ? -1 : 0;
}

/* Handles a typed line, for an open question or for the result.  Returns -1 with err if an answer cannot be taken back.
 */
static int take_line(struct conversation *t, const char *line, struct error *err)
{
    bool open = t->session->why == STOP_NOT;
    struct reply r = reply_read(line, open ? &t->session->question : NULL, t->session->context->encoder);

    if (r.kind == REPLY_UNDO)
        return undo(t, err);
    if (r.kind == REPLY_QUIT || (r.kind == REPLY_NOTHING && !open))
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
    return 0;
}

/* Tells which questions the memory has answered, and how they are asked all the same. */
static void show_recalled(const struct conversation *t)
{
    json_t *list = session_recalled(t->session), *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const char *sentence = json_string_value(json_object_get(item, "sentence"));
        if (sentence)
            screen_say(&t->screen, "%s Type undo to be asked.", sentence);
    }
    json_decref(list);
}

/* Asks until the result is accepted, the user leaves, or the input ends. */
static int ask_until_end(struct conversation *t, struct error *err)
{
    struct session *s = t->session;
    char line[LINE_MAX_BYTES];
    bool shown = false;

    while (!t->ended) {
        int turns = session_turns(s);
        enum stop_reason why = s->why;
        if (!shown && why == STOP_NOT)
            show_question(t);
        if (!shown && why != STOP_NOT && !show_end(t))
            t->ended = "accepted";
        else if (why != STOP_NOT && turns == 0)
            t->ended = "nothing to ask";
        else if (!read_line(t, line, why == STOP_NOT ? "> " : "Enter to finish, undo to go back > "))
            t->ended = stop_requested() ? "interrupted" : "end of input";
        else if (take_line(t, line, err))
            return -1;
        shown = turns == session_turns(s) && why == s->why;
        if (!shown && save(t, err))
            return -1;
    }
    if (strcmp(t->ended, "accepted") == 0 && session_learn(s, err))
        return -1;
    if (s->why == STOP_NOT && !stop_requested())
        show_left(t);
    return 0;
}

int converse(struct conversation *t, struct error *err)
{
    t->editor = line_editor_open();
    show_recalled(t);
    int rc = ask_until_end(t, err);
    line_editor_close(t->editor);
    t->editor = NULL;
    return rc;
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

/* Returns the record with the id as a new reference. */
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

/* Returns the record with its evidence as a new reference. */
static json_t *join_record(const struct clarify_request *q, struct session_context *d, json_t *record,
                           const char *where, struct error *err)
{
    struct evidence_files evidence_files;
    const struct schema *schema;
    json_t *joined = NULL;

    schema_catalog_name(&d->schemas, record);
    if (evidence_files_open(&evidence_files, q->predictions, q->spans, err) == 0 &&
        (schema = schema_catalog_of(&d->schemas, record, where, err)))
        joined = evidence_files_join(&evidence_files, record, schema, where, err);
    evidence_files_close(&evidence_files);
    return joined;
}

static int begin(struct conversation *t, const struct clarify_request *q, struct session_context *d, struct error *err)
{
    struct record_reader *in = record_reader_open(q->candidates, q->format_in, err);
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

/* Shows the recorded turns, then continues the dialogue. */
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
        session_context_read_meaning(&context);
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
