/*
 * schema_input.h - a schema as a model reads it: the tokens of every element, the graph, the candidate pairs.
 *
 * Elements are numbered tables first, then columns, as in the schema, and each is a node of the graph; but in
 * GRAPH_REPRODUCTION, where all elements of one name are one node and "*" is one too: graph.node tells which.  Prepared
 * once per schema and then shared by all its questions and by all threads.
 */
#ifndef MODELS_GATEKEEPER_SCHEMA_INPUT_H
#define MODELS_GATEKEEPER_SCHEMA_INPUT_H

#include "data/schema/pair_match.h"
#include "data/schema/schema.h"
#include "data/schema/schema_graph.h"
#include "models/text/tokenizer.h"

/* Token ids of several texts in one array: text i is ids[start[i]] .. ids[start[i + 1] - 1]. */
struct token_table {
    int32_t *ids, *start;
    int n;
};

struct schema_input {
    const struct schema *schema;
    int n_nodes;
    int32_t *first;             /* [n_nodes] the node's first element; -1: it is "*" and has none */
    char **texts;               /* what the cross-encoder reads of a node; see schema_input_settings */
    struct token_table element; /* tokens of texts */
    struct token_table name;    /* tokens of the bare names, for the whole-schema encoding */
    int longest_element;        /* tokens of the longest text */
    int longest_names;          /* tokens of the longest column's name and its table's */
    struct schema_graph graph;
    int *group; /* [tables] schema_groups */
    struct schema_pair *pairs;
    int n_pairs;
    struct match_names *match; /* for the pairs; NULL where they are not wanted */
};

struct schema_input_settings {
    enum graph_mode graph;
    bool pairs; /* candidate pairs are wanted; there are none in GRAPH_REPRODUCTION, whose nodes are no elements */
    bool bare;  /* texts are names in lower case, as in GRAPH_REPRODUCTION; else "table", or "table : column : type" */
};

/* s must outlive the result. */
int schema_input_init(struct schema_input *in, const struct schema *s, const struct tokenizer *t,
                      const struct schema_input_settings *settings, struct error *err);
void schema_input_release(struct schema_input *in);

/* Table of a node's first element, or the table its column belongs to; -1 of "*". */
int schema_input_table(const struct schema_input *in, int node);

/* Whether the graph holds a name-similarity edge between two nodes. */
bool schema_input_similar(const struct schema_input *in, int a, int b);

#endif
