/*
 * schema_input.h - a schema as a model reads it: tokens of all elements, the graph, and the candidate pairs.
 *
 * Elements are numbered as in the schema, tables first, then columns. Each element is a node of the graph. In
 * GRAPH_REPRODUCTION, elements with the same name are one node, and "*" is a node too; graph.node maps elements to
 * nodes. An input is prepared once for a schema and shared by all its questions and all threads.
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
    int32_t *first;             /* [n_nodes] first element of the node; -1: the node "*" */
    char **texts;               /* text of each node for the cross-encoder, see schema_input_settings */
    struct token_table element; /* tokens of texts */
    struct token_table name;    /* tokens of the bare names, for the encoding of whole schemas */
    int longest_element;        /* tokens of the longest text */
    int longest_names;          /* tokens of the longest column name and its table's name */
    struct schema_graph graph;
    int *group; /* [tables] schema_groups */
    struct schema_pair *pairs;
    int n_pairs;
    struct match_names *match; /* for the pairs; NULL without pairs */
};

struct schema_input_settings {
    enum graph_mode graph;
    bool pairs; /* with candidate pairs; GRAPH_REPRODUCTION has none, since its nodes are not elements */
    bool bare;  /* texts are lower-case names, as in GRAPH_REPRODUCTION; else "table" or "table : column : type" */
};

/* Prepares a schema, which must outlive the result. -1 with EXIT_CODE_DATA. */
int schema_input_init(struct schema_input *in, const struct schema *s, const struct tokenizer *t,
                      const struct schema_input_settings *settings, struct error *err);
void schema_input_release(struct schema_input *in);

/* Table of a node's first element, or of its column; -1 for "*". */
int schema_input_table(const struct schema_input *in, int node);

/* Whether an edge of the graph connects two nodes with similar names. */
bool schema_input_similar(const struct schema_input *in, int a, int b);

#endif
