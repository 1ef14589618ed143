/*
 * plain_query.h - a statement for a question that asks for whole columns of one table and for nothing else.
 *
 * "Show the name and the email of all customers" needs no parser.  Each word of such a question opens the request,
 * names a column by all words of its name, or names the table.  "How many customers are there?" counts rows, and "Show
 * all customers" shows them.  Any other word, sign or punctuation may carry a condition, so the question then has no
 * plain statement.  The same holds if names fit several tables, or if the question names no table: "Show all cities"
 * may mean each city once.
 */
#ifndef DATA_CLARIFY_PLAIN_QUERY_H
#define DATA_CLARIFY_PLAIN_QUERY_H

#include "data/clarify/element_choice.h"

/* The statement, which the caller frees, or NULL if the question has none.  Chosen elements stand for their words; a
 * choice that is left open, is about a value or has unknown words leaves no statement. */
char *plain_query(const struct schema *s, const char *question, const struct element_choices *c);

#endif
