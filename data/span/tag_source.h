/*
 * tag_source.h - the columns that a tagger sees, with indexes of their values.
 *
 * A source is made from a schema and its database, or from the columns of a record. Models read names in words;
 * answers use SQL names. Views that only show columns of one table are omitted. Reading values takes at most 30
 * seconds, or half of the thread's remaining time (stop.h), and 2 seconds for a view; a warning names unread
 * tables.
 */
#ifndef DATA_SPAN_TAG_SOURCE_H
#define DATA_SPAN_TAG_SOURCE_H

#include "data/schema/schema.h"
#include "data/span/number_match.h"
#include "data/span/value_match.h"

struct tag_source {
    const struct span_column *columns;
    int n_columns;
    struct value_index index;
    struct number_index numbers;
    bool has_values;             /* values are known, at least some of them */
    const struct schema *schema; /* of which the columns are; or NULL */
    bool lasting;                /* the schema belongs to its db_id; set by the caller */
    struct span_column *own;     /* columns made from a schema */
    const char **examples;       /* [n_columns * TAG_EXAMPLES] examples of their values */
    struct strings text;
};

/* Reads a schema and its database at path, or no values if path is NULL. The source borrows the schema's strings.
 * Unreadable tables are skipped with a warning. -1 with EXIT_CODE_DATA: not a database, or the thread's work has
 * ended. The caller releases either way. */
int tag_source_open(struct tag_source *x, const struct schema *s, const char *path, int64_t max_bytes,
                    struct error *err);
/* Borrows columns with their values. */
void tag_source_of(struct tag_source *x, const struct span_column *columns, int n_columns);
void tag_source_close(struct tag_source *x);
/* The memory of values and numbers. */
int64_t tag_source_bytes(const struct tag_source *x);

/* The values and numbers in a question. */
struct tag_matches {
    struct value_matches values;
    struct number_matches numbers;
};
void tag_matches_release(struct tag_matches *m);

/* Makes the question for a tagger; valid as long as the matches. */
struct tag_question tag_source_ask(struct tag_source *x, const char *question, struct tag_matches *m);

#endif
