/*
 * interactive.h - one dialogue with a person at a terminal: numbers and words, no special keys.
 */
#ifndef INFER_CLARIFY_INTERACTIVE_H
#define INFER_CLARIFY_INTERACTIVE_H

#include "infer/clarify/session.h"

#include <stdbool.h>
#include <stdio.h>

struct screen {
    FILE *out;
    int width; /* columns */
};

/* Standard output; 80 columns when it is no terminal, at most 100 when it is. */
struct screen screen_open(void);
/* Wraps text; `first` opens its first line and `rest` all others.  Letters that no terminal shows as such are left
 * out. */
void screen_print(const struct screen *s, const char *first, const char *rest, const char *text);
/* Rows of cells in columns, numbers to the right, a cell cut behind SCREEN_CELL columns; `first` opens the first row
 * and `rest` all others.  Rows that are wider than the screen are wrapped, with | between cells. */
enum { SCREEN_CELL = 40 };
void screen_table(const struct screen *s, const char *first, const char *rest, char *const *cells, const bool *numeric,
                  int rows, int columns);
/* Wraps the text of a printf, from the first column. */
void screen_say(const struct screen *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One dialogue with a person at a terminal: numbers and words, no special keys.
 */

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
