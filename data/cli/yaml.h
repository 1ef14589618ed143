/*
 * yaml.h - config files: a mapping of option names to values, read into the struct that a table of options fills.
 *
 * The file speaks the language of the command line: "lr: 1e-4" is --lr 1e-4 ('_' and '-' are the same), and one level
 * of nesting joins names, so "graph: { lr: 1e-4 }" is --graph-lr 1e-4.  Values are read by the option's type and not by
 * YAML's guess.  Anchors, aliases, tags, lists, deeper nesting and several documents are refused.
 */
#ifndef DATA_CLI_YAML_H
#define DATA_CLI_YAML_H

#include "data/cli/options.h"

enum { YAML_MAX_BYTES = 1 << 20 };

/* Strings read from a file, which must live as long as the settings. */
struct texts {
    char **items;
    int n, cap;
};
const char *texts_add(struct texts *t, const char *s);
void texts_release(struct texts *t);

/*
 * Sets what the file holds and leaves the rest; seen (may be NULL) gets true for every option set.  -1 with
 * EXIT_CODE_USAGE: "train.yaml:12:7: lr: must be > 0, not -1"; unknown keys are answered with the nearest known one.
 */
int yaml_read(const char *path, const struct option *table, void *settings, bool *seen, struct texts *texts,
              struct error *err);
/* The same from memory; name stands for the path in messages. */
int yaml_read_text(const char *name, const char *text, size_t size, const struct option *table, void *settings,
                   bool *seen, struct texts *texts, struct error *err);

/* Writes every option but OPTION_CONFIG, OPTION_PRESET and unset strings, in the table's order; reading it gives the
 * same settings. */
int yaml_write(const char *path, const struct option *table, const void *settings, struct error *err);

/*
 * A YAML file of mappings and lists, for plans that a flat table of options does not hold.
 *
 * Anchors, aliases, tags, several documents and keys that are no words are refused, as are empty values and those of
 * more than one line, so that a tree is never larger than its file.
 */
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
