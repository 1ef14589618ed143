/* exec_key.h - which queries are the same: the same bytes of a database, the same canonical text. */
#ifndef DATA_EXEC_EXEC_KEY_H
#define DATA_EXEC_EXEC_KEY_H

#include "data/schema/schema.h"
#include "data/util/strings.h"
#include "kernels/arena.h"

struct exec_keys {
    struct strings paths, texts;
    struct exec_database {
        uint64_t hash;            /* 0: the file cannot be read */
        struct schema_set schema; /* empty when there is none */
    } * databases;                /* one for each path */
    int n, cap;
    struct arena arena;
};

/* A zeroed struct is ready. */
void exec_keys_release(struct exec_keys *k);
/* The number of a query, counted from 0 in order of arrival; -1 with EXIT_CODE_MEMORY. */
int exec_keys_find(struct exec_keys *k, const char *path, const char *sql, struct error *err);
uint64_t exec_keys_hash(struct exec_keys *k, const char *path);

#endif
