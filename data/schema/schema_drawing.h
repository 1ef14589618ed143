/*
 * schema_drawing.h - draws a schema as SVG for HTML pages: tables as boxes of columns, foreign keys as lines, marked
 * elements.
 *
 * The size of a drawing is bounded.  If there are more than SCHEMA_DRAWN_TABLES tables, it shows the marked ones and
 * their neighbours by foreign keys or, without marks, the first ones.  If a table has more than SCHEMA_DRAWN_COLUMNS
 * columns, it shows the marked ones, then keys, then the first ones.  The drawing tells how many it omits.  Colours
 * follow the page, light or dark.  Failed writes show in the stream.
 */
#ifndef DATA_SCHEMA_SCHEMA_DRAWING_H
#define DATA_SCHEMA_SCHEMA_DRAWING_H

#include "data/schema/schema.h"

enum { SCHEMA_DRAWN_TABLES = 12, SCHEMA_DRAWN_COLUMNS = 12, SCHEMA_DRAWN_KEYS = 100 };

/* Marks of an element; they may be combined. */
enum schema_mark {
    SCHEMA_NAMED = 1, /* filled: predicted as ambiguous */
    SCHEMA_GOLD = 2,  /* framed: ambiguous by the labels */
};

/* CSS rules that a page includes once. */
extern const char schema_drawing_style[];

/* Writes <div class="schema"> with one <svg>; names are escaped. marks [n_tables + n_columns] of enum schema_mark,
 * tables first; NULL: none. */
void schema_draw(FILE *f, const struct schema *s, const uint8_t *marks);

#endif
