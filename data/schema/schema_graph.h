/*
 * schema_graph.h - a schema as a graph: a node for each table, then one for each column, with typed edges.
 *
 * Nodes are not merged by name and "*" is not a node.  Edges are unique: from one node to another there is at most one
 * edge, of the first type below that applies.  Every node has a loop.  Other modes reproduce the edge sets of Skadborg
 * and Mortensen (Aalborg University).  GRAPH_REPRODUCTION reproduces their released code, where none of these rules
 * hold.
 *
 * The caller releases graphs.  Nothing fails.
 */
#ifndef DATA_SCHEMA_SCHEMA_GRAPH_H
#define DATA_SCHEMA_SCHEMA_GRAPH_H

#include "data/schema/schema.h"

enum schema_edge_type {
    EDGE_BELONGS, /* column -> its table, unless EDGE_PK applies */
    EDGE_BELONGS_REV,
    EDGE_PK, /* table -> column of its primary key */
    EDGE_PK_REV,
    EDGE_FK, /* referencing column -> referenced column */
    EDGE_FK_REV,
    EDGE_TFK, /* referencing table -> referenced table */
    EDGE_TFK_REV,
    EDGE_SELF,
    EDGE_SIMILAR, /* two tables or two columns with similar names, both ways */
    SCHEMA_EDGE_TYPES
};

enum graph_mode {
    GRAPH_TYPED,       /* all types: ambit's own graph */
    GRAPH_PAPER,       /* pk, belongs and fk in one direction each, as in the text of Skadborg and Mortensen */
    GRAPH_MONO,        /* pk, table -> column, fk, tfk in one direction, as in their code */
    GRAPH_BI,          /* the same in both directions */
    GRAPH_REPRODUCTION /* the effective graph of their code: GRAPH_BI with nodes merged by name and every edge but loops
                        * twice
                        */
};

/* GRAPH_REPRODUCTION adds a node of this name, which has a loop only. */
#define SCHEMA_STAR "*"

struct schema_edge {
    int32_t source, target, type;
};

struct schema_graph {
    struct schema_edge *edges; /* sorted by target, then source */
    int n_edges, n_nodes;
    int32_t
        *node; /* element (tables first, then columns) -> node; the identity except in GRAPH_REPRODUCTION.  There, names
                  are numbered in the order of their first elements.  A "*" that is no element's name comes last. */
    int n_elements;
};

/* The caller releases the graph.  Time and memory grow linearly with tables, columns and keys. */
void schema_graph_init(struct schema_graph *g, const struct schema *s, enum graph_mode mode);
/*
 * A random graph for ablations.  It has n nodes and random edges in both directions until there are at least mult * n
 * edges, but at most half of all possible ones; then loops.  All edges except loops have type EDGE_BELONGS.
 */
void schema_graph_init_random(struct schema_graph *g, int n, double mult, uint64_t seed);
/* Harmless on a zeroed struct. */
void schema_graph_release(struct schema_graph *g);

#endif
