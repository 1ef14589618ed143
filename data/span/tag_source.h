/*
 * tag_source.h - what questions are asked about: columns as a tagger has them, and the indexes of their values.
 *
 * Out of a schema and its database, or of a record that brings its columns along.  Models read the names in words; the
 * names in SQL are for answers.  A view that shows nothing but columns of one table is left out.  Values are read for
 * 30 seconds at most, or half of what the calling thread has left (stop.h), those of a view for 2; a warning
 * names what was not read.
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
    struct span_column *own; /* of a schema: the columns and */
    const char **examples;   /* [n_columns * TAG_EXAMPLES] some of their values */
    struct strings text;
};

/* path: the database, whose texts and numbers are indexed, or NULL; both are needed only here and the schema's strings
 * as long as the source.  A table that cannot be read is passed over with a warning.  -1 with EXIT_CODE_DATA where the
 * file is no database, or the calling thread's work has ended.  The caller releases either way. */
int tag_source_open(struct tag_source *x, const struct schema *s, const char *path, int64_t max_bytes,
                    struct error *err);
/* Columns that somebody else has, and the values among them. */
void tag_source_of(struct tag_source *x, const struct span_column *columns, int n_columns);
void tag_source_close(struct tag_source *x);
/* The memory that its values and numbers take. */
int64_t tag_source_bytes(const struct tag_source *x);

/* What a question says of the values. */
struct tag_matches {
    struct value_matches values;
    struct number_matches numbers;
};
void tag_matches_release(struct tag_matches *m);

/* What a tagger is asked of it, good as long as the matches. */
struct tag_question tag_source_ask(struct tag_source *x, const char *question, struct tag_matches *m);

#endif
