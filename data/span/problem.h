/*
 * problem.h - the six categories of problem questions, and the words that tell the last two.
 *
 * DTE's study (Wang et al. 2023, section 2) has these categories. Ambiguity: words fit several columns, or values of
 * several columns. Column and value unanswerable: words name a column or a value that the table lacks. Calculation
 * unanswerable: words name a quantity that some calculation over the columns gives, and the calculation is not known.
 * Out of scope: the question asks for more than an SQL query returns, such as a chart.
 *
 * A tagger finds the words, and the lists here tell the category of unanswerable ones. A quantity or request that is
 * missing in the lists has another category.
 */
#ifndef DATA_SPAN_PROBLEM_H
#define DATA_SPAN_PROBLEM_H

#include "kernels/base.h"

enum problem_category {
    PROBLEM_COLUMN_AMBIGUITY,
    PROBLEM_VALUE_AMBIGUITY,
    PROBLEM_COLUMN_UNANSWERABLE,
    PROBLEM_VALUE_UNANSWERABLE,
    PROBLEM_CALCULATION,
    PROBLEM_OUT_OF_SCOPE,
    PROBLEM_CATEGORIES
};
/* "column-ambiguity", "value-ambiguity", "column-unanswerable", "value-unanswerable", "calculation-unanswerable" or
 * "out-of-scope". */
const char *problem_category_name(enum problem_category c);

/* The category of unanswerable words: n bytes of a question. `opens`: the question starts with them, so that their
 * first letter may be a capital. A value has a digit, a capital or quotation marks. */
enum problem_category problem_of_unanswerable(const char *words, size_t n, bool opens);

/* Names of quantities, which follow the name of a column: "growth" as in "attendance growth". */
enum { PROBLEM_QUANTITIES = 20 };
extern const char *const problem_quantities[PROBLEM_QUANTITIES];
/* Requests beyond SQL, which follow a question and "and": "draw a pie chart". */
enum { PROBLEM_REQUESTS = 30 };
extern const char *const problem_requests[PROBLEM_REQUESTS];

#endif
