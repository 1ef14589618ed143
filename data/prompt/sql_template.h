/*
 * sql_template.h - LogicalBeam's templates: SQL with a placeholder for each table, column, string and number.
 *
 * "select t1.name from singer as t1 where age > 20" becomes "select column from table as t1 where column > number". A
 * plan before the template counts joins and selected items.
 */
#ifndef DATA_PROMPT_SQL_TEMPLATE_H
#define DATA_PROMPT_SQL_TEMPLATE_H

#include "data/base/strings.h"
#include "data/schema/schema.h"

/* Names in lower case; "*" is a column. A name of both a table and a column counts as a table. any_number makes
 * placeholders of all numbers, as the paper describes; otherwise of words of digits alone, as its program does. */
struct template_names {
    struct strings tables, columns;
    bool any_number;
};
void template_names_of_schema(struct template_names *n, const struct schema *s);
/* Reads names from "table : column , column | table : ...", as in AmbiQT's records. Fragments of cell values become
 * columns that no query names. -1 with EXIT_CODE_DATA if a table has no ":". The caller releases either way. */
int template_names_of_text(struct template_names *n, const char *text, struct error *err);
/* The same, with names in their original case. */
int template_names_as_written(struct template_names *n, const char *text, struct error *err);
void template_names_release(struct template_names *n);

/* The template of a statement; the caller frees. Words are split as AmbiQT splits them: only prefixes
 * "t?." are dropped, an unclosed string is dropped, and unknown names stay.
 * SQL_TEMPLATE_TRAINING reproduces the training files: SQL as written, with a blank before "!=".
 * SQL_TEMPLATE_INFERENCE normalises SQL first. */
enum sql_template_use { SQL_TEMPLATE_TRAINING, SQL_TEMPLATE_INFERENCE };
char *sql_template(const struct template_names *n, const char *sql, enum sql_template_use use);

/* Template match, the validation metric of template generators: equal text except for case and some blanks. */
bool sql_template_match(const char *predicted, const char *reference);

/* "2 joins @ 3 selects @": the JOINs of a query and the items of its outermost select list. */
struct sql_plan {
    int joins, selects;
};
struct sql_plan sql_plan_of(const char *sql);
/* The caller frees. */
char *sql_plan_text(struct sql_plan p);
/* -1 with EXIT_CODE_DATA if the text does not begin with a plan. *rest, unless NULL, points to the text after it. */
int sql_plan_parse(struct sql_plan *p, const char *text, const char **rest, struct error *err);
/* The plans to try for a predicted one, itself first. Returns their number, 3 to 5. */
enum { SQL_PLANS = 5 };
int sql_plan_neighbours(struct sql_plan p, struct sql_plan out[SQL_PLANS]);

#endif
