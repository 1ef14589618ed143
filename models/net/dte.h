/*
 * dte.h - the tagger of "Know What I Don't Know" (DTE): BERT reads a question and a table, and heads say which of its
 * concepts the question means, which words say each, and of what kind each word is.
 *
 * A concept is a keyword of SQL, a column or a value; a table too where there are several.  Everything lies packed:
 * sequences one after another, of them the wanted rows, and of all (concept, word) pairs a score, concept by concept.
 * Two softmaxes over the same scores ground them: over the words, and over what each word may mean (5.4 of ours:
 * several concepts share a word).
 */
#ifndef MODELS_NET_DTE_H
#define MODELS_NET_DTE_H

#include "models/net/bert.h"

enum { DTE_KEYWORDS = 10 }; /* max, min, sum, avg, count, !=, >, >=, <, <= */

/* Kinds of words: those of --compat are plain, the others have a begin and an inside of each label of span_record.h, in
 * its order, from DTE_SPAN on. */
enum { DTE_OTHER, DTE_KEYWORD, DTE_SPAN, DTE_TAGS = 10 };
enum { DTE_COMPAT_OTHER, DTE_COMPAT_KEYWORD, DTE_COMPAT_TABLE, DTE_COMPAT_SPAN, DTE_COMPAT_TAGS = 7 };

struct dte_config {
    struct bert_config bert;
    int hidden;    /* channels of concepts and words in the heads */
    bool compat;   /* the published code's tags, each of its own */
    float dropout; /* of the heads */
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

/* Declares every parameter: encoder and heads have type dtype, the chain is F32. */
void dte_init(struct dte *d, const struct dte_config *config, enum dtype dtype, struct params *p,
              const struct param_arenas *a);
/* Which tag may not stand behind which (struct crf); [tags + 2]. */
void dte_forbidden(const struct dte_config *config, int32_t *bits);

/*
 * S sequences.  Wanted rows of each, ascending: [CLS], the first piece of every word, the [SEP] behind the question,
 * the marker of every table, column and value.
 * Its concepts: the keywords, then those with a marker, in its order.
 */
struct dte_text {
    struct bert_input bert; /* but for its rows, which are: */
    struct index rows;
    struct index cls, words, entities;        /* wanted rows: [S], [W] of all words, [E] of all markers */
    struct index keyword_place, entity_place; /* where they stand among the N concepts: [S DTE_KEYWORDS], [E] */
    int64_t n_concepts;                       /* N */
    struct seqs word_seqs;                    /* words of each sequence */
    struct index pair_concept, pair_word;     /* [P]: every concept with every word and the [SEP] of its sequence */
    struct seqs concept_pairs;                /* pairs of each concept; those of a sequence in order of its words */
    struct index meaning;                     /* [M] pairs of words (without [SEP]) and entities, word by word */
    struct seqs word_meanings;                /* of each word */
    struct tensor *forbidden;                 /* I32 [tags + 2]; NULL: compat */
};

struct dte_scores {
    struct tensor *concept;   /* F32 [N]: probability that the question means it */
    struct tensor *score;     /* F32 [P]: of each pair, before */
    struct tensor *grounding; /* F32 [P]: softmax over a concept's words and [SEP] */
    struct tensor *meaning;   /* F32 [M]: softmax over what a word may mean */
    struct tensor *emission;  /* F32 [W, tags] */
};
struct dte_scores dte_forward(struct ctx *c, const struct dte *d, const struct dte_text *t);
/* The concepts' probabilities alone, F32 [N]; of the text no row, pair or meaning of a word is looked at. */
struct tensor *dte_concepts(struct ctx *c, const struct dte *d, const struct dte_text *t);

/* What the batch's scores should be; every weight counts its loss's share and mean in, and may be 0. */
struct dte_labels {
    struct tensor *concept, *concept_weight;     /* F32 [N] */
    struct tensor *grounding, *grounding_weight; /* F32 [P] */
    struct tensor *meaning, *meaning_weight;     /* F32 [M] */
    struct tensor *tags;                         /* I32 [W]: bits of the tags that each word may have */
    struct tensor *tags_weight;                  /* F32 [1]: of the sum of the sequences' losses */
};
/* F32 [1]: the sum of the four losses (spec of DTE, 4.1, 4.3, 5.4, 3.1). */
struct tensor *dte_loss(struct ctx *c, const struct dte *d, const struct dte_text *t, const struct dte_labels *l);

#endif
