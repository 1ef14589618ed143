/*
 * session.h - a dialogue as a plain value: its record, its rules and its turns, as JSON.
 *
 * {"version": 1, "record": {...}, "rules": {...}, "attributes": fingerprint, "turns": [{"attribute", "answer",
 * "option", "text", "chosen"}]}.  Whoever has the value has the session: a program that holds none of it goes on from
 * there, and comes to the same questions and the same numbers.  The record is kept as it was understood when the
 * session started: the candidates that can be read and are not the same as another one, those that were left out, the
 * reserve; so no statement runs again.  The fingerprint says what there was to ask about; a session that meets another
 * schema, or other readings, is refused.
 */
#ifndef INFER_CLARIFY_SESSION_H
#define INFER_CLARIFY_SESSION_H

#include "infer/clarify/clarify.h"

enum { SESSION_VERSION = 1 };

/* What all sessions of a program share. */
struct session_context {
    struct schema_catalog schemas;
    struct arena scratch;
    struct clarify_settings settings; /* of sessions that start; all others bring theirs */
};
int session_context_open(struct session_context *d, const struct clarify_request *q, struct error *err);
void session_context_close(struct session_context *d);

struct session {
    json_t *value;    /* owned */
    json_t *recorded; /* turns that were in the value and are to be repeated */
    struct clarify_case current;
    enum stop_reason why; /* STOP_NOT: a question is open */
    struct question_view view;
    struct question question;
    struct answer newest;
    int set_aside; /* by the newest answer: readings that are no longer plausible */
};

/* A new one about a record; rules may be NULL, or have some of the fields that replace the context's.  -1 with
 * EXIT_CODE_DATA; session_release in any case. */
int session_start(struct session *s, struct session_context *d, const json_t *record, const json_t *rules,
                  const char *where, struct error *err);
/* Reads a value and its record, and repeats no turn yet.  Likewise. */
int session_read(struct session *s, struct session_context *d, const json_t *value, const char *where,
                 struct error *err);
/* The question of recorded turn k, as it was asked; then its answer.  -1 with EXIT_CODE_DATA when it cannot be. */
int session_recall(struct session *s, int k, const char *where, struct error *err);
int session_repeat(struct session *s, int k, const char *where, struct error *err);
/* Reads a value and repeats its turns. */
int session_resume(struct session *s, struct session_context *d, const json_t *value, const char *where,
                   struct error *err);
void session_release(struct session *s);

/* What to ask next, or why nothing. */
void session_next(struct session *s);
/* Takes the answer to the open question; an option counts as the question shows it.  -1 when it contradicts what was
 * said before: nothing has changed then. */
int session_answer(struct session *s, struct answer a);
/* Takes the last answer back; false when there is none. */
bool session_undo(struct session *s);

/* Takes what a user said to the open question: the number of an option from 1, or words (reply_words.h); then the next
 * question.  -1 with EXIT_CODE_DATA, a word for what is wrong in *kind, as docs/reference/serve-protocol.md has them,
 * and nothing has changed. */
int session_said(struct session *s, const json_t *said, const char **kind, const char *where, struct error *err);
/* The same of taking the last answer back. */
int session_take_back(struct session *s, const char **kind, const char *where, struct error *err);

/* Readings that are at least a tenth as likely as the best. */
int session_plausible(const struct session *s);
/* Which statement it is, in words. */
const char *session_best_words(struct session *s);
/* Everything that one who drives the session needs, the value under "session"; a new reference. */
json_t *session_json(struct session *s);

#endif
