/*
 * schema_graph.h - a schema as a graph: one node per table, then one per column, and typed edges between them.
 *
 * Nodes are never merged by name and "*" is none of them.  Edges are unique: between two nodes in one direction there
 * is at most one, of the first type of the list below that applies; every node has a loop.  The thesis' other edge sets
 * are kept for comparison, and GRAPH_COMPAT, in which none of this holds, for parity with its released code.
 */
#ifndef DATA_SCHEMA_SCHEMA_GRAPH_H
#define DATA_SCHEMA_SCHEMA_GRAPH_H

#include "data/schema/schema.h"

enum schema_edge_type {
    EDGE_BELONGS, /* column -> its table, where EDGE_PK does not stand instead */
    EDGE_BELONGS_REV,
    EDGE_PK, /* table -> a column of its primary key */
    EDGE_PK_REV,
    EDGE_FK, /* referencing column -> referenced one */
    EDGE_FK_REV,
    EDGE_TFK, /* table -> table, as their columns */
    EDGE_TFK_REV,
    EDGE_SELF,
    EDGE_SIMILAR, /* names of two tables or two columns that look alike, both ways */
    SCHEMA_EDGE_TYPES
};

enum graph_mode {
    GRAPH_TYPED, /* every type: ambit's own */
    GRAPH_PAPER, /* pk, belongs and fk in one direction each, as the thesis' text has it */
    GRAPH_MONO,  /* pk, table -> column, fk, tfk in one direction, as its code has it */
    GRAPH_BI,    /* the same in both directions */
    GRAPH_COMPAT /* what its code really makes: GRAPH_BI with nodes merged by name and every edge but loops twice */
};

/* What GRAPH_COMPAT has a node for beside its elements' names; no edge but its loop is at it. */
#define SCHEMA_STAR "*"

struct schema_edge {
    int32_t source, target, type;
};

struct schema_graph {
    struct schema_edge *edges; /* by target, then source */
    int n_edges, n_nodes;
    int32_t *node; /* element (tables first, then columns) -> node; the identity but in GRAPH_COMPAT, which numbers
                      names in the order of their first elements, a "*" that is none of them behind them all */
    int n_elements;
};

/* Never fails; the caller releases.  Time and memory grow with tables + columns + keys, never with their square. */
void schema_graph_init(struct schema_graph *g, const struct schema *s, enum graph_mode mode);
/*
 * The ablation: n nodes with edges drawn at random, both directions of each, until there are at least mult * n (at most
 * half of all possible ones), then loops.  All have type EDGE_BELONGS but the loops.
 */
void schema_graph_init_random(struct schema_graph *g, int n, double mult, uint64_t seed);
/* Harmless on a zeroed struct. */
void schema_graph_release(struct schema_graph *g);

#endif
