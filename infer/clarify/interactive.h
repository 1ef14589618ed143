/*
 * interactive.h - a dialogue with a person at a terminal, with numbers and words.
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

/* Standard output: 80 columns, or at a terminal its width, at most 100. */
struct screen screen_open(void);
/* Prints wrapped text.  Its first line starts with `first`, the others with `rest`.  Control characters are omitted. */
void screen_print(const struct screen *s, const char *first, const char *rest, const char *text);
/* Prints cells [rows, columns] as a table, with numeric columns to the right.  Cells are cut after SCREEN_CELL columns.
 * Rows wider than the screen are wrapped, with | between cells. */
enum { SCREEN_CELL = 40 };
void screen_table(const struct screen *s, const char *first, const char *rest, char *const *cells, const bool *numeric,
                  int rows, int columns);
/* Prints the wrapped text of a printf. */
void screen_say(const struct screen *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Holds a dialogue about the record q->id of q->candidates (NULL: the first), or resumes the session in q->replay.
 * Returns 0 at the end or when the user leaves, 1 after a signal, or -1 with err. */
int interact(const struct clarify_request *q, struct error *err);

/* The dialogue of a started session. */
struct conversation {
    struct session *session; /* borrowed */
    struct screen screen;
    const char *transcript;     /* file that is rewritten after each answer; or NULL */
    const char *ended;          /* reason for its end; NULL: not ended */
    struct line_editor *editor; /* set by converse() at a terminal */
    void (*show_rows)(void *user, const struct screen *screen,
                      const char *sql); /* shows rows after the result; or NULL */
    /* Shows the outcome of a dialogue about elements, in place of its statement; left: the user has not chosen.
     * Returns whether the user is asked to accept it. */
    bool (*show_outcome)(void *user, bool left);
    void *user;
};

/* Prints the question of the record. */
void conversation_begin(const struct conversation *t);
/* Asks questions until the user accepts the result or leaves, or the input ends.  Returns -1 when the transcript cannot
 * be written. */
int converse(struct conversation *t, struct error *err);

#endif
