/*
 * real_text.h - a double as the shortest decimal text that reads back as the same double.
 *
 * The caller owns the buffer.  Nothing fails.
 */
#ifndef DATA_BASE_REAL_TEXT_H
#define DATA_BASE_REAL_TEXT_H

enum { REAL_TEXT = 32 }; /* bytes of a text with its NUL */

/* Formats like printf's %g: "565.2", "3", "1e+16", "-0.1", "inf".  Returns text. */
const char *real_text(char text[REAL_TEXT], double x);
/* The same with ".0" appended to whole numbers, which SQL and JSON would read as integers: "3.0", "1e+16". */
const char *real_literal(char text[REAL_TEXT], double x);

#endif
