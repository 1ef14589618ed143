/*
 * spider.h - the reader of Spider's questions (Yu et al., EMNLP 2018) and of AmbiQT's synonyms for Spider's schemas.
 */
#ifndef DATA_CORPORA_SPIDER_H
#define DATA_CORPORA_SPIDER_H

#include "data/base/strings.h"

#include <jansson.h>

struct spider_question {
    const char *db_id, *question, *query;
};

struct spider_corpus {
    struct spider_question *items; /* in file order */
    int n, cap;
    struct strings text;
};

/* Reads train_spider.json, dev.json or the same as JSONL. Other fields are ignored. Returns -1 with EXIT_CODE_DATA; the
 * message has file, record and field. The caller releases c in any case. */
int spider_read(struct spider_corpus *c, const char *path, struct error *err);
void spider_release(struct spider_corpus *c);

/* Two synonyms for each table or column of many databases. Keys are lower-cased. */
struct synonyms {
    struct strings keys, text;
    const char *(*pairs)[2];   /* [keys], in lower case */
    const char *(*written)[2]; /* [keys], as written in the file */
    int cap;
};

/* Reads {db: {table: {column: [one, two]}}} (two_col_synonyms.json) or {db: {table: [one, two]}}
 * (two_tbl_synonyms.json). If keys differ only in case, the last one counts. */
int synonyms_read(struct synonyms *s, const char *path, struct error *err);
/* The same for a parsed value; `path` opens the messages. */
int synonyms_from_json(struct synonyms *s, const json_t *all, const char *path, struct error *err);
/* Returns the two synonyms in lower case, or NULL. column is NULL for a table. Case of the names is ignored. */
const char *const *synonyms_find(const struct synonyms *s, const char *db_id, const char *table, const char *column);
/* Returns the two synonyms as written in the file, or NULL. */
const char *const *synonyms_written(const struct synonyms *s, const char *db_id, const char *table, const char *column);
void synonyms_release(struct synonyms *s);

#endif
