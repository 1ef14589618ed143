/*
 * dte_item.h - a question and its table as the network reads them (spec of DTE, 2 and 8.2).
 *
 *   [CLS] question [SEP] then for each column  marker words (value-marker words)* [SEP]
 *
 * Columns stand in an order of their own names, so that an answer does not depend on the order in which they came.
 * What does not fit into one sequence goes on in another window, under the same question.  Several tables are told as
 * one more marker before the columns of each.  A word's state is that of its first piece, a concept's that of its
 * marker.
 */
#ifndef MODELS_TAGGER_DTE_ITEM_H
#define MODELS_TAGGER_DTE_ITEM_H

#include "data/span/tagging.h"
#include "models/text/tokenizer.h"

/* Ids of the tokens that part texts, and how long these may be. */
struct dte_layout {
    const struct tokenizer *tokenizer;
    int32_t cls, sep, unk, table, value, types[5]; /* a marker of each enum column_type */
    int max_positions;
};
/* -1 with EXIT_CODE_CHECKPOINT: the vocabulary lacks a marker, or sequences are too short. */
int dte_layout_init(struct dte_layout *l, const struct tokenizer *t, int max_positions, struct error *err);

/* The markers are [unused21] to [unused24], [unused30] and [unused31]: so many a vocabulary has to have. */
enum { DTE_UNUSED = 32 };

/* A word of the question: its pieces from `at` on, and where it stands. */
struct dte_word {
    int at, n;
    int from, to;   /* bytes of the question */
    int start, end; /* code points */
};

/* A concept that a sequence shows: the token of its marker, and up to where its words go. */
struct dte_entity {
    struct tag_concept concept; /* without a score */
    int at, end;
};

struct dte_window {
    struct ids tokens;
    struct dte_entity *entities;
    int n_entities, cap;
};

/* Borrows the question.  The words lie in every window at the same tokens, the [SEP] behind them at `sep`. */
struct dte_item {
    const struct tag_question *question;
    struct dte_word *words;
    struct dte_window *windows;
    int n_words, sep, n_windows;
    int n_question; /* words that it has; those beyond n_words are not read */
};

/* -1 with EXIT_CODE_DATA: the question has no word, or the table no column.  `where` names the record. */
int dte_item_init(struct dte_item *item, const struct tag_question *q, const struct dte_layout *l, const char *where,
                  struct error *err);
void dte_item_release(struct dte_item *item);

#endif
