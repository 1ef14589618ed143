/*
 * marker.h - a tagger that is kept in memory and asked about one question after another, as they come.
 *
 * Values of databases are read when one is first asked about (tag_databases.h).
 */
#ifndef INFER_TAG_MARKER_H
#define INFER_TAG_MARKER_H

#include "infer/tag/tag.h"
#include "infer/tag/tag_databases.h"
#include "infer/tag/tagger.h"

struct marker {
    struct tagger tagger;
    struct tag_databases databases;
};

/* By the request's strategy, model, thresholds, databases and memory.  -1 with err; close in any case, a zeroed struct
 * too. */
int marker_open(struct marker *m, const struct tag_request *q, struct error *err);
void marker_close(struct marker *m);

/* The line (tag_json) of a record with "question" and "db_id", a new reference; NULL with err.  own: the schema that
 * the record brought along, whose values are not known; NULL: that of its db_id. */
json_t *marker_mark(struct marker *m, const json_t *record, const struct schema *own, const char *where,
                    struct error *err);

#endif
