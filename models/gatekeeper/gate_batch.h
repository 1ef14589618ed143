/*
 * gate_batch.h - packs questions and schemas of one batch as tensors for the GATekeeper network.
 *
 * A text_builder collects token sequences on the host; gate_text_build uploads them. Sequences are
 *   element  [CLS] question [SEP] element [SEP]                    one for each element, state at [CLS]
 *   schema   [CLS] question [SEP] t1 : c1 , c2 ; t2 : ... ; [SEP]  as many as the positions demand
 * with segment 0 up to the first [SEP] and 1 after it. In the form `schema`, a span is the tokens of an element's
 * name or, if the model asks for it, of the question.
 *
 * Some models compute states from a second text, once they know the element's relevance:
 *   TEXTS_RELEVANCE  [CLS] question [SEP] element [SEP] word
 *   TEXTS_PUBLISHED     [CLS] [CLS] question [SEP] element [SEP] word [SEP] [SEP]
 * The word is "relevant" or "irrelevant". In TEXTS_PUBLISHED all segments are 0, and texts are truncated to 128 tokens.
 */
#ifndef MODELS_GATEKEEPER_GATE_BATCH_H
#define MODELS_GATEKEEPER_GATE_BATCH_H

#include "data/schema/mention.h"
#include "kernels/batch.h"
#include "kernels/rng.h"
#include "models/gatekeeper/schema_input.h"
#include "models/net/gatekeeper.h"
#include "models/text/tokenizer.h"

/* Tokens of a `schema` sequence besides names: [CLS], two [SEP], colon, the mark after a column, and a spare one. */
enum { GATE_SEPARATORS = 6 };
enum { GATE_WORD_TOKENS = 8, GATE_PUBLISHED_TOKENS = 128 };
struct gate_word {
    int32_t ids[GATE_WORD_TOKENS], n;
};

/* The special tokens of sequences, and their maximum lengths. */
struct gate_layout {
    enum gate_encode encode;
    int32_t cls, sep, colon, comma, semicolon;
    int max_positions;
    int asks;         /* schema: the question has a span, too */
    int max_question; /* max tokens of a question; 0: as many as fit beside the schema's names */
    int least_room;   /* tokens reserved for the question; longer elements are truncated */
    int max_name;     /* max tokens of a name, so that a table's and a column's name fit */
    enum gate_texts texts;
    struct gate_word words[2]; /* TEXTS_RELEVANCE, TEXTS_PUBLISHED: "irrelevant", "relevant" */
};
int gate_layout_init(struct gate_layout *layout, const struct tokenizer *t, int max_positions, enum gate_encode encode,
                     struct error *err);

/* Sets the form of texts with a word for the element's relevance, and their words. */
void gate_layout_words(struct gate_layout *layout, const struct tokenizer *t, enum gate_texts texts);

/* Features of a candidate pair: of the schema, of its mention in the question, and relative to other pairs. */
enum {
    GATE_MENTION_FEATURES = SCHEMA_PAIR_FEATURES,
    GATE_MATCH_FEATURES = GATE_MENTION_FEATURES + MENTION_FEATURES,
    GATE_PAIR_FEATURES = GATE_MATCH_FEATURES + MATCH_FEATURES
};

/* One question on one schema; borrows everything. gate_question_kept is the number of its tokens that are read. */
struct gate_item {
    const struct schema_input *schema;
    const char *text;
    const int32_t *question; /* token ids without special tokens */
    int n_question;
    const struct schema_graph *drawn; /* replaces the schema's graph; NULL: it does not */
};

/* Replaces ids by the tokens of a question. -1 with EXIT_CODE_DATA if it has none; `where` names the record in the
 * message. */
int gate_question_tokens(struct ids *ids, const struct tokenizer *t, const char *text, const char *where,
                         struct error *err);
/* Number of the question's tokens in each text: those that fit beside the longest element, at most the layout's
 * limit. */
int gate_question_kept(const struct gate_layout *layout, const struct gate_item *item);

struct int_list {
    int32_t *v;
    int n, cap;
};

struct text_builder {
    const struct gate_layout *layout;
    struct int_list tokens, positions, segments; /* of all tokens */
    struct int_list lengths, row_counts;         /* of all sequences */
    struct int_list rows;                        /* wanted tokens */
    struct int_list span_lengths,
        span_nodes;                  /* schema: length and node of each span, nodes counted over the batch; -1: */
    struct int_list span_question;   /* the question's span; and the index of the span of each span's question */
    struct int_list asked, asked_to; /* schema: tokens of the questions, sequence by sequence; and the number of each
                                        among the tokens of all questions, of which there are */
    int n_asked;
    float *mentions;  /* schema: [nodes, ELEMENT_MENTIONS] */
    int mentions_cap; /* in nodes */
    int n_nodes;
};

/* Number of nodes of all items. */
int gate_nodes(const struct gate_item *items, int n);

/* Sizes of the graphs of a batch. Padded sizes recur (batch_bucket): padding questions, nodes, edges and pairs
 * follow the others. Padding edges join padding nodes to themselves. */
struct gate_sizes {
    int items, nodes, edges, pairs;
};
struct gate_sizes gate_sizes_of(const struct gate_item *items, int n);
struct gate_sizes gate_sizes_padded(struct gate_sizes s);
int gate_nodes_padded(int nodes); /* of texts alone */

void text_builder_reset(struct text_builder *b, const struct gate_layout *layout);
void text_builder_release(struct text_builder *b);
/* Appends a sequence with one element of the item's schema. */
void text_add_element(struct text_builder *b, const struct gate_item *item, int node);
/* The same with the word for the element's relevance. */
void text_add_judged(struct text_builder *b, const struct gate_item *item, int node, bool relevant);
/* Appends the whole schema; each of its schema_groups has sequences of its own. rng (or NULL) shuffles tables, and
 * columns within tables. */
void text_add_schema(struct text_builder *b, const struct gate_item *item, struct rng *rng);
/* Draws the random numbers of text_add_schema without adding anything. */
void text_skip_schema(const struct gate_item *item, struct rng *rng);

/* Pads the batch to sizes that recur, with tokens, rows and sequences of weight 0, and with elements up to `nodes`,
 * at least one. */
void text_builder_pad(struct text_builder *b, int nodes);

/* Uploads the texts. The config bounds the ids. A dry run only takes the memory. */
void gate_text_build(struct ctx *c, const struct text_builder *b, const struct bert_config *config,
                     struct gate_text *text);

/* Draws the random graph of an item, if the model uses random graphs. It depends only on the question and the number
 * of elements. Otherwise g is empty and the item unchanged. */
void gate_draw_graph(struct schema_graph *g, struct gate_item *item, const struct gatekeeper_config *config);

/* Sets the edge weights of GCN and R-GCN layers. Edges are sorted by target. */
void gate_graph_weights(struct ctx *c, const struct edge *edges, int n_edges, int n_nodes,
                        const struct gatekeeper_config *config, struct gate_graph *graph);

/* Builds graphs and candidate pairs of n items, padded if ctx.buckets. Only the pair classifier has pairs. */
void gate_graph_build(struct ctx *c, const struct gate_item *items, int n, const struct gatekeeper_config *config,
                      struct gate_graph *graph);

#endif
