/*
 * yaml_tree.h - a YAML file of mappings and lists, for plans that a flat table of options does not hold.
 *
 * Anchors, aliases, tags, several documents and keys that are no words are refused, as are empty values and those of
 * more than one line, so that a tree is never larger than its file.
 */
#ifndef DATA_CLI_YAML_TREE_H
#define DATA_CLI_YAML_TREE_H

#include "data/cli/yaml.h"

enum { YAML_TREE_DEPTH = 8 };
enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAPPING };

struct yaml_place {
    size_t line, column; /* from 1 */
};

struct yaml_tree {
    enum yaml_kind kind;
    struct yaml_place key_at, at;
    char *key;  /* in a mapping, where each key stands once; else NULL */
    char *text; /* of a scalar */
    struct yaml_tree *children;
    int n, cap;
};

/* -1 with EXIT_CODE_USAGE naming line and column.  The caller releases either way. */
int yaml_tree_read(struct yaml_tree *t, const char *path, struct error *err);
void yaml_tree_release(struct yaml_tree *t);

/* Sets the options that a mapping names, but for the key `skip` (NULL: none); as yaml_read. */
int yaml_tree_set(const struct yaml_tree *mapping, const char *path, const char *skip, const struct option *table,
                  void *settings, struct texts *texts, struct error *err);

/* -1 with EXIT_CODE_USAGE, "path:line:column: ...". */
int yaml_tree_fail(const char *path, struct yaml_place at, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
