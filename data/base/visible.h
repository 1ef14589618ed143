/*
 * visible.h - prints untrusted text (names, cells, questions) to a person.
 *
 * A terminal obeys control characters and reorders text behind direction marks.  These are printed as escapes such as
 * \u001b, as in JSON, and bytes that are not UTF-8 as \x9b.
 */
#ifndef DATA_BASE_VISIBLE_H
#define DATA_BASE_VISIBLE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* C0, DEL, C1, line and paragraph separators, and marks that set the direction of text. */
bool visible_is_control(uint32_t code);
/* Prints one value within a line: white space becomes blanks. */
void visible_put(FILE *out, const char *text, size_t n);
/* Like fprintf.  Line feeds and tabs are kept, also those of arguments. */
void visible_printf(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void visible_vprintf(FILE *out, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#endif
