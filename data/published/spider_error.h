/*
 * spider_error.h - classes of wrong predictions: wrong numbers of joins and of selected items, and wrong names.
 *
 * The error catalogue of LogicalBeam's paper (Bhaskar et al., EMNLP 2023, table 2) names these kinds of errors.
 *
 * A prediction has the first class whose condition holds, in the order of the enumeration.
 */
#ifndef DATA_PUBLISHED_SPIDER_ERROR_H
#define DATA_PUBLISHED_SPIDER_ERROR_H

#include "data/published/spider_match.h"

enum spider_error {
    SPIDER_CORRECT,       /* exact set match */
    SPIDER_UNPARSABLE,    /* the evaluator cannot read the prediction */
    SPIDER_WRONG_JOINS,   /* another number of joins, in all queries of the statement */
    SPIDER_WRONG_ITEMS,   /* another number of items in the outermost select list */
    SPIDER_WRONG_SHAPE,   /* no match even with all names and values made equal */
    SPIDER_WRONG_TABLES,  /* the same shape, other sources in the outermost FROM */
    SPIDER_WRONG_COLUMNS, /* the same shape and tables, other columns or other names in nested queries */
    SPIDER_ERRORS
};
/* "correct", "unparsable", "joins", "items", "shape", "tables" or "columns". */
const char *spider_error_name(enum spider_error e);

/* The class of a prediction; the gold statement must be readable. */
enum spider_error spider_error_of(const struct spider_schema *s, const char *predicted, const char *gold);

#endif
