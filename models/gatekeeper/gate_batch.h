/*
 * gate_batch.h - questions and schemas of one batch as tensors for the GATekeeper network.
 *
 * A text_builder collects token sequences on the host; gate_text_build uploads them.  Sequences are
 *   element  [CLS] question [SEP] element [SEP]                         one for each element, state at [CLS]
 *   schema   [CLS] question [SEP] t1 : c1 , c2 ; t2 : ... ; [SEP]       as many as the positions demand
 * with segment 0 up to the first [SEP] and 1 after it.  A model whose texts say whether an element is relevant reads
 *   TEXTS_RELEVANCE  [CLS] question [SEP] element [SEP] word
 *   TEXTS_THESIS     [CLS] [CLS] question [SEP] element [SEP] word [SEP] [SEP]
 * for its states, once it knows their relevance from the first form; of the thesis' all segments are 0, and what is
 * longer than its 128 tokens is cut before the last.  The word is "relevant" or "irrelevant".  In the whole schema's
 * form a span is the tokens of an element's name, or, where the model asks for them, of the question.
 */
#ifndef MODELS_GATEKEEPER_GATE_BATCH_H
#define MODELS_GATEKEEPER_GATE_BATCH_H

#include "data/schema/mention.h"
#include "kernels/batch.h"
#include "kernels/rng.h"
#include "models/gatekeeper/schema_input.h"
#include "models/net/gate_config.h"
#include "models/net/gatekeeper.h"
#include "models/text/tokenizer.h"

/* Tokens of the whole schema's sequence besides names: [CLS], two [SEP], colon, and the mark that ends a column with
 * one to spare. */
enum { GATE_SEPARATORS = 6 };
enum { GATE_WORD_TOKENS = 8, GATE_THESIS_TOKENS = 128 };
struct gate_word {
    int32_t ids[GATE_WORD_TOKENS], n;
};

/* How sequences are laid out: the ids that part their texts, and how long these may be. */
struct gate_layout {
    enum gate_encode encode;
    int32_t cls, sep, colon, comma, semicolon;
    int max_positions;
    int asks;         /* schema: the question's own tokens are wanted, too */
    int max_question; /* longer questions are cut; 0: those that do not fit beside the schema's names */
    int least_room;   /* for a question: longer texts of elements are cut so that it is left */
    int max_name;     /* longer names are cut, so that a table's and a column's fit beside that */
    enum gate_texts texts;
    struct gate_word words[2]; /* TEXTS_RELEVANCE and TEXTS_THESIS: "irrelevant", "relevant" */
};
int gate_layout_init(struct gate_layout *layout, const struct tokenizer *t, int max_positions, enum gate_encode encode,
                     struct error *err);

/* Of texts that say whether an element is relevant: which, and with which words. */
void gate_layout_words(struct gate_layout *layout, const struct tokenizer *t, enum gate_texts texts);

/* What is said of a candidate pair: its schema features, how the question mentions it, how it fits beside others. */
enum {
    GATE_MENTION_FEATURES = SCHEMA_PAIR_FEATURES,
    GATE_MATCH_FEATURES = GATE_MENTION_FEATURES + MENTION_FEATURES,
    GATE_PAIR_FEATURES = GATE_MATCH_FEATURES + MATCH_FEATURES
};

/* One question on one schema; borrows everything.  Of its tokens as many are read as gate_question_kept says. */
struct gate_item {
    const struct schema_input *schema;
    const char *text;
    const int32_t *question; /* token ids of text without special tokens */
    int n_question;
    const struct schema_graph *drawn; /* in place of the schema's graph; NULL for that */
};

/* Replaces ids with those of a question's text.  -1 with EXIT_CODE_DATA when there are none; `where` names the record.
 */
int gate_question_tokens(struct ids *ids, const struct tokenizer *t, const char *text, const char *where,
                         struct error *err);
/* How many of the question's tokens stand before each text of the schema: as many as fit beside the longest of them, or
 * the layout's most. */
int gate_question_kept(const struct gate_layout *layout, const struct gate_item *item);

struct int_list {
    int32_t *v;
    int n, cap;
};

struct text_builder {
    const struct gate_layout *layout;
    struct int_list tokens, positions, segments; /* of every token */
    struct int_list lengths, row_counts;         /* of every sequence */
    struct int_list rows;                        /* wanted tokens */
    struct int_list span_lengths, span_nodes; /* schema: of every span, the node counted over the whole batch; -1 is */
    struct int_list span_question;            /* the question's own; and the span of the question before it */
    float *mentions;                          /* schema: [nodes, ELEMENT_MENTIONS] */
    int mentions_cap;                         /* nodes */
    int n_nodes;
};

/* Nodes of all items together. */
int gate_nodes(const struct gate_item *items, int n);

/* Graphs of a batch.  Padded: up to sizes that come again (batch_bucket) with questions, nodes, edges and pairs that
 * are nobody's and lie behind the others; the added edges join added nodes with themselves. */
struct gate_sizes {
    int items, nodes, edges, pairs;
};
struct gate_sizes gate_sizes_of(const struct gate_item *items, int n);
struct gate_sizes gate_sizes_padded(struct gate_sizes s);
int gate_nodes_padded(int nodes); /* of texts alone */

void text_builder_reset(struct text_builder *b, const struct gate_layout *layout);
void text_builder_release(struct text_builder *b);
/* One element of the item's schema as a sequence of its own. */
void text_add_element(struct text_builder *b, const struct gate_item *item, int node);
/* The same with the layout's word for it. */
void text_add_judged(struct text_builder *b, const struct gate_item *item, int node, bool relevant);
/* The whole schema, each of its schema_groups in sequences of its own.  rng (may be NULL) shuffles tables, and columns
 * within their table. */
void text_add_schema(struct text_builder *b, const struct gate_item *item, struct rng *rng);
/* Draws as many random numbers and adds nothing. */
void text_skip_schema(const struct gate_item *item, struct rng *rng);

/* Adds, behind all sequences, tokens, rows and sequences that weigh nothing, up to sizes that come again, and elements
 * up to `nodes`, at least one. */
void text_builder_pad(struct text_builder *b, int nodes);

/* Vocabulary sizes bound the ids.  In a dry run only the room is taken. */
void gate_text_build(struct ctx *c, const struct text_builder *b, const struct bert_config *config,
                     struct gate_text *text);

/* The graph of an item whose model takes drawn ones: always the same for one question on so many elements.  Where it
 * takes the schema's, g is empty and the item stays. */
void gate_draw_graph(struct schema_graph *g, struct gate_item *item, const struct gatekeeper_config *config);

/* What the layers of gcn and rgcn multiply each edge by; edges by target. */
void gate_graph_weights(struct ctx *c, const struct edge *edges, int n_edges, int n_nodes,
                        const struct gatekeeper_config *config, struct gate_graph *graph);

/* Graphs and candidate pairs of n items, padded where ctx.buckets; pairs are there for the pair classifier alone. */
void gate_graph_build(struct ctx *c, const struct gate_item *items, int n, const struct gatekeeper_config *config,
                      struct gate_graph *graph);

#endif
