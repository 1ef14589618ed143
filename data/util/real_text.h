/*
 * real_text.h - a double in the fewest decimal digits that read back as the same double.
 */
#ifndef DATA_UTIL_REAL_TEXT_H
#define DATA_UTIL_REAL_TEXT_H

enum { REAL_TEXT = 32 }; /* bytes of a text, with its NUL */

/* "565.2", "3", "1e+16", "-0.1", "inf": as printf's %g writes it.  Returns text. */
const char *real_text(char text[REAL_TEXT], double x);
/* The same with ".0" behind a whole number, as SQL and JSON tell it from an integer: "3.0", "1e+16". */
const char *real_literal(char text[REAL_TEXT], double x);

#endif
