/*
 * dte_item.h - tokenises a question and its table as the network reads them (DTE, Wang et al. 2023).
 *
 *   [CLS] question [SEP] then for each column  marker words (value-marker words)* [SEP]
 *
 * Columns are sorted by name, so that an answer does not depend on their order in the schema. If they do not fit
 * into one sequence, further windows repeat the question. With several tables, a marker precedes the columns of
 * each. The state of a word is that of its first piece; the state of a concept is that of its marker. An item
 * borrows its question; the caller releases it.
 */
#ifndef MODELS_TAGGER_DTE_ITEM_H
#define MODELS_TAGGER_DTE_ITEM_H

#include "data/span/tagging.h"
#include "models/text/tokenizer.h"

/* Ids of the special tokens, and the maximum length. */
struct dte_layout {
    const struct tokenizer *tokenizer;
    int32_t cls, sep, unk, table, value, types[5]; /* types: the marker of each enum column_type */
    int max_positions;
};
/* -1 with EXIT_CODE_CHECKPOINT if the vocabulary lacks a marker or sequences are too short. */
int dte_layout_init(struct dte_layout *l, const struct tokenizer *t, int max_positions, struct error *err);

/* The markers are [unused21] to [unused24], [unused30] and [unused31]. A vocabulary needs that many unused tokens. */
enum { DTE_UNUSED = 32 };

/* A word of the question: n pieces from token `at` on, and its place in the text. */
struct dte_word {
    int at, n;
    int from, to;   /* bytes of the question */
    int start, end; /* code points */
};

/* A concept in a sequence: the token of its marker, and the end of its words. */
struct dte_entity {
    struct tag_concept concept; /* without a score */
    int at, end;
};

struct dte_window {
    struct ids tokens;
    struct dte_entity *entities;
    int n_entities, cap;
};

/* A question with its windows. The words have the same tokens in each window, followed by [SEP] at `sep`. */
struct dte_item {
    const struct tag_question *question;
    struct dte_word *words;
    struct dte_window *windows;
    int n_words, sep, n_windows;
    int n_question; /* words of the question; those beyond n_words are truncated */
};

/* -1 with EXIT_CODE_DATA if the question has no word or the table no column. `where` names the record in the
 * message. */
int dte_item_init(struct dte_item *item, const struct tag_question *q, const struct dte_layout *l, const char *where,
                  struct error *err);
void dte_item_release(struct dte_item *item);

#endif
