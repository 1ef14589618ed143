/*
 * interactive.h - one dialogue with a person at a terminal: numbers and words, no special keys.
 */
#ifndef INFER_CLARIFY_INTERACTIVE_H
#define INFER_CLARIFY_INTERACTIVE_H

#include "infer/clarify/screen.h"
#include "infer/clarify/session.h"

/* About the record of q->candidates whose id is q->id (the first when that is NULL), or the session in q->replay.
 * 0 when it ended or the user left it, 1 when a signal did; -1. */
int interact(const struct clarify_request *q, struct error *err);

/* A dialogue about a session that has started. */
struct conversation {
    struct session *session; /* borrowed */
    struct screen screen;
    const char *transcript; /* the file that keeps it, written anew after each answer; or NULL */
    const char *ended;      /* why it is over; NULL while it goes on */
    void (*show_rows)(void *user, const struct screen *screen, const char *sql); /* behind the result; or NULL */
    void *user;
};

/* Says what is asked about. */
void conversation_begin(const struct conversation *t);
/* Question and answer until the result is accepted, the user leaves, or there is no more input.  -1 when the transcript
 * cannot be written. */
int converse(struct conversation *t, struct error *err);

#endif
