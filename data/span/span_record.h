/*
 * span_record.h - questions whose words are marked: which name a column, which a value, which could be several, which
 * are nothing that the table has.
 *
 * One JSON object a line, written by `ambit-data counterfactual`; docs/reference/records.md has its fields.  Offsets
 * count code points, ends are exclusive.  A record that was read keeps the JSON that it came from, which owns its
 * strings: what writes records makes that JSON and reads it back, so that one place knows what a record may be.
 */
#ifndef DATA_SPAN_SPAN_RECORD_H
#define DATA_SPAN_SPAN_RECORD_H

#include "data/schema/schema.h"
#include "data/util/json.h"

/* COL and VAL name one thing; AMB could be several columns or values; UNK is none. */
enum span_label { SPAN_COL, SPAN_VAL, SPAN_AMB, SPAN_UNK, SPAN_LABELS };
/* "COL", "VAL", "AMB", "UNK". */
const char *span_label_name(enum span_label label);

/* A column, or one of its values. */
struct span_concept {
    int column;
    const char *value; /* NULL: the column itself */
};

struct marked_span {
    int start, end; /* code points of the question */
    enum span_label label;
    struct span_concept *alternatives; /* what it may mean: one of COL and VAL, more of AMB, none of UNK */
    int n_alternatives;
};

struct span_column {
    const char *table; /* NULL in a record about one table */
    const char *name;
    enum column_type type;
    const char **values; /* some of them, among them those that the question says */
    int n_values;
    const char *sql_table, *sql_name; /* as answers name them; NULL: by `table` and `name` */
    bool is_key;                      /* known to tell its table's rows apart all by itself */
};

struct span_record {
    const char *id, *source, *db_id, *question;
    const char *kind; /* how the table was edited: "plain" where it was not */
    int n_letters;    /* code points of the question */
    struct span_column *columns;
    struct marked_span *spans; /* in order, none over another */
    int n_columns, n_spans;
    json_t *json;
};

/* Takes the JSON, also on failure.  -1 with EXIT_CODE_DATA naming the field, its value and what was expected. */
int span_record_init(struct span_record *r, json_t *json, const char *where, struct error *err);
/* The same of its question and columns alone, for who asks about them; whatever else there is is left as it is. */
int span_record_init_question(struct span_record *r, json_t *json, const char *where, struct error *err);
void span_record_release(struct span_record *r);
/* Whether a span is AMB or UNK. */
bool span_record_is_problem(const struct span_record *r);

struct span_record_list {
    struct span_record *items;
    int n, cap;
};

/* All records of a file, added to the list.  The caller releases either way. */
int span_records_read(struct span_record_list *l, const char *path, struct error *err);
void span_records_release(struct span_record_list *l);

/* Code points of a text of n bytes. */
int text_letters(const char *text, size_t n);

#endif
