/*
 * sources.h - the databases and schemas that a handle of libambit has met, kept open between calls.
 *
 * The least recently used one is closed when SOURCES_MAX others are open.
 */
#ifndef INFER_API_SOURCES_H
#define INFER_API_SOURCES_H

#include "infer/tag/tagger.h"

enum { SOURCES_MAX = 32 };

struct api_source {
    char *key;                  /* text of "db" or "schema" of the requests */
    char *path;                 /* borrowed by the databases; NULL for a schema */
    struct question_tagger tag; /* its databases have the catalog of schemas; its tagger is borrowed */
    struct schema_set given;    /* a schema that the request brings along; empty if there is none */
    int64_t used;               /* clock at the last use */
};

struct api_sources {
    struct api_source *items[SOURCES_MAX];
    int n;
    int64_t clock, index_bytes; /* index_bytes: maximum memory for the values of a database */
    struct tagger tagger;       /* borrowed; zeroed for a detector */
};

/* Checks that a request has either "db" or "schema", of the right type.  Returns -1 with EXIT_CODE_USAGE. */
int source_check(const json_t *request, struct error *err);
/* Returns the source of a request with "db" or "schema", in a new turn (schema_catalog.h).  *closed tells whether
 * another one was closed for it.  Returns NULL with err. */
struct api_source *sources_find(struct api_sources *s, const json_t *request, bool *closed, struct error *err);
/* Returns the schema of a question.  record: with "db_id", which is added if the source has only one schema.  Returns
 * NULL with EXIT_CODE_DATA. */
const struct schema *source_schema(struct api_source *o, json_t *record, const char *where, struct error *err);
void sources_close(struct api_sources *s);

#endif
