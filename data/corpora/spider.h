/*
 * spider.h - Spider's questions, and the synonym dictionaries that AmbiQT made for its schemas.
 */
#ifndef DATA_CORPORA_SPIDER_H
#define DATA_CORPORA_SPIDER_H

#include "data/util/strings.h"

struct spider_question {
    const char *db_id, *question, *query;
};

struct spider_corpus {
    struct spider_question *items; /* in file order */
    int n, cap;
    struct strings text;
};

/* Reads train_spider.json, dev.json or the same as JSONL; fields other than the three are skipped.  -1 with
 * EXIT_CODE_DATA naming file, record and field.  Either way the caller releases. */
int spider_read(struct spider_corpus *c, const char *path, struct error *err);
void spider_release(struct spider_corpus *c);

/* Two synonyms for each table or column of many databases; keys are lower-cased on reading. */
struct synonyms {
    struct strings keys, text;
    const char *(*pairs)[2];   /* one for each key, in lower case */
    const char *(*written)[2]; /* the same as the file has them */
    int cap;
};

/* {db: {table: {column: [one, two]}}} as in two_col_synonyms.json, or {db: {table: [one, two]}} as in
 * two_tbl_synonyms.json.  Of two keys that differ in case alone the later counts. */
int synonyms_read(struct synonyms *s, const char *path, struct error *err);
/* The two synonyms in lower case, or NULL; column is NULL for a table.  All three names may be in any case. */
const char *const *synonyms_find(const struct synonyms *s, const char *db_id, const char *table, const char *column);
/* The same as the file has them. */
const char *const *synonyms_written(const struct synonyms *s, const char *db_id, const char *table, const char *column);
void synonyms_release(struct synonyms *s);

#endif
