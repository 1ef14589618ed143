/*
 * counterfactual_read.h - reads questions and tables of all sources, and decides which columns and values may be
 * edited.
 *
 * struct counterfactual is the state of one run. It owns all strings, tables and records.
 */
#ifndef DATA_SYNTH_COUNTERFACTUAL_READ_H
#define DATA_SYNTH_COUNTERFACTUAL_READ_H

#include "data/base/strings.h"
#include "data/corpora/dataset.h"
#include "data/corpora/spider.h"
#include "data/corpora/table_corpus.h"
#include "data/span/span_record.h"
#include "data/synth/counterfactual.h"
#include "kernels/rng.h"

struct modifier_pair {
    int head; /* index in header_pool.heads; -1: fits every name of the type */
    enum column_type type;
    const char *words[2];
};

/* Modifiers of a common head in headers of tables: home team, away team. */
struct header_pool {
    struct strings heads, seen, text;
    struct modifier_pair *items;
    int n, cap;
};

/* Two alternative names of a column, with its group of tables. */
struct listed_pair {
    int name; /* index in synonym_pool.names */
    int group;
    const char *const *names;
};

struct synonym_pool {
    struct synonyms dictionary;
    struct strings names; /* names of columns, by counterfactual_plain */
    struct listed_pair *items;
    int n, cap;
};

enum {
    ASKED_COLUMNS = 128, /* maximum of a table; wider ones are rejected */
    ASKED_VALUES = 8,    /* maximum of a question */
    EDITED_VALUES = 8,   /* maximum of a column in a record */
    KNOWN_VALUES = 256   /* maximum of a column's cells that are looked at */
};

struct asked_column {
    const char *name, *table;    /* table: NULL in a single table */
    const char *const *synonyms; /* the dictionary's two names, or NULL */
    enum column_type type;
    const char **values; /* distinct values */
    int n_values, cap;
};

/* A table with its questions. Tables of WikiSQL and WikiTableQuestions with the same header are one table. All columns
 * of a Spider database form another table, for questions about several tables. */
struct asked_table {
    struct asked_column *columns;
    int n_columns;
    bool whole; /* a database */
    int group;  /* tables of one group share a split; see counterfactual_split */
    int *questions;
    int n_questions, cap;
};

struct asked_value {
    int column, start, end;
    const char *text; /* as in the table */
};

/* A value that the SQL compares with a column, whether the question contains it or not. */
struct stated_value {
    int column;
    const char *text;
};

struct asked_question {
    const char *source, *db_id, *text;
    int table;
    bool used[ASKED_COLUMNS];
    bool joined[ASKED_COLUMNS];    /* used in a join only, so not mentioned */
    bool unlocated[ASKED_COLUMNS]; /* compared with a value that the question does not contain */
    bool editable[ASKED_COLUMNS];  /* counterfactual_may_edit, once all sources are read */
    struct asked_value values[ASKED_VALUES];
    struct stated_value stated[ASKED_VALUES];
    int n_values, n_stated;
    unsigned keywords;        /* of the SQL: bits of enum sql_keyword */
    int request, request_end; /* code points of a request beyond SQL; 0: none */
    bool plain;               /* has a record on its unedited table */
    bool test;                /* from a file for testing only */
};

struct counterfactual_counts {
    int64_t problem[SPAN_LABELS], control;
};

enum { COUNTED_SOURCES = 4 };

/* EDIT_CALCULATION adds the result of a calculation as a column. EDIT_REQUEST edits the question alone. */
enum table_edit {
    EDIT_NONE,
    EDIT_DOUBLED,
    EDIT_REPLACED,
    EDIT_DELETED,
    EDIT_COPIED,
    EDIT_MISSING,
    EDIT_CALCULATION,
    EDIT_REQUEST,
    TABLE_EDITS
};

struct counterfactual {
    const struct counterfactual_options *options;
    struct rng rng;
    struct strings text, synonyms; /* synonyms: pairs of names from counterfactual_add_synonym */
    struct asked_table *tables;
    struct asked_question *questions;
    int n_tables, n_questions, tables_cap, questions_cap;
    struct strings table_keys, asked;
    struct header_pool pool;
    struct synonym_pool listed;
    struct strings edited; /* keys of edited tables */
    int *edited_split;
    int edited_cap;
    int *split; /* [n_tables] split of each group */
    json_t *records[SPLITS];
    int64_t rejected; /* questions whose columns are unknown */
    struct counterfactual_counts counts[COUNTED_SOURCES][TABLE_EDITS];
    int number; /* of the newest record */
};

/* Reads the questions and headers of all sources that the options name. Returns -1 with EXIT_CODE_DATA. */
int counterfactual_read(struct counterfactual *c, struct error *err);
/* Returns the text in lower case with single blanks. c keeps it. */
const char *counterfactual_plain(struct counterfactual *c, const char *text);
/* Returns the name with blanks for underscores. c keeps it. */
const char *counterfactual_blanks(struct counterfactual *c, const char *name);
/* Finds the words of the question that name the column. Returns false if there are none. */
bool asked_mention(const struct asked_table *t, const struct asked_question *q, int column, int *start, int *end);
/* Returns true if the column can be doubled or deleted: the question names it, compares it with no value, and its words
 * fit nothing else. */
bool counterfactual_may_edit(const struct counterfactual *c, const struct asked_question *q, int column);
/* Returns true if edits of the column do not change the question's meaning. */
bool counterfactual_unrelated(const struct counterfactual *c, const struct asked_question *q, int column);
/* Returns true if this value of the question can be copied or deleted. */
bool counterfactual_may_edit_value(const struct counterfactual *c, const struct asked_question *q, int value);

#endif
