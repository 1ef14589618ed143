/*
 * table_corpus.h - reads questions about single tables with their SQL, as published.
 *
 * The corpora are WikiSQL (Zhong et al. 2017), and WikiTableQuestions (Pasupat and Liang 2015) with the SQL of Squall
 * (Shi et al. 2020).
 * Both corpora name columns by number, so their SQL needs no parser. A corpus owns its strings.
 */
#ifndef DATA_CORPORA_TABLE_CORPUS_H
#define DATA_CORPORA_TABLE_CORPUS_H

#include "data/base/json.h"
#include "data/base/strings.h"
#include "data/schema/schema.h"
#include "data/sql/sql_keyword.h"

enum {
    CORPUS_COLUMNS = 512, /* maximum of a table */
    CORPUS_VALUES = 256   /* distinct values that are kept of a column */
};

struct corpus_column {
    const char *name; /* with blanks for line breaks */
    enum column_type type;
    const char **values;
    int n_values, cap;
};

struct corpus_table {
    const char *id;
    struct corpus_column *columns;
    int n_columns;
};

/* A column that the SQL uses, and the value that it is compared with; NULL: none. */
struct corpus_use {
    int column;
    const char *value;
};

struct corpus_question {
    const char *text;
    int table;
    struct corpus_use *uses;
    int n_uses, cap;
    unsigned keywords; /* bits of enum sql_keyword */
};

struct table_corpus {
    struct corpus_table *tables;
    struct corpus_question *questions; /* in the order of the files */
    int n_tables, n_questions, tables_cap, questions_cap;
    struct strings ids, text; /* ids: of the tables, in their order */
};

/* Reads train, dev and test of WikiSQL that DIR has, at least one: train.jsonl with train.tables.jsonl and so on. -1
 * with EXIT_CODE_DATA naming file, line and field. The caller releases c in any case. */
int wikisql_read(struct table_corpus *c, const char *dir, struct error *err);
/* Reads Squall's release: DIR/data/squall.json with the questions and their SQL, and DIR/tables/json/ID.json with the
 * tables of WikiTableQuestions. Without squall.json all tables are read, without questions, and a warning says so. */
int squall_read(struct table_corpus *c, const char *dir, struct error *err);
void table_corpus_release(struct table_corpus *c);

/* For the readers. Adds a table with n columns without names; NULL with EXIT_CODE_DATA if the id is taken, or if there
 * are too few or too many columns. */
struct corpus_table *table_corpus_add_table(struct table_corpus *c, const char *id, int n, const char *where,
                                            struct error *err);
struct corpus_question *table_corpus_add_question(struct table_corpus *c, const char *text, int table);
void corpus_column_name(struct table_corpus *c, struct corpus_column *column, const char *name);
/* Adds a cell: a string or a number. Other types, empty texts and values beyond CORPUS_VALUES are ignored. */
void corpus_column_add(struct table_corpus *c, struct corpus_column *column, const json_t *cell);
void corpus_question_use(struct corpus_question *q, int column, const char *value);
/* The text of a string or number: 2004 for 2004.0. NULL for other types. */
const char *table_corpus_text(struct table_corpus *c, const json_t *value);

#endif
