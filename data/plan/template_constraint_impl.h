/*
 * template_constraint_impl.h - a template taken apart, and what its parts may be; for template_constraint.h alone.
 */
#ifndef DATA_PLAN_TEMPLATE_CONSTRAINT_IMPL_H
#define DATA_PLAN_TEMPLATE_CONSTRAINT_IMPL_H

#include "data/plan/template_constraint.h"
#include "data/util/strings.h"

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

/* Columns by which two tables join. */
struct key_pair {
    int from, to;
    bool declared; /* by foreign keys, else by equal names */
    int key;       /* the table whose primary key of several columns this is a part of, or -1 where it joins alone */
};

struct key_pairs {
    struct key_pair *items; /* both ways round, declared ones first */
    int n, cap;
    uint8_t *links; /* [n_tables, n_tables] 2: by foreign keys, 1: by names, 0: not at all */
};
/* Foreign keys count over a third column too.  The caller releases. */
void key_pairs_find(struct key_pairs *k, const struct schema *s);
void key_pairs_release(struct key_pairs *k);

/* Tables for a SELECT's FROM. */
struct from_choice {
    int tables[SHAPE_MAX_TABLES];
    double score;
};

struct from_choices {
    struct from_choice *items; /* the likelier first */
    int n, cap;
};
/* told: by table, how much the question says of it.  The caller frees the items. */
void from_choices_find(struct from_choices *out, const struct template_shape *p, int block, const struct schema *s,
                       const struct key_pairs *keys, const double *told);

/* Lists of texts, as SQL writes them; new references, never empty.  pattern: for LIKE. */
json_t *template_strings(const struct template_question *q, bool pattern);
json_t *template_numbers(const struct template_question *q);

#endif
