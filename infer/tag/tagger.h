/*
 * tagger.h - the taggers behind ambit-infer tag: strategies, databases, and a tagger for single questions.
 *
 * A strategy is a function that opens a struct tagger.  Callers use the struct alone and do not depend on the strategy.
 */
#ifndef INFER_TAG_TAGGER_H
#define INFER_TAG_TAGGER_H

#include "data/db/schema_catalog.h"
#include "data/span/tag_source.h"
#include "data/span/tagging.h"
#include "infer/tag/tag.h"

struct tagger {
    void *self;
    /* Tags n questions.  errors[i] is NULL, or the reason why question i has no answer; the caller frees errors and
     * answers.  Returns -1 with err when no question can be answered. */
    int (*tag)(void *self, struct tag_answer *answers, char **errors, const struct tag_question *questions, int n,
               struct error *err);
    void (*close)(void *self); /* accepts a tagger whose other fields are zero */
    uint64_t key;              /* hash of everything that answers depend on, except the question */
};

typedef int tagger_open_fn(struct tagger *t, const struct tag_request *q, struct error *err);

tagger_open_fn tagger_open; /* opens the strategy of the request; -1 with err */

/*
 * The databases that questions are about.  Each is read when a question first needs it, and again when it has changed.
 *
 * An index of values takes at most max_bytes.  Between two groups of questions the least recently used indexes are
 * dropped until all together take half of max_bytes; the newest one stays.  If an index takes more than half a second
 * to build and only rows change, it is kept for ten times its building time.  It thus stays useful while others write
 * to the database.
 */
struct tag_database {
    const struct schema *schema;
    char *path;              /* NULL: only the schema is known */
    uint64_t hash;           /* hash of the schema and of the files' sizes and times */
    int64_t serial, version; /* of the schema and of the rows (schema_catalog.h) */
    struct tag_source source;
    bool open;
    int64_t used;            /* clock at the last use */
    double read_at, seconds; /* time at which it was opened, and seconds that it took */
};

struct tag_databases {
    struct schema_catalog schemas;
    struct strings db_ids;
    struct tag_database **items; /* [db_ids.n] */
    int cap;
    int64_t max_bytes, clock;
};

int tag_databases_open(struct tag_databases *d, const char *schema, const char *db, int64_t max_bytes,
                       struct error *err);
/* Returns the database of a db_id, without reading its values, or NULL with err. */
struct tag_database *tag_databases_find(struct tag_databases *d, const char *db_id, const char *where,
                                        struct error *err);
/* Returns the source of a database and reads its values if needed, or NULL with err. */
struct tag_source *tag_database_source(struct tag_databases *d, struct tag_database *of, struct error *err);
/* Drops indexes as described above.  No source may be in use. */
void tag_databases_trim(struct tag_databases *d);
void tag_databases_close(struct tag_databases *d);

/* A tagger with its databases, kept in memory for single questions. */
struct question_tagger {
    struct tagger tagger;
    struct tag_databases databases;
};

/* Opens the strategy, model and databases of the request.  Returns -1 with err.  The caller closes it in any case; a
 * zeroed struct may be closed. */
int question_tagger_open(struct question_tagger *m, const struct tag_request *q, struct error *err);
void question_tagger_close(struct question_tagger *m);

/* Returns the line (tag_json()) of a record with "question" and "db_id" as a new reference, or NULL with err.  own: the
 * schema of the record, without values; NULL: the schema of its db_id. */
json_t *question_tagger_mark(struct question_tagger *m, const json_t *record, const struct schema *own,
                             const char *where, struct error *err);

#endif
