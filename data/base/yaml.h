/*
 * yaml.h - config files: YAML mappings of option names to values, read into the struct of an option table.
 *
 * Keys and values are those of the command line: "lr: 1e-4" is --lr 1e-4, and '_' and '-' are the same.  One level of
 * nesting joins names: "graph: { lr: 1e-4 }" is --graph-lr 1e-4.  The type of the option decides how a value is read,
 * not YAML's type rules.  Anchors, aliases, tags, lists, deeper nesting and several documents are refused.
 *
 * Bad files fail with EXIT_CODE_USAGE.
 */
#ifndef DATA_BASE_YAML_H
#define DATA_BASE_YAML_H

#include "data/base/options.h"

enum { YAML_MAX_BYTES = 1 << 20 };

/* Strings of a config file, which the caller keeps as long as the settings. */
struct texts {
    char **items;
    int n, cap;
};
const char *texts_add(struct texts *t, const char *s);
void texts_release(struct texts *t);

/*
 * Sets the options that the file contains and leaves the others unchanged; seen (may be NULL) becomes true for each of
 * them.  -1 with EXIT_CODE_USAGE and a message such as "train.yaml:12:7: lr: expected > 0, got -1".  For an unknown
 * key, the message suggests the closest option.
 */
int yaml_read(const char *path, const struct option *table, void *settings, bool *seen, struct texts *texts,
              struct error *err);
/* The same for a text in memory; name replaces the path in messages. */
int yaml_read_text(const char *name, const char *text, size_t size, const struct option *table, void *settings,
                   bool *seen, struct texts *texts, struct error *err);

/* Writes all options in the order of the table, except OPTION_CONFIG, OPTION_PRESET and strings without a value.
 * Reading the file restores the settings. */
int yaml_write(const char *path, const struct option *table, const void *settings, struct error *err);

/*
 * A YAML file of nested mappings and lists, for settings that do not fit into a flat table.
 *
 * Anchors, aliases, tags, several documents and keys other than plain words are refused, as are empty values and values
 * of several lines.  A tree is therefore never larger than its file.
 */
enum { YAML_TREE_DEPTH = 8 };
enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAPPING };

struct yaml_place {
    size_t line, column; /* from 1 */
};

struct yaml_tree {
    enum yaml_kind kind;
    struct yaml_place key_at, at;
    char *key;  /* in a mapping, whose keys are distinct; otherwise NULL */
    char *text; /* value of a scalar */
    struct yaml_tree *children;
    int n, cap;
};

/* -1 with EXIT_CODE_USAGE naming line and column.  The caller releases the tree also on failure. */
int yaml_tree_read(struct yaml_tree *t, const char *path, struct error *err);
void yaml_tree_release(struct yaml_tree *t);

/* Sets the options that a mapping names, except the key `skip` (may be NULL), like yaml_read. */
int yaml_tree_set(const struct yaml_tree *mapping, const char *path, const char *skip, const struct option *table,
                  void *settings, struct texts *texts, struct error *err);

/* Sets the error "path:line:column: ..." and returns -1 with EXIT_CODE_USAGE. */
int yaml_tree_fail(const char *path, struct yaml_place at, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
