/*
 * span_record.h - questions with marked words: column names, values, ambiguous and unanswerable words.
 *
 * `ambit-data counterfactual` writes one JSON object a line; docs/reference/records.md describes the fields. Offsets
 * count code points, ends are exclusive. A record keeps its JSON, which owns the strings. Writers create the JSON and
 * read it back, so one place validates records.
 */
#ifndef DATA_SPAN_SPAN_RECORD_H
#define DATA_SPAN_SPAN_RECORD_H

#include "data/base/json.h"
#include "data/schema/schema.h"
#include "data/sql/sql_keyword.h"

/* COL and VAL have one meaning, AMB several columns or values, UNK none. */
enum span_label { SPAN_COL, SPAN_VAL, SPAN_AMB, SPAN_UNK, SPAN_LABELS };
/* "COL", "VAL", "AMB" or "UNK". */
const char *span_label_name(enum span_label label);

/* A column, or one of its values. */
struct span_concept {
    int column;
    const char *value; /* NULL: the column itself */
};

struct marked_span {
    int start, end; /* code points of the question */
    enum span_label label;
    struct span_concept *alternatives; /* meanings: one for COL and VAL, several for AMB, none for UNK */
    int n_alternatives;
};

struct span_column {
    const char *table; /* NULL in a record about one table */
    const char *name;
    enum column_type type;
    const char **values; /* examples, with those in the question */
    int n_values;
    const char *sql_table, *sql_name; /* names in answers; NULL: `table` and `name` */
    bool is_key;                      /* known to be unique in its table */
};

/* The concepts of a question's SQL: columns, values that the SQL compares, and keywords. */
struct sql_concepts {
    struct span_concept *items;
    int n;
    unsigned keywords; /* bits of enum sql_keyword */
};

struct span_record {
    const char *id, *source, *db_id, *question;
    const char *kind; /* the edit of the table, or "plain" */
    int n_letters;    /* code points of the question */
    struct span_column *columns;
    struct marked_span *spans; /* in order, without overlaps */
    int n_columns, n_spans;
    bool has_sql; /* the record has the concepts of its SQL */
    struct sql_concepts sql;
    json_t *json;
};

/* Takes the JSON, also on failure. -1 with EXIT_CODE_DATA naming the field, its value and the expectation. */
int span_record_init(struct span_record *r, json_t *json, const char *where, struct error *err);
/* The same for question and columns alone; other fields are ignored. */
int span_record_init_question(struct span_record *r, json_t *json, const char *where, struct error *err);
void span_record_release(struct span_record *r);
/* Whether a span is AMB or UNK. */
bool span_record_is_problem(const struct span_record *r);

struct span_record_list {
    struct span_record *items;
    int n, cap;
};

/* Adds all records of a file. The caller releases either way. */
int span_records_read(struct span_record_list *l, const char *path, struct error *err);
void span_records_release(struct span_record_list *l);

/* The number of code points in n bytes. */
int text_letters(const char *text, size_t n);

#endif
