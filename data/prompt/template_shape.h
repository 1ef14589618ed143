/*
 * template_shape.h - parses a template into its placeholders and the SELECTs that contain them.
 *
 * The result has a fixed size and points into the template.
 */
#ifndef DATA_PROMPT_TEMPLATE_SHAPE_H
#define DATA_PROMPT_TEMPLATE_SHAPE_H

#include "data/schema/schema.h"

enum {
    SHAPE_MAX_TABLES = 8,  /* in one FROM */
    SHAPE_MAX_BLOCKS = 16, /* SELECTs */
    SHAPE_MAX_DEPTH = 32,  /* nested parentheses */
    SHAPE_MAX_PIECES = 512
};

/* clang-format off */
enum piece_kind {
    PIECE_NAME, /* table.column, as written */
    PIECE_TABLE, PIECE_JOIN, /* "column = column" behind ON */
    PIECE_COLUMN,
    PIECE_NAMESAKE, /* a column that has the name of a table; templates write "table" for it */
    PIECE_ROW,     /* the only selected item of the whole statement: a column or * */
    PIECE_COUNTED, /* argument of count(): a column or * */
    PIECE_STRING, PIECE_PATTERN, /* after LIKE */
    PIECE_NUMBER
};
/* clang-format on */

/* A placeholder, or a name that requires a table. */
struct template_piece {
    enum piece_kind kind;
    int begin, end;   /* byte offsets in the template */
    int block, place; /* its SELECT; for TABLE and JOIN, the position of the table in FROM */
    int table;        /* NAME: the table in the schema, or -1 */
};

/* One SELECT. */
struct template_block {
    int n_tables;
    char alias[SHAPE_MAX_TABLES][8]; /* "t1", or "" without an alias */
    bool joined[SHAPE_MAX_TABLES];   /* ON joins the table to an earlier one */
    int derived;                     /* the SELECT in its FROM, or -1 */
    bool later;                      /* it follows a set operator */
    enum { SHAPE_SELECT, SHAPE_FROM, SHAPE_BEHIND } clause;
};

struct template_shape {
    const char *text; /* the template, borrowed */
    struct template_piece pieces[SHAPE_MAX_PIECES];
    int n_pieces, n_blocks;
    bool compound; /* has UNION, INTERSECT or EXCEPT */
    struct template_block blocks[SHAPE_MAX_BLOCKS];
};

/* -1 with EXIT_CODE_DATA and a message that names the word. */
int shape_read(struct template_shape *p, const char *template, const struct schema *s, struct error *err);

#endif
