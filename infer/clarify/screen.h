/*
 * screen.h - text for a person at a terminal: wrapped at its width, without anything that would steer the terminal.
 */
#ifndef INFER_CLARIFY_SCREEN_H
#define INFER_CLARIFY_SCREEN_H

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

#endif
