/*
 * template_constraint.h - a template compiled for a question: the statements that it may become on a schema.
 *
 * What stands for a name, a string or a number becomes a slot with a list of texts.  Which columns there are depends on
 * the tables of FROM, which SQL names behind them, so tables are no slots: every choice of tables that join along keys
 * is an alternative of its own, in which aliases, columns and join conditions fit each other.  A foreign key of several
 * columns joins by all of them: "column = column" becomes one equality for each, with AND between them.  Where there
 * are more than TEMPLATE_ALTERNATIVES alternatives, those whose tables the question speaks of stay.
 */
#ifndef DATA_PLAN_TEMPLATE_CONSTRAINT_H
#define DATA_PLAN_TEMPLATE_CONSTRAINT_H

#include "data/exec/column_values.h"
#include "data/schema/schema.h"

enum { TEMPLATE_ALTERNATIVES = 256, TEMPLATE_BYTES = 4 << 20 };

/* All borrowed. */
struct template_question {
    const struct schema *schema;
    const char *question;
    const struct column_values *values; /* of the database; NULL without */
};

/*
 * {"alternatives": [{"template", "slots"}, ...]}, the likelier first, as a file of constraints says it; names in lower
 * case and in quotes where SQL wants them, strings and numbers from the question, its near relatives and the values of
 * the database.  NULL with EXIT_CODE_DATA when the template is not UTF-8, has a word that is no SQL, or no choice of
 * tables fits it. The caller owns the reference.
 */
json_t *template_constraint(const struct template_question *q, const char *template, struct error *err);

#endif
