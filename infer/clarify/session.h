/*
 * session.h - a dialogue as a plain JSON value: its record, its rules and its turns.
 *
 * {"version": 1, "record": {...}, "rules": {...}, "attributes": fingerprint, "turns": [{"attribute", "answer",
 * "option", "text", "chosen", "recalled"}]}.  The value is the whole state: any program can continue it, with the same
 * questions and numbers. The record holds the merged candidates, the rejected ones and the none-of-the-above
 * probability, so that no statement is executed again.  The fingerprint is a hash of the attributes; a session with
 * another schema or other candidates is refused.  "max_turns" of the rules counts the whole dialogue: the questions of
 * sessions before this one, whose turns "element_turns" of the record has, are subtracted.
 */
#ifndef INFER_CLARIFY_SESSION_H
#define INFER_CLARIFY_SESSION_H

#include "infer/clarify/clarify.h"
#include "infer/clarify/reply_encoder.h"
#include "infer/clarify/wordings.h"

enum { SESSION_VERSION = 1 };

/* State that all sessions of a program share. */
struct session;
struct session_context {
    struct schema_catalog schemas;
    struct arena scratch;
    struct clarify_settings settings; /* for new sessions; others bring their own */
    struct wordings wordings;
    /* Replaces a session without answers by the one before it about the same question of the user, with its answers.
     * Returns 1, 0 if there is none, or -1 with EXIT_CODE_DATA.  NULL: sessions stand alone. */
    int (*before)(struct session *s, struct session_context *d, const char *where, struct error *err);
    struct choice_memory memory;
    struct reply_encoder *encoder; /* owned; NULL: replies are read by their words alone */
};
int session_context_open(struct session_context *d, const struct clarify_request *q, struct error *err);
/* Lets an encoder read the meaning of replies.  It opens at the first reply whose words do not decide. */
void session_context_read_meaning(struct session_context *d);
void session_context_close(struct session_context *d);

struct session {
    struct session_context *context; /* borrowed */
    json_t *value;                   /* owned */
    json_t *recorded;                /* turns of the value that are to be repeated */
    struct choice_memory *memory;    /* of the context; or NULL */
    struct clarify_case current;
    enum stop_reason why; /* STOP_NOT: a question is open */
    struct question_view view;
    struct question question;
    struct answer newest;
    int eliminated; /* number of candidates that the newest answer made implausible */
};

/* Starts a session.  Fields of `rules`, which may be NULL, replace those of the context.  Returns -1 with
 * EXIT_CODE_DATA. The caller releases the session in any case. */
int session_start(struct session *s, struct session_context *d, const json_t *record, const json_t *rules,
                  const char *where, struct error *err);
/* Reads a value without its turns.  Errors and release as above. */
int session_read(struct session *s, struct session_context *d, const json_t *value, const char *where,
                 struct error *err);
/* Restores the question of recorded turn k, and then its answer.  Return -1 with EXIT_CODE_DATA. */
int session_recall(struct session *s, int k, const char *where, struct error *err);
int session_repeat(struct session *s, int k, const char *where, struct error *err);
/* Reads a value and repeats its turns.  Errors and release as above. */
int session_resume(struct session *s, struct session_context *d, const json_t *value, const char *where,
                   struct error *err);
void session_release(struct session *s);

/* Sets the next question, or the reason to stop. */
void session_next(struct session *s);
/* Takes the answer to the open question, whose options are numbered as shown.  Returns -1 when it contradicts the
 * earlier answers; the session is then unchanged. */
int session_answer(struct session *s, struct answer a);
/* Teaches the memory, if there is one, the answers of a session that has ended.  Returns -1 with err. */
int session_learn(struct session *s, struct error *err);
/* Takes the last answer back, perhaps that of the session before, which then unteaches the memory.  Returns 1, 0 when
 * there is none, or -1 with err. */
int session_undo(struct session *s, const char *where, struct error *err);

/* Takes a reply to the open question, the number of an option from 1 or words (reply_words.h), and sets the next
 * question.  Teaches the memory at the end of a dialogue.  Returns -1 with err and the kind of the error
 * (docs/reference/serve-protocol.md); the session is then unchanged, or not to be used if the kind is "memory". */
int session_said(struct session *s, const json_t *said, const char **kind, const char *where, struct error *err);
/* Takes the last answer back, with the same errors.  A dialogue that has ended unteaches the memory. */
int session_take_back(struct session *s, const char **kind, const char *where, struct error *err);

/* Number of turns about the user's question, with those of sessions before this one, which "element_turns" of the
 * record has as a list for each session. */
int session_turns(const struct session *s);
/* Number of these that the user has answered, and not the memory. */
int session_answers(const struct session *s);
/* Number of candidates with at least a tenth of the highest probability. */
int session_plausible(const struct session *s);
/* The remembered choices that have answered questions, as a new reference, or NULL. */
json_t *session_recalled(const struct session *s);
/* The most probable statement in words. */
const char *session_best_words(struct session *s);
/* The reply of a server, with the value under "session".  A new reference. */
json_t *session_json(struct session *s);

#endif
