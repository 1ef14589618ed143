/*
 * template_shape.h - a template taken apart: its words, and the SELECTs in which they stand.
 */
#ifndef DATA_PLAN_TEMPLATE_SHAPE_H
#define DATA_PLAN_TEMPLATE_SHAPE_H

#include "data/schema/schema.h"

enum {
    SHAPE_MAX_TABLES = 8,  /* of one FROM */
    SHAPE_MAX_BLOCKS = 16, /* SELECTs */
    SHAPE_MAX_DEPTH = 32,  /* parentheses */
    SHAPE_MAX_PIECES = 512
};

/* clang-format off */
enum piece_kind {
    PIECE_NAME, /* table.column as it stands */
    PIECE_TABLE, PIECE_JOIN, /* "column = column" behind ON */
    PIECE_COLUMN,
    PIECE_NAMESAKE, /* a column called as a table is, for which templates say table */
    PIECE_ROW,     /* the only item of the whole statement: a column or * */
    PIECE_COUNTED, /* of count(): a column or * */
    PIECE_STRING, PIECE_PATTERN, /* of LIKE */
    PIECE_NUMBER
};
/* clang-format on */

/* A word of the template that does not stay as it is, or that asks for a table. */
struct template_piece {
    enum piece_kind kind;
    int begin, end;   /* bytes of the template */
    int block, place; /* the SELECT it stands in; which table of it: of TABLE and JOIN */
    int table;        /* of NAME: the schema's */
};

/* One SELECT. */
struct template_block {
    int n_tables;
    char alias[SHAPE_MAX_TABLES][8]; /* "t1", "" without */
    bool joined[SHAPE_MAX_TABLES];   /* an ON tells how the table hangs on those before it */
    int derived;                     /* the SELECT in its FROM, or -1 */
    bool later;                      /* a set operator stands before it */
    enum { SHAPE_SELECT, SHAPE_FROM, SHAPE_BEHIND } clause;
};

struct template_shape {
    const char *text; /* the template */
    struct template_piece pieces[SHAPE_MAX_PIECES];
    int n_pieces, n_blocks;
    bool compound; /* it has UNION, INTERSECT or EXCEPT */
    struct template_block blocks[SHAPE_MAX_BLOCKS];
};

/* -1 with EXIT_CODE_DATA naming the word. */
int shape_read(struct template_shape *p, const char *template, const struct schema *s, struct error *err);

#endif
