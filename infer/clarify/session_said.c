/* Part of session.h: what a user said, as another program passes it on. */
#include "infer/clarify/reply_words.h"
#include "infer/clarify/session.h"

int session_take_back(struct session *s, const char **kind, const char *where, struct error *err)
{
    *kind = "undo";
    return session_undo(s) ? 0 : error_set(err, EXIT_CODE_DATA, "%s: there is no answer yet", where);
}

static int take_reply(struct session *s, const struct reply *r, const char **kind, const char *where, struct error *err)
{
    *kind = "answer";
    if (r->kind == REPLY_UNCLEAR)
        return error_set(err, EXIT_CODE_DATA, "%s", r->why);
    if (r->kind != REPLY_ANSWER)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"answer\" is no answer to the question", where);
    *kind = "contradiction";
    if (session_answer(s, r->answer))
        return error_set(err, EXIT_CODE_DATA,
                         "This does not fit what was said before; nothing has changed. Another answer may be given, or "
                         "the last one taken back.");
    session_next(s);
    return 0;
}

static int take_number(struct session *s, const json_t *said, const char **kind, const char *where, struct error *err)
{
    struct reply r = { .kind = REPLY_ANSWER, .answer = { .kind = ANSWER_VALUE } };
    json_int_t option = json_integer_value(said);

    if (!json_is_integer(said))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"answer\" is neither the number of an option nor words",
                         where);
    if (option < 1 || option > s->question.n)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"answer\": expected 1 to %d, got %lld", where, s->question.n,
                         (long long)option);
    r.answer.value = (int)option - 1;
    return take_reply(s, &r, kind, where, err);
}

int session_said(struct session *s, const json_t *said, const char **kind, const char *where, struct error *err)
{
    bool open = s->why == STOP_NOT;
    struct reply r = { .kind = REPLY_NOTHING };

    if (json_is_string(said))
        r = reply_read(json_string_value(said), open ? &s->question : NULL);
    if (r.kind == REPLY_UNDO)
        return session_take_back(s, kind, where, err);
    *kind = "ended";
    if (!open)
        return error_set(err, EXIT_CODE_DATA, "%s: no question is open: the dialogue has ended (%s)", where,
                         stop_reason_name(s->why));
    *kind = "answer";
    return json_is_string(said) ? take_reply(s, &r, kind, where, err) : take_number(s, said, kind, where, err);
}
