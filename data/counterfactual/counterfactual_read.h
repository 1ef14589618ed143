/*
 * counterfactual_read.h - what the parts of counterfactual.h share: questions, tables, edits.
 */
#ifndef DATA_COUNTERFACTUAL_COUNTERFACTUAL_READ_H
#define DATA_COUNTERFACTUAL_COUNTERFACTUAL_READ_H

#include "data/corpora/dataset.h"
#include "data/corpora/spider.h"
#include "data/counterfactual/counterfactual.h"
#include "data/span/span_record.h"
#include "data/util/strings.h"
#include "kernels/rng.h"

struct modifier_pair {
    int head; /* number of a stem in header_pool.heads, -1: fits every name of the type */
    enum column_type type;
    const char *words[2];
};

/* Words before another in two headers of a table: home team, away team. */
struct header_pool {
    struct strings heads, seen, text;
    struct modifier_pair *items;
    int n, cap;
};

/* Two other names of a column, and in which group of tables. */
struct listed_pair {
    int name; /* in synonym_pool.names */
    int group;
    const char *const *names;
};

struct synonym_pool {
    struct synonyms dictionary;
    struct strings names; /* those of columns, counterfactual_plain */
    struct listed_pair *items;
    int n, cap;
};

enum {
    ASKED_COLUMNS = 128, /* of one table; wider ones are left out */
    ASKED_VALUES = 8,    /* of one question */
    EDITED_VALUES = 8    /* of one column, in a record */
};

struct asked_column {
    const char *name, *table;    /* table: NULL where there is one */
    const char *const *synonyms; /* two other names that the dictionary has for it, or NULL */
    enum column_type type;
    const char **values; /* all that are known, distinct */
    int n_values, cap;
};

/* Questions of WikiSQL's tables that have the same header are questions of one table.  All columns of a database of
 * Spider are another table, for questions about several. */
struct asked_table {
    struct asked_column *columns;
    int n_columns;
    bool whole; /* a database */
    int group;  /* tables of a group stand in one fold; see counterfactual_split */
    int *questions;
    int n_questions, cap;
};

struct asked_value {
    int column, start, end;
    const char *text; /* as the table has it */
};

struct asked_question {
    const char *source, *db_id, *text;
    int table;
    bool used[ASKED_COLUMNS];
    bool joined[ASKED_COLUMNS];    /* needed, and not said */
    bool unlocated[ASKED_COLUMNS]; /* compared to a value that the question does not show */
    bool editable[ASKED_COLUMNS];  /* counterfactual_may_edit, once all is read */
    struct asked_value values[ASKED_VALUES];
    int n_values;
    bool test; /* from a file that is for tests alone */
};

struct counterfactual_counts {
    int64_t problem[SPAN_LABELS], control;
};

enum { COUNTED_SOURCES = 3, EDIT_KINDS = 6 };

enum edit_kind { EDIT_NONE, EDIT_DOUBLED, EDIT_REPLACED, EDIT_DELETED, EDIT_COPIED, EDIT_MISSING };

struct counterfactual {
    const struct counterfactual_options *options;
    struct rng rng;
    struct strings text, synonyms; /* synonyms: pairs of names that mean the same, see counterfactual_add_synonym */
    struct asked_table *tables;
    struct asked_question *questions;
    int n_tables, n_questions, tables_cap, questions_cap;
    struct strings table_keys, asked;
    struct header_pool pool;
    struct synonym_pool listed;
    struct strings edited; /* keys of edited tables */
    int *edited_fold;
    int edited_cap;
    int *fold; /* of each group */
    json_t *records[FOLDS];
    int64_t left_out; /* records that name no used column */
    struct counterfactual_counts counts[COUNTED_SOURCES][EDIT_KINDS];
    int number; /* of the newest record */
};

/* The questions and headers of all sources that the options name. */
int counterfactual_read(struct counterfactual *c, struct error *err);
/* Lower case, blanks as one, kept. */
const char *counterfactual_plain(struct counterfactual *c, const char *text);
/* With blanks for underscores, kept. */
const char *counterfactual_blanks(struct counterfactual *c, const char *name);
/* The words of the question that name the column, or false. */
bool asked_mention(const struct asked_table *t, const struct asked_question *q, int column, int *start, int *end);
/* Whether the column can be doubled or deleted: named, not compared to a value, nothing else like what is said. */
bool counterfactual_may_edit(const struct counterfactual *c, const struct asked_question *q, int column);
/* Whether the question keeps its meaning whatever becomes of the column. */
bool counterfactual_unrelated(const struct counterfactual *c, const struct asked_question *q, int column);
/* Whether a value of the question can be copied or deleted. */
bool counterfactual_may_edit_value(const struct counterfactual *c, const struct asked_question *q, int value);

#endif
