/*
 * schema_ask.h - template questions about a schema, labelled by that schema.
 *
 * Every schema variant of a database gets the same questions: "What is the total amount of each order?" is ambiguous
 * if orders have a stored total besides their lines, and unambiguous otherwise. Templates ask for a column of two
 * neighbouring tables or the other end of a key with two roles. Others ask for stored sums and counts, or for a person
 * in one of two tables. Each template has unambiguous forms that name the table or the role.
 */
#ifndef DATA_SYNTH_SCHEMA_ASK_H
#define DATA_SYNTH_SCHEMA_ASK_H

#include "data/base/strings.h"
#include "data/schema/ambiguity_type.h"
#include "data/schema/schema.h"
#include "kernels/rng.h"

struct schema_ask {
    const char *text;
    const char *group;  /* equal for a question and its unambiguous forms */
    const char *reason; /* of its ambiguity */
    enum sia_type type;
    bool ambiguous, named;                /* named: an unambiguous form on every schema */
    const char *sql[2], *alternatives[2]; /* NULL as second: unambiguous */
};

/* A list of questions. Zero-initialise it and set text, which keeps the strings. */
struct schema_asks {
    struct schema_ask *items;
    int n, cap;
    struct strings *text;
};

/* Adds the questions of a schema in a fixed order, without duplicates. */
void schema_asks_find(struct schema_asks *a, const struct schema *s);

enum { ASKING_WORDS = 3 /* maximum number of words of a name in a template */ };

/* The state of filling one group of templates. out->text keeps the texts. */
struct asking {
    struct schema_asks *out;
    const struct schema *s;
    struct rng rng; /* of the group, so that every schema gets the same words */
};

const char *asking_printf(struct asking *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Opens a group and returns its name. From here on, every schema gets the same random numbers. */
const char *asking_open(struct asking *a, const char *kind, const char *x, const char *y);
const char *asking_draw(struct asking *a, const char *const *list, int n);
/* Fills the pattern (%c: column, %t: table, %s: its plural) and draws a style. */
const char *asking_fill(struct asking *a, const char *pattern, const char *column, const char *one, const char *many);

/* Returns the number of words of a text. */
int asking_count(const char *text);
/* Returns true if a template can name the table. */
bool asking_can_say(const struct schema *s, int table);
/* Return the words of a table in the singular and in the plural, and those of a column without its table's. */
const char *asking_one(struct asking *a, int table);
const char *asking_many(struct asking *a, int table);
const char *asking_own(const struct schema *s, int column);
/* Returns true if a sum of the column's values makes sense, as of amounts and hours. */
bool asking_can_add(const struct schema *s, int column);
/* Return names as written in a statement. */
const char *asking_column(struct asking *a, int column);
const char *asking_table(struct asking *a, int table);

/* Returns the table's column with these own words. -1: none; -2: none, but another column has the same last word. */
int asking_holder(const struct schema *s, int table, const char *own);
/* Returns the column that identifies rows in a result. */
int asking_label(const struct schema *s, int table);

/* Returns the question in a random style, usually unchanged. text keeps it. */
const char *wording_restyle(struct strings *text, const char *question, struct rng *rng);

#endif
