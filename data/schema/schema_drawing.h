/*
 * schema_drawing.h - a schema as a drawing for pages (SVG): tables as boxes of their columns, keys as lines, marks.
 *
 * A drawing is of bounded size.  Of a schema with more than SCHEMA_DRAWN_TABLES tables it shows those that have marks
 * and those that a foreign key joins to one of them, or the first ones where there are no marks; of a table with more
 * than SCHEMA_DRAWN_COLUMNS columns the marked ones, then keys, then the first ones.  It tells how many it leaves out.
 * Its colours follow the page's own, light or dark, by schema_drawing_style.
 */
#ifndef DATA_SCHEMA_SCHEMA_DRAWING_H
#define DATA_SCHEMA_SCHEMA_DRAWING_H

#include "data/schema/schema.h"

enum { SCHEMA_DRAWN_TABLES = 12, SCHEMA_DRAWN_COLUMNS = 12, SCHEMA_DRAWN_KEYS = 100 };

/* What an element is marked as; one may be both. */
enum schema_mark {
    SCHEMA_NAMED = 1, /* filled: named as one that may be meant */
    SCHEMA_GOLD = 2,  /* framed: one that is meant */
};

/* Rules of CSS, which a page has once. */
extern const char schema_drawing_style[];

/* Writes <div class="schema"> with one <svg>; all names are escaped.  marks [n_tables + n_columns] of enum schema_mark,
 * tables first; NULL: none. */
void schema_draw(FILE *f, const struct schema *s, const uint8_t *marks);

#endif
