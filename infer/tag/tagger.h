/*
 * tagger.h - what marks a question's words: a strategy, as the command drives it.
 *
 * A strategy is a function that opens one: it fills the struct, and the command neither knows nor asks what is behind.
 */
#ifndef INFER_TAG_TAGGER_H
#define INFER_TAG_TAGGER_H

#include "data/exec/schema_catalog.h"
#include "data/span/tag_source.h"
#include "data/span/tagging.h"
#include "infer/tag/tag.h"

struct tagger {
    void *self;
    /* Answers n questions, or says of one why it cannot: errors[i] is NULL else, the caller frees what is not, and
     * releases the answers.  -1 with err where nothing can be answered. */
    int (*tag)(void *self, struct tag_answer *answers, char **errors, const struct tag_question *questions, int n,
               struct error *err);
    void (*close)(void *self); /* also of a struct that is all zero otherwise */
    uint64_t key;              /* of all that answers follow from beside the question */
};

typedef int tagger_open_fn(struct tagger *t, const struct tag_request *q, struct error *err);

tagger_open_fn tagger_open; /* that of the request's strategy */

/* The databases that questions are about, each read when it is first asked about, and again when it
 * has changed.
 *
 * Each index of values takes at most max_bytes.  Between two groups of questions the least recently used ones are let
 * go until all together take half of that; the newest stays.
 *
 * An index that takes more than half a second to make is kept ten times as long while only rows change, so that a
 * database that is written to all the time can be asked about.
 */

struct tag_database {
    const struct schema *schema;
    char *path;              /* NULL: the schema alone is known */
    uint64_t sum;            /* of the schema, and of the files' sizes and times */
    int64_t serial, version; /* of the schema; of the rows when they were read (schema_catalog.h) */
    struct tag_source source;
    bool open;
    int64_t used;            /* the clock when it was last asked for */
    double read_at, seconds; /* when it was opened, and how long that took */
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
/* Of a db_id, its values not read yet; NULL with err. */
struct tag_database *tag_databases_find(struct tag_databases *d, const char *db_id, const char *where,
                                        struct error *err);
/* Reads the values if that was not done.  NULL with err. */
struct tag_source *tag_database_source(struct tag_databases *d, struct tag_database *of, struct error *err);
/* To be called where no source is in use. */
void tag_databases_trim(struct tag_databases *d);
void tag_databases_close(struct tag_databases *d);

/* A tagger that is kept in memory and asked about one question after another, as they come.
 *
 * Values of databases are read when one is first asked about.
 */

struct question_tagger {
    struct tagger tagger;
    struct tag_databases databases;
};

/* By the request's strategy, model, thresholds, databases and memory.  -1 with err; close in any case, a zeroed struct
 * too. */
int question_tagger_open(struct question_tagger *m, const struct tag_request *q, struct error *err);
void question_tagger_close(struct question_tagger *m);

/* The line (tag_json) of a record with "question" and "db_id", a new reference; NULL with err.  own: the schema that
 * the record brought along, whose values are not known; NULL: that of its db_id. */
json_t *question_tagger_mark(struct question_tagger *m, const json_t *record, const struct schema *own,
                             const char *where, struct error *err);

#endif
