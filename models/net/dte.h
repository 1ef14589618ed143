/*
 * dte.h - the tagger network DTE ("Know What I Don't Know", Wang et al. 2023) over packed sequences.
 *
 * BERT reads a question and a table. Heads predict which concepts the question means, which words ground each
 * concept, and the tag of each word. A concept is a keyword of SQL, a column, a value or, with several tables, a
 * table.
 * All arrays are packed: sequences one after another, their wanted rows, and a score of each (concept, word) pair,
 * concept by concept. Two softmaxes over the same scores ground the concepts: one over the words, and one over the
 * meanings of each word. The second lets several concepts share a word.
 */
#ifndef MODELS_NET_DTE_H
#define MODELS_NET_DTE_H

#include "data/sql/sql_keyword.h"
#include "models/net/bert.h"

enum { DTE_KEYWORDS = SQL_KEYWORDS };

/* Tags of words. With --published each label has one tag. Otherwise each label of span_record.h has a begin and an
 * inside, in its order, from DTE_SPAN on. */
enum { DTE_OTHER, DTE_KEYWORD, DTE_SPAN, DTE_TAGS = 10 };
enum { DTE_PUBLISHED_OTHER, DTE_PUBLISHED_KEYWORD, DTE_PUBLISHED_TABLE, DTE_PUBLISHED_SPAN, DTE_PUBLISHED_TAGS = 7 };

struct dte_config {
    struct bert_config bert;
    int hidden;     /* channels of concepts and words in the heads */
    bool published; /* tags of the published code */
    float dropout;  /* of the heads */
};
int dte_tags(const struct dte_config *config);

struct dte {
    struct dte_config config;
    struct bert bert;
    struct tensor *state_w, *state_b, *norm_w, *norm_b; /* [h, C]; F32 [h] */
    struct tensor *keyword_w, *keyword_b;               /* [DTE_KEYWORDS h, h], F32 [DTE_KEYWORDS h] */
    struct tensor *concept_w, *concept_b;               /* [1, h], F32 [1] */
    struct tensor *query_w, *key_w;                     /* [h, h]: of concepts, of words */
    struct tensor *tag_w, *tag_b;                       /* [tags, C], F32 [tags] */
    struct tensor *chain;                               /* F32 [tags + 2, tags], see struct crf */
};

/* Declares all parameters. Encoder and heads have type dtype; the chain is F32. */
void dte_init(struct dte *d, const struct dte_config *config, enum dtype dtype, struct params *p,
              const struct param_arenas *a);
/* Writes the tags that must not follow each tag (struct crf) to bits [tags + 2]. */
void dte_forbidden(const struct dte_config *config, int32_t *bits);

/* S sequences. The wanted rows of each, ascending, are [CLS], the first piece of every word, the [SEP] after the
 * question, and the marker of every table, column and value. Its concepts are the keywords, then those with a
 * marker, in order. */
struct dte_text {
    struct bert_input bert; /* without its rows, which are the following */
    struct index rows;
    struct index cls, words, entities;        /* wanted rows: [S], [W] of words, [E] of markers */
    struct index keyword_place, entity_place; /* index among the N concepts: [S * DTE_KEYWORDS], [E] */
    int64_t n_concepts;                       /* N */
    struct seqs word_seqs;                    /* words of each sequence */
    struct index pair_concept, pair_word;     /* [P] each concept with each word and the [SEP] of its sequence */
    struct seqs concept_pairs;                /* pairs of each concept, in the order of the words */
    struct index meaning;                     /* [M] pairs of words (without [SEP]) and entities, word by word */
    struct seqs word_meanings;                /* of each word */
    struct tensor *forbidden;                 /* I32 [tags + 2]; NULL with published */
};

struct dte_scores {
    struct tensor *concept;   /* F32 [N] probability that the question means the concept */
    struct tensor *score;     /* F32 [P] of each pair, before softmax */
    struct tensor *grounding; /* F32 [P] softmax over a concept's words and [SEP] */
    struct tensor *meaning;   /* F32 [M] softmax over the meanings of a word */
    struct tensor *emission;  /* F32 [W, tags] */
};
struct dte_scores dte_forward(struct ctx *c, const struct dte *d, const struct dte_text *t);
/* Computes the probabilities of the concepts alone, F32 [N]. It ignores rows, pairs and meanings of words. */
struct tensor *dte_concepts(struct ctx *c, const struct dte *d, const struct dte_text *t);

/* Labels of a batch. A weight includes the weight of its loss and the mean; it may be 0. */
struct dte_labels {
    struct tensor *concept, *concept_weight;     /* F32 [N] */
    struct tensor *grounding, *grounding_weight; /* F32 [P] */
    struct tensor *meaning, *meaning_weight;     /* F32 [M] */
    struct tensor *tags;                         /* I32 [W] bits of the allowed tags of each word */
    struct tensor *tags_weight;                  /* F32 [1] of the sum of all sequences' losses */
};
/* F32 [1]: the sum of the losses of concepts, grounding, meanings and tags. */
struct tensor *dte_loss(struct ctx *c, const struct dte *d, const struct dte_text *t, const struct dte_labels *l);

#endif
