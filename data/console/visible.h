/*
 * visible.h - text of strangers (names, cells, questions) on its way to a person.
 *
 * A terminal obeys control characters, and shows text in another order behind marks of direction. These are written as
 * \u001b, as JSON has them, and bytes that are no UTF-8 as \x9b.
 */
#ifndef DATA_CONSOLE_VISIBLE_H
#define DATA_CONSOLE_VISIBLE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* C0, DEL, C1, separators of lines, and what sets the direction of text. */
bool visible_is_control(uint32_t code);
/* One value in a line: white space is written as blanks. */
void visible_put(FILE *out, const char *text, size_t n);
/* Like fprintf; line ends and tabs stay, also those of arguments. */
void visible_printf(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void visible_vprintf(FILE *out, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#endif
