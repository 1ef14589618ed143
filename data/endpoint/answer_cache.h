/*
 * answer_cache.h - completions on disk, found by the hash of their request.
 *
 * The file is JSONL and only grows: each line has a key and the texts.  One call writes a whole line, so several
 * processes may append to one file.  An interrupted run keeps all completions that it received.  A cut last line is
 * removed.
 */
#ifndef DATA_ENDPOINT_ANSWER_CACHE_H
#define DATA_ENDPOINT_ANSWER_CACHE_H

#include "data/base/strings.h"
#include "data/endpoint/endpoint_text.h"

struct answer_cache {
    const char *path; /* borrowed; NULL: no cache */
    int fd;
    struct strings keys;
    struct answer_place {
        int64_t offset, length;
    } * places; /* [keys.n] */
    int cap;
};

enum { ANSWER_KEY = 33 }; /* bytes of a key with its NUL */

/* Opens the file, and makes it if it does not exist.  path may be NULL.  Returns -1 with err.  The caller closes the
 * cache in any case. */
int answer_cache_open(struct answer_cache *c, const char *path, struct error *err);
void answer_cache_close(struct answer_cache *c);

/* Writes the key of a request to a server. */
void answer_cache_key(char *key, const char *url, const json_t *request);
/* Whether the cache has a line of this key. */
bool answer_cache_has(const struct answer_cache *c, const char *key);
/* Reads the texts of a key.  Returns whether there were n of them. */
bool answer_cache_find(const struct answer_cache *c, const char *key, struct endpoint_text *texts, int n);
/* Appends the texts of a key.  Returns -1 with EXIT_CODE_FAILURE. */
int answer_cache_add(struct answer_cache *c, const char *key, const struct endpoint_text *texts, int n,
                     struct error *err);

#endif
