/*
 * sql_template.h - LogicalBeam's templates: SQL whose tables, columns, strings and numbers are one word each, and the
 * plans that stand before them.
 *
 * "select t1.name from singer as t1 where age > 20" is "select column from table as t1 where column > number".
 */
#ifndef DATA_PLAN_SQL_TEMPLATE_H
#define DATA_PLAN_SQL_TEMPLATE_H

#include "data/schema/schema.h"
#include "data/util/strings.h"

/* Names in lower case; "*" is a column.  A name that is both is a table. */
struct template_names {
    struct strings tables, columns;
};
void template_names_of_schema(struct template_names *n, const struct schema *s);
/* From "table : column , column | table : ..." as AmbiQT's records have it.  Fragments of cell values that stand in it
 * become columns that no query names.  -1 with EXIT_CODE_DATA when a table has no ":"; release either way. */
int template_names_of_text(struct template_names *n, const char *text, struct error *err);
/* The same, but names as they are written. */
int template_names_as_written(struct template_names *n, const char *text, struct error *err);
void template_names_release(struct template_names *n);

/*
 * Words are split as AmbiQT splits them: only words of digits alone are numbers, only prefixes "t?." are dropped, a
 * string that is not closed is left out, and what no name is known for stays.  The caller frees.
 *
 * The training files were made from SQL as it stood, with a blank before "!=" (SQL_TEMPLATE_TRAINING); at inference SQL
 * is brought to normal form first.
 */
enum sql_template_use { SQL_TEMPLATE_TRAINING, SQL_TEMPLATE_INFERENCE };
char *sql_template(const struct template_names *n, const char *sql, enum sql_template_use use);

/* Template match, by which a generator of templates is chosen: the same text but for case and some blanks. */
bool sql_template_match(const char *predicted, const char *reference);

/* "2 joins @ 3 selects @": JOINs of a query, items of its outermost select list. */
struct sql_plan {
    int joins, selects;
};
struct sql_plan sql_plan_of(const char *sql);
/* The caller frees. */
char *sql_plan_text(struct sql_plan p);
/* -1 with EXIT_CODE_DATA on anything that does not begin with a plan.  *rest (may be NULL) is what stands behind it. */
int sql_plan_parse(struct sql_plan *p, const char *text, const char **rest, struct error *err);
/* The plans that are tried for a predicted one, itself first; returns how many, 3 to 5. */
enum { SQL_PLANS = 5 };
int sql_plan_neighbours(struct sql_plan p, struct sql_plan out[SQL_PLANS]);

#endif
