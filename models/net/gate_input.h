/*
 * gate_input.h - what GATekeeper reads of a batch (gatekeeper.h): texts, and the graphs of their schemas.
 */
#ifndef MODELS_NET_GATE_INPUT_H
#define MODELS_NET_GATE_INPUT_H

#include "models/net/bert.h"

enum { GATE_RELATIONS_MAX = 16 };

/* Text of a batch.  Wanted rows are the [CLS] rows, or the tokens of the elements' spans in order of the text. */
struct gate_text {
    struct bert_input bert;
    struct index rows;
    struct seqs spans;       /* schema: wanted rows of each span; n = 0 when every span is one row */
    struct index place;      /* schema: which span is node i's */
    struct index question;   /* schema, linguistic: which span is the question's, before node i's */
    struct tensor *mentions; /* schema: F32 [N, ELEMENT_MENTIONS] */
};

/* Graphs of a batch, nodes of all questions one after another. */
struct gate_graph {
    struct graph graph;
    struct seqs nodes;                          /* nodes of each question */
    struct tensor *weights[GATE_RELATIONS_MAX]; /* F32 [E]: gcn: the first; rgcn: of each relation; else none */
    struct index u, v;                          /* ends of the candidate pairs */
    struct tensor *features;                    /* F32 [P, pair_features] */
    struct seqs pairs;                          /* candidate pairs of each question */
};

#endif
